/* SPDX-License-Identifier: MIT */
/* fathom_xv6.c -- the cold half of the port to xv6, and what the lines of `hooks` call. Not compiled for tracing. */
#define CREATE_TRACE_POINTS
#include "trace_points.h"
#include "fathom/p9.h"
#include "fathom/save.h"
#include "fathom/task.h"
#include "kernel/types.h"
#include "kernel/param.h"
#include "kernel/memlayout.h"
#include "kernel/riscv.h"
#include "kernel/spinlock.h"
#include "kernel/sleeplock.h"
#include "kernel/proc.h"
#include "kernel/defs.h"

#if XV6_CPUS != NCPU || XV6_PROCS != NPROC
#error "fathom_port.h has other numbers of CPUs and processes than param.h"
#endif

#define MEMORY (8 << 20)
#define TEXT_ALIAS \
	0x200000000L /* kernel text once more, writable: above all RAM, below the stacks */
#define STACK 12288  /* of the trace line: the tree needs more than xv6's 4 KiB */
#define TIMER 7	     /* an interrupt number that the PLIC does not use for a device here */

extern struct proc proc[NPROC];
extern struct spinlock uart_tx_lock;

int32_t xv6_pid[XV6_SLOTS];
struct fathom_task *xv6_task[XV6_SLOTS];
uint8_t xv6_in_irq[XV6_CPUS];

static struct fathom_task states[XV6_SLOTS];
static char memory[MEMORY] __attribute__((aligned(PGSIZE)));

/* ---- level 0: the clock, and where all of it lies ---- */

void fathom_xv6_time(void)
{
	__asm__ volatile("csrs mcounteren, %0; csrs scounteren, %0" : : "r"(2));
}

/* ---- level 3: tasks ---- */

/* The console without locks: a panic prints with it. */
static void sink(void *arg, const char *text, size_t n)
{
	while (n-- > 0)
		consputc(*text++);
}

static int task_name(int32_t pid, char buf[16])
{
	for (struct proc *p = proc; p < &proc[NPROC]; p++) {
		if (p->pid == pid && p->state != UNUSED) {
			safestrcpy(buf, p->name, 16);
			return 0;
		}
	}
	return -FATHOM_ESRCH;
}

/* Before there are processes one hart runs, and takes no lock. */
static struct sleeplock tracing;
static void lock(void *arg)
{
	if (myproc())
		acquiresleep(&tracing);
}

static void unlock(void *arg)
{
	if (myproc())
		releasesleep(&tracing);
}

void fathom_xv6_panic(void)
{
	fathom_dump(20);
}

/* As Linux counts: 120 is an ordinary task, 140 the idle one, or the wakeup tracers never see one preferred. */
static struct fathom_sched_task who(struct proc *p)
{
	struct fathom_sched_task t = {.prio = p ? 120 : 140, .task = &states[NPROC + cpuid()]};

	if (p) {
		t.task = &states[p->pid == xv6_pid[XV6_SLOTS - 1] ? XV6_SLOTS - 1 : p - proc];
		t.pid = p->pid;
		t.state = p->state == SLEEPING ? 1 : p->state == ZOMBIE ? 6 : 0;
	}
	safestrcpy(t.comm, p ? p->name : "scheduler", sizeof(t.comm));
	return t;
}

void fathom_xv6_switch(struct proc *prev, struct proc *next)
{
	long state = !prev ? 0 : prev->state == SLEEPING ? 0x01 : prev->state == ZOMBIE ? 0x20 : 0;

	if (fathom_wanted(FATHOM_WANT_SWITCH)) {
		struct fathom_sched_task a = who(prev), b = who(next);

		fathom_task_switch(&a, &b);
	}
	trace_sched_switch(prev ? prev->name : "scheduler", prev ? prev->pid : 0, prev ? 120 : 140,
			   state, next ? next->name : "scheduler", next ? next->pid : 0,
			   next ? 120 : 140);
}

void fathom_xv6_wakeup(struct proc *p)
{
	if (fathom_wanted(FATHOM_WANT_WAKEUP)) {
		struct fathom_sched_task me = who(mycpu()->proc), woken = who(p);

		fathom_note_wakeup(&me, &woken, cpuid());
	}
	trace_sched_wakeup(p->name, p->pid, 120, cpuid());
}

void fathom_xv6_new(struct proc *p)
{
	xv6_pid[p - proc] = p->pid;
	fathom_task_new(&states[p - proc], myproc() ? myproc()->pid : 0, p->pid);
}

