/* SPDX-License-Identifier: MIT */
/* state.c -- the control stage's own memory, and the instances. */
#include "control/control.h"
#include "control/pool.h"
#include "control/str.h"
#include "control/tree.h"
#include "control/trigger.h"
#include "functions/tracer.h"
#include "events/modules.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

struct ctl_state fathom_ctl;

/*
 * Of what the rings left: the snapshot's share stays (as much again as the rings have), then three quarters of the rest
 * are for control, one for the tracers' own tables.
 */
static int state_memory(void)
{
	size_t left = fathom_memory_left(), rings = 0, bytes;
	void *mem;

	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		rings += fathom_ring_bytes(fathom_ring_pages_max(fathom_hot.ring[cpu])) + 8192;
	bytes = left > rings + 4 * FATHOM_TREE_BYTES ? left - rings : left / 2;
	bytes -= bytes / 4;
	if (bytes < 2 * FATHOM_TREE_BYTES)
		return -FATHOM_ENOMEM;
	mem = fathom_memory_cut(bytes); /* the pool zeroes what it gives */
	if (!mem)
		return -FATHOM_ENOMEM;
	fathom_ctl.scratch = mem;
	fathom_pool_init((uint8_t *)mem + FATHOM_TREE_BYTES, bytes - FATHOM_TREE_BYTES);
	return 0;
}

static void state_instance_init(struct ctl_instance *tr)
{
	tr->options = fathom_ctl_option_defaults();
	tr->cpu_mask = ~(uint64_t)0 >> (64 - fathom_core.nr_cpus);
	tr->buffer_percent = 50;
	tr->start = fathom_now();
}

static void state_forget(void)
{
	__builtin_memset(&fathom_ctl, 0, sizeof(fathom_ctl));
	fathom_ctl_error_forget(&fathom_ctl.top);
	fathom_trigger_reset();
	if (fathom_core.config.programs)
		fathom_core.config.programs->forget();
}

static void state_last_boot(void);

int fathom_ctl_ready(void)
{
	int err;

	if (!fathom_core.nr_cpus)
		return -FATHOM_ENODEV;
	if (fathom_ctl.ready && fathom_ctl.boot == fathom_core.boot)
		return 0;
	/* The first time, or after fathom_exit(): whatever was there went with its memory. */
	state_forget();
	err = state_memory();
	if (err)
		return err;
	err = fathom_ctl_places_init();
	if (err)
		return err;
	state_instance_init(&fathom_ctl.top);
	fathom_ctl.top.ring = fathom_hot.ring;
	fathom_ctl.instance[0] = &fathom_ctl.top;
	fathom_ctl_gate_init();
	fathom_ctl_event_fork_changed();
	fathom_ctl.saved_cmdlines_size = 128;
	fathom_ctl.boot = fathom_core.boot;
	fathom_ctl.ready = 1;
	state_last_boot();
	return 0;
}

void fathom_ctl_scratch(struct fathom_text *t)
{
	fathom_text_init(t, fathom_ctl.scratch, FATHOM_TREE_BYTES);
}

struct ctl_instance *fathom_ctl_instance_at(uint32_t index)
{
	return index <= FATHOM_INSTANCES_MAX ? fathom_ctl.instance[index] : 0;
}

struct ctl_instance *fathom_ctl_instance(const struct fathom_node *node)
{
	return fathom_ctl.instance[node->instance];
}

int fathom_ctl_alive(const struct fathom_node *node)
{
	const struct ctl_instance *tr = fathom_ctl_instance_at(node->instance);

	if (node->instance && (!tr || tr->serial != node->serial))
		return -FATHOM_ENOENT;
	if (node->dir >= CTL_DIR_PROGRAMS)
		return fathom_core.config.programs ? fathom_core.config.programs->alive(node)
						   : -FATHOM_ENOENT;
	if (node->dir != CTL_DIR_SYSTEM && node->dir != CTL_DIR_EVENT)
		return 0;
	return node->at < fathom_ctl.nr_events && fathom_ctl.place[node->at].age == node->age &&
			       !fathom_ctl_is_gone(node->at)
		       ? 0
		       : -FATHOM_ENOENT;
}

