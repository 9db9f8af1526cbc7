/* SPDX-License-Identifier: MIT */
/* task.c -- what the tracers keep of a thread, and where its stack ends. */
#include <pthread.h>
#include "fathom/task.h"

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
