/* SPDX-License-Identifier: MIT */
/* file_pids.c -- set_event_pid, set_event_notrace_pid, set_ftrace_pid, set_ftrace_notrace_pid. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "functions/tracer.h"
#include "functions/tracers.h"

/* The next number of a list; 1, 0 at the end, -EINVAL. Only digits: a pid is never negative. */
static int pids_next(const char **s, size_t *n, int32_t *pid)
{
	size_t len = 0;
	uint64_t v;

	while (*n && ctl_space(**s)) {
		++*s;
		--*n;
	}
	if (!*n || !**s)
		return 0;
	while (len < *n && !ctl_space((*s)[len]) && (*s)[len])
		len++;
	if (fathom_ctl_number(*s, len, 10, &v) || v > 0x7fffffff)
		return -FATHOM_EINVAL;
	*pid = (int32_t)v;
	*s += len;
	*n -= len;
	return 1;
}

static void pids_publish(struct ctl_instance *tr, uint32_t which, struct fathom_pids *now)
{
	struct fathom_pids *was = tr->pids[which];

	__atomic_store_n(&tr->pids[which], now, __ATOMIC_SEQ_CST);
	fathom_pool_retire(was);
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		if (tr->events[i].on)
			fathom_ctl_event_update(i);
}

/*
 * event-fork: a child is in the lists that its parent is in, until it ends. A list that is being replaced at that moment
 * may miss it. Context: where the kernel forks, in a task.
 */
static void pids_forked(int32_t parent, int32_t child)
{
	uintptr_t pin = fathom_port_pin();
	uint32_t cpu = fathom_port_cpu();

	fathom_pool_enter(cpu);
	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX * CTL_PID_LISTS + 1; i++) {
		struct ctl_instance *tr =
			__atomic_load_n(&fathom_ctl.instance[i / CTL_PID_LISTS], __ATOMIC_ACQUIRE);
		struct fathom_pids *p =
			tr ? __atomic_load_n(&tr->pids[i % CTL_PID_LISTS], __ATOMIC_ACQUIRE) : 0;

		if (!p || !(fathom_load(&tr->options) >> CTL_OPT_EVENT_FORK & 1))
			continue;
		if (child < 0)
			fathom_pids_take(p, parent);
		else if (fathom_pids_has(p, parent) && fathom_pids_put(p, child))
			fathom_counts()->forks_lost++;
	}
	fathom_pool_leave(cpu);
	fathom_port_unpin(pin);
}

void fathom_ctl_event_fork_changed(void)
{
	int any = 0;

	for (uint32_t i = 0; i <= FATHOM_INSTANCES_MAX; i++)
		any |= fathom_ctl.instance[i] &&
		       (fathom_ctl.instance[i]->options >> CTL_OPT_EVENT_FORK & 1);
	__atomic_store_n(&fathom_fork_hook, any ? pids_forked : 0, __ATOMIC_SEQ_CST);
	fathom_want_forks(FATHOM_FORKS_CONTROL, any);
}

static int event_pids_open(struct fathom_file *f)
{
	if (fathom_ctl_truncates(f))
		pids_publish(fathom_ctl_instance(&f->node), f->node.entry->arg, 0);
	return 0;
}

static int event_pids_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct fathom_pids *p = fathom_ctl_instance(&f->node)->pids[f->node.entry->arg];

	int32_t pid;

	for (uint32_t i = 0; p && (pid = fathom_pids_nth(p, i)) >= 0; i++) {
		fathom_text_u64(t, (uint32_t)pid, 0, ' ');
		fathom_text_char(t, '\n');
	}
	return 0;
}

/* A new list is made of the old and the new pids, so that a bad one leaves the list as it was. */
static int event_pids_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct fathom_pids *p, *was = tr->pids[f->node.entry->arg];
	const char *s = buf;
	size_t n = bytes;
	int32_t pid;
	int ret;

	p = fathom_pool_get(sizeof(*p));
	if (!p)
		return -FATHOM_ENOMEM;
	if (was)
		*p = *was;
	while ((ret = pids_next(&s, &n, &pid)) > 0 && !(ret = fathom_pids_put(p, pid)))
		;
	if (ret < 0 || !p->high) {
		fathom_pool_put(p);
		return ret < 0 ? ret : (int)bytes;
	}
	pids_publish(tr, f->node.entry->arg, p);
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_event_pids = {
	.open = event_pids_open, .show = event_pids_show, .write = event_pids_write};

/* Of the top, or of the instance that the file is in. */
static struct function_pids *function_pids_of(const struct fathom_file *f)
{
	struct fathom_listener *l = fathom_ctl_instance(&f->node)->functions;
	enum fathom_pid_set set = (enum fathom_pid_set)f->node.entry->arg;

	return l ? &l->pids[set] : fathom_function_pids(set);
}

static int function_pids_open(struct fathom_file *f)
{
	if (fathom_ctl_truncates(f)) {
		fathom_list_clear(function_pids_of(f));
		fathom_tracer_refresh();
	}
	return 0;
}

static int function_pids_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct function_pids *list = function_pids_of(f);
	int32_t pid;

	if (!list->active)
		fathom_text_str(t, "no pid\n");
	for (uint32_t i = 0; (pid = fathom_pids_nth(&list->pids, i)) >= 0; i++) {
		fathom_text_u64(t, (uint32_t)pid, 0, ' ');
		fathom_text_char(t, '\n');
	}
	return 0;
}

/* Looked through first: a list with a bad pid in it adds none. */
static int function_pids_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	const char *s = buf;
	size_t n = bytes;
	int32_t pid;
	int ret;

	while ((ret = pids_next(&s, &n, &pid)) > 0)
		;
	if (ret < 0)
		return ret;
	s = buf;
	n = bytes;
	while (pids_next(&s, &n, &pid) > 0) {
		ret = fathom_list_add(function_pids_of(f), pid);
		if (ret < 0)
			return ret;
	}
	ret = fathom_tracer_refresh();
	return ret < 0 ? ret : (int)bytes;
}

const struct ctl_file_ops fathom_ctl_function_pids = {
	.open = function_pids_open, .show = function_pids_show, .write = function_pids_write};
