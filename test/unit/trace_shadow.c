/* SPDX-License-Identifier: MIT */
/* trace_shadow.c -- the shadow stack by itself: which calls are gone when one below them returns. */
#include "harness.h"
#include "fathom/task.h"
#include "functions/shadow.h"
#include "functions/tracers.h"

#define STACK 0x7f0000000000ul

static void push(struct fathom_task *t, uintptr_t slot, uintptr_t ret)
{
	t->shadow[t->depth].slot = slot;
	t->shadow[t->depth].ret = ret;
	t->shadow[t->depth].func = 0x1000 + t->depth;
	t->depth++;
}

/* A call returns whose callees were left by longjmp. What another stack's call does it does not know. */
TEST(shadow_unwinds_one_stack)
{
	static struct fathom_task t;

	fathom_task_init(&t);
	push(&t, STACK, 1);
	push(&t, STACK - 64, 1);
	push(&t, STACK - FATHOM_STACK_BYTES - 64, 1); /* too far below: an interrupt's stack */
	push(&t, STACK + 64, 1);		      /* above: not called by it on this stack */
	push(&t, STACK - FATHOM_STACK_BYTES + 8, 1);
	push(&t, STACK - FATHOM_STACK_BYTES - 128, 0); /* a return site loses nothing */
	fathom_shadow_unwind(&t, 0);
	CHECK_EQ(t.depth, 3);
	CHECK_EQ(t.shadow[0].slot, STACK);
	CHECK_EQ(t.shadow[1].slot, STACK - FATHOM_STACK_BYTES - 64);
	CHECK_EQ(t.shadow[2].slot, STACK + 64);
	for (int i = 3; i < 6; i++)
		CHECK_EQ(t.shadow[i].slot | t.shadow[i].ret, 0);
}

TEST_MAIN
