/* SPDX-License-Identifier: MIT */
/* machine.c -- x86_64: QEMU's `pc`: what its PVH loader hands over, the rate of the TSC, the other CPUs, the way out. */
#include "irq.h"
#include "kernel.h"
#include "cpu.h"
#include "machine.h"
#include "vm.h"

/* What QEMU's PVH loader hands over. */
struct pvh_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline, rsdp, memmap;
	uint32_t nr_memmap, unused;
};

struct pvh_range {
	uint64_t start, bytes;
	uint32_t type, unused;
};

#define PVH_MAGIC   0x336ec578u
#define PVH_RAM	    1
#define MAPPED	    (1ull << 30) /* as far as boot.S maps physical memory */
#define MEASURED_MS 20u /* long enough for 4 digits of the TSC's rate, short enough for a boot */

extern uint8_t kernel_end[], ap_trampoline[], ap_trampoline_end[];

struct machine machine;

/* The end of the RAM that the kernel lies in. */
static uint64_t memory_end(const struct pvh_info *info)
{
	const struct pvh_range *r = phys_to_virt(info->memmap);
	uint64_t here = virt_to_phys(kernel_end);

	for (uint32_t i = 0; i < info->nr_memmap; i++) {
		uint64_t end = r[i].start + r[i].bytes;

		if (r[i].type == PVH_RAM && r[i].start <= here && here < end)
			return end < MAPPED ? end : MAPPED;
	}
	panic("no memory at the kernel's end");
}

/* How many CPUs there are, QEMU tells by its configuration device: item 5, a 16-bit number. */
static uint32_t cpus_there(void)
{
	outw(0x510, 5);
	uint32_t n = inb(0x511);

	n |= (uint32_t)inb(0x511) << 8;
	return n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : n;
}

void machine_init(uint64_t handed_over)
{
	const struct pvh_info *info = phys_to_virt(handed_over);

	if (info->magic != PVH_MAGIC)
		panic("not booted by PVH");
	if (info->cmdline)
		copy_name(machine.cmdline, phys_to_virt(info->cmdline), sizeof(machine.cmdline));
	machine.memory_end = memory_end(info);
	machine.nr_cpus = cpus_there();
}

/* Channel 2 of the PIT, whose rate is known, counts down once; its output is bit 5 of port 0x61. */
uint64_t machine_clock_hz(void)
{
	uint32_t pit_ticks = PIT_HZ * MEASURED_MS / 1000;

	outb(0x61, (inb(0x61) & 0xfc) | 1); /* gate on, speaker off */
	outb(0x43, 0xb0);		    /* channel 2, both bytes, mode 0 */
	outb(0x42, (uint8_t)pit_ticks);
	outb(0x42, (uint8_t)(pit_ticks >> 8));
	uint64_t start = clock_counter();

	while (!(inb(0x61) & 0x20))
		;
	return (clock_counter() - start) * 1000 / MEASURED_MS;
}

/* boot.S takes its number from ap_number: who finds 0 came too late, and stops. */
int machine_start_cpu(uint32_t id)
{
	memcpy(phys_to_virt(AP_START), ap_trampoline, (size_t)(ap_trampoline_end - ap_trampoline));
	apic_wake(id);
	delay_us(10000);
	for (int tries = 0; tries < 2 && !cpus[id].online; tries++) {
		apic_start(id, AP_START);
		for (int ms = 0; ms < 2000 && !cpus[id].online; ms++)
			delay_us(1000);
	}
	return cpus[id].online || !__atomic_exchange_n(&ap_number, 0, __ATOMIC_SEQ_CST) ? 0
											: -ENOENT;
}

/* The keyboard's controller holds the reset line. */
void warm_reset(void)
{
	outb(0x64, 0xfe);
	cpu_halt();
	__builtin_unreachable();
}

/* The isa-debug-exit device. */
void power_off(int code)
{
	outb(0xf4, (uint8_t)code);
	cpu_halt();
	__builtin_unreachable();
}
