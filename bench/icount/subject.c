/* SPDX-License-Identifier: MIT */
/* subject.c -- the function that is traced: compiled with the sites of its architecture. */
void bench_subject(void);

__attribute__((noipa)) void bench_subject(void)
{
	__asm__ volatile("");
}
