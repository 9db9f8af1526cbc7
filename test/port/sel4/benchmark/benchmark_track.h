/* SPDX-License-Identifier: MIT */
/* benchmark_track.h -- stand-in: what the kernel keeps of an entry. */
#ifndef BENCHMARK_TRACK_H
#define BENCHMARK_TRACK_H
#include <model/statedata.h>
enum {
	Entry_Unknown,
	Entry_Interrupt,
	Entry_UnknownSyscall,
	Entry_UserLevelFault,
	Entry_DebugFault,
	Entry_VMFault,
	Entry_Syscall,
	Entry_VCPUFault,
};
typedef struct {
	word_t path : 3;
	union {
		struct {
			word_t core : 3;
			word_t word : 26;
		};
		struct {
			word_t syscall_no : 4;
			word_t cap_type : 5;
			word_t is_fastpath : 1;
			word_t invocation_tag : 19;
		};
	};
} kernel_entry_t;
extern kernel_entry_t ksKernelEntry;
extern timestamp_t ksEnter;
#endif
