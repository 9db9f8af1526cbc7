/* SPDX-License-Identifier: MIT */
/* run.c -- a program runs: its helpers, and the limits of a run. */
#include "functions/tracers.h"
#include "fathom/inside/unwind.h"
#include "programs/programs.h"
#include "wire/bpf_string.h"

#define RUN_NESTING 4 /* runs of one CPU, each interrupting the one before */

struct program_machine {
	struct bpf_machine m; /* first: helpers get its address */
	struct program *p;
	const struct program_hit *hit;
	uint32_t part;
	uint64_t time; /* in ns; 0: not asked for yet */
};

/* Runs under way, by CPU. What an interrupt adds it takes away before the interrupted run goes on. */
static uint8_t run_depth[FATHOM_CPUS_MAX];

/* The same all through a run. */
static uint64_t run_time(struct program_machine *m)
{
	if (!m->time)
		m->time = fathom_ticks_to_ns(m->hit->ticks ? m->hit->ticks : fathom_now());
	return m->time;
}

static uint64_t run_pid_tgid(int32_t pid)
{
	const struct fathom_config *c = &fathom_core.config;
	int32_t group = pid && c->task_group ? c->task_group(pid) : 0;

	return (uint64_t)(uint32_t)(group > 0 ? group : pid) << 32 | (uint32_t)pid;
}

/* Idle tasks have the names that Linux gives them: there is one for each CPU. */
static void run_comm(const struct program_hit *hit, char *to, uint32_t bytes)
{
	char name[16];
	struct fathom_text t;
	uint32_t i;

	wire_fill(to, 0, bytes);
	fathom_text_init(&t, name, sizeof(name));
	if (hit->pid) {
		fathom_ctl_comm(hit->pid, name);
	} else {
		fathom_text_str(&t, "swapper/");
		fathom_text_u64(&t, hit->cpu, 0, ' ');
		fathom_text_cstr(&t);
	}
	for (i = 0; i + 1 < bytes && i < sizeof(name) - 1 && name[i]; i++)
		to[i] = name[i];
}

/* Equal stacks have one number, from 1. 0: there is no room for another, or none is kept. */
static uint64_t run_stack_id(struct program_machine *m)
{
	uint64_t frames[BPF_STACK_FRAMES];
	struct fathom_unwind u;
	uint32_t n = 0;
	int32_t slot;

	if (!m->p->stacks.nr)
		return 0;
	wire_fill(frames, 0, sizeof(frames));
	if (m->hit->ip)
		frames[n++] = m->hit->ip;
	if (m->hit->parent_ip)
		frames[n++] = m->hit->parent_ip;
	fathom_unwind_kernel(
		&u, m->hit->fp ? m->hit->fp
			       : fathom_stack_event_frame((uintptr_t)__builtin_frame_address(0)));
	while (n < BPF_STACK_FRAMES) {
		uintptr_t ret = fathom_unwind_next(&u, 0);

		if (!ret)
			break;
		frames[n++] = ret;
	}
	slot = fathom_map_insert(&m->p->stacks, frames, 0);
	return (uint64_t)(slot + 1);
}

static int run_strings_differ(const char *a, const char *b, uint64_t bytes)
{
	for (; bytes; bytes--, a++, b++) {
		if (*a != *b)
			return 1;
		if (!*a)
			return 0;
	}
	return 0;
}

static uint64_t run_lookup(const struct program_machine *m, const struct program_map *map,
			   const void *key)
{
	int32_t slot = fathom_map_find(map, key);

	return slot < 0 ? 0 : (uintptr_t)fathom_map_value(map, (uint32_t)slot, m->hit->cpu);
}

