/* SPDX-License-Identifier: MIT */
/* file_marker.c -- trace_marker and trace_marker_raw: records of the writer's own, with the triggers of ftrace/print. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "control/trigger.h"
#include "fathom/inside/emit.h"
#include "fathom/inside/internal.h"

#define MARKER_RAW_MAX 3072

/* The record is written for the file's writer, who may be on another machine: its pid goes into the common fields. */
static void marker_common(const struct fathom_file *f, struct wire_common *c, uint16_t id,
			  uintptr_t pin)
{
	fathom_emit_common(c, id, pin);
	if (f->pid)
		c->pid = f->pid;
}

/* Triggers of ftrace/print, which has no call site of its own. */
static void marker_triggers(struct ctl_instance *tr, const void *record, uint32_t bytes,
			    uint32_t cpu)
{
	const struct fathom_event *print = fathom_event_by_id(WIRE_ID_PRINT);
	const struct ctl_event *e;

	if (!print || !print->control)
		return;
	e = &tr->events[(struct ctl_event *)print->control - fathom_ctl.top.events];
	if (!e->triggers)
		return;
	fathom_pool_enter(cpu);
	if (fathom_trigger_run(e->triggers, record, bytes, cpu, 1))
		fathom_trigger_run_after(e->triggers, record, bytes, cpu, wire_context(record),
					 fathom_now());
	fathom_pool_leave(cpu);
}

/* A word at a time: the text may be cut, the rest of the write comes as another record. */
static int marker_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	/* The shared scratch is free during a write. */
	struct fathom_rec_print *p = (struct fathom_rec_print *)(void *)fathom_ctl.scratch;
	uint32_t size, cpu;
	uintptr_t pin;
	struct fathom_slot slot;
	struct fathom_ring *r;
	void *to;

	if (!fathom_ctl_option(tr, CTL_OPT_MARKERS))
		return -FATHOM_EINVAL;
	if (bytes > FATHOM_MARKER_MAX)
		bytes = FATHOM_MARKER_MAX;
	pin = fathom_port_pin();
	cpu = fathom_port_cpu(); /* first: with it a thread of a process becomes a task */
	marker_common(f, &p->ent, WIRE_ID_PRINT, pin);
	p->ip = fathom_marker_ip();
	__builtin_memcpy(p->buf, buf, bytes);
	size = (uint32_t)bytes;
	if (!size || p->buf[size - 1] != '\n')
		p->buf[size++] = '\n';
	p->buf[size++] = '\0';
	size += (uint32_t)sizeof(*p);
	r = fathom_ctl_ring(tr, cpu);
	to = r ? fathom_ring_reserve(r, size, &slot) : 0;
	if (to) {
		__builtin_memcpy(to, p, size);
		fathom_ring_commit(r, &slot);
		marker_triggers(tr, p, size, cpu);
	}
	fathom_port_unpin(pin);
	return to ? (int)bytes : -FATHOM_EBADF;
}

static int marker_raw_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct fathom_slot slot;
	struct fathom_rec_raw *p;
	struct fathom_ring *r;
	uintptr_t pin;

	if (!fathom_ctl_option(tr, CTL_OPT_MARKERS))
		return -FATHOM_EINVAL;
	if (bytes < 4 || bytes > MARKER_RAW_MAX)
		return -FATHOM_EINVAL;
	pin = fathom_port_pin();
	r = fathom_ctl_ring(tr, fathom_port_cpu());
	p = r ? fathom_ring_reserve(r, (uint32_t)(sizeof(p->ent) + bytes), &slot) : 0;
	if (p) {
		marker_common(f, &p->ent, WIRE_ID_RAW_DATA, pin);
		__builtin_memcpy(&p->id, buf, bytes);
		fathom_ring_commit(r, &slot);
	}
	fathom_port_unpin(pin);
	return p ? (int)bytes : -FATHOM_EBADF;
}

const struct ctl_file_ops fathom_ctl_marker = {.write = marker_write, .stream = 1};
const struct ctl_file_ops fathom_ctl_marker_raw = {.write = marker_raw_write, .stream = 1};
