/* SPDX-License-Identifier: MIT */
/* demo.h -- the demo's two files. */
#ifndef DEMO_H
#define DEMO_H

#include <stddef.h>
#include <stdint.h>

#define CONSOLE 0 /* UARTs */
#define LINE	1

#define TIMER0	     ((volatile uint32_t *)0x40000000)
#define TIMER1	     ((volatile uint32_t *)0x40001000)
#define DEMO_COUNTER TIMER1[1] /* counts down at 25 MHz */
#define DUAL	     ((volatile uint32_t *)0x40002000)

void demo_main(void);
void demo_send(void *uart, const void *data, size_t bytes);
void demo_say(const char *text);
void demo_say_number(uint32_t n);
int demo_read(uint32_t uart);
void demo_timers(uint32_t on);
void demo_failed(const char *file, int line);
void demo_line_irq(void);
void demo_timer_irq(void);
void demo_dual_irq(void);

#endif
