/* SPDX-License-Identifier: MIT */
/* sample.c -- the sampler in a process: SIGPROF is the timer interrupt, and stacks go into the rings. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "fathom/sampler.h"
#include "fathom_port.h"
#include "port.h"

/*
 * A frame pointer may be anything. The kernel copies what is there, or says that nothing is; and since frames lie side by
 * side, it copies more than is asked for.
 */
#define CHUNK 4096u

static __thread struct {
	uintptr_t at; /* 0: nothing was copied */
	size_t bytes;
	uint8_t data[CHUNK];
} copied;

static int read_stack(uintptr_t at, uintptr_t out[2])
{
	size_t want = 2 * sizeof(*out);

	if (!copied.at || at < copied.at || at + want > copied.at + copied.bytes) {
		struct iovec here = {copied.data, CHUNK}, there = {(void *)at, CHUNK};
		ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

		/* The stack may end within the chunk: then only what is needed. */
		if (n < (ssize_t)want) {
			there.iov_len = want;
			n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
		}
		if (n < (ssize_t)want) {
			copied.at = 0;
			return -EFAULT;
		}
		copied.at = at;
		copied.bytes = (size_t)n;
	}
	memcpy(out, copied.data + (at - copied.at), want);
	return 0;
}

static void where(const ucontext_t *u, struct fathom_sample *s)
{
#if defined(__x86_64__)
	s->user_ip = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
	s->user_fp = (uintptr_t)u->uc_mcontext.gregs[REG_RBP];
	s->user_lo = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	s->user_ip = (uintptr_t)u->uc_mcontext.pc;
	s->user_fp = (uintptr_t)u->uc_mcontext.regs[29];
	s->user_lo = (uintptr_t)u->uc_mcontext.sp;
#elif defined(__riscv)
	s->user_ip = (uintptr_t)u->uc_mcontext.__gregs[REG_PC];
	s->user_fp = (uintptr_t)u->uc_mcontext.__gregs[REG_S0];
	s->user_lo = (uintptr_t)u->uc_mcontext.__gregs[REG_SP];
#else
	(void)u;
	(void)s;
#endif
}

static void on_timer(int sig, siginfo_t *info, void *context)
{
	struct fathom_sample s = {.read_user = read_stack, .user_hi = UINTPTR_MAX};
	int err = errno;

	(void)sig;
	(void)info;
	if (fathom_port_cpu() != FATHOM_USER_NONE) {
		copied.at = 0;
		where(context, &s);
		s.user_caller = user_leaf_caller(s.user_ip, s.user_lo, s.user_fp, read_stack);
		s.task = (uint64_t)fathom_user_tid;
		fathom_sampler_tick(&s);
	}
	errno = err;
}

/*
 * The timer runs while the process does, and its signal goes to the thread that runs. A timer of POSIX ends with an exec,
 * where ITIMER_PROF goes on and the new program dies of the signal; but before Linux 6.4 its signal goes to the first
 * thread, whoever runs.
 */
static timer_t timer;
static bool has_timer;

static bool timer_finds_the_running(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 4));
}

/* 0: never. */
static int set_timer(uint32_t us)
{
	struct itimerspec every = {.it_interval = {us / 1000000, us % 1000000 * 1000}};
	struct itimerval classic = {.it_interval = {us / 1000000, us % 1000000}};

	every.it_value = every.it_interval;
	classic.it_value = classic.it_interval;
	return has_timer ? timer_settime(timer, 0, &every, NULL)
			 : setitimer(ITIMER_PROF, &classic, NULL);
}

int user_sample_start(uint32_t us)
{
	struct sigaction sa = {.sa_sigaction = on_timer,
			       .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	struct sigevent signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
	int64_t err = fathom_sampler_init(NULL, 0, FATHOM_SAMPLE_RING, NULL);

	sigemptyset(&sa.sa_mask);
	if (!err)
		err = fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START,
					     us);
	if (err < 0)
		return (int)err;
	if (!has_timer && timer_finds_the_running())
		has_timer = !timer_create(CLOCK_PROCESS_CPUTIME_ID, &signal, &timer);
	if (sigaction(SIGPROF, &sa, NULL) || set_timer(us))
		return -errno;
	return 0;
}

/* The handler stays: a signal may be under way. */
void user_sample_stop(void)
{
	set_timer(0);
	fathom_sampler_control(FATHOM_SAMPLER_STOP, 0);
}
