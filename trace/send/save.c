/* SPDX-License-Identifier: MIT */
/* save.c -- writes the rings as a trace.dat: sizes first in a dry run, then the pages, then the head that tells of them. */
#include "wire/cold.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/inside/print.h"
#include "fathom/save.h"
#include "fathom/trace.h"
#include "wire/tracedat_write.h"

/*
 * The head of the file tells how many pages each CPU has, but a ring tells that only by being read. Its length does
 * not depend on the numbers in it, so: the head is written to nowhere to learn its length, the pages behind it, then
 * the head in its place.
 */
struct saver {
	const struct fathom_save *to;
	uint64_t at;
	int dry; /* count, write nothing */
	uint64_t cpu_bytes[FATHOM_CPUS_MAX];
};

static int save_put(void *arg, const void *bytes, size_t n)
{
	struct saver *s = arg;
	int err = s->dry ? 0 : s->to->write_at(s->to->arg, s->at, bytes, n);

	s->at += n;
	return err;
}

static int save_is_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint32_t save_count_system(const char *system)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < fathom_event_count(); i++)
		n += (uint32_t)save_is_same(fathom_event_at(i)->system, system);
	return n;
}

static void save_formats(struct fathom_dat *d, const char *system)
{
	for (uint32_t i = 0; i < fathom_event_count(); i++) {
		const struct fathom_event *ev = fathom_event_at(i);
		struct fathom_text t;

		if (!save_is_same(ev->system, system))
			continue;
		fathom_text_init(&t, (char *)fathom_core.dump, fathom_core.dump_bytes);
		fathom_event_format(ev, &t);
		if (t.cut && !d->err)
			d->err = -FATHOM_E2BIG;
		fathom_dat_format(d, t.buf, t.len);
	}
}

static int save_is_first(uint32_t index)
{
	const char *system = fathom_event_at(index)->system;

	if (save_is_same(system, "ftrace"))
		return 0;
	for (uint32_t i = 0; i < index; i++)
		if (save_is_same(fathom_event_at(i)->system, system))
			return 0;
	return 1;
}

static void save_systems(struct fathom_dat *d)
{
	uint32_t n = 0;

	fathom_dat_ftrace(d, save_count_system("ftrace"));
	save_formats(d, "ftrace");
	for (uint32_t i = 0; i < fathom_event_count(); i++)
		n += (uint32_t)save_is_first(i);
	fathom_dat_systems(d, n);
	for (uint32_t i = 0; i < fathom_event_count(); i++) {
		const char *system = fathom_event_at(i)->system;

		if (!save_is_first(i))
			continue;
		fathom_dat_system(d, system, save_count_system(system));
		save_formats(d, system);
	}
}

#define SAVE_OWN_SYMBOLS 3

/* What a reader looks for by name: where text from outside comes from, and where interrupts enter. */
static void save_own_symbol(uint32_t i, uintptr_t *at, const char **name)
{
	static const char *const names[SAVE_OWN_SYMBOLS] = {
		"tracing_mark_write", "__irqentry_text_start", "__irqentry_text_end"};

	*name = names[i];
	*at = i == 0   ? fathom_marker_ip()
	      : i == 1 ? fathom_core.config.irq_text
		       : fathom_core.config.irq_text_end;
}

/* One line of each list; 0 behind the last. */
static int save_symbol_line(const struct saver *s, uint32_t i, struct fathom_text *t)
{
	uint32_t own = fathom_core.config.irq_text_end ? SAVE_OWN_SYMBOLS : 1;
	const char *name;
	uintptr_t at;

	if (i < own)
		save_own_symbol(i, &at, &name);
	else if (!s->to->symbol || !s->to->symbol(i - own, &at, &name))
		return 0;
	if (at == fathom_marker_ip()) /* whatever the port calls it */
		name = "tracing_mark_write";
	fathom_text_hex(t, at, 2 * (int)sizeof(at), '0');
	fathom_text_str(t, " T ");
	fathom_text_str(t, name);
	fathom_text_char(t, '\n');
	return 1;
}

static int save_printk_line(const struct saver *s, uint32_t i, struct fathom_text *t)
{
	(void)s;
	return fathom_printk_format_line(i, t);
}

static int save_task_line(const struct saver *s, uint32_t i, struct fathom_text *t)
{
	const char *name;
	int32_t pid;

	if (!s->to->task || !s->to->task(i, &pid, &name))
		return 0;
	fathom_text_s64(t, pid, 0, ' ');
	fathom_text_char(t, ' ');
	fathom_text_str(t, name);
	fathom_text_char(t, '\n');
	return 1;
}

typedef int (*save_line_fn)(const struct saver *s, uint32_t i, struct fathom_text *t);

/* A list as text: once for its length, once for itself. */
static void save_list(struct fathom_dat *d, const struct saver *s, save_line_fn line,
		      void (*begin)(struct fathom_dat *d, const char *text, size_t n))
{
	struct fathom_text t;
	size_t bytes = 0;

	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			begin(d, NULL, bytes);
		for (uint32_t i = 0;; i++) {
			fathom_text_init(&t, (char *)fathom_core.dump, fathom_core.dump_bytes);
			if (!line(s, i, &t))
				break;
			if (pass)
				fathom_dat_bytes(d, t.buf, t.len);
			else
				bytes += t.len;
		}
	}
}

