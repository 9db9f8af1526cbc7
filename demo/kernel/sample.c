/* SPDX-License-Identifier: MIT */
/* sample.c -- the sampler in this kernel: what the timer saw, where user memory may be read, the shell's `sample`. */
#include "kernel.h"
#include "sample.h"
#include "shell.h"
#include "task.h"
#include "fathom/sampler.h"
#include "fathom/trace.h"

#define SAMPLE_BYTES (2u << 20)
#define PARITY_BYTES (256u << 10)

static void *export_memory;

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

/* The timer's frame is of the kernel or of the user; the user's own is at the top of the task's kernel stack. */
void sample_tick(const struct trapframe *f)
{
	struct task *t = current_task();
	const struct trapframe *u = (const struct trapframe *)(t->kstack + KSTACK_SIZE) - 1;
	struct fathom_sample s = {.task = (uint64_t)t->pid, .read_user = read_user};

	peeked[this_cpu()->id].page = 1; /* no page */
	if (!(f->cs & 3)) {
		s.ip = f->rip;
		s.fp = f->rbp;
	}
	if (t->vm.pml4) {
		s.user_ip = u->rip;
		s.user_fp = u->rbp;
		s.user_hi = USER_TOP;
	}
	fathom_sampler_tick(&s);
}

/* Programs are linked where they run: their symbols are addresses, the base is 0. */
void sample_map(int32_t pid, const char *program, int gone)
{
	fathom_sampler_map((uint64_t)pid, 0, program, gone);
}

void sample_init(void)
{
	void *memory = fathom_memory_take(SAMPLE_BYTES);

	export_memory = fathom_memory_take(FATHOM_BTB_EXPORT_BYTES + PARITY_BYTES);
	if (memory && export_memory)
		fathom_sampler_init(memory, SAMPLE_BYTES,
				    FATHOM_SAMPLE_BUFFER | FATHOM_SAMPLE_RING);
}

static void to_console(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	console_write(text, bytes);
}

static int sample_export(uint32_t percent)
{
	static struct fathom_btb_export e;
	struct fathom_sampler_stats st;
	int err = fathom_btb_export_begin(
		&e, export_memory, FATHOM_BTB_EXPORT_BYTES + PARITY_BYTES, percent,
		(uint64_t)fathom_sampler_control(FATHOM_SAMPLER_NO_ENTRY, 0), to_console, NULL);

	if (err)
		return err;
	fathom_sampler_export(&e);
	fathom_btb_export_end(&e);
	fathom_sampler_stats(&st);
	kprintf("sample: sent %lu words in %lu blocks\n", e.sent_words, e.sent_blocks);
	return 0;
}

static int sample_stats(void)
{
	struct fathom_sampler_stats st;

	fathom_sampler_stats(&st);
	kprintf("samples %lu, cost %lu ns on average, %lu ns at most\n", st.samples,
		st.samples ? st.cost_ns / st.samples : 0, st.cost_max_ns);
	kprintf("cut %lu, nested %lu, no room %lu, buffer %lu of %lu words\n", st.cut, st.nested,
		st.full, st.words, st.capacity);
	return 0;
}

int cmd_sample(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "stats";
	uint64_t n = argc > 2 ? parse_u64(argv[2]) : 0;
	int64_t err = 0;

	if (!strcmp(what, "start"))
		err = fathom_sampler_control(FATHOM_SAMPLER_SET_INTERVAL | FATHOM_SAMPLER_START,
					     n ? n : 1000000 / TICK_HZ);
	else if (!strcmp(what, "stop"))
		err = fathom_sampler_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_WRITE_STATS, 0);
	else if (!strcmp(what, "reset"))
		err = fathom_sampler_control(FATHOM_SAMPLER_STOP | FATHOM_SAMPLER_RESET, 0);
	else if (!strcmp(what, "export"))
		err = sample_export((uint32_t)n);
	else if (!strcmp(what, "stats"))
		return sample_stats();
	else
		kprintf("sample start [MICROSECONDS], stop, reset, stats, export [PARITY "
			"PERCENT]\n");
	if (err < 0)
		kprintf("sample: error %d\n", (int)-err);
	return err < 0 ? (int)err : 0;
}