void fathom_xv6_fork(struct proc *p, struct proc *child)
{
	trace_sched_process_fork(p->name, p->pid, child->name, child->pid);
	trace_sched_wakeup_new(child->name, child->pid, 120, cpuid());
}

void fathom_xv6_exec(struct proc *p, char *path)
{
	trace_sched_process_exec(path, p->pid, p->pid);
}

void fathom_xv6_exit(struct proc *p)
{
	fathom_task_exit(p->pid);
	trace_sched_process_exit(p->name, p->pid, 120);
}

/*
 * xv6's scheduler spins when there is nothing to run; in QEMU, on a machine with fewer cores than harts, those that wait then
 * take the time of the one that works. Interrupts are off from the look to the wait, so none comes in between.
 */
void fathom_xv6_idle(void)
{
	struct proc *p = proc;

	intr_off();
	while (p < &proc[NPROC] && p->state != RUNNABLE)
		p++;
	if (p == &proc[NPROC])
		__asm__ volatile("wfi");
	intr_on();
}

/* ---- what the events of system calls, interrupts and memory ask ---- */

void fathom_xv6_sys_enter(int number, struct trapframe *f)
{
	if (trace_sys_enter_enabled()) {
		uintptr_t args[6] = {f->a0, f->a1, f->a2, f->a3, f->a4, f->a5};

		trace_sys_enter(number, args);
	}
}

void fathom_xv6_sys_exit(int number, uint64 result)
{
	trace_sys_exit(number, result);
}

void fathom_xv6_fault(uint64 at, uint64 pc, uint64 cause)
{
	trace_page_fault_user(at, pc, cause);
}

void fathom_xv6_irq_entry(int irq)
{
	if (irq) {
		xv6_in_irq[cpuid()] = 1;
		trace_irq_handler_entry(irq, irq == UART0_IRQ	  ? "uart"
					     : irq == VIRTIO0_IRQ ? "disk"
								  : "timer");
	}
}

void fathom_xv6_irq_exit(int irq)
{
	if (irq) {
		trace_irq_handler_exit(irq, 1);
		xv6_in_irq[cpuid()] = 0;
	}
}

void fathom_xv6_alloc(void *page)
{
	if (page)
		trace_frame_alloc((uint64)page / PGSIZE, 0, __builtin_return_address(0));
}

void fathom_xv6_free(void *page)
{
	trace_frame_free((uint64)page / PGSIZE, 0);
}

/* ---- level 4 and 5: functions ---- */

extern char etext[];
extern const uint32 ksym_count, ksym_at[], ksym_name_at[];
extern const char ksym_names[];

