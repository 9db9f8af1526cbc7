/* SPDX-License-Identifier: MIT */
/* machine.c -- a process to trace: threads that do a kernel's kind of work, and the forks of the real machine. */
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/events/irq.h"
#include "fathom/events/kmem.h"
#include "fathom/events/raw_syscalls.h"
#include "fathom/events/sched.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "fathom_serve.h"
#include "fathom_user.h"
#include "machine.h"

#define METER_BURST 32
#define EVENT_AT    (sizeof(struct nlmsghdr) + sizeof(struct cn_msg))

TRACE_DEFINE(kmem, kmalloc, "call_site=%px bytes_req=%lu bytes_alloc=%lu", (PTR, call_site),
	     (U64, bytes_req), (U64, bytes_alloc))
TRACE_DEFINE(signal, signal_generate, "sig=%d comm=%s pid=%d", (S32, sig), (STR, comm), (S32, pid))

void machine_switch(int next)
{
	static const char *const names[] = {"swapper/0", "worker-1", "worker-2", "worker-3"};
	int32_t prev = fathom_user_tid;

	trace_sched_switch(names[next & 3], prev, 120, 1, names[(next + 1) & 3], next & 3, 120);
	trace_sched_wakeup(names[next & 3], prev, 120, 0);
}

void machine_alloc(uint64_t bytes)
{
	trace_kmalloc(__builtin_return_address(0), bytes, (bytes + 63) & ~63ul);
}

void machine_signal(int sig)
{
	trace_signal_generate(sig, "worker", fathom_user_tid);
}

void machine_tick(void)
{
	trace_irq_handler_entry(0, "timer");
	trace_irq_handler_exit(0, 1);
}

void machine_syscall(long nr, long ret)
{
	unsigned long args[6] = {1, 2, 3, 4, 5, 6};

	trace_sys_enter(nr, args);
	trace_sys_exit(nr, ret);
}

static void *worker(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)arg);
	prctl(PR_SET_NAME, name);
	fathom_user_stack_init();
	for (unsigned int n = 0;; n++) {
		fathom_note_irqs(1, (uintptr_t)machine_work, (uintptr_t)worker);
		machine_work(n);
		fathom_note_irqs(0, (uintptr_t)machine_work, (uintptr_t)worker);
		usleep(2000);
	}
	return NULL;
}

/*
 * How the event path does while the tree is steered: bursts of events between two looks at this thread's own account. A
 * thread that waits for a lock gives up its CPU, which counts as a voluntary switch; one that spins uses CPU time.
 */
static struct {
	uint64_t bursts, blocked, worst_ns;
} meter_result;

static uint64_t meter_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *meter(void *arg)
{
	prctl(PR_SET_NAME, "meter");
	for (unsigned int n = 0;; n++) {
		struct rusage before, after;
		uint64_t ns;

		getrusage(RUSAGE_THREAD, &before);
		ns = meter_cpu_ns();
		for (int i = 0; i < METER_BURST; i++)
			machine_switch((int)n + i);
		ns = meter_cpu_ns() - ns;
		getrusage(RUSAGE_THREAD, &after);
		meter_result.bursts++;
		meter_result.blocked += after.ru_nvcsw != before.ru_nvcsw;
		if (ns > meter_result.worst_ns)
			meter_result.worst_ns = ns;
		usleep(300);
	}
	return arg;
}

static int name_of(int32_t pid, char buf[16])
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, 15);
	close(fd);
	if (n <= 0)
		return -1;
	buf[n - 1] = '\0';
	return 0;
}

static int32_t group_of(int32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/task/%d", pid);
	return access(path, F_OK) ? pid : getpid();
}

/* A program that begins was woken: with its class and priority, for the wakeup tracers. `me` is who tells. */
static void machine_woken(int32_t pid, int32_t me, const char *name)
{
	struct fathom_sched_task by = {.pid = me, .prio = 120, .comm = "watcher"};
	struct fathom_sched_task woken = {.pid = pid, .prio = 120};
	struct sched_param p = {0};

	woken.is_rt = sched_getscheduler(pid) == SCHED_FIFO;
	if (woken.is_rt && !sched_getparam(pid, &p))
		woken.prio = 99 - p.sched_priority;
	snprintf(woken.comm, sizeof(woken.comm), "%s", name);
	fathom_note_wakeup(&by, &woken, fathom_port_cpu());
	fathom_task_switch(&by, &woken);
	fathom_task_switch(&woken, &by);
}

/* Names of programs that began: when one ends, it may be too late to ask. */
#define MACHINE_NAMES 1024
static struct {
	int32_t pid;
	char name[16];
} machine_names[MACHINE_NAMES];

