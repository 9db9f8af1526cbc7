/* SPDX-License-Identifier: MIT */
/* machine.c -- the helpers of a program that runs on the host, and its actions. */
#include "program/machine.h"
#include "base/bytes.h"
#include "base/vec.h"
#include "wire/bpf_string.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- tasks ---- */

static uint64_t pid_tgid(struct machine *m)
{
	int32_t tgid = m->pid ? source_tgid(m->source, m->pid) : 0;

	return (uint64_t)(uint32_t)(tgid > 0 ? tgid : m->pid) << 32 | (uint32_t)m->pid;
}

static void comm(struct machine *m, char *out, size_t bytes)
{
	uint64_t of = (uint64_t)(uint32_t)m->pid << 32 | (m->pid ? 0 : m->cpu + 1);

	if (of != m->comm_of) { /* most events are of the task of the event before */
		memset(m->comm, 0, sizeof(m->comm));
		if (m->pid)
			strncpy(m->comm, source_comm(m->source, m->pid), COMM_BYTES - 1);
		else
			snprintf(m->comm, COMM_BYTES, "swapper/%u", m->cpu);
		m->comm_of = of;
	}
	memcpy(out, m->comm, COMM_BYTES);
	memset(out + COMM_BYTES, 0, bytes - COMM_BYTES);
}

/* ---- stacks ---- */

static uint64_t stack_hash(const struct stack_trace *t)
{
	uint64_t h = t->nr + (t->user ? 1u << 31 : 0);
	uint32_t i;

	for (i = 0; i < t->nr; i++)
		h = (h ^ t->frames[i]) * 0x9e3779b97f4a7c15 + 1;
	return h;
}

static bool stack_same(const struct stack_trace *a, const struct stack_trace *b)
{
	return a->nr == b->nr && a->user == b->user && !memcmp(a->frames, b->frames, a->nr * 8);
}

/* Its number, from 1; the trace is kept, or freed if it is known. */
static uint64_t stack_number(struct machine *m, struct stack_trace *t)
{
	uint64_t h = stack_hash(t);
	void **at;

	for (;; h++) { /* equal hashes of unlike stacks: the next one */
		at = idmap_at(&m->stack_ids, h);
		if (!at || !*at)
			break;
		if (stack_same(m->stacks[(uintptr_t)*at - 1], t)) {
			free(t);
			return (uintptr_t)*at;
		}
	}
	if (!at || !VEC_MORE(m->stacks, m->nr_stacks)) {
		free(t);
		return 0;
	}
	m->stacks[m->nr_stacks++] = t;
	*at = (void *)(uintptr_t)m->nr_stacks;
	return m->nr_stacks;
}

static uint64_t stack_id(struct machine *m, bool user)
{
	const struct event *e = user ? m->user_stack : m->kernel_stack;
	const struct format *f = e ? source_format(m->source, e->type) : NULL;
	const struct format_field *caller = f ? format_field(f, "caller") : NULL;
	uint32_t size = m->source->long_bytes == 4 ? 4 : 8, nr, i;
	struct stack_trace *t;

	if (!caller || e->size <= caller->offset)
		return 0;
	nr = (e->size - caller->offset) / size;
	t = malloc(sizeof(*t) + nr * sizeof(t->frames[0]));
	if (!t)
		return 0;
	*t = (struct stack_trace){.user = user};
	for (i = 0; i < nr; i++) {
		const uint8_t *at = e->data + caller->offset + i * size;
		bool big = m->source->big_endian;
		uint64_t v = size == 8 ? get_u64(at, big) : get_u32(at, big);

		if (!v || v == UINT64_MAX)
			break; /* the end of the stack, and what fills the record */
		t->frames[t->nr++] = v;
	}
	return stack_number(m, t);
}

/* ---- names of probes ---- */

static uint64_t function_of(struct machine *m)
{
	uint64_t v = 0;

	if (!source_field(m->source, m->event, "func", &v))
		source_field(m->source, m->event, "ip", &v);
	return v;
}

