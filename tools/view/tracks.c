/* SPDX-License-Identifier: MIT */
/* tracks.c -- where spans, edges and events are drawn: for outputs that have tracks in groups. */
#include "view/tracks.h"

#include <inttypes.h>
#include <stdio.h>

static const char *group_name(int32_t group)
{
	return group == TRACKS_CPUS ? "CPUs" : group == TRACKS_IRQS ? "Interrupts" : "<idle>";
}

struct track tracks_task(const struct tracks *t, int32_t pid, uint32_t cpu)
{
	int32_t tgid = source_tgid(t->s, pid);

	if (!pid)
		return (struct track){TRACKS_IDLE, (int32_t)cpu};
	return (struct track){tgid > 0 ? tgid : pid, pid};
}

static const char *lost_name(struct tracks *t, const struct span *s)
{
	if (s->flags)
		return "not recorded";
	if (s->key == LOST_UNKNOWN)
		return "events lost";
	snprintf(t->label, sizeof(t->label), "%" PRIu64 " events lost", s->key);
	return t->label;
}

const char *tracks_span(struct tracks *t, const struct span *s, struct track *at)
{
	*at = tracks_cpu(s->cpu);
	switch (s->kind) {
	case SPAN_RUNNING:
		snprintf(t->label, sizeof(t->label), "%s-%d", model_comm(t->model, s->pid), s->pid);
		return s->pid ? t->label : NULL;
	case SPAN_LOST: return s->pid < 0 ? lost_name(t, s) : NULL;
	case SPAN_IRQ:
	case SPAN_SOFTIRQ: at->group = TRACKS_IRQS; return model_span_name(t->model, s);
	case SPAN_CALL:
	case SPAN_SYSCALL:
	case SPAN_FAULT:
		if ((s->kind == SPAN_CALL && !s->key) || s->flags & SPAN_NO_TIME)
			return NULL;
		*at = tracks_task(t, s->pid, s->cpu);
		return model_span_name(t->model, s);
	default: return NULL;
	}
}

const char *tracks_first(struct tracks *t, struct track at, const char **group)
{
	void **seen = idmap_at(&t->seen, (uint64_t)(uint32_t)at.group << 32 | (uint32_t)at.id);

	if (!seen || *seen)
		return NULL;
	*seen = t;
	if (at.group < TRACKS_CPUS) {
		*group = model_comm(t->model, at.group);
		return model_comm(t->model, at.id);
	}
	*group = group_name(at.group);
	snprintf(t->cpu, sizeof(t->cpu), "CPU %d", at.id);
	return t->cpu;
}
