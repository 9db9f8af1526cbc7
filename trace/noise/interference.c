/* SPDX-License-Identifier: MIT */
/* interference.c -- what interrupts a measuring thread: seen by hooks on interrupts and switches, told by the events osnoise:*. */
#include "wire/cold.h"
#include "noise/noise.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/print.h"
#include "wire/div.h"

/*
 * Interruptions lie on top of each other: a thread that took the CPU, a softirq, an interrupt. Each is counted by its own time, without
 * what interrupted it in turn. Interrupts that the kernel has no events for, NMIs among them, are time that is missing without a
 * cause: a sample counts them as hardware's.
 */

/* ---- the events ---- */

#define NOISE_FIELD(st, text, item, sign)                                                     \
	{                                                                                     \
		text, #item, offsetof(struct st, item), sizeof(((struct st *)0)->item), sign, \
			FATHOM_FIELD_OTHER                                                    \
	}
#define NOISE_TIME(of) "(" of ") / 1000000000UL, (" of ") % 1000000000UL"
#define NOISE_STARTS   "start %llu.%09u duration %llu ns"

struct rec_sample {
	struct wire_common ent;
	uint64_t start, duration, interference;
} FATHOM_RECORD;
struct rec_irq {
	struct wire_common ent;
	uint64_t start, duration;
	uint32_t desc;
	int32_t vector;
	char text[16];
} FATHOM_RECORD;
struct rec_softirq {
	struct wire_common ent;
	uint64_t start, duration;
	int32_t vector;
} FATHOM_RECORD;
struct rec_thread {
	struct wire_common ent;
	char comm[16];
	uint64_t start, duration;
	int32_t pid;
} FATHOM_RECORD;

static const struct fathom_field sample_fields[] = {
	NOISE_FIELD(rec_sample, "u64", start, 0),
	NOISE_FIELD(rec_sample, "u64", duration, 0),
	NOISE_FIELD(rec_sample, "u64", interference, 0),
};
static const struct fathom_field irq_fields[] = {
	NOISE_FIELD(rec_irq, "u64", start, 0),
	NOISE_FIELD(rec_irq, "u64", duration, 0),
	{"__data_loc char[]", "desc", offsetof(struct rec_irq, desc), 4, (char)-1 < (char)1,
	 FATHOM_FIELD_OTHER},
	NOISE_FIELD(rec_irq, "int", vector, 1),
};
static const struct fathom_field softirq_fields[] = {
	NOISE_FIELD(rec_softirq, "u64", start, 0),
	NOISE_FIELD(rec_softirq, "u64", duration, 0),
	NOISE_FIELD(rec_softirq, "int", vector, 1),
};
static const struct fathom_field thread_fields[] = {
	{"char[16]", "comm", offsetof(struct rec_thread, comm), 16, (char)-1 < (char)1,
	 FATHOM_FIELD_OTHER},
	NOISE_FIELD(rec_thread, "u64", start, 0),
	NOISE_FIELD(rec_thread, "u64", duration, 0),
	NOISE_FIELD(rec_thread, "pid_t", pid, 1),
};

static void put_times(struct fathom_text *out, uint64_t start, uint64_t duration)
{
	uint32_t ns = wire_div(&start, 1000);

	ns += 1000 * wire_div(&start, 1000);
	ns += 1000000 * wire_div(&start, 1000);
	fathom_text_printf(out, NOISE_STARTS, (unsigned long long)start, ns,
			   (unsigned long long)duration);
}

static void print_sample(struct fathom_print *p)
{
	const struct rec_sample *r = p->record;

	put_times(p->out, r->start, r->duration);
	fathom_text_printf(p->out, " interference %llu", (unsigned long long)r->interference);
}

static void print_irq(struct fathom_print *p)
{
	const struct rec_irq *r = p->record;
	uint32_t at = r->desc & 0xffff, n = 0;

	while (at + n < p->bytes && n < sizeof(r->text) && ((const char *)r)[at + n])
		n++;
	fathom_text_bytes(p->out, (const char *)r + at, at < p->bytes ? n : 0);
	fathom_text_printf(p->out, ":%d ", r->vector);
	put_times(p->out, r->start, r->duration);
}