/* A function's probe has as many names as its pattern matches functions: each gets a number. */
static uint64_t probe_number(struct machine *m)
{
	uint32_t probe = (uint32_t)(m->probe - m->c->probes);
	uint64_t function = function_of(m);
	void **at = idmap_at(&m->name_ids, function * 64 + probe % 64);

	if (!at)
		return 0;
	if (!*at) {
		if (!VEC_MORE(m->names, m->nr_names))
			return 0;
		m->names[m->nr_names].function = function;
		m->names[m->nr_names++].probe = probe;
		*at = (void *)(uintptr_t)m->nr_names;
	}
	return (uintptr_t)*at;
}

/* ---- actions ---- */

static void join(struct machine *m, const struct action *a, const uint8_t *data)
{
	show_printf(m, "%s\n", a->args, a->nr_args, data);
}

void machine_act(struct machine *m, uint32_t which, const uint8_t *data)
{
	const struct action *a = &m->c->actions[which];

	switch (a->kind) {
	case ACTION_PRINTF: show_printf(m, a->format, a->args, a->nr_args, data); break;
	case ACTION_PRINT_MAP: show_map(m, &m->maps[a->map], a->top, a->div); break;
	case ACTION_PRINT_VALUE:
		show_value(m, m->out, &a->args[0], data, 8);
		fputc('\n', m->out);
		break;
	case ACTION_CLEAR: map_clear(&m->maps[a->map]); break;
	case ACTION_ZERO: map_zero(&m->maps[a->map]); break;
	case ACTION_TIME: show_time(m, m->out, a->format, m->now); break;
	case ACTION_JOIN: join(m, a, data); break;
	case ACTION_EXIT: m->done = true; break;
	}
}

/* ---- maps of objects ---- */

#define RAW_KEY_WORDS 40

static bool is_array(const struct map_raw *r)
{
	return r->kind == BPF_MAP_ARRAY || r->kind == BPF_MAP_PERCPU_ARRAY;
}

/* The key as it is kept: filled up to words, with the CPU after it if each has a value of its own. */
static const void *raw_key(const struct machine *m, const struct map_spec *s, const void *key,
			   uint64_t room[RAW_KEY_WORDS])
{
	memset(room, 0, s->key_bytes);
	memcpy(room, key, s->raw.key_bytes);
	if (s->raw.kind == BPF_MAP_PERCPU_HASH || s->raw.kind == BPF_MAP_PERCPU_ARRAY)
		room[s->key_bytes / 8 - 1] = m->cpu;
	return room;
}

static uint64_t raw_call(struct machine *m, uint32_t helper, struct map *map, const void *key,
			 const void *value, uint64_t flags)
{
	const struct map_raw *r = &map->spec->raw;
	uint64_t room[RAW_KEY_WORDS], *at;
	uint32_t index = 0;

	if (is_array(r))
		memcpy(&index, key, sizeof(index));
	key = raw_key(m, map->spec, key, room);
	at = map_at(map, key, is_array(r) && index < r->entries);
	if (helper == BPF_MAP_LOOKUP)
		return (uintptr_t)at;
	if (helper == BPF_MAP_DELETE) {
		if (is_array(r) || !at)
			return (uint64_t)(is_array(r) ? -EINVAL : -ENOENT);
		map_delete(map, key);
		return 0;
	}
	if (flags > 2 || (flags == 1 && at) || (!at && (flags == 2 || is_array(r))))
		return (uint64_t)(flags > 2	? -EINVAL
				  : at		? -EEXIST
				  : is_array(r) ? -E2BIG
						: -ENOENT);
	memcpy(at ? at : map_at(map, key, true), value, r->value_bytes);
	return 0;
}

void machine_ring(struct machine *m, uint32_t map, const uint8_t *data, uint32_t bytes)
{
	fprintf(m->out, "%s:", map < m->c->nr_maps ? m->c->maps[map].name : "?");
	for (uint32_t i = 0; i < bytes; i++)
		fprintf(m->out, " %02x", data[i]);
	fputc('\n', m->out);
}

