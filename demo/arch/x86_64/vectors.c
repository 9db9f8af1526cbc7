/* SPDX-License-Identifier: MIT */
/* vectors.c -- x86_64: the interrupt table, which leads to entry.S. */
#include "kernel.h"
#include "machine.h"
#include "cpu.h"
#include "entry.h"

struct gate {
	uint16_t offset0, selector;
	uint8_t ist, type;
	uint16_t offset1;
	uint32_t offset2, unused;
};

static struct gate idt[256];
extern uint8_t vector_stubs[], nmi_entry[], double_fault_entry[];

static void set_gate(int vector, const void *at, uint8_t ist, int user)
{
	uintptr_t a = (uintptr_t)at;

	idt[vector] = (struct gate){
		.offset0 = (uint16_t)a,
		.selector = SEL_KCODE,
		.ist = ist,
		.type = user ? 0xee : 0x8e, /* interrupt gate: enters with interrupts off */
		.offset1 = (uint16_t)(a >> 16),
		.offset2 = (uint32_t)(a >> 32),
	};
}

static void fill_table(void)
{
	for (int v = 0; v < 256; v++)
		set_gate(v, vector_stubs + v * 16, 0, v == VEC_BREAKPOINT);
	set_gate(VEC_NMI, nmi_entry, 1, 0);
	set_gate(VEC_DOUBLE_FAULT, double_fault_entry, 2, 0);
}

/* All CPUs share the table; the first one fills it. */
void entry_init(void)
{
	struct descriptor_ptr idtr = {sizeof(idt) - 1, idt};

	if (!idt[0].type)
		fill_table();
	__asm__ volatile("lidt %0" : : "m"(idtr));
}

void frame_print(const struct trapframe *f)
{
	kprintf("rax %lx rbx %lx rcx %lx rdx %lx rsi %lx rdi %lx rbp %lx flags %lx\n", f->rax,
		f->rbx, f->rcx, f->rdx, f->rsi, f->rdi, f->rbp, f->rflags);
}
