/* SPDX-License-Identifier: MIT */
/* fathom_sel4.c -- seL4's kernel entries, switches and functions as events of the 16-bit stream. */
#include "fathom_sel4.h"

#ifdef CONFIG_FATHOM_STREAM

#include <benchmark/benchmark_track.h>
#include <machine/io.h>
#include "fathom/stream.h"

#define UNTRACED __attribute__((no_instrument_function))

#ifndef CONFIG_FATHOM_STREAM_BYTES
#define CONFIG_FATHOM_STREAM_BYTES (4u << 20)
#endif
#ifndef CONFIG_FATHOM_CLOCK_HZ
#define CONFIG_FATHOM_CLOCK_HZ 0 /* not told: times are shown in ticks */
#endif

static uint8_t fathom_sel4_memory[CONFIG_FATHOM_STREAM_BYTES] __attribute__((aligned(64)));

UNTRACED void fathom_sel4_boot(void)
{
	const struct fathom_stream_config c = {
		.memory = fathom_sel4_memory,
		.memory_bytes = sizeof(fathom_sel4_memory),
		.nr_cpus = CONFIG_MAX_NUM_NODES,
		.flags = FATHOM_STREAM_STAMPS,
		.clock_hz = CONFIG_FATHOM_CLOCK_HZ,
	};

	if (fathom_stream_init(&c)) {
		printf("FTRACE: no room for the recorder\n");
		return;
	}
	fathom_sel4_reset();
}

/* The kernel keeps what it came for in one variable, in the layout of its own log. */
UNTRACED void fathom_sel4_entry(void)
{
	struct wire_sel4_entry e = {.path = (uint8_t)ksKernelEntry.path};

	if (!fathom_stream_is_on())
		return;
	if (ksKernelEntry.path == Entry_Syscall) {
		e.syscall = (uint8_t)ksKernelEntry.syscall_no;
		e.cap = (uint8_t)ksKernelEntry.cap_type;
		e.fastpath = (uint8_t)ksKernelEntry.is_fastpath;
		e.tag = (uint32_t)ksKernelEntry.invocation_tag;
	}
	fathom_stream_kernel_entry(&e, ksEnter);
	if (ksKernelEntry.path == Entry_Interrupt)
		fathom_stream_interrupt((uint32_t)ksKernelEntry.word);
	else if (ksKernelEntry.path == Entry_Syscall)
		fathom_stream_syscall(e.syscall);
}

UNTRACED void fathom_sel4_exit(void)
{
	fathom_stream_kernel_exit();
}

UNTRACED void fathom_sel4_switch(tcb_t *next, word_t vmid)
{
	fathom_stream_thread((uint64_t)(uintptr_t)next & 0xffffffffffffu);
	fathom_stream_vmid((uint32_t)vmid);
}

UNTRACED void fathom_sel4_vm_fault(word_t type, word_t addr)
{
	fathom_stream_vm_fault((uint32_t)type, addr);
}

UNTRACED void fathom_sel4_user_fault(word_t number, word_t code)
{
	fathom_stream_user_fault((uint32_t)number, (uint32_t)code);
}

UNTRACED void fathom_sel4_tracepoint(word_t id, timestamp_t duration)
{
	fathom_stream_tracepoint((uint32_t)id, duration);
}

UNTRACED void fathom_sel4_reset(void)
{
	fathom_stream_stop();
	fathom_stream_reset();
	fathom_stream_start();
}

static UNTRACED void fathom_sel4_write(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	for (size_t i = 0; i < bytes; i++)
		kernel_putDebugChar((unsigned char)text[i]);
}

UNTRACED void fathom_sel4_finalize(void)
{
	printf("FTRACE: SysBenchmarkFinalizeLog called, dumping ftrace...\n");
	fathom_stream_dump(fathom_sel4_write, 0, WIRE_SEL4_REASON_FINALIZE, FATHOM_STREAM_BASE64);
}

/* What -finstrument-functions calls. */
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

UNTRACED void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	fathom_stream_enter((uintptr_t)function);
}

UNTRACED void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	fathom_stream_leave((uintptr_t)function);
}

#endif
