/* SPDX-License-Identifier: MIT */
/* trace_unwind.c -- fuzz target: a stack of any content and a frame pointer of any value; nothing but the stack is read. */
#include "fathom/inside/unwind.h"
#include "fathom_port.h"
#include "trace_setup.h"

static uint8_t *stack;
static size_t stack_bytes;

/* Small numbers become places on the stack (and a little beyond), so that chains, loops and near misses come about. */
static void make_stack(const uint8_t *data, size_t size)
{
	stack_bytes = size & ~(size_t)15;
	stack = malloc(stack_bytes ? stack_bytes
				   : 1); /* exactly as long: a sanitizer guards both ends */
	memcpy(stack, data, stack_bytes);
	for (size_t i = 0; i + 8 <= stack_bytes; i += 8) {
		uint64_t word;

		memcpy(&word, stack + i, 8);
		if (word < 4096)
			word += (uintptr_t)stack - 64;
		memcpy(stack + i, &word, 8);
	}
}

static int read_stack(uintptr_t at, uintptr_t out[2])
{
	if (at < (uintptr_t)stack || at + 16 > (uintptr_t)stack + stack_bytes)
		abort(); /* asked for something outside */
	memcpy(out, (const void *)at, 16);
	return out[1] % 31 == 7 ? -14 : 0; /* memory that is not there now */
}

/* Each step goes up the stack, so there are no more than its words. */
static void walk(struct fathom_unwind *u)
{
	uintptr_t slot = 0, last = 0;
	size_t steps = 0;

	while (fathom_unwind_next(u, &slot)) {
		if (slot <= last || slot < (uintptr_t)stack ||
		    slot >= (uintptr_t)stack + stack_bytes || ++steps > stack_bytes / 16)
			abort();
		last = slot;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uintptr_t fp, out[64];
	struct fathom_unwind u;

	if (size < 8)
		return 0;
	setup();
	memcpy(&fp, data, 8);
	make_stack(data + 8, size - 8);
	if (fp < 65536)
		fp += (uintptr_t)stack - 64;
	fathom_user_stack_lo = (uintptr_t)stack;
	fathom_user_stack_hi = (uintptr_t)stack + stack_bytes;
	fathom_unwind_kernel(&u, fp);
	walk(&u);
	if (fathom_unwind(fp, out, 64) > 64)
		abort();
	fathom_unwind_user(&u, fp, (uintptr_t)stack, (uintptr_t)stack + stack_bytes, read_stack);
	walk(&u);
	free(stack);
	return 0;
}
