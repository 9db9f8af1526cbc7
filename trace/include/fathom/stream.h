/* SPDX-License-Identifier: MIT */
/* stream.h -- the second recording back end: 16-bit words, LZ4-compressed as they come; for long histories in little memory. */
#ifndef FATHOM_STREAM_H
#define FATHOM_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include "wire/sel4.h"

/*
 * A function call or return costs one 16-bit word, everything else a marker and its operands (wire/sel4.h). Words are
 * collected in a work buffer per CPU and compressed into the CPU's storage when it is full. Works alone: nothing else of
 * the library needs to be set up.
 */
struct fathom_stream_config {
	void *memory;	     /* required, 64-aligned: all that is used */
	size_t memory_bytes; /* required; -ENOMEM says so if it is too small */
	uint32_t nr_cpus;    /* required */
	uint32_t work_words; /* per CPU; 0: 4096. A block: 1024 .. 32000 */
	uint32_t functions;  /* room of the dictionary, a power of two up to 16384; 0: 4096 */
	uint32_t flags;	     /* enum fathom_stream_flags */
	uint64_t clock_hz; /* ticks of fathom_port_clock() per second, for the dump; 0: not told */
};

enum fathom_stream_flags {
	/* a timestamp before every kernel entry and at the head of every block */
	FATHOM_STREAM_STAMPS = 1,
	/* a thread keeps its kernel stack when it waits: its calls go on when it runs again */
	FATHOM_STREAM_TASK_STACKS = 4,
	/* keep the newest blocks; else recording stops when storage is full */
	FATHOM_STREAM_OVERWRITE = 2,
};

/* Where every event offered went; per CPU. logged = in storage or work buffer + overwritten. */
struct fathom_stream_stats {
	uint64_t events;      /* logged */
	uint64_t words;	      /* logged */
	uint64_t overwritten; /* words given up for newer ones */
	uint64_t full;	      /* events refused: storage is full */
	/* events refused: an interrupt had more to say than the side buffer holds */
	uint64_t nested;
	uint64_t no_index;     /* functions refused: the dictionary is full */
	uint64_t packed_bytes; /* of the blocks in storage */
	uint64_t block_words;  /* what they hold */
	uint32_t blocks;       /* in storage */
	uint32_t storage_full;
};

/* 0, -EINVAL, -ENOMEM. Recording is off. Context: init. */
int fathom_stream_init(const struct fathom_stream_config *config);
void fathom_stream_exit(void);
/* Switch recording; reset forgets everything but the dictionary. Context: task, serialised. Reset: no writer runs. */
void fathom_stream_start(void);
void fathom_stream_stop(void);
void fathom_stream_reset(void);
int fathom_stream_is_on(void);
/* 0, -EINVAL: there is no such CPU. */
int fathom_stream_stats(uint32_t cpu, struct fathom_stream_stats *out);

/*
 * The events. Any context, on the running CPU, interrupts and NMIs included; nothing happens while recording is off.
 * An event that interrupts another is put behind it.
 */
void fathom_stream_enter(uintptr_t function);
void fathom_stream_leave(uintptr_t function);
/* Logged when it changes. */
void fathom_stream_vmid(uint32_t vmid);
void fathom_stream_thread(uint64_t tcb);
void fathom_stream_vspace(uint64_t root_paddr);
/*
 * The CPU came from user mode (or out of idling), and goes back. `since` is the clock at the entry, 0: now. An exit tells
 * the ticks since then. They always pair up: an entry closes one that was left open, an exit without one says nothing.
 */
void fathom_stream_kernel_entry(const struct wire_sel4_entry *entry, uint64_t since);
void fathom_stream_kernel_exit(void);
void fathom_stream_syscall(uint32_t number);
void fathom_stream_interrupt(uint32_t irq);
void fathom_stream_vm_fault(uint32_t type, uint64_t addr);
void fathom_stream_user_fault(uint32_t number, uint32_t code);
void fathom_stream_tracepoint(uint32_t id, uint64_t duration);
/* What the kernel does with memory. */
enum fathom_stream_memory {
	FATHOM_STREAM_SAFE_PTE,	  /* a: pc */
	FATHOM_STREAM_RETYPE,	  /* a: physical address, b: object */
	FATHOM_STREAM_INIT_PT,	  /* a: physical address, b: phase */
	FATHOM_STREAM_CREATE_OBJ, /* a: physical address, b: object */
	FATHOM_STREAM_PT_MAP,	  /* a: page table, b: its parent, slot */
};
void fathom_stream_memory(enum fathom_stream_memory what, uint64_t a, uint64_t b, uint32_t slot);

enum fathom_stream_form {
	FATHOM_STREAM_BASE64, /* BINARY TRANSFER, version 3 */
	FATHOM_STREAM_BASE91, /* the same between FTRACE BINARY DUMP lines: 14 % shorter */
};

/* All CPUs to the console, one dump each, lines ended by CR LF. Recording is stopped for it. Any context that may print. */
typedef void (*fathom_stream_write_fn)(void *arg, const char *text, size_t bytes);
void fathom_stream_dump(fathom_stream_write_fn write, void *arg, enum wire_sel4_reason reason,
			enum fathom_stream_form form);

#endif
