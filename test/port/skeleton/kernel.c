/* SPDX-License-Identifier: MIT */
/* kernel.c -- a kernel that is not traced: three jobs on one stack, a console. docs/PORTING.md adds Fathom, and test/port/porting_steps.py tries it. */
#include "kernel.h"
#include "machine.h"
#include "test/lib/mem.h"

static struct job idle = {.name = "idle"};
struct job jobs[3] = {
	{.name = "init", .pid = 1}, {.name = "shell", .pid = 2}, {.name = "disk", .pid = 3}};
struct job *running = &idle;
uint64_t this_cpu[8]; /* start.S has its address in a register */

void say(const char *text)
{
	while (*text)
		uart_put(*text++);
}

void panic(const char *why)
{
	say("\npanic: ");
	say(why);
	say("\n");
	say("halted\n");
	for (;;)
		;
}

__attribute__((noinline)) uint64_t mix(uint64_t x)
{
	x ^= x >> 3;
	return x * 25 + 7;
}

__attribute__((noinline)) void switch_to(struct job *next)
{
	running = next;
}

/* One round of a job, as if it had been given the CPU. */
__attribute__((noinline)) void run(struct job *j)
{
	switch_to(j);
	for (int i = 0; i < 4; i++)
		j->sum = mix(j->sum);
	j->rounds++;
	switch_to(&idle);
}

/* What is typed: r runs, p panics. */
void key(int c)
{
	if (c == 'r') {
		for (int i = 0; i < 20; i++)
			for (int k = 0; k < 3; k++)
				run(&jobs[k]);
		say("ran\n");
	} else if (c == 'p') {
		panic("as you wish");
	}
}

void kernel_main(void)
{
	uart_init();
	say("skeleton\n");
	for (;;) {
		int c = uart_get();

		if (c >= 0)
			key(c);
	}
}