static const char *symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	uint32 lo = 0, hi = ksym_count, off = at - KERNBASE;

	if (at < KERNBASE || at >= (uint64)etext || !hi)
		return 0;
	while (hi - lo > 1) {
		uint32 mid = (lo + hi) / 2;

		if (ksym_at[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	*offset = off - ksym_at[lo];
	*size = (lo + 1 < ksym_count ? ksym_at[lo + 1] : (uint64)etext - KERNBASE) - ksym_at[lo];
	return ksym_names + ksym_name_at[lo];
}

static uintptr_t lookup(const char *name)
{
	for (uint32 i = 0; i < ksym_count; i++)
		if (!strncmp(ksym_names + ksym_name_at[i], name, 64))
			return KERNBASE + ksym_at[i];
	return 0;
}

void fathom_xv6_map(pagetable_t kernel)
{
	kvmmap(kernel, TEXT_ALIAS, KERNBASE, (uint64)etext - KERNBASE, PTE_R | PTE_W);
	kvmmap(kernel, CLINT, CLINT, 0x10000, PTE_R | PTE_W);
}

static void *text_map(void *at, size_t bytes)
{
	return (char *)at - KERNBASE + TEXT_ALIAS;
}

/*
 * xv6 has no interrupts between harts: each says in its timer's that it has fetched anew. Ten times a second is slow when
 * twenty events are switched one by one, so the timers are made to fire now.
 */
static uint64 text_version, text_seen[NCPU];
static uint8_t online[NCPU];

static void fetch_anew(void)
{
	uint64 version = __atomic_load_n(&text_version, __ATOMIC_ACQUIRE);

	__asm__ volatile("fence.i" : : : "memory");
	__atomic_store_n(&text_seen[cpuid()], version, __ATOMIC_RELEASE);
	FATHOM_SYNCED();
}

static void sync(void)
{
	uint64 version = __atomic_add_fetch(&text_version, 1, __ATOMIC_SEQ_CST);

	for (int i = 0; i < NCPU; i++)
		if (online[i])
			*(volatile uint64 *)CLINT_MTIMECMP(i) = *(volatile uint64 *)CLINT_MTIME;
	for (int i = 0; i < NCPU; i++)
		while (__atomic_load_n(&online[i], __ATOMIC_ACQUIRE) &&
		       __atomic_load_n(&text_seen[i], __ATOMIC_ACQUIRE) < version)
			;
}

void fathom_xv6_hart(void)
{
	fetch_anew();
	online[cpuid()] = 1;
}

void fathom_xv6_left(void)
{
	fathom_kernel_left(); /* usertrap() and usertrapret() do not return */
}

void xv6_stack(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	if ((at >= KSTACK(NPROC - 1) && at < TRAMPOLINE &&
	     at / PGSIZE % 2 == KSTACK(0) / PGSIZE % 2) ||
	    (at >= (uint64)stack0 && at < (uint64)stack0 + sizeof(stack0))) {
		*lo = at / PGSIZE * PGSIZE;
		*hi = *lo + PGSIZE;
	}
}

/* ---- level 6: a process that never leaves the kernel answers the host on the console's UART ---- */

static struct fathom_p9 p9;
static struct spinlock inputlock;
static char input[8192]; /* power of two */
static uint32 input_read, input_write;
static int waiting; /* a read of the host's has to be tried again */

/* From the UART's interrupt. */
void fathom_xv6_input(int c)
{
	acquire(&inputlock);
	if (input_write - input_read < sizeof(input))
		input[input_write++ % sizeof(input)] = c;
	if (input_write - input_read == 1)
		wakeup(&input);
	release(&inputlock);
}

void fathom_xv6_timer(void)
{
	fetch_anew();
	if (waiting && cpuid() == 0)
		wakeup(&input);
}

static void line_send(void *arg, const void *data, size_t n)
{
	volatile uchar *uart = (volatile uchar *)UART0;

	acquire(&uart_tx_lock); /* the console's output does not go in between */
	uart[1] = 1; /* or each byte interrupts another hart, which then waits for the lock */
	for (const uchar *c = data; n-- > 0; c++) {
		while ((uart[5] & 0x20) == 0)
			;
		uart[0] = *c;
	}
	uart[1] = 3;
	release(&uart_tx_lock);
}

static void line_text(void *arg, const void *text, size_t n)
{
	for (const char *c = text; n-- > 0; c++)
		consoleintr(*c);
}

static void line(void)
{
	static char buf[256];

	release(&myproc()->lock); /* still held from scheduler(), as in forkret() */
	fathom_p9_init(&p9, line_send, 0);
	p9.text = line_text;
	for (;;) {
		uint32 n = 0;

		acquire(&inputlock);
		if (input_read == input_write)
			sleep(&input, &inputlock);
		while (n < sizeof(buf) && input_read != input_write)
			buf[n++] = input[input_read++ % sizeof(input)];
		release(&inputlock);
		if (n)
			fathom_p9_input(&p9, buf, n);
		waiting = fathom_p9_tick(&p9);
	}
}

void fathom_xv6_start(void)
{
	static char stack[STACK] __attribute__((aligned(16)));

	xv6_pid[XV6_SLOTS - 1] = kthread("traceline", line, stack + sizeof(stack));
}

void fathom_xv6_init(void)
{
	struct fathom_config config = {
		.memory = memory,
		.memory_bytes = sizeof(memory),
		.nr_cpus = NCPU,
		.clock_hz = 10000000,
		.clock_name = "riscv-time",
		.release = "xv6",
		.lock = lock,
		.unlock = unlock,
		.sink = sink,
		.fatal = (void (*)(const char *))panic,
		.task_name = task_name,
		.text_map = text_map,
		.symbol = symbol,
		.lookup = lookup,
		.sync = sync,
	};
	int err;

	initsleeplock(&tracing, "tracing");
	initlock(&inputlock, "traceline");
	for (int i = 0; i < XV6_SLOTS; i++)
		xv6_task[i] = &states[i];
	fathom_xv6_hart();
	err = fathom_init(&config);
	if (!err)
		err = fathom_beacon(0);
	if (err)
		printf("tracing does not start: %d\n", err);
}
