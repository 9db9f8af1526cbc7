/* SPDX-License-Identifier: MIT */
/* stream.c -- the kernel in the 16-bit stream: what its entries mean in the words of the seL4 tracer. */
#include "kernel.h"
#include "lock.h"
#include "stream.h"
#include "syscalls.h"
#include "task.h"
#include "fathom/stream.h"

#if LEVEL >= 4

#define STREAM_BYTES_PER_CPU (1u << 20)
#define CAP_TYPE_ENDPOINT    4u /* the seL4 number */

/* Everything here runs inside what it describes: a trace of it would be a trace of the tracer. */

void NOTRACE stream_init(uint32_t cpus)
{
	struct fathom_stream_config c = {
		.memory_bytes = (size_t)(cpus * STREAM_BYTES_PER_CPU + (256u << 10)),
		.nr_cpus = cpus,
		.flags = FATHOM_STREAM_STAMPS | FATHOM_STREAM_TASK_STACKS,
		.clock_hz = clock_hz,
	};

	c.memory = frame_early(c.memory_bytes);
	if (fathom_stream_init(&c))
		panic("no room for the stream recorder");
}

/* The number seL4 gives the call that ours is like; 0: it has none. */
static NOTRACE uint8_t like_sel4(uint64_t number)
{
	switch (number) {
	case SYS_call: return 1;
	case SYS_reply_recv: return 2;
	case SYS_send: return 3;
	case SYS_recv: return 5;
	case SYS_yield: return 7;
	default: return 0;
	}
}

void NOTRACE stream_syscall(struct trapframe *f)
{
	struct wire_sel4_entry e = {.path = WIRE_SEL4_PATH_UNKNOWN_SYSCALL};

	if (!fathom_stream_is_on())
		return;
	e.syscall = like_sel4(frame_syscall(f));
	if (e.syscall) {
		e.path = WIRE_SEL4_PATH_SYSCALL;
		e.cap = e.syscall == 7 ? 0 : CAP_TYPE_ENDPOINT;
		e.fastpath =
			e.cap && ipc_is_fast(frame_syscall(f) == SYS_call	  ? IPC_CALL
					     : frame_syscall(f) == SYS_reply_recv ? IPC_REPLY_RECV
					     : frame_syscall(f) == SYS_send	  ? IPC_SEND
										  : IPC_RECV,
					     (uint32_t)frame_arg(f, 0));
	}
	fathom_stream_kernel_entry(&e, 0);
	fathom_stream_syscall((uint32_t)frame_syscall(f));
}

void NOTRACE stream_trap(const struct trapframe *f)
{
	struct wire_sel4_entry e = {.path = WIRE_SEL4_PATH_INTERRUPT};

	if (f->vector == VEC_PAGE_FAULT)
		e.path = WIRE_SEL4_PATH_VM_FAULT;
	else if (f->vector == 1 || f->vector == VEC_BREAKPOINT)
		e.path = WIRE_SEL4_PATH_DEBUG_FAULT;
	else if (f->vector < VEC_EXCEPTIONS)
		e.path = WIRE_SEL4_PATH_USER_FAULT;
	fathom_stream_kernel_entry(&e, 0);
	if (e.path == WIRE_SEL4_PATH_USER_FAULT)
		fathom_stream_user_fault((uint32_t)f->vector, (uint32_t)f->error);
}

void NOTRACE stream_leave(void)
{
	fathom_stream_kernel_exit();
}

void NOTRACE stream_fault(uintptr_t at, uint64_t error)
{
	fathom_stream_vm_fault((uint32_t)error, at);
}

void NOTRACE stream_interrupt(uint32_t vector)
{
	fathom_stream_interrupt(vector);
}

void NOTRACE stream_switch(const struct task *next, int idle)
{
	fathom_stream_thread((uintptr_t)next & 0xffffffffffffu);
	fathom_stream_vmid((uint32_t)next->pid);
	if (idle)
		fathom_stream_kernel_exit();
}

static NOTRACE void to_console(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	console_write(text, bytes);
}

static NOTRACE void status(void)
{
	struct fathom_stream_stats st;

	kprintf("cpu    events     words  compressed  words/event  bytes/event  lost\n");
	for (uint32_t cpu = 0; !fathom_stream_stats(cpu, &st); cpu++) {
		uint64_t n = st.events ? st.events : 1, w = st.block_words ? st.block_words : 1;
		uint64_t words = st.words * 100 / n; /* hundredths */
		uint64_t bytes = st.words * st.packed_bytes / w * 100 / n;

		kprintf("%3u %9lu %9lu %11lu %9lu.%02lu %9lu.%02lu %5lu\n", cpu, st.events,
			st.words, st.packed_bytes, words / 100, words % 100, bytes / 100,
			bytes % 100, st.full + st.nested + st.no_index);
	}
}

int NOTRACE stream_command(const char *what)
{
	if (!strcmp(what, "status"))
		status();
	else if (!strcmp(what, "dump"))
		fathom_stream_dump(to_console, NULL, WIRE_SEL4_REASON_REQUEST,
				   FATHOM_STREAM_BASE64);
	else if (!strcmp(what, "dump91"))
		fathom_stream_dump(to_console, NULL, WIRE_SEL4_REASON_REQUEST,
				   FATHOM_STREAM_BASE91);
	else
		return -1;
	return 0;
}

#endif
