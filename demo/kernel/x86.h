/* SPDX-License-Identifier: MIT */
/* x86.h -- the processor's instructions and numbers that C has no words for. */
#ifndef DEMO_X86_H
#define DEMO_X86_H

#include <stddef.h>
#include <stdint.h>

#define MSR_STAR	   0xc0000081u
#define MSR_LSTAR	   0xc0000082u
#define MSR_FMASK	   0xc0000084u
#define MSR_GS_BASE	   0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u

#define FLAGS_TF 0x100u
#define FLAGS_IF 0x200u
#define FLAGS_DF 0x400u

static inline void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outw(uint16_t port, uint16_t v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint64_t rdmsr(uint32_t msr)
{
	uint32_t lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (uint64_t)hi << 32 | lo;
}

static inline void wrmsr(uint32_t msr, uint64_t v)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((uint32_t)v), "d"((uint32_t)(v >> 32))
			 : "memory");
}

static inline uint64_t rdtsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline uint64_t read_cr2(void)
{
	uint64_t v;

	__asm__ volatile("mov %%cr2, %0" : "=r"(v));
	return v;
}

static inline uint64_t read_cr3(void)
{
	uint64_t v;

	__asm__ volatile("mov %%cr3, %0" : "=r"(v));
	return v;
}

static inline void write_cr3(uint64_t v)
{
	__asm__ volatile("mov %0, %%cr3" : : "r"(v) : "memory");
}

static inline void invlpg(uintptr_t at)
{
	__asm__ volatile("invlpg (%0)" : : "r"(at) : "memory");
}

/* An instruction after which this CPU has fetched nothing stale: what cross-modified code asks for. */
static inline void serialize(void)
{
	uint32_t a = 0, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) : : "memory");
}

static inline uint64_t read_flags(void)
{
	uint64_t v;

	__asm__ volatile("pushfq; popq %0" : "=r"(v));
	return v;
}

static inline void cpu_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}

#endif
