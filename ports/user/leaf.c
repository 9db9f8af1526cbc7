/* SPDX-License-Identifier: MIT */
/* leaf.c -- who called a function that has no frame: a leaf, or one that is just being entered or left. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "port.h"

/*
 * gcc gives a leaf function no frame even with -fno-omit-frame-pointer, and the C library has none at all; the frame
 * pointer is then the caller's, and the caller itself would be missing. Its return address is the word on top of the
 * stack, if that word is one. It is believed
 *
 *	at `push %rbp`, `mov %rsp,%rbp` (one word further down) and `ret`: there it can be nothing else;
 *	elsewhere if the call before it leads to the start of the function we are in, directly, through the PLT or through
 *	the GOT, and that function does not begin with a frame, or is at its very beginning.
 *
 * Which function are we in? That of the symbol. If there is none: the call before the return address in the frame leads
 * to another start, and the nearer of the two starts before us is ours. (A function that has a frame, and in it the
 * return address of a leaf that it called before, is told from the leaf by that.)
 *
 * Everything is read through `read`: the word may be anything.
 */
#define FUNCTION_MAX 65536u /* bytes from the start of a function to a place in it */

#if defined(__x86_64__)

#define CACHE 64u

/* Of a return address: where its call leads. Loops see the same few again and again. */
static __thread struct {
	uintptr_t ret, target;
	int framed; /* the function called begins with a frame */
} called[CACHE];

static int bytes_at(user_read_fn read, uintptr_t at, uint8_t out[16])
{
	uintptr_t w[2];

	if (read(at, w))
		return 0;
	memcpy(out, w, 16);
	return 1;
}

static uintptr_t relative(uintptr_t next, const uint8_t *at)
{
	int32_t offset;

	memcpy(&offset, at, sizeof(offset));
	return next + (uintptr_t)(intptr_t)offset;
}

static const uint8_t *skip_endbr(const uint8_t *b)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return memcmp(b, endbr, sizeof(endbr)) ? b : b + sizeof(endbr);
}

/* `jmp *slot(%rip)` of a PLT leads on. */
static uintptr_t through_plt(user_read_fn read, uintptr_t target)
{
	const uint8_t *p;
	uintptr_t w[2];
	uint8_t b[16];

	if (!bytes_at(read, target, b))
		return 0;
	p = skip_endbr(b);
	if (*p == 0xf2)
		p++;
	if (p[0] != 0xff || p[1] != 0x25)
		return target;
	return read(relative(target + (uintptr_t)(p - b) + 6, p + 2), w) ? 0 : w[0];
}

/* Where the call before `ret` leads; 0 if there is none, or one through a register. */
static uintptr_t call_target(user_read_fn read, uintptr_t ret)
{
	uintptr_t w[2];
	uint8_t b[16];

	if (!bytes_at(read, ret - 8, b))
		return 0;
	if (b[3] == 0xe8)
		return through_plt(read, relative(ret, b + 4));
	if (b[2] == 0xff && b[3] == 0x15)
		return read(relative(ret, b + 4), w) ? 0 : w[0];
	return 0;
}

/* Does the function begin with `push %rbp; mov %rsp,%rbp`? */
static int has_frame(user_read_fn read, uintptr_t target)
{
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};
	uint8_t b[16];

	return !bytes_at(read, target, b) || !memcmp(skip_endbr(b), frame, sizeof(frame));
}

static uintptr_t cached_target(user_read_fn read, uintptr_t ret)
{
	uint32_t k = (uint32_t)(ret ^ ret >> 6) % CACHE;

	if (called[k].ret != ret) {
		called[k].target = ret < 4096 ? 0 : call_target(read, ret);
		called[k].framed = called[k].target && has_frame(read, called[k].target);
		called[k].ret = ret;
	}
	return called[k].target;
}

static int is_framed(uintptr_t ret)
{
	return called[(uint32_t)(ret ^ ret >> 6) % CACHE].framed;
}

/* Is ip in the function that begins at `start`? */
static int within(uintptr_t ip, uintptr_t start, uintptr_t fp, user_read_fn read)
{
	uintptr_t offset, size, frame[2], other;

	if (start > ip || ip - start >= FUNCTION_MAX)
		return 0;
	if (user_symbol(ip, &offset, &size))
		return ip - offset == start;
	if (fp % sizeof(uintptr_t) || read(fp, frame))
		return 1;
	other = cached_target(read, frame[1]);
	return other <= start || other > ip;
}

uintptr_t user_leaf_caller(uintptr_t ip, uintptr_t sp, uintptr_t fp, user_read_fn read)
{
	/* It is being executed, so it can be read; the instructions looked for have no more than three bytes. */
	const uint8_t *at = (const uint8_t *)ip;
	uintptr_t top[2], target;

	if (sp % sizeof(uintptr_t) || read(sp, top))
		return 0;
	if (at[0] == 0x55 || at[0] == 0xc3)
		return top[0];
	if (at[0] == 0x48 && at[1] == 0x89 && at[2] == 0xe5)
		return top[1];
	target = cached_target(read, top[0]);
	if (!target || (ip != target && (is_framed(top[0]) || !within(ip, target, fp, read))))
		return 0;
	return top[0];
}

#else

uintptr_t user_leaf_caller(uintptr_t ip, uintptr_t sp, uintptr_t fp, user_read_fn read)
{
	(void)ip;
	(void)sp;
	(void)fp;
	(void)read;
	return 0;
}

#endif
