/* SPDX-License-Identifier: MIT */
/* sample.c -- the sampler in this kernel: what the timer or an NMI saw, where user memory may be read, the shell's `sample`. */
#include "kernel.h"
#include "machine.h"
#include "sample.h"
#include "shell.h"
#include "task.h"
#include "fathom/sampler.h"
#include "fathom/trace.h"

#define SAMPLE_BYTES	(2u << 20)
#define PARITY_BYTES	(256u << 10)
#define EXPORT_BYTES	(FATHOM_BTB_EXPORT_BYTES + PARITY_BYTES)
#define LEFT_BYTES	(1u << 20) /* for the tree and the tracers, which come later */
#define EXPORT_PAUSE_NS 50000000

static void *export_memory;
static int exporting; /* one export at a time, and no RESET in it */
static int
	by_nmi; /* NMIs of their own timer look, not the timer interrupt: code with interrupts off is seen too */

/* The page of the stack that was looked up last, by CPU: frames lie side by side, so one look-up serves many. */
static struct {
	uintptr_t page;
	const uint8_t *at;
} peeked[CPUS_MAX];

/* Two words of the running task's user stack; pages that are not there are not brought in. */
static int read_user(uintptr_t at, uintptr_t out[2])
{
	struct vm *vm = &current_task()->vm;
	uint32_t cpu = this_cpu()->id;

	for (int i = 0; i < 2; i++, at += 8) {
		if (peeked[cpu].page != (at & ~(uintptr_t)(PAGE_SIZE - 1))) {
			peeked[cpu].at = vm_peek(vm, at);
			if (!peeked[cpu].at || at & 7)
				return -EFAULT;
			peeked[cpu].page = at & ~(uintptr_t)(PAGE_SIZE - 1);
		}
		out[i] = *(const uintptr_t *)(peeked[cpu].at + (at & (PAGE_SIZE - 1)));
	}
	return 0;
}

/*
 * Kernel code was interrupted: the user's own frame is at the top of the task's kernel stack. (An NMI in the first few
 * instructions of a system call finds the frame of the call before there.)
 */
static void look(const struct trapframe *f)
{
	struct task *t = current_task();
	struct fathom_sample s = {.task = (uint64_t)t->pid, .read_user = read_user};
	const struct trapframe *u = f;

	if (!frame_is_user(f)) {
		s.ip = frame_ip(f);
		s.fp = frame_fp(f);
		u = (const struct trapframe *)(t->kstack + KSTACK_SIZE) - 1;
	}
	peeked[this_cpu()->id].page = 1; /* no page */
	if (t->vm.root) {
		s.user_ip = frame_ip(u);
		s.user_fp = frame_fp(u);
		s.user_hi = USER_TOP;
	}
	fathom_sampler_tick(&s);
}

void sample_tick(const struct trapframe *f)
{
	if (!by_nmi)
		look(f);
}

void sample_nmi(const struct trapframe *f)
{
	if (by_nmi)
		look(f);
}

/* Programs are linked where they run: their symbols are addresses, the base is 0. */
void sample_map(int32_t pid, const char *program, int gone)
{
	fathom_sampler_map((uint64_t)pid, 0, program, gone);
}

static void announce(int32_t pid, const char *program)
{
	sample_map(pid, program, 0);
}

static void announce_all(void)
{
	task_each_program(announce);
}

void sample_init(void)
{
	void *memory;

	if (fathom_memory_left() < SAMPLE_BYTES + EXPORT_BYTES + LEFT_BYTES)
		return;
	memory = fathom_memory_take(SAMPLE_BYTES);
	export_memory = fathom_memory_take(EXPORT_BYTES);
	if (memory && export_memory)
		fathom_sampler_init(memory, SAMPLE_BYTES, FATHOM_SAMPLE_BUFFER | FATHOM_SAMPLE_RING,
				    announce_all);
}

