/* SPDX-License-Identifier: MIT */
/* file_tasks.c -- names of tasks that were seen in the trace, kept for when they are gone; printk_formats. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"

#define TASKS_WAYS \
	8 /* places a task may have; when all are taken it pushes out another, as in Linux */

static struct tasks_entry {
	int32_t pid; /* 0: empty; the idle task is not kept */
	int32_t tgid;
	char comm[16];
} tasks_seen[FATHOM_TASK_NAMES];

/* The task's place: its own, a free one, or (for a new task) one that is taken by another. */
static struct tasks_entry *tasks_slot(int32_t pid)
{
	static uint32_t turn;
	uint32_t base =
		((uint32_t)pid * 2654435761u >> 16) % (FATHOM_TASK_NAMES / TASKS_WAYS) * TASKS_WAYS;
	struct tasks_entry *free_slot = 0;

	for (uint32_t i = 0; i < TASKS_WAYS; i++) {
		struct tasks_entry *e = &tasks_seen[base + i];

		if (e->pid == pid)
			return e;
		if (!e->pid && !free_slot)
			free_slot = e;
	}
	return free_slot ? free_slot : &tasks_seen[base + turn++ % TASKS_WAYS];
}

void fathom_ctl_note_pid(int32_t pid)
{
	const struct fathom_config *c = &fathom_core.config;
	struct tasks_entry *e = tasks_slot(pid);
	char comm[16] = "";

	if (pid <= 0 || (c->task_name && c->task_name(pid, comm) < 0))
		return;
	comm[15] = '\0';
	if (e->pid == pid && !comm[0])
		return;
	e->pid = pid;
	e->tgid = c->task_group ? c->task_group(pid) : 0;
	__builtin_memcpy(e->comm, comm, sizeof(comm));
}

const char *fathom_ctl_saved_comm(int32_t pid, char buf[16])
{
	const struct tasks_entry *e;

	fathom_ctl_note_pid(pid); /* first: a new task has its place by that */
	e = tasks_slot(pid);
	if (pid <= 0 || e->pid != pid || !e->comm[0])
		return 0;
	__builtin_memcpy(buf, e->comm, 16);
	return buf;
}

/* A task without a name is not kept, but may have a group. */
int32_t fathom_ctl_saved_tgid(int32_t pid)
{
	const struct fathom_config *c = &fathom_core.config;
	const struct tasks_entry *e = tasks_slot(pid);

	if (e->pid == pid)
		return e->tgid;
	return c->task_group ? c->task_group(pid) : 0;
}

static int tasks_show(struct fathom_file *f, struct fathom_text *t, int tgid)
{
	const struct tasks_entry *e = &tasks_seen[f->piece];

	if (f->piece >= FATHOM_TASK_NAMES)
		return 0;
	if (e->pid && (tgid ? e->tgid != 0 : e->comm[0] != '\0')) {
		fathom_text_u64(t, (uint32_t)e->pid, 0, ' ');
		fathom_text_char(t, ' ');
		if (tgid)
			fathom_text_u64(t, (uint32_t)e->tgid, 0, ' ');
		else
			fathom_text_str(t, e->comm);
		fathom_text_char(t, '\n');
	}
	return f->piece + 1 < FATHOM_TASK_NAMES;
}

static int saved_cmdlines_show(struct fathom_file *f, struct fathom_text *t)
{
	return tasks_show(f, t, 0);
}

static int saved_tgids_show(struct fathom_file *f, struct fathom_text *t)
{
	if (!fathom_ctl_option(fathom_ctl_instance(&f->node), CTL_OPT_RECORD_TGID))
		return 0;
	return tasks_show(f, t, 1);
}

/* The pids still in the rings are looked up before the list is shown; without memory for it they are not. */
static int saved_open(struct fathom_file *f)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct wire_page *page = fathom_pool_get(sizeof(*page));
	struct fathom_ring_iter it;
	struct fathom_record rec;

	for (uint32_t cpu = 0; page && cpu < fathom_core.nr_cpus; cpu++) {
		int32_t last = 0;

		fathom_ring_iter_init(&it, fathom_ctl_ring(tr, cpu), page);
		while (fathom_ring_iter_next(&it, &rec) > 0) {
			struct wire_common c;

			if (rec.bytes < sizeof(c))
				continue;
			__builtin_memcpy(&c, rec.data, sizeof(c));
			if (c.pid != last)
				fathom_ctl_note_pid(last = c.pid);
		}
	}
	fathom_pool_put(page);
	return 0;
}

const struct ctl_file_ops fathom_ctl_saved_cmdlines = {.open = saved_open,
						       .show = saved_cmdlines_show};
const struct ctl_file_ops fathom_ctl_saved_tgids = {.open = saved_open, .show = saved_tgids_show};

/* Linux escapes what a C string would. */
static void printk_escape(struct fathom_text *t, const char *s)
{
	for (; *s; s++) {
		if (*s == '\n') {
			fathom_text_str(t, "\\n");
		} else if (*s == '\t') {
			fathom_text_str(t, "\\t");
		} else {
			if (*s == '\\' || *s == '"')
				fathom_text_char(t, '\\');
			fathom_text_char(t, *s);
		}
	}
}

static int printk_formats_show(struct fathom_file *f, struct fathom_text *t)
{
	const char *fmt = fathom_printk_format(f->piece);

	if (!fmt)
		return 0;
	fathom_text_str(t, "0x");
	fathom_text_hex(t, (uintptr_t)fmt, 0, ' ');
	fathom_text_str(t, " : \"");
	printk_escape(t, fmt);
	fathom_text_str(t, "\"\n");
	return 1;
}

const struct ctl_file_ops fathom_ctl_printk_formats = {.show = printk_formats_show};