struct fathom_ring *fathom_ctl_ring(const struct ctl_instance *tr, uint32_t cpu)
{
	return cpu < fathom_core.nr_cpus ? __atomic_load_n(&tr->ring[cpu], __ATOMIC_ACQUIRE) : 0;
}

int fathom_ctl_feature(uint32_t flags)
{
	if (flags & CTL_IF_FUNCTION && !fathom_function_count())
		return 0;
	if (flags & CTL_IF_PROFILE && !fathom_function_count())
		return 0;
	if (flags & CTL_IF_DYNAMIC && !fathom_core.config.dynamic)
		return 0;
	if (flags & CTL_IF_PROGRAMS && !fathom_core.config.programs)
		return 0;
	return 1;
}

/*
 * Each ring gets the pages of the top's with room for twice as many, or less if the memory is short: no more than a quarter
 * of it goes, for there are snapshots, and others to come.
 */
static int state_instance_rings(struct ctl_instance *tr)
{
	uint32_t pages = fathom_ring_pages(fathom_hot.ring[0]), room = 2 * pages;
	size_t share = fathom_pool_room() / 4 / fathom_core.nr_cpus;
	int err = -FATHOM_ENOMEM;

	while (room / 2 >= FATHOM_RING_PAGES_MIN && fathom_ring_bytes(room) > share)
		room /= 2;
	for (; err && room >= FATHOM_RING_PAGES_MIN; room /= 2)
		err = fathom_ctl_rings_new(&tr->ring, &tr->rings, room);
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus && !err; cpu++)
		if (fathom_ring_pages(tr->ring[cpu]) > pages)
			err = fathom_ring_resize(tr->ring[cpu], pages);
	return err;
}

static int state_name_ok(const char *name, size_t len)
{
	if (!len || len > FATHOM_NAME_MAX || ctl_is(name, len, ".") || ctl_is(name, len, ".."))
		return 0;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/' || !name[i])
			return 0;
	return 1;
}

/* Where functions can be traced, the instance has a tracer for them. */
static int state_instance_functions(struct ctl_instance *tr)
{
	void *memory;

	if (!fathom_functions.room_sites)
		return 0;
	memory = fathom_pool_get(fathom_listener_bytes());
	if (!memory)
		return -FATHOM_ENOMEM;
	tr->functions = fathom_listener_init(memory);
	tr->functions->ring = tr->ring;
	tr->functions->off = &tr->off;
	tr->functions->owner = tr;
	tr->functions->keep = fathom_ctl_keep;
	/* Pairs with the acquire in listener_at(). */
	__atomic_store_n(&fathom_listeners[tr->index - 1], tr->functions, __ATOMIC_RELEASE);
	return 0;
}

static void state_functions_end(struct ctl_instance *tr)
{
	if (!tr->functions)
		return;
	fathom_listener_latency(tr->functions, 0);
	fathom_probe_clear_of(tr->functions);
	fathom_waiting_clear(tr->functions, FATHOM_SET_FILTER);
	fathom_waiting_clear(tr->functions, FATHOM_SET_NOTRACE);
	fathom_ctl_function_events(tr);
	__atomic_store_n(&fathom_listeners[tr->index - 1], (struct fathom_listener *)0,
			 __ATOMIC_SEQ_CST);
	fathom_function_forks_changed();
	fathom_tracer_refresh();
}

static void state_instance_free(struct ctl_instance *tr)
{
	fathom_pool_retire(tr->functions);
	fathom_pool_retire(tr->spares);
	fathom_pool_retire(tr->rings);
	fathom_pool_retire(tr->events);
	fathom_pool_retire(tr);
}

