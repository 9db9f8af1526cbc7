/* SPDX-License-Identifier: MIT */
/* machine.c -- aarch64: QEMU's `virt`: its device tree, PSCI for the other CPUs, semihosting for the way out. */
#include "kernel.h"
#include "cpu.h"
#include "machine.h"
#include "virt/virt.h"
#include "vm.h"

#define MAPPED	     (RAM_BASE + (1ull << 30)) /* as far as boot.S maps RAM */
#define PSCI_CPU_ON  0xc4000003u
#define PSCI_RESET   0x84000009u
#define SEMI_EXIT    0x18u
#define SEMI_AT_WILL 0x20026u /* the application exits, with a code */

extern uint8_t ap_boot[];

struct machine machine;

void machine_init(uint64_t handed_over)
{
	static struct virt_facts facts;

	virt_read_tree(phys_to_virt(handed_over), &facts);
	copy_name(machine.cmdline, facts.cmdline, sizeof(machine.cmdline));
	machine.memory_end = facts.ram_end < MAPPED ? facts.ram_end : MAPPED;
	machine.nr_cpus = facts.nr_cpus;
	for (uint32_t i = 0; i < facts.nr_cpus; i++)
		cpus[i].arch.mpidr = facts.cpu[i];
}

uint64_t machine_clock_hz(void)
{
	return reg_read(cntfrq_el0);
}

static uint64_t psci(uint32_t function, uint64_t a, uint64_t b)
{
	register uint64_t x0 __asm__("x0") = function;
	register uint64_t x1 __asm__("x1") = a;
	register uint64_t x2 __asm__("x2") = b;
	register uint64_t x3 __asm__("x3") = 0;

	__asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
	return x0;
}

int machine_start_cpu(uint32_t id)
{
	return psci(PSCI_CPU_ON, cpus[id].arch.mpidr, virt_to_phys(ap_boot)) ? -ENOENT : 0;
}

void warm_reset(void)
{
	psci(PSCI_RESET, 0, 0);
	cpu_halt();
	__builtin_unreachable();
}

void power_off(int code)
{
	uint64_t block[2] = {SEMI_AT_WILL, (uint64_t)(code * 2 + 1)};
	register uint64_t x0 __asm__("x0") = SEMI_EXIT;
	register uint64_t *x1 __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	cpu_halt();
	__builtin_unreachable();
}
