/* SPDX-License-Identifier: MIT */
/* syscall.c -- the system calls: a table, each handler a few lines over the subsystem that does the work. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "sample.h"
#include "syscalls.h"
#include "task.h"
#include "stream.h"
#include "trace_points.h"
#include "fathom/fs.h"

static int64_t sys_exit(struct trapframe *f)
{
	task_exit((int)frame_arg(f, 0));
}

static int64_t sys_write(struct trapframe *f)
{
	char buf[128];
	size_t n = frame_arg(f, 1) < sizeof(buf) ? frame_arg(f, 1) : sizeof(buf);

	if (!vm_readable(&current_task()->vm, frame_arg(f, 0), n))
		return -EFAULT;
	memcpy(buf, (const void *)frame_arg(f, 0),
	       n); /* page faults on the way are served, and no lock is held */
	console_write(buf, n);
	return (int64_t)n;
}

static int64_t sys_getpid(struct trapframe *f)
{
	(void)f;
	return current_task()->pid;
}

static int64_t sys_yield(struct trapframe *f)
{
	(void)f;
	schedule();
	return 0;
}

static int64_t sys_sleep(struct trapframe *f)
{
	sleep_until(clock_ns() + frame_arg(f, 0));
	return 0;
}

/* A name from user memory; one that does not end in time is cut. */
static int copy_user_name(char to[NAME_MAX], uintptr_t from)
{
	for (int i = 0; i < NAME_MAX - 1; i++) {
		if (!vm_readable(&current_task()->vm, from + (uintptr_t)i, 1))
			return -EFAULT;
		to[i] = ((const char *)from)[i];
		if (!to[i])
			return 0;
	}
	to[NAME_MAX - 1] = 0;
	return 0;
}

static int64_t sys_spawn(struct trapframe *f)
{
	char name[NAME_MAX];
	struct spawn s = {
		.name = name,
		.arg = frame_arg(f, 1),
		.endpoint = frame_arg(f, 2) ? cap_endpoint((uint32_t)frame_arg(f, 2)) : NULL,
		.class = (int)(frame_arg(f, 3) >> 8),
		.prio = (int)(frame_arg(f, 3) & 255),
		.period = frame_arg(f, 4),
	};

	if (frame_arg(f, 2) && !s.endpoint)
		return -EBADF;
	if (copy_user_name(name, frame_arg(f, 0)))
		return -EFAULT;
	return task_spawn(&s);
}

static int64_t sys_wait(struct trapframe *f)
{
	int code = 0, pid = task_wait((int32_t)frame_arg(f, 0), &code);

	if (pid > 0 && frame_arg(f, 1)) {
		if (!vm_readable(&current_task()->vm, frame_arg(f, 1), sizeof(code)))
			return -EFAULT;
		memcpy((void *)frame_arg(f, 1), &code, sizeof(code));
	}
	return pid;
}

static int64_t sys_map(struct trapframe *f)
{
	uintptr_t at = vm_map(&current_task()->vm, frame_arg(f, 0));

	return at ? (int64_t)at : -ENOMEM;
}

static int64_t sys_unmap(struct trapframe *f)
{
	return vm_unmap(&current_task()->vm, frame_arg(f, 0));
}

static int64_t sys_endpoint(struct trapframe *f)
{
	(void)f;
	return endpoint_create();
}

/* The message travels in registers both ways. */
static int64_t do_ipc(struct trapframe *f, enum ipc_op op)
{
	uint64_t *m = current_task()->message;

	m[0] = frame_arg(f, 1);
	m[1] = frame_arg(f, 2);
	m[2] = frame_arg(f, 3);
	m[3] = frame_arg(f, 4);
	int64_t result = ipc(op, (uint32_t)frame_arg(f, 0));

	if (op != IPC_SEND && result >= 0) {
		frame_arg(f, 1) = m[0];
		frame_arg(f, 2) = m[1];
		frame_arg(f, 3) = m[2];
		frame_arg(f, 4) = m[3];
	}
	return result;
}

static int64_t sys_send(struct trapframe *f)
{
	return do_ipc(f, IPC_SEND);
}

static int64_t sys_recv(struct trapframe *f)
{
	return do_ipc(f, IPC_RECV);
}

static int64_t sys_call(struct trapframe *f)
{
	return do_ipc(f, IPC_CALL);
}

static int64_t sys_reply_recv(struct trapframe *f)
{
	return do_ipc(f, IPC_REPLY_RECV);
}

static int64_t sys_storm(struct trapframe *f)
{
	for (uint64_t i = 0; i < frame_arg(f, 0); i++)
		for_each_cpu (c)
			irq_send(c->id, VEC_STORM);
	return 0;
}

static int64_t sys_clock(struct trapframe *f)
{
	(void)f;
	return (int64_t)clock_ns();
}

static int64_t sys_cpu(struct trapframe *f)
{
	(void)f;
	return cpu_id();
}

static int64_t sys_sample(struct trapframe *f)
{
	return sample_control((uint32_t)frame_arg(f, 0), frame_arg(f, 1));
}

#define TRACE_FILE_MAX 64 /* characters of a name, 0 included */
#define TRACE_TEXT_MAX \
	256 /* of a write: as write() of a pipe, the rest is the caller's to write again */

/* A program writes to a file of tracefs: a marker of its own, or what it wants traced. One open, one write. */
static int64_t sys_trace(struct trapframe *f)
{
#if LEVEL >= 6
	uintptr_t from = frame_arg(f, 0);
	size_t n = frame_arg(f, 2);
	char path[TRACE_FILE_MAX], text[TRACE_TEXT_MAX];
	struct fathom_node node;
	struct fathom_file file;
	int ret = 0;

	for (size_t i = 0; i == 0 || path[i - 1]; i++) {
		if (i == sizeof(path))
			return -ENOENT;
		if (!vm_readable(&current_task()->vm, from + i, 1))
			return -EFAULT;
		path[i] = ((const char *)from)[i];
	}
	n = n < sizeof(text) ? n : sizeof(text);
	if (!vm_readable(&current_task()->vm, frame_arg(f, 1), n))
		return -EFAULT;
	memcpy(text, (const void *)frame_arg(f, 1), n);
	ret = fathom_fs_lookup(path, &node);
	if (!ret)
		ret = fathom_fs_open(&file, &node, FATHOM_O_WRONLY);
	if (ret)
		return ret;
	file.pid = current_task()->pid;
	ret = fathom_fs_write(&file, text, n);
	fathom_fs_close(&file);
	return ret;
#else
	(void)f;
	return -ENOSYS;
#endif
}

#define SYSCALL_HANDLER(number, name) [number] = sys_##name,
static int64_t (*const handlers[SYS_COUNT])(struct trapframe *) = {
	SYSCALLS(SYSCALL_HANDLER, SYSCALL_HANDLER)};

/* From entry.S, with interrupts off; they are on while the call runs, and off again on the way out. */
NOTRACE void syscall(struct trapframe *f)
{
	uint64_t number = frame_syscall(f), start = clock_ns();

	stream_syscall(f);
	hook_irqs_off();
	irq_enable();
	trace_sys_enter((uint32_t)number, frame_arg(f, 0), frame_arg(f, 1), frame_arg(f, 2));
	int64_t result = number < SYS_COUNT ? handlers[number](f) : -ENOSYS;

	frame_result(f) = (uint64_t)result;
	trace_sys_exit((uint32_t)number, result, clock_ns() - start);
	irq_save();
	while (this_cpu()->need_resched)
		schedule();
	stream_leave();
	hook_irqs_on();
}
