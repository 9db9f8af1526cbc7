/* SPDX-License-Identifier: MIT */
/* exceptions.c -- C++ exceptions pass calls whose return addresses the graph tracer replaced. */
#if defined(__x86_64__)
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>
#include "fathom/task.h"

/*
 * These stand in front of the C++ runtime's own. The linker takes them only for a program that catches; weak, for one that
 * links the runtime statically has another definition of each, and is then on its own.
 */
#define IN_FRONT __attribute__((weak))

static void *runtime_function(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort(); /* somebody called it, so it is there */
	return f;
}

IN_FRONT _Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception *e)
{
	_Unwind_Reason_Code (*next)(struct _Unwind_Exception *) =
		(_Unwind_Reason_Code(*)(struct _Unwind_Exception *))runtime_function(__func__);

	fathom_returns_put_back();
	return next(e);
}

IN_FRONT _Unwind_Reason_Code _Unwind_Resume_or_Rethrow(struct _Unwind_Exception *e)
{
	_Unwind_Reason_Code (*next)(struct _Unwind_Exception *) =
		(_Unwind_Reason_Code(*)(struct _Unwind_Exception *))runtime_function(__func__);

	fathom_returns_put_back();
	return next(e);
}

IN_FRONT void _Unwind_Resume(struct _Unwind_Exception *e)
{
	void (*next)(struct _Unwind_Exception *) =
		(void (*)(struct _Unwind_Exception *))runtime_function(__func__);

	fathom_returns_put_back();
	next(e);
	abort();
}

void *__cxa_begin_catch(void *e);
IN_FRONT void *__cxa_begin_catch(void *e)
{
	void *(*next)(void *) = (void *(*)(void *))runtime_function(__func__);
	void *caught = next(e);

	fathom_returns_replace((uintptr_t)__builtin_frame_address(0));
	return caught;
}
#endif
