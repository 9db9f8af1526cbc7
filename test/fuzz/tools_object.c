/* SPDX-License-Identifier: MIT */
/* tools_object.c -- fuzz target: an object of `clang -target bpf`: its sections, symbols, relocations, BTF and code. */
#include "lib/fuzz_file.h"

#include "base/diag.h"
#include "program/program.h"

static const char trace[] = "# tracer: nop\n#\n"
			    "  task0-100  [000] d..2. 10.000001: sched_switch: prev_comm=task0 "
			    "prev_pid=100 prev_prio=120 prev_state=S ==> "
			    "next_comm=task1 next_pid=101 next_prio=120\n"
			    "  task1-101  [000] d..2. 10.000002: sched_wakeup: comm=task0 pid=100 "
			    "prio=120 target_cpu=000\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct scan_choice all = {.to = UINT64_MAX};
	static const struct source_options quiet = {.quiet = true};
	static struct source *source;
	static FILE *nowhere;
	static char said[256];
	struct program_options o = {.file = "fuzz.o",
				    .text = (const char *)data,
				    .bytes = size,
				    .choice = &all,
				    .threads = 1,
				    .listing = true};

	if (!source) {
		source = fuzz_open((const uint8_t *)trace, sizeof(trace) - 1, &quiet);
		nowhere = fopen("/dev/null", "w");
		diag_keep(said, sizeof(said));
	}
	if (!source || !nowhere)
		abort();
	/* Text in bpftrace's language is another reader's. */
	if (size < 4 || memcmp(data, "\177ELF", 4))
		return 0;
	program_run(source, &o, nowhere);
	return 0;
}