static void print_softirq(struct fathom_print *p)
{
	static const char *const names[] = {"HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	const struct rec_softirq *r = p->record;
	uint32_t v = (uint32_t)r->vector;

	fathom_text_printf(p->out, "%8s:%d ", v < sizeof(names) / sizeof(names[0]) ? names[v] : "",
			   r->vector);
	put_times(p->out, r->start, r->duration);
}

static void print_thread(struct fathom_print *p)
{
	const struct rec_thread *r = p->record;
	char comm[17] = {0};

	__builtin_memcpy(comm, r->comm, 16);
	fathom_text_printf(p->out, "%8s:%d ", comm, r->pid);
	put_times(p->out, r->start, r->duration);
}

#define NOISE_EVENT(ident, text, list)                                         \
	static struct fathom_event ev_##ident = {                              \
		.system = "osnoise",                                           \
		.name = #ident,                                                \
		.print_fmt = text,                                             \
		.fields = list##_fields,                                       \
		.nr_fields = sizeof(list##_fields) / sizeof(list##_fields[0]), \
		.print = FATHOM_EVENT_TEXT ? print_##list : 0,                 \
	}

NOISE_EVENT(sample_threshold,
	    "\"" NOISE_STARTS
	    " interference %llu\", " NOISE_TIME("REC->start") ", REC->duration, REC->interference",
	    sample);
NOISE_EVENT(irq_noise,
	    "\"%s:%d " NOISE_STARTS
	    "\", __get_str(desc), REC->vector, " NOISE_TIME("REC->start") ", REC->duration",
	    irq);
NOISE_EVENT(softirq_noise,
	    "\"%8s:%d " NOISE_STARTS "\", __print_symbolic(REC->vector, { HI_SOFTIRQ, \"HI\" }, { "
	    "TIMER_SOFTIRQ, \"TIMER\" }, { NET_TX_SOFTIRQ, "
	    "\"NET_TX\" }, { NET_RX_SOFTIRQ, \"NET_RX\" }, { BLOCK_SOFTIRQ, \"BLOCK\" }, { "
	    "IRQ_POLL_SOFTIRQ, \"IRQ_POLL\" }, { TASKLET_SOFTIRQ, "
	    "\"TASKLET\" }, { SCHED_SOFTIRQ, \"SCHED\" }, { HRTIMER_SOFTIRQ, \"HRTIMER\" }, { "
	    "RCU_SOFTIRQ, \"RCU\" }), REC->vector, " NOISE_TIME("REC->start") ", REC->duration",
	    softirq);
NOISE_EVENT(thread_noise,
	    "\"%8s:%d " NOISE_STARTS
	    "\", REC->comm, REC->pid, " NOISE_TIME("REC->start") ", REC->duration",
	    thread);

/* The records of the tracers themselves: descriptions, with Linux's ids. */
static const struct fathom_field hwlat_fields[] = {
	NOISE_FIELD(fathom_rec_hwlat, "u64", duration, 0),
	NOISE_FIELD(fathom_rec_hwlat, "u64", outer_duration, 0),
	NOISE_FIELD(fathom_rec_hwlat, "u64", nmi_total_ts, 0),
	NOISE_FIELD(fathom_rec_hwlat, "s64", tv_sec, 1),
	NOISE_FIELD(fathom_rec_hwlat, "long", tv_nsec, 1),
	NOISE_FIELD(fathom_rec_hwlat, "unsigned int", nmi_count, 0),
	NOISE_FIELD(fathom_rec_hwlat, "unsigned int", seqnum, 0),
	NOISE_FIELD(fathom_rec_hwlat, "unsigned int", count, 0),
};
static const struct fathom_field osnoise_fields[] = {
	NOISE_FIELD(fathom_rec_osnoise, "u64", noise, 0),
	NOISE_FIELD(fathom_rec_osnoise, "u64", runtime, 0),
	NOISE_FIELD(fathom_rec_osnoise, "u64", max_sample, 0),
	NOISE_FIELD(fathom_rec_osnoise, "unsigned int", hw_count, 0),
	NOISE_FIELD(fathom_rec_osnoise, "unsigned int", nmi_count, 0),
	NOISE_FIELD(fathom_rec_osnoise, "unsigned int", irq_count, 0),
	NOISE_FIELD(fathom_rec_osnoise, "unsigned int", softirq_count, 0),
	NOISE_FIELD(fathom_rec_osnoise, "unsigned int", thread_count, 0),
};
static const struct fathom_field timerlat_fields[] = {
	NOISE_FIELD(fathom_rec_timerlat, "unsigned int", seqnum, 0),
	NOISE_FIELD(fathom_rec_timerlat, "int", context, 1),
	NOISE_FIELD(fathom_rec_timerlat, "u64", timer_latency, 0),
};

#define NOISE_RECORD(ident, number, text)                                        \
	static struct fathom_event ev_##ident = {                                \
		.system = "ftrace",                                              \
		.name = #ident,                                                  \
		.print_fmt = text,                                               \
		.fields = ident##_fields,                                        \
		.nr_fields = sizeof(ident##_fields) / sizeof(ident##_fields[0]), \
		.id = number,                                                    \
		.state = FATHOM_EVENT_ON,                                        \
	}
NOISE_RECORD(hwlat, WIRE_ID_HWLAT,
	     "\"cnt:%u\\tts:%010llu.%010lu\\tinner:%llu\\touter:%llu\\tcount:%d\\tnmi-ts:%"
	     "llu\\tnmi-count:%u\\n\", REC->seqnum, REC->tv_sec, "
	     "REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, REC->nmi_total_ts, "
	     "REC->nmi_count");
NOISE_RECORD(osnoise, WIRE_ID_OSNOISE,
	     "\"noise:%llu\\tmax_sample:%llu\\thw:%u\\tnmi:%u\\tirq:%u\\tsoftirq:%u\\tthread:%"
	     "u\\n\", REC->noise, REC->max_sample, REC->hw_count, "
	     "REC->nmi_count, REC->irq_count, REC->softirq_count, REC->thread_count");
NOISE_RECORD(timerlat, WIRE_ID_TIMERLAT,
	     "\"seq:%u\\tcontext:%d\\ttimer_latency:%llu\\n\", REC->seqnum, REC->context, "
	     "REC->timer_latency");

static struct fathom_event *const noise_events[] = {
	&ev_hwlat,     &ev_osnoise,	  &ev_timerlat,	    &ev_sample_threshold,
	&ev_irq_noise, &ev_softirq_noise, &ev_thread_noise,
};
struct fathom_object fathom_noise_events = {
	.events = noise_events,
	.events_end = noise_events + sizeof(noise_events) / sizeof(noise_events[0]),
};

void fathom_noise_sample(uint64_t start, uint64_t duration, uint32_t interference)
{
	struct fathom_emit e;
	struct rec_sample *r = fathom_emit_cold(&ev_sample_threshold, sizeof(*r), &e);

	if (!r)
		return;
	r->start = start;
	r->duration = duration;
	r->interference = interference;
	fathom_emit_cold_end(&ev_sample_threshold, &e);
}

static void tell_irq(const struct noise_open *o, uint64_t duration)
{
	struct fathom_emit e;
	struct rec_irq *r = fathom_emit_cold(&ev_irq_noise, sizeof(*r), &e);

	if (!r)
		return;
	r->start = o->start;
	r->duration = duration;
	r->desc = (uint32_t)offsetof(struct rec_irq, text) | 16u << 16;
	r->vector = o->number;
	__builtin_memcpy(r->text, o->name, sizeof(r->text));
	fathom_emit_cold_end(&ev_irq_noise, &e);
}

static void tell_softirq(const struct noise_open *o, uint64_t duration)
{
	struct fathom_emit e;
	struct rec_softirq *r = fathom_emit_cold(&ev_softirq_noise, sizeof(*r), &e);

	if (!r)
		return;
	r->start = o->start;
	r->duration = duration;
	r->vector = o->number;
	fathom_emit_cold_end(&ev_softirq_noise, &e);
}

static void tell_thread(const struct noise_open *o, uint64_t duration)
{
	struct fathom_emit e;
	struct rec_thread *r = fathom_emit_cold(&ev_thread_noise, sizeof(*r), &e);

	if (!r)
		return;
	__builtin_memcpy(r->comm, o->name, sizeof(r->comm));
	r->start = o->start;
	r->duration = duration;
	r->pid = o->number;
	fathom_emit_cold_end(&ev_thread_noise, &e);
}

/* ---- the hooks ---- */

static void name_take(char to[16], const char *from)
{
	uint32_t i = 0;

	for (; i < 15 && from && from[i]; i++)
		to[i] = from[i];
	for (; i < 16; i++)
		to[i] = 0;
}

static void begin(enum noise_kind kind, int32_t number, const char *name)
{
	struct noise_cpu *c = fathom_noise_here();
	struct noise_open *o;

	if (!c)
		return;
	__atomic_store_n(&c->interruptions, c->interruptions + 1, __ATOMIC_RELAXED);
	c->count[kind]++;
	if (c->depth >= NOISE_NEST) {
		c->depth++;
		return;
	}
	o = &c->open[c->depth++];
	*o = (struct noise_open){
		.kind = (uint8_t)kind, .number = number, .start = fathom_noise_now()};
	name_take(o->name, name);
}

static void end(enum noise_kind kind)
{
	static void (*const tell[NOISE_KINDS])(const struct noise_open *o, uint64_t duration) = {
		tell_thread, tell_softirq, tell_irq};
	struct noise_cpu *c = fathom_noise_here();
	struct noise_open *o;
	uint64_t whole;

	if (!c || !c->depth) /* it began before the run did */
		return;
	if (--c->depth >= NOISE_NEST)
		return;
	o = &c->open[c->depth];
	if (o->kind != kind) { /* an end that was not seen */
		c->depth = 0;
		return;
	}
	whole = fathom_noise_now() - o->start;
	if (c->depth)
		c->open[c->depth - 1].nested += whole;
	tell[kind](o, whole > o->nested ? whole - o->nested : 0);
}

static void on_irq_entry(void *data, int irq, const char *name)
{
	(void)data;
	begin(NOISE_IRQ, irq, name);
}

static void on_irq_exit(void *data, int irq, int ret)
{
	(void)data, (void)irq, (void)ret;
	end(NOISE_IRQ);
}

static void on_softirq_entry(void *data, unsigned int vec)
{
	(void)data;
	begin(NOISE_SOFTIRQ, (int32_t)vec, 0);
}

static void on_softirq_exit(void *data, unsigned int vec)
{
	(void)data, (void)vec;
	end(NOISE_SOFTIRQ);
}

/* Another thread's time ends when the next one begins. A switch inside an interrupt's handler, as some kernels do it: on its way out. */
static void on_switch(void *data, const char *prev_comm, int prev_pid, int prev_prio,
		      long prev_state, const char *next_comm, int next_pid, int next_prio)
{
	struct noise_cpu *c = fathom_noise_here();

	(void)data, (void)prev_comm, (void)prev_prio, (void)prev_state, (void)next_prio;
	if (!c)
		return;
	if (prev_pid != c->pid && c->depth && c->open[0].kind == NOISE_THREAD) {
		c->depth = 1;
		end(NOISE_THREAD);
	}
	if (next_pid != c->pid)
		begin(NOISE_THREAD, next_pid, next_comm);
}

static const struct {
	const char *system, *event;
	uint32_t fields; /* of the event that has these arguments: there are others of its name */
	void (*fn)(void);
} noise_hooks[] = {
	{"irq", "irq_handler_entry", 2, (void (*)(void))on_irq_entry},
	{"irq", "irq_handler_exit", 2, (void (*)(void))on_irq_exit},
	{"irq", "softirq_entry", 1, (void (*)(void))on_softirq_entry},
	{"irq", "softirq_exit", 1, (void (*)(void))on_softirq_exit},
	{"sched", "sched_switch", 7, (void (*)(void))on_switch},
};

int fathom_noise_hooks(int on)
{
	int err = 0;

	for (uint32_t i = 0; i < sizeof(noise_hooks) / sizeof(noise_hooks[0]); i++) {
		struct fathom_event *ev =
			fathom_event_find(noise_hooks[i].system, noise_hooks[i].event);

		if (!ev || ev->nr_fields != noise_hooks[i].fields)
			continue;
		if (on)
			err = err ? err : fathom_event_hook_locked(ev, noise_hooks[i].fn, 0);
		else
			fathom_event_unhook_locked(ev, noise_hooks[i].fn, 0);
	}
	return err;
}