/* What the shell and programs ask of the sampler. The NMIs end with the samples they were for. */
int64_t sample_control(uint32_t flags, uint64_t arg)
{
	if ((flags & FATHOM_SAMPLER_RESET) && __atomic_load_n(&exporting, __ATOMIC_RELAXED))
		return -EBUSY;
	int64_t result = fathom_sampler_control(flags, arg);

	if (result >= 0 && (flags & FATHOM_SAMPLER_STOP)) {
		irq_nmi_timer(0);
		by_nmi = 0;
	}
	return result;
}

static void to_console(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	console_write(text, bytes);
}

/* While samples are taken the export goes on with them; every CPU's buffer must last from one look at it to the next. */
static int64_t export_all(uint32_t percent)
{
	static struct fathom_btb_export e;
	const uint32_t ask = FATHOM_SAMPLER_IS_RUNNING | FATHOM_SAMPLER_NO_ENTRY;
	int running = fathom_sampler_control(ask, 0) > 0;
	uint64_t expect =
		running ? 0 : (uint64_t)fathom_sampler_control(FATHOM_SAMPLER_NO_ENTRY, 0);
	int err = fathom_btb_export_begin(&e, export_memory, EXPORT_BYTES, percent, expect,
					  to_console, NULL);

	if (err)
		return err;
	while (running) {
		fathom_sampler_export(&e);
		sleep_until(clock_ns() + EXPORT_PAUSE_NS);
		running = fathom_sampler_control(ask, 0) > 0;
	}
	fathom_sampler_export(&e);
	fathom_sampler_export_end(&e);
	kprintf("sample: sent %lu words in %lu blocks\n", e.sent_words, e.sent_blocks);
	return 0;
}

static int64_t sample_export(uint32_t percent)
{
	if (__atomic_exchange_n(&exporting, 1, __ATOMIC_ACQUIRE))
		return -EBUSY;
	int64_t err = export_all(percent);

	__atomic_store_n(&exporting, 0, __ATOMIC_RELEASE);
	return err;
}

static int64_t sample_stats(void)
{
	struct fathom_sampler_stats st;

	fathom_sampler_stats(&st);
	kprintf("samples %lu, cost %lu ns on average, %lu ns at most\n", st.samples,
		st.samples ? st.cost_ns / st.samples : 0, st.cost_max_ns);
	kprintf("cut %lu (%lu without an end), nested %lu, no room %lu, buffer %lu of %lu words\n",
		st.cut, st.endless, st.nested, st.full, st.words, st.capacity);
	return 0;
}

/* sample start [MICROSECONDS [MILLISECONDS]]: how often, for how long. */
static int64_t sample_start(int argc, char **argv, int nmi)
{
	uint64_t us = argc > 2 ? parse_u64(argv[2]) : 1000000 / TICK_HZ;
	uint64_t ms = argc > 3 ? parse_u64(argv[3]) : 0;
	const uint32_t quietly = FATHOM_SAMPLER_NO_ENTRY;
	int64_t err = fathom_sampler_control(FATHOM_SAMPLER_STOP_AFTER | quietly, ms * 1000);

	if (err < 0)
		return err;
	err = nmi ? irq_nmi_timer((uint32_t)us) : 0;
	if (err < 0)
		return err;
	by_nmi = nmi;
	return fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START, us);
}

int cmd_sample(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "stats";
	int64_t err = 0;

	if (!strcmp(what, "start"))
		err = sample_start(argc, argv, 0);
	else if (!strcmp(what, "nmi"))
		err = sample_start(argc, argv, 1);
	else if (!strcmp(what, "stop"))
		err = sample_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_WRITE_STATS, 0);
	else if (!strcmp(what, "reset"))
		err = sample_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_RESET, 0);
	else if (!strcmp(what, "export"))
		err = sample_export(argc > 2 ? (uint32_t)parse_u64(argv[2]) : 0);
	else if (!strcmp(what, "stats"))
		err = sample_stats();
	else
		kprintf("sample start|nmi [MICROSECONDS [MILLISECONDS]], stop, reset, stats, "
			"export [PARITY PERCENT]\n");
	if (err < 0)
		kprintf("sample: error %d\n", (int)-err);
	return err < 0 ? (int)err : 0;
}
