/* SPDX-License-Identifier: MIT */
/* fathom_board.h -- what the port asks of the board: mps2-an385, whose second timer counts down from 2^32 at 25 MHz. */
#ifndef FATHOM_BOARD_H
#define FATHOM_BOARD_H

#include <stdint.h>

#ifndef FATHOM_FREERTOS_TREE
#define FATHOM_FREERTOS_TREE 1
#endif
#define FATHOM_BOARD_HZ		      25000000
#define FATHOM_BOARD_SYSCALL_PRIORITY 0x40 /* configMAX_SYSCALL_INTERRUPT_PRIORITY */

/* On boards with DWT: DWT->CYCCNT. */
static inline uint32_t fathom_board_counter(void)
{
	return ~*(volatile uint32_t *)0x40001004;
}

static inline const char *fathom_board_irq_name(uint32_t exception)
{
	return exception == 16 + 8 ? "timer0" : exception == 16 + 10 ? "dual" : "uart";
}

#endif
