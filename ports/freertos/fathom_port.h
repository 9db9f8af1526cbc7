/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- FreeRTOS on Cortex-M3 and up, one core: the hot half. FreeRTOS's headers include it, so it includes none of them. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>
#include "fathom_board.h"

#define FATHOM_CPUS_MAX 1
#if !FATHOM_FREERTOS_TREE /* events and the beacon alone */
#define FATHOM_PAGE_BYTES 512
#define FATHOM_LINK_BYTES 640
#define FATHOM_DUMP_BYTES 0
#define FATHOM_FUNCTIONS  0
#define FATHOM_ATTACH	  0
#define FATHOM_EVENT_TEXT 0
#else /* the tree, with the tables of a small machine */
#define FATHOM_HOOKS_MAX      4
#define FATHOM_DUMP_LINE      512
#define FATHOM_INSTANCES_MAX  1
#define FATHOM_TASK_NAMES     32
#define FATHOM_PIDS_MAX	      16
#define FATHOM_PROBES_MAX     8
#define FATHOM_MODULES_MAX    1
#define FATHOM_STACK_FRAMES   16
#define FATHOM_STACK_SEEN_MAX 16
#define FATHOM_ERRORS_MAX     2
#define FATHOM_P9_FIDS	      48
#define FATHOM_P9_WAITS	      4
#define FATHOM_P9_MSIZE	      4608 /* a page and a head */
#define FATHOM_SAMPLE_FRAMES  16
#define FATHOM_SHADOW_DEPTH   16
#define FATHOM_HIST_ENTRIES   128
#endif

#define fathom_port_cpu() 0u

/* The board's counter of 32 bits; each tick of the kernel reads it, which is often enough (traceTASK_INCREMENT_TICK). */
extern struct fathom_clock32 fathom_freertos_clock;
#define fathom_port_clock fathom_port_clock
static inline uint64_t fathom_port_clock(void)
{
	return fathom_clock32(&fathom_freertos_clock, fathom_board_counter);
}

/* The kernel preempts anywhere: mask the interrupts that may call it, the scheduler's among them. Those above still record. */
#define fathom_port_pin	  fathom_port_pin
#define fathom_port_unpin fathom_port_unpin
static inline uintptr_t fathom_port_pin(void)
{
	uint32_t old;

	__asm__ volatile("mrs %0, basepri\n\tmsr basepri, %1\n\tisb"
			 : "=&r"(old)
			 : "r"(FATHOM_BOARD_SYSCALL_PRIORITY)
			 : "memory");
	return old;
}
static inline void fathom_port_unpin(uintptr_t old)
{
	__asm__ volatile("msr basepri, %0" : : "r"(old) : "memory");
}

extern int32_t fathom_freertos_pid;
#define fathom_port_task() fathom_freertos_pid

/*
 * SVCall (11) and PendSV (14) are the scheduler, and count as the task. An interrupt that the pin does not mask may come while a
 * task's or another interrupt's record is written: it is told from them as an NMI is.
 */
#define fathom_port_context fathom_port_context
static inline uint32_t fathom_port_context(uintptr_t pin)
{
	const volatile uint8_t *const priority = (const volatile uint8_t *)0xe000e400;
	uint32_t ipsr, off = pin ? 0x01 : 0;

	__asm__ volatile("mrs %0, ipsr" : "=r"(ipsr));
	if (ipsr > 15)
		return off | (priority[ipsr - 16] < FATHOM_BOARD_SYSCALL_PRIORITY ? 0x48 : 0x08);
	return ipsr == 0 || ipsr == 11 || ipsr == 14 ? off : ipsr == 15 ? off | 0x08 : off | 0x40;
}

#endif
