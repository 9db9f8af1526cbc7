/* SPDX-License-Identifier: MIT */
/* port_sel4.c -- ports/sel4 against stand-ins for seL4's headers: a run of kernel entries, and the dump they make. */
#include "harness.h"
#include "fathom_sel4.h"
#include "fathom/stream.h"
#include <benchmark/benchmark_track.h>

kernel_entry_t ksKernelEntry;
timestamp_t ksEnter;
static timestamp_t now = 1000;
static char console[1 << 20];
static size_t nr_console;

void kernel_putDebugChar(unsigned char c);

timestamp_t timestamp(void)
{
	return now += 10;
}

void kernel_putDebugChar(unsigned char c)
{
	if (nr_console < sizeof(console) - 1)
		console[nr_console++] = (char)c;
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static void syscall_entry(int number, int fast)
{
	ksEnter = timestamp();
	ksKernelEntry = (kernel_entry_t){.path = Entry_Syscall};
	ksKernelEntry.syscall_no = (word_t)number & 15;
	ksKernelEntry.cap_type = 4;
	ksKernelEntry.is_fastpath = fast & 1;
	fathom_sel4_entry();
	__cyg_profile_func_enter((void *)0x8080012000, NULL);
	__cyg_profile_func_exit((void *)0x8080012000, NULL);
	fathom_sel4_exit();
}

TEST(hooks_make_a_dump)
{
	static tcb_t threads[2];
	struct fathom_stream_stats st;

	fathom_sel4_boot();
	for (int i = 0; i < 5000; i++) {
		syscall_entry(1, i & 1);
		fathom_sel4_switch(&threads[i % 2], (word_t)(1 + i % 2));
		ksEnter = timestamp();
		ksKernelEntry = (kernel_entry_t){.path = Entry_Interrupt};
		ksKernelEntry.word = 27;
		fathom_sel4_entry();
		fathom_sel4_exit();
	}
	fathom_stream_stats(0, &st);
	CHECK_EQ(st.full + st.nested + st.no_index, 0);
	fathom_sel4_finalize();
	CHECK(strstr(console,
		     "=== BINARY TRANSFER START ===\r\nTYPE: FTRACE_STREAM\r\nVERSION: 3\r\n"));
	CHECK(strstr(console, "DUMP_REASON: FINALIZE\r\nDUMP_REASON_CODE: 1\r\n"));
	CHECK(strstr(console, "CLOCK_HZ: 1000000000\r\n"));
	CHECK(strstr(console, "STORAGE_FULL: NO\r\n"));
	CHECK(strstr(console, "=== BINARY TRANSFER END ===\r\n"));
	/* For test/cli/port_sel4.sh, which reads it on the host. */
	FILE *f = fopen("build/test/port_sel4.log", "w");

	CHECK(f && fwrite(console, 1, nr_console, f) == nr_console);
	fclose(f);
}

TEST(reset_forgets)
{
	struct fathom_stream_stats st;

	fathom_sel4_reset();
	fathom_stream_stats(0, &st);
	CHECK_EQ(st.events, 1); /* the timestamp at the head */
	CHECK(fathom_stream_is_on());
}

TEST_MAIN
