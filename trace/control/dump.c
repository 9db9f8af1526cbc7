/* SPDX-License-Identifier: MIT */
/* dump.c -- the newest events of every CPU to the console, from any context, also when the kernel has gone wrong. */
#include "wire/cold.h"
#include "fathom/inside/view.h"

/*
 * Nothing is taken from the rings and no lock is waited for. The memory was set aside by fathom_init(); two dumps at
 * the same time would share it, so the second one gives up and says so.
 */
static uint32_t dump_busy;
static char dump_line[FATHOM_DUMP_LINE];

static void dump_put(const char *text, size_t bytes)
{
	if (bytes)
		fathom_core.config.sink(fathom_core.config.sink_arg, text, bytes);
}

static void dump_flush(struct fathom_text *t)
{
	dump_put(t->buf, t->len);
	if (t->cut)
		dump_put("\n", 1); /* a line that was cut still ends */
	fathom_text_init(t, dump_line, sizeof(dump_line));
}

/* Leave the oldest ones out until `count` are left of each CPU: a skipped record costs no formatting. */
static void dump_limit(struct fathom_view *v, uint32_t count)
{
	for (uint32_t i = 0; count && i < v->config.nr_cpus; i++) {
		struct fathom_ring_stats st;
		struct fathom_view_cpu *c = &v->cpus[i];

		if (!v->config.rings[i])
			continue;
		fathom_ring_stats(v->config.rings[i], &st);
		while (c->has && st.entries > count) {
			st.entries--;
			fathom_view_advance(v, i);
		}
	}
}

void fathom_dump(uint32_t count)
{
	fathom_dump_cpu(-1, count);
}

void fathom_dump_cpu(int32_t cpu, uint32_t count)
{
	struct fathom_view_config config = {.rings = fathom_hot.ring,
					    .nr_cpus = fathom_core.nr_cpus,
					    .cpu = cpu,
					    .options = FATHOM_TEXT_DEFAULT,
					    .start = fathom_core.boot};
	struct fathom_view *v;
	struct fathom_text t;

	if (!FATHOM_DUMP_BYTES || !fathom_core.nr_cpus || !fathom_core.config.sink)
		return;
	if (__atomic_exchange_n(&dump_busy, 1, __ATOMIC_ACQUIRE)) {
		dump_put("fathom: a dump is running already\n", 34);
		return;
	}
	fathom_tracing_off(); /* or the dump is full of the console's own events */
	v = fathom_view_init(fathom_core.dump, fathom_core.dump_bytes, &config);
	fathom_text_init(&t, dump_line, sizeof(dump_line));
	if (v) {
		dump_limit(v, count);
		while (fathom_view_next(v, &t))
			dump_flush(&t);
	}
	__atomic_store_n(&dump_busy, 0, __ATOMIC_RELEASE);
}