static void save_stat(struct fathom_text *t, const char *name, uint64_t v)
{
	fathom_text_str(t, name);
	fathom_text_str(t, ": ");
	fathom_text_u64(t, v, 20, ' '); /* always as long: see the head of this file */
	fathom_text_char(t, '\n');
}

/* What each ring lost, and by which cause, as Linux's per_cpu/cpuN/stats words it. */
static void save_stats(struct fathom_dat *d, const struct saver *s)
{
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		struct fathom_ring_stats st;
		struct fathom_text t;

		fathom_ring_stats(fathom_hot.ring[cpu], &st);
		fathom_text_init(&t, (char *)fathom_core.dump, fathom_core.dump_bytes);
		save_stat(&t, "CPU", cpu);
		save_stat(&t, "entries", st.entries);
		save_stat(&t, "overrun", st.overwritten);
		save_stat(&t, "commit overrun", st.nested);
		save_stat(&t, "dropped events", st.full);
		save_stat(&t, "read events", st.read);
		save_stat(&t, "too big", st.too_big);
		if (cpu + 1 == fathom_core.nr_cpus) {
			fathom_text_str(&t, "CPU: *\n");
			save_stat(&t, "calls not followed", s->to->calls_lost);
		}
		fathom_text_char(&t, 0);
		fathom_dat_option(d, FATHOM_DAT_CPUSTAT, t.buf, (uint32_t)t.len);
	}
}

/* What trace.dat adds to its times, in digits as trace-cmd writes it. */
static void save_offset(struct fathom_dat *d, const struct fathom_save *to)
{
	uint64_t ns = to->moment_ns - fathom_ticks_to_ns(to->moment_ticks);
	struct fathom_text t;

	fathom_text_init(&t, (char *)fathom_core.dump, fathom_core.dump_bytes);
	if ((int64_t)ns < 0)
		fathom_text_char(&t, '-');
	fathom_text_u64(&t, (int64_t)ns < 0 ? -ns : ns, 0, ' ');
	fathom_text_char(&t, 0);
	fathom_dat_option(d, FATHOM_DAT_OFFSET, t.buf, (uint32_t)t.len);
}

static void save_options(struct fathom_dat *d, const struct saver *s)
{
	const char *release = fathom_core.config.release;
	struct {
		uint32_t mult, shift;
		uint64_t offset;
	} clock = {fathom_core.ns_mult, fathom_core.ns_shift, 0};

	fathom_dat_option(d, FATHOM_DAT_UNAME, release, (uint32_t)fathom_strlen(release) + 1);
	if (clock.mult != 1 || clock.shift)
		fathom_dat_option(d, FATHOM_DAT_TSC2NSEC, &clock, sizeof(clock));
	if (s->to->moment_ns)
		save_offset(d, s->to);
	save_stats(d, s);
}

/* The head of the file, at its start; the error if any. */
static int save_head(struct saver *s)
{
	const int big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct fathom_dat d;

	s->at = 0;
	fathom_dat_begin(&d, save_put, s, WIRE_PAGE_BYTES, big, sizeof(long));
	fathom_dat_header(&d, NULL, 0, NULL, 0);
	save_systems(&d);
	save_list(&d, s, save_symbol_line, fathom_dat_kallsyms);
	save_list(&d, s, save_printk_line, fathom_dat_printk);
	save_list(&d, s, save_task_line, fathom_dat_cmdlines);
	fathom_dat_cpus(&d, fathom_core.nr_cpus);
	save_options(&d, s);
	/* With TSC2NSEC the ticks of any clock are what trace_clock calls local. */
	fathom_dat_data(&d, "local", s->cpu_bytes, fathom_core.nr_cpus);
	return d.err;
}

static int save_pages(struct saver *s)
{
	struct wire_page *page = (struct wire_page *)fathom_core.dump;

	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		uint64_t from = s->at;

		while (fathom_ring_read_page(fathom_hot.ring[cpu], page, 1) > 0) {
			int err = save_put(s, page, sizeof(*page));

			if (err)
				return err;
		}
		s->cpu_bytes[cpu] = s->at - from;
	}
	return 0;
}

static int save_all(const struct fathom_save *to)
{
	struct saver s;
	int err;

	__builtin_memset(&s, 0, sizeof(s));
	s.to = to;
	s.dry = 1;
	err = save_head(&s);
	s.dry = 0;
	if (!err)
		err = save_pages(&s);
	if (!err)
		err = save_head(&s);
	return err;
}

int fathom_save(const struct fathom_save *to)
{
	int err;

	if (!FATHOM_DUMP_BYTES)
		return -FATHOM_ENOSYS;
	if (!fathom_core.nr_cpus || !to->write_at)
		return -FATHOM_EINVAL;
	if (to->dying)
		return save_all(to);
	fathom_lock();
	err = save_all(to);
	fathom_unlock();
	return err;
}
