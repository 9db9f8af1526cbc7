/* SPDX-License-Identifier: MIT */
/* machine.c -- riscv64: QEMU's `virt` under OpenSBI: its device tree, the other harts, the way out. */
#include "kernel.h"
#include "cpu.h"
#include "machine.h"
#include "sbi.h"
#include "virt/virt.h"
#include "vm.h"

#define MAPPED	    (RAM_BASE + (1ull << 30)) /* as far as boot.S maps RAM */
#define EXIT_FAILS  0x3333u /* to the test device: leave with the code in the upper half */
#define EXIT_RESETS 0x7777u

extern uint64_t boot_hart;
extern uint8_t ap_boot[];

struct machine machine;
static struct virt_facts facts;

/* CPU 0 is the hart that booted, whichever that was; the others come in the order of their numbers. */
static void number_harts(void)
{
	uint32_t id = 1;

	for (uint32_t i = 0; i < facts.nr_cpus; i++)
		cpus[facts.cpu[i] == boot_hart ? 0 : id++].arch.hart = facts.cpu[i];
}

void machine_init(uint64_t handed_over)
{
	virt_read_tree(phys_to_virt(handed_over), &facts);
	copy_name(machine.cmdline, facts.cmdline, sizeof(machine.cmdline));
	machine.memory_end = facts.ram_end < MAPPED ? facts.ram_end : MAPPED;
	machine.nr_cpus = facts.nr_cpus;
	number_harts();
}

uint64_t machine_clock_hz(void)
{
	return facts.timebase_hz;
}

int machine_start_cpu(uint32_t id)
{
	return sbi_call(SBI_HARTS, cpus[id].arch.hart, virt_to_phys(ap_boot), 0) ? -ENOENT : 0;
}

void warm_reset(void)
{
	*(volatile uint32_t *)(PHYS_BASE + DEV_EXIT) = EXIT_RESETS;
	cpu_halt();
	__builtin_unreachable();
}

void power_off(int code)
{
	*(volatile uint32_t *)(PHYS_BASE + DEV_EXIT) = (uint32_t)(code * 2 + 1) << 16 | EXIT_FAILS;
	cpu_halt();
	__builtin_unreachable();
}
