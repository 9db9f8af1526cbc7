/* SPDX-License-Identifier: MIT */
/* tasks.c -- tasks by pid (saved_cmdlines, saved_tgids), and counts of events by pid. */
#include "decode/names/names.h"

#include <stdlib.h>
#include <string.h>

/* One open-addressing table serves both: pid → (number, text). Never more than half full. */
struct pid_slot {
	int32_t pid;
	bool used;
	int32_t tgid;
	uint64_t n;
	char comm[48];
};

struct pid_map {
	struct pid_slot *slots;
	size_t nr, cap;	       /* cap is a power of two */
	struct pid_slot *last; /* the slot found last: runs of one pid are the rule */
};

struct tasks {
	struct pid_map m;
};

struct pid_counts {
	struct pid_map m;
};

#define MAP_MAX (1u << 23) /* more pids than Linux can have */

static struct pid_slot *probe(struct pid_map *m, int32_t pid)
{
	size_t i = ((uint32_t)pid * 2654435761u) & (m->cap - 1);

	while (m->slots[i].used && m->slots[i].pid != pid)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static bool grow(struct pid_map *m)
{
	struct pid_map n = {.cap = m->cap ? m->cap * 2 : 64};

	if (n.cap > MAP_MAX || !(n.slots = calloc(n.cap, sizeof(*n.slots))))
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*probe(&n, m->slots[i].pid) = m->slots[i];
	n.nr = m->nr;
	free(m->slots);
	*m = n;
	return true;
}

static struct pid_slot *find_or_add(struct pid_map *m, int32_t pid)
{
	struct pid_slot *s;

	if (m->last && m->last->pid == pid)
		return m->last;
	if (m->nr * 2 >= m->cap && !grow(m))
		return NULL;
	s = probe(m, pid);
	if (!s->used) {
		s->used = true;
		s->pid = pid;
		s->tgid = -1;
		m->nr++;
	}
	m->last = s;
	return s;
}

static const struct pid_slot *find(const struct pid_map *m, int32_t pid)
{
	const struct pid_slot *s;

	if (!m->cap)
		return NULL;
	s = probe((struct pid_map *)m, pid);
	return s->used ? s : NULL;
}

struct tasks *tasks_new(void)
{
	return calloc(1, sizeof(struct tasks));
}

void tasks_free(struct tasks *t)
{
	if (t)
		free(t->m.slots);
	free(t);
}

void tasks_set_comm(struct tasks *t, int32_t pid, const char *comm, size_t bytes)
{
	struct pid_slot *s = find_or_add(&t->m, pid);

	if (!s)
		return;
	if (bytes >= sizeof(s->comm))
		bytes = sizeof(s->comm) - 1;
	memcpy(s->comm, comm, bytes);
	s->comm[bytes] = 0;
}

void tasks_set_tgid(struct tasks *t, int32_t pid, int32_t tgid)
{
	struct pid_slot *s = find_or_add(&t->m, pid);

	if (s)
		s->tgid = tgid;
}

/* "PID REST": false if the line does not begin with a number. */
static bool pid_line(const char *p, const char *end, int32_t *pid, const char **rest)
{
	uint32_t v = 0;
	const char *digits;

	while (p < end && *p == ' ')
		p++;
	for (digits = p; p < end && *p >= '0' && *p <= '9' && p - digits < 10; p++)
		v = v * 10 + (uint32_t)(*p - '0');
	if (p == digits || p == end || *p != ' ')
		return false;
	*pid = (int32_t)v;
	*rest = p + 1;
	return true;
}

static void each_line(struct tasks *t, const char *p, size_t bytes, bool tgids)
{
	const char *end = p + bytes;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end, *rest;
		int32_t pid;

		if (pid_line(p, stop, &pid, &rest)) {
			if (tgids)
				tasks_set_tgid(t, pid, (int32_t)strtol(rest, NULL, 10));
			else
				tasks_set_comm(t, pid, rest, (size_t)(stop - rest));
		}
		p = stop + 1;
	}
}

void tasks_add_cmdlines(struct tasks *t, const char *text, size_t bytes)
{
	each_line(t, text, bytes, false);
}

void tasks_add_tgids(struct tasks *t, const char *text, size_t bytes)
{
	/* strtol() needs an end: a file may lack its last newline. */
	char *copy = malloc(bytes + 1);

	if (!copy)
		return;
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	each_line(t, copy, bytes, true);
	free(copy);
}

const char *tasks_comm(const struct tasks *t, int32_t pid)
{
	const struct pid_slot *s = t ? find(&t->m, pid) : NULL;

	return s && s->comm[0] ? s->comm : NULL;
}

int32_t tasks_tgid(const struct tasks *t, int32_t pid)
{
	const struct pid_slot *s = t ? find(&t->m, pid) : NULL;

	return s ? s->tgid : -1;
}

void tasks_each(const struct tasks *t,
		void (*fn)(int32_t pid, const char *comm, int32_t tgid, void *arg), void *arg)
{
	for (size_t i = 0; i < t->m.cap; i++)
		if (t->m.slots[i].used)
			fn(t->m.slots[i].pid, t->m.slots[i].comm, t->m.slots[i].tgid, arg);
}

struct pid_counts *pid_counts_new(void)
{
	return calloc(1, sizeof(struct pid_counts));
}

void pid_counts_free(struct pid_counts *t)
{
	if (t)
		free(t->m.slots);
	free(t);
}

void pid_counts_add(struct pid_counts *t, int32_t pid, uint64_t n)
{
	struct pid_slot *s = find_or_add(&t->m, pid);

	if (s)
		s->n += n;
}

size_t pid_counts_nr(const struct pid_counts *t)
{
	return t->m.nr;
}

void pid_counts_each(const struct pid_counts *t, void (*fn)(int32_t pid, uint64_t n, void *arg),
		     void *arg)
{
	for (size_t i = 0; i < t->m.cap; i++)
		if (t->m.slots[i].used)
			fn(t->m.slots[i].pid, t->m.slots[i].n, arg);
}
