/* SPDX-License-Identifier: MIT */
/* machine.h -- the console and the clock of four machines of QEMU: pc, virt (aarch64, riscv64), mps2-an385. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define REG8(at)  (*(volatile uint8_t *)(at))
#define REG32(at) (*(volatile uint32_t *)(at))

#if defined(__x86_64__)
#define CLOCK_HZ 1000000000
static inline uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}
static inline uint8_t port_in(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}
static inline void uart_init(void)
{
	__asm__ volatile("outb %0, %1" ::"a"((uint8_t)1),
			 "Nd"((uint16_t)0x3fa)); /* the FIFOs are on */
}
static inline void uart_put(char c)
{
	while (!(port_in(0x3fd) & 0x20))
		;
	__asm__ volatile("outb %0, %1" ::"a"(c), "Nd"((uint16_t)0x3f8));
}
static inline int uart_get(void)
{
	return port_in(0x3fd) & 1 ? port_in(0x3f8) : -1;
}

#elif defined(__aarch64__)
#define CLOCK_HZ 62500000
static inline uint64_t ticks(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
static inline void uart_init(void)
{
	REG32(0x0900002c) = 0x70; /* 8 bits, the FIFOs are on */
}
static inline void uart_put(char c)
{
	while (REG32(0x09000018) & 0x20)
		;
	REG32(0x09000000) = (uint8_t)c;
}
static inline int uart_get(void)
{
	return REG32(0x09000018) & 0x10 ? -1 : (int)(REG32(0x09000000) & 0xff);
}

#elif defined(__riscv)
#define CLOCK_HZ 10000000
static inline uint64_t ticks(void)
{
	uint64_t v;

	__asm__ volatile("rdtime %0" : "=r"(v));
	return v;
}
static inline void uart_init(void)
{
	REG8(0x10000002) = 1; /* the FIFOs are on */
}
static inline void uart_put(char c)
{
	while (!(REG8(0x10000005) & 0x20))
		;
	REG8(0x10000000) = (uint8_t)c;
}
static inline int uart_get(void)
{
	return REG8(0x10000005) & 1 ? REG8(0x10000000) : -1;
}

#else /* a Cortex-M3: a counter of 32 bits that counts down, started by start.S */
#define CLOCK_HZ 25000000
static inline uint32_t ticks32(void)
{
	return ~REG32(0x40000004);
}
static inline void uart_init(void)
{
	REG32(0x40004008) = 3;	 /* transmitter and receiver are on */
	(void)REG32(0x40004000); /* QEMU looks again for what came before only at a read */
}
static inline void uart_put(char c)
{
	while (REG32(0x40004004) & 1)
		;
	REG32(0x40004000) = (uint8_t)c;
}
static inline int uart_get(void)
{
	return REG32(0x40004004) & 2 ? (int)REG32(0x40004000) : -1;
}
#endif

#endif