static uint64_t call(struct bpf_machine *bm, uint32_t helper, uint64_t a, uint64_t b, uint64_t c,
		     uint64_t d, uint64_t e)
{
	struct machine *m = (struct machine *)bm;
	const void *key = (const void *)(uintptr_t)b;

	if (helper >= BPF_MAP_LOOKUP && helper <= BPF_MAP_DELETE && m->maps[a].spec->raw.is)
		return raw_call(m, helper, &m->maps[a], key, (const void *)(uintptr_t)c, d);
	switch (helper) {
	case BPF_RING_OUTPUT: machine_ring(m, (uint32_t)a, key, (uint32_t)c); return 0;
	case BPF_MAP_LOOKUP: return (uintptr_t)map_at(&m->maps[a], key, false);
	case BPF_MAP_UPDATE:
		memcpy(map_at(&m->maps[a], key, true), (void *)(uintptr_t)c,
		       m->maps[a].value_words * 8);
		return 0;
	case BPF_MAP_DELETE: map_delete(&m->maps[a], key); return 0;
	case BPF_MAP_ADD: return (uint64_t)map_add(&m->maps[a], key, (int64_t)c);
	case BPF_MAP_NOTE: map_note(&m->maps[a], key, (int64_t)c); return 0;
	case BPF_MAP_HIST: map_hist(&m->maps[a], key, (int64_t)c); return 0;
	case BPF_KTIME_NS: return m->now;
	case BPF_ELAPSED: return m->now - m->started;
	case BPF_CPU: return m->cpu;
	case BPF_PID_TGID: return pid_tgid(m);
	case BPF_TID: return (uint32_t)m->pid;
	case BPF_COMM: comm(m, (char *)(uintptr_t)a, b); return 0;
	case BPF_FIELD_STR:
		return bpf_field_string(m->event->data, m->event->size, b, (char *)(uintptr_t)c,
					(uint32_t)d, (uint32_t)e, m->source->big_endian);
	case BPF_STR_DIFFER: return (uint64_t)(strncmp((const char *)(uintptr_t)a, key, c) != 0);
	case BPF_STACK_ID: return stack_id(m, c);
	case BPF_PROBE_ID: return probe_number(m);
	case BPF_EMIT: machine_act(m, (uint32_t)a, key); return 0;
	default: return 0;
	}
}

/* ---- life ---- */

bool machine_init(struct machine *m, struct generator *c, FILE *out)
{
	uint32_t i, stack = 64;

	*m = (struct machine){.c = c, .source = c->source, .out = out};
	for (i = 0; i < c->nr_probes; i++)
		stack = c->probes[i].stack_bytes > stack ? c->probes[i].stack_bytes : stack;
	m->m.call = call;
	m->m.stack_bytes = stack;
	m->m.stack = malloc(stack);
	m->maps = calloc(c->nr_maps + 1, sizeof(*m->maps));
	if (!m->m.stack || !m->maps)
		return false;
	for (i = 0; i < c->nr_maps; i++)
		map_init(&m->maps[i], &c->maps[i]);
	return true;
}

void machine_free(struct machine *m)
{
	uint32_t i;

	for (i = 0; m->maps && i < m->c->nr_maps; i++)
		map_free(&m->maps[i]);
	for (i = 0; i < m->nr_stacks; i++)
		free(m->stacks[i]);
	free(m->stacks);
	idmap_free(&m->stack_ids);
	idmap_free(&m->name_ids);
	free(m->names);
	free(m->maps);
	free(m->m.stack);
}

void machine_run(struct machine *m, const struct probe *p)
{
	m->probe = p;
	m->m.budget = RUN_BUDGET;
	m->m.loops = RUN_BUDGET;
	fathom_bpf_run(&m->m, p->code, m->event ? m->event->data : NULL);
	m->stopped += !m->m.budget || !m->m.loops;
}

void machine_merge(struct machine *to, struct machine *from)
{
	uint32_t i;

	for (i = 0; i < to->c->nr_maps; i++)
		map_merge(&to->maps[i], &from->maps[i]);
	to->stopped += from->stopped;
}