static void machine_name(int32_t pid, const char name[16])
{
	machine_names[pid % MACHINE_NAMES].pid = pid;
	memcpy(machine_names[pid % MACHINE_NAMES].name, name, 16);
}

/* The kernel tells of every fork, exec and exit on the machine; each becomes an event of the task that did it. */
static void machine_proc(const struct proc_event *e)
{
	int32_t me = fathom_user_tid, prio;
	char a[16] = "?", b[16] = "?";

	switch (e->what) {
	case PROC_EVENT_FORK:
		fathom_user_tid = e->event_data.fork.parent_pid;
		name_of(fathom_user_tid, a);
		fathom_task_new(NULL, fathom_user_tid, e->event_data.fork.child_pid);
		kernel_clone();
		trace_sched_process_fork(a, fathom_user_tid, a, e->event_data.fork.child_pid);
		break;
	case PROC_EVENT_EXEC:
		fathom_user_tid = e->event_data.exec.process_pid;
		name_of(fathom_user_tid, a);
		do_execve();
		machine_name(fathom_user_tid, a);
		trace_sched_process_exec(a, fathom_user_tid, fathom_user_tid);
		prio = 120 + getpriority(PRIO_PROCESS, (id_t)fathom_user_tid);
		trace_sched_waking(a, fathom_user_tid, prio, 0);
		trace_sched_wakeup(a, fathom_user_tid, prio, 0);
		trace_sched_switch("watcher", me, 120, 0, a, fathom_user_tid, prio);
		machine_woken(fathom_user_tid, me, a);
		break;
	case PROC_EVENT_EXIT:
		fathom_user_tid = e->event_data.exit.process_pid;
		if (machine_names[fathom_user_tid % MACHINE_NAMES].pid == fathom_user_tid)
			memcpy(b, machine_names[fathom_user_tid % MACHINE_NAMES].name, sizeof(b));
		else
			name_of(fathom_user_tid, b);
		trace_sched_process_exit(b, fathom_user_tid, 120);
		trace_sched_switch(b, fathom_user_tid, 120, 0x10, "swapper/0", 0, 120);
		fathom_task_exit(fathom_user_tid);
		break;
	default: break;
	}
	fathom_user_tid = me;
}

static void *watcher(void *arg)
{
	struct sockaddr_nl at = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
	struct {
		struct nlmsghdr nl;
		struct cn_msg cn;
		enum proc_cn_mcast_op op;
	} __attribute__((packed)) ask = {{sizeof(ask), NLMSG_DONE, 0, 0, 0},
					 {{CN_IDX_PROC, CN_VAL_PROC}, 0, 0, sizeof(ask.op), 0},
					 PROC_CN_MCAST_LISTEN};
	char buf[8192];
	struct proc_event e;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);

	prctl(PR_SET_NAME, "watcher");
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    send(fd, &ask, sizeof(ask), 0) < 0)
		return arg; /* not allowed to listen: there are no process events then */
	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n >= (ssize_t)(EVENT_AT + sizeof(e))) {
			memcpy(&e, buf + EVENT_AT, sizeof(e)); /* it need not be aligned there */
			machine_proc(&e);
		}
	}
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 0;
	int quiet =
		argc > 2 && !strcmp(argv[2], "quiet"); /* two CPUs, and nothing happens on them */
	pthread_t t;
	sigset_t end;
	int err;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	err = fathom_user_start(quiet ? "buffer_kb=2100,cpus=2,out="
				      : "buffer_kb=2048,cpus=8,out=");
	if (!err)
		err = fathom_user_serve();
	if (err) {
		fprintf(stderr, "machine: %s\n", strerror(-err));
		return 1;
	}
	fathom_core.config.task_name = name_of;
	fathom_core.config.task_group = group_of;
	fathom_set("events/enable", "0");
	fathom_set("buffer_size_kb", "1000");
	for (intptr_t i = 1; i <= 3 && !quiet; i++)
		pthread_create(&t, NULL, worker, (void *)i);
	if (!quiet)
		pthread_create(&t, NULL, watcher, NULL);
	if (argc > 2 && !strcmp(argv[2], "meter"))
		pthread_create(&t, NULL, meter, NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	sigtimedwait(&end, NULL, seconds ? &(struct timespec){seconds, 0} : NULL);
	if (meter_result.bursts)
		printf("bursts=%lu blocked=%lu worst_us=%lu\n", meter_result.bursts,
		       meter_result.blocked, meter_result.worst_ns / 1000);
	fflush(stdout);
	fathom_user_serve_stop();
	return 0;
}
