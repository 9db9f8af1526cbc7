/* SPDX-License-Identifier: MIT */
/* kernel.h -- what the files of the skeleton share. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stddef.h>
#include <stdint.h>

struct job {
	const char *name;
	int pid;
	uint32_t rounds;
	uint64_t sum;
};
extern struct job jobs[3], *running;

void kernel_main(void);
void panic(const char *why);
void say(const char *text);
void switch_to(struct job *next);
void run(struct job *j);
uint64_t mix(uint64_t x);
void key(int c);
#endif