static int state_instance_new(const char *name, size_t len, uint32_t slot,
			      int (*rings)(struct ctl_instance *tr))
{
	static uint16_t serial;
	struct ctl_instance *tr = fathom_pool_get(sizeof(*tr));

	if (!tr)
		return -FATHOM_ENOMEM;
	state_instance_init(tr);
	__builtin_memcpy(tr->name, name, len);
	tr->index = (uint8_t)slot;
	tr->serial = ++serial;
	tr->events = fathom_pool_get(fathom_ctl.room_events * sizeof(*tr->events) + 1);
	if (!tr->events || rings(tr) || state_instance_functions(tr)) {
		fathom_pool_put(tr->rings);
		fathom_pool_put(tr->events);
		fathom_pool_put(tr);
		return -FATHOM_ENOMEM;
	}
	/* Pairs with the acquire in gate_decide(). */
	__atomic_store_n(&fathom_ctl.instance[slot], tr, __ATOMIC_RELEASE);
	return 0;
}

/* instances/boot_map: records nothing as long as it holds what the last boot left, and cannot be removed. */
static void state_last_boot(void)
{
	static const char name[] = "boot_map";
	const struct fathom_last_boot *l = fathom_core.config.last_boot;
	struct ctl_instance *tr;

	if (!l || state_instance_new(name, sizeof(name) - 1, 1, l->open))
		return;
	tr = fathom_ctl.instance[1];
	tr->open_files = 1;
	if (!tr->last_boot)
		return;
	tr->paused = 1;
	fathom_ctl_hold_update(tr);
	fathom_ctl_recording(tr, 0);
}

int fathom_fs_mkdir(const struct fathom_node *dir, const char *name, size_t len)
{
	uint32_t slot = 0;
	int ret;

	if (dir->entry)
		return -FATHOM_ENOTDIR;
	if ((dir->dir != CTL_DIR_INSTANCES && dir->dir != CTL_DIR_PROGRAMS) ||
	    !state_name_ok(name, len))
		return -FATHOM_EPERM;
	fathom_lock();
	ret = fathom_ctl_ready();
	if (!ret && dir->dir == CTL_DIR_PROGRAMS) {
		ret = fathom_core.config.programs->make(name, len);
		fathom_unlock();
		return ret;
	}
	for (uint32_t i = FATHOM_INSTANCES_MAX; i && !ret; i--) {
		if (!fathom_ctl.instance[i])
			slot = i;
		else if (ctl_is(name, len, fathom_ctl.instance[i]->name))
			ret = -FATHOM_EEXIST;
	}
	if (!ret)
		ret = slot ? state_instance_new(name, len, slot, state_instance_rings)
			   : -FATHOM_ENOMEM;
	fathom_unlock();
	return ret;
}

int fathom_fs_rmdir(const struct fathom_node *node)
{
	struct ctl_instance *tr;
	int ret = -FATHOM_EPERM;

	if (node->entry ||
	    (node->dir != CTL_DIR_PROGRAM && (node->dir != CTL_DIR_ROOT || !node->instance)))
		return ret;
	fathom_lock();
	ret = fathom_ctl_alive(node);
	if (node->dir == CTL_DIR_PROGRAM) {
		if (!ret)
			fathom_core.config.programs->remove(node);
		fathom_unlock();
		return ret;
	}
	if (!ret && fathom_ctl_instance(node)->open_files)
		ret = -FATHOM_EBUSY;
	if (!ret) {
		tr = fathom_ctl_instance(node);
		state_functions_end(tr);
		fathom_ctl_events_clear(tr);
		fathom_ctl_error_forget(tr);
		__atomic_store_n(&fathom_ctl.instance[node->instance], (struct ctl_instance *)0,
				 __ATOMIC_RELEASE);
		state_instance_free(tr);
	}
	fathom_unlock();
	return ret;
}