static uint64_t run_call(struct bpf_machine *bm, uint32_t helper, uint64_t a, uint64_t b,
			 uint64_t c, uint64_t d, uint64_t e)
{
	struct program_machine *m = (struct program_machine *)(void *)bm;
	const struct program_hit *hit = m->hit;
	/* The verifier has seen that it is one where the helper takes one. */
	struct program_map *map = &m->p->maps[a < m->p->head.nr_maps ? a : 0];
	void *pa = (void *)(uintptr_t)a, *pb = (void *)(uintptr_t)b, *pc = (void *)(uintptr_t)c;

	switch (helper) {
	case BPF_MAP_LOOKUP: return run_lookup(m, map, pb);
	case BPF_MAP_UPDATE: return (uint64_t)(int64_t)fathom_map_update(map, pb, pc, d, hit->cpu);
	case BPF_MAP_DELETE: return (uint64_t)(int64_t)fathom_map_delete(map, pb);
	case BPF_MAP_ADD: return fathom_map_add(map, pb, c, hit->cpu);
	case BPF_MAP_NOTE: fathom_map_note(map, pb, (int64_t)c); return 0;
	case BPF_MAP_HIST: fathom_map_hist(map, pb, (int64_t)c); return 0;
	case BPF_KTIME_NS: return run_time(m);
	case BPF_ELAPSED: return run_time(m) - m->p->started;
	case BPF_CPU: return hit->cpu;
	case BPF_PID_TGID: return run_pid_tgid(hit->pid);
	case BPF_TID: return (uint32_t)hit->pid;
	case BPF_COMM: run_comm(hit, pa, (uint32_t)b); return 0;
	case BPF_FIELD_STR:
		return bpf_field_string(hit->record, hit->bytes, b, pc, (uint32_t)d, (uint32_t)e,
					0);
	case BPF_STR_DIFFER: return (uint64_t)run_strings_differ(pa, pb, c);
	case BPF_STACK_ID: return run_stack_id(m);
	case BPF_PROBE_ID: return (uint64_t)hit->ip << 16 | (m->part + 1);
	case BPF_RING_OUTPUT:
		return (uint64_t)(int64_t)fathom_program_emit(
			&m->p->ring, BPF_EMITTED_RING | (uint32_t)a, run_time(m), pb, (uint32_t)c);
	case BPF_EMIT:
		return (uint64_t)(int64_t)fathom_program_emit(
			&m->p->ring, (uint32_t)a & ~BPF_EMITTED_RING, run_time(m), pb, (uint32_t)c);
	default: return 0;
	}
}

static void run_machine(struct program *p, uint32_t part, const struct program_hit *hit)
{
	uint64_t stack[BPF_STACK_BYTES / 8];
	uint32_t budget = p->head.budget;
	struct program_machine m = {.p = p, .hit = hit, .part = part};

	if (!budget || budget > FATHOM_PROGRAM_BUDGET)
		budget = FATHOM_PROGRAM_BUDGET;
	m.m.call = run_call;
	m.m.budget = m.m.loops = budget;
	m.m.stack = stack;
	m.m.stack_bytes = sizeof(stack);
	fathom_bpf_run(&m.m, p->code + p->parts[part].first, hit->record);
	if (!m.m.budget)
		__atomic_fetch_add(&p->stopped, 1, __ATOMIC_RELAXED);
}

/* By this CPU only, and what interrupts it. */
static void run_count(uint32_t half[2])
{
#if UINTPTR_MAX > 0xffffffffu
	fathom_local_add((unsigned long *)(void *)half, 1);
#else
	program_sum(half, 1);
#endif
}

void fathom_program_run(struct program *p, uint32_t part, const struct program_hit *hit)
{
	uint8_t depth = hit->cpu < fathom_core.nr_cpus ? run_depth[hit->cpu] : RUN_NESTING;

	if (depth >= RUN_NESTING || hit->bytes < p->parts[part].context_bytes) {
		__atomic_fetch_add(depth >= RUN_NESTING ? &p->nested : &p->too_short, 1,
				   __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&run_depth[hit->cpu], depth + 1, __ATOMIC_RELAXED);
	fathom_local_barrier();
	run_machine(p, part, hit);
	fathom_local_barrier();
	__atomic_store_n(&run_depth[hit->cpu], depth, __ATOMIC_RELAXED);
	run_count(p->runs[hit->cpu].half);
}
