/* SPDX-License-Identifier: MIT */
/* file_pids.c -- set_event_pid, set_event_notrace_pid, set_ftrace_pid, set_ftrace_notrace_pid. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "fathom/tracer.h"

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

static void pids_publish(struct ctl_instance *tr, uint32_t which, struct ctl_pids *now)
{
	struct ctl_pids *was = tr->pids[which];

	__atomic_store_n(&tr->pids[which], now, __ATOMIC_SEQ_CST);
	fathom_pool_retire(was);
	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++)
		if (tr->events[i].on)
			fathom_ctl_event_update(i);
}

static int pids_insert(struct ctl_pids *p, int32_t pid)
{
	uint32_t at = 0;

	while (at < p->nr && p->pid[at] < pid)
		at++;
	if (at < p->nr && p->pid[at] == pid)
		return 0;
	if (p->nr == CTL_PIDS_MAX)
		return -FATHOM_ENOSPC;
	__builtin_memmove(p->pid + at + 1, p->pid + at, (p->nr - at) * sizeof(p->pid[0]));
	p->pid[at] = pid;
	p->nr++;
	return 0;
}

static int event_pids_open(struct fathom_file *f)
{
	if (fathom_ctl_truncates(f))
		pids_publish(fathom_ctl_instance(&f->node), f->node.entry->arg, 0);
	return 0;
}

static int event_pids_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_pids *p = fathom_ctl_instance(&f->node)->pids[f->node.entry->arg];

	for (uint32_t i = 0; p && i < p->nr; i++) {
		fathom_text_u64(t, (uint32_t)p->pid[i], 0, ' ');
		fathom_text_char(t, '\n');
	}
	return 0;
}

/* A new list is made of the old and the new pids, so that a bad one leaves the list as it was. */
static int event_pids_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct ctl_pids *p, *was = tr->pids[f->node.entry->arg];
	const char *s = buf;
	size_t n = bytes;
	int32_t pid;
	int ret;

	p = fathom_pool_get(sizeof(*p));
	if (!p)
		return -FATHOM_ENOMEM;
	if (was)
		*p = *was;
	while ((ret = pids_next(&s, &n, &pid)) > 0 && !(ret = pids_insert(p, pid)))
		;
	if (ret < 0 || !p->nr) {
		fathom_pool_put(p);
		return ret < 0 ? ret : (int)bytes;
	}
	pids_publish(tr, f->node.entry->arg, p);
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_event_pids = {
	.open = event_pids_open, .show = event_pids_show, .write = event_pids_write};

static int function_pids_open(struct fathom_file *f)
{
	if (fathom_ctl_truncates(f))
		fathom_function_pid_clear((enum fathom_pid_set)f->node.entry->arg);
	return 0;
}

static int function_pids_show(struct fathom_file *f, struct fathom_text *t)
{
	enum fathom_pid_set set = (enum fathom_pid_set)f->node.entry->arg;
	int32_t pid = fathom_function_pid_at(set, 0);

	if (!fathom_function_pid_is_active(set))
		fathom_text_str(t, "no pid\n");
	for (uint32_t i = 0; (pid = fathom_function_pid_at(set, i)) >= 0; i++) {
		fathom_text_u64(t, (uint32_t)pid, 0, ' ');
		fathom_text_char(t, '\n');
	}
	return 0;
}

/* Looked through first: a list with a bad pid in it adds none. */
static int function_pids_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	enum fathom_pid_set set = (enum fathom_pid_set)f->node.entry->arg;
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
		ret = fathom_function_pid_add(set, pid);
		if (ret < 0)
			return ret;
	}
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_function_pids = {
	.open = function_pids_open, .show = function_pids_show, .write = function_pids_write};
