/* SPDX-License-Identifier: MIT */
/* task.c -- what the tracers keep of a thread, and where its stack ends. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fathom/task.h"
#include "fathom_port.h"
#include "port.h"

__thread struct fathom_task fathom_user_task;
__thread uint32_t fathom_user_context;
__thread uintptr_t fathom_user_stack_lo, fathom_user_stack_hi;

void fathom_user_stack_init(void)
{
	pthread_attr_t attr;
	size_t bytes;
	void *lo;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &lo, &bytes)) {
		fathom_user_stack_lo = (uintptr_t)lo;
		fathom_user_stack_hi = (uintptr_t)lo + bytes;
	}
	pthread_attr_destroy(&attr);
}

/* ---- the same in an event: system calls only, no vector registers, which may hold a traced function's arguments ---- */

/* A line of /proc/self/maps as it is read: `from-to rights ... name`. */
struct maps_line {
	uintptr_t from, to;
	uint32_t field;
	uint64_t tail; /* the last eight characters */
};

USER_PLAIN static uintptr_t maps_digit(uintptr_t value, char c)
{
	return value << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

USER_PLAIN static void maps_char(struct maps_line *l, char c)
{
	l->tail = l->tail << 8 | (uint8_t)c;
	if (l->field < 2 && (c == '-' || c == ' '))
		l->field++;
	else if (l->field == 0)
		l->from = maps_digit(l->from, c);
	else if (l->field == 1)
		l->to = maps_digit(l->to, c);
}

USER_PLAIN static int maps_is_main_stack(const struct maps_line *l)
{
	uint64_t name = 0;

	for (const char *p = " [stack]"; *p; p++)
		name = name << 8 | (uint8_t)*p;
	return l->tail == name;
}

#define MAIN_STACK_BYTES (8u << 20) /* it may grow so far, if its limit does not say less */

/* The C library has its record of a thread at the end of the stack it gave it. 0: it is some other memory. */
USER_PLAIN static int maps_take(const struct maps_line *l)
{
	uintptr_t self = (uintptr_t)pthread_self();
	struct rlimit limit = {MAIN_STACK_BYTES, 0};

	if (maps_is_main_stack(l)) {
		syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
		if (limit.rlim_cur > MAIN_STACK_BYTES)
			limit.rlim_cur = MAIN_STACK_BYTES;
		fathom_user_stack_lo = l->to - (uintptr_t)limit.rlim_cur;
		fathom_user_stack_hi = l->to;
	} else if (self >= l->from && self < l->to) {
		fathom_user_stack_lo = l->from;
		fathom_user_stack_hi = self;
	}
	return 1;
}

USER_PLAIN static int maps_look(const char *text, long n, uintptr_t at, struct maps_line *l)
{
	for (long i = 0; i < n; i++) {
		if (text[i] != '\n') {
			maps_char(l, text[i]);
			continue;
		}
		if (at >= l->from && at < l->to)
			return maps_take(l);
		*l = (struct maps_line){0};
	}
	return 0;
}

/* Once for a thread, whatever comes of it. Async-signal-safe. */
USER_PLAIN void fathom_user_stack_find(void)
{
	struct maps_line line = {0};
	int keep = errno;
	char text[1024];
	long fd, n;

	fathom_user_stack_lo = fathom_user_stack_hi = 1; /* nothing is there */
	fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		do
			n = syscall(SYS_read, fd, text, sizeof(text));
		while (n > 0 && !maps_look(text, n, (uintptr_t)text, &line));
		syscall(SYS_close, fd);
	}
	errno = keep;
}
