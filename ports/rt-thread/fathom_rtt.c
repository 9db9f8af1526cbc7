/* SPDX-License-Identifier: MIT */
/* fathom_rtt.c -- RT-Thread: the hooks, the cold half, and a shell command. No line of the kernel changes. */
#define CREATE_TRACE_POINTS
#include "fathom_rtt_events.h"
#include "fathom/save.h"
#include "fathom/task.h"
#include "fathom/trace.h"
#include <rtthread.h>
#include <rthw.h>

#ifndef FATHOM_RTT_MEMORY
#define FATHOM_RTT_MEMORY (12 << 20)
#endif
#ifndef FATHOM_RTT_PAGES
#define FATHOM_RTT_PAGES 512 /* per CPU */
#endif
#ifndef FATHOM_RTT_THREADS /* a power of two; a thread for which there is no place has the pid 0 and no calls */
#define FATHOM_RTT_THREADS 64
#endif

struct fathom_rtt_cpu fathom_rtt_cpus[FATHOM_CPUS_MAX];
static uint8_t memory[FATHOM_RTT_MEMORY] __attribute__((aligned(FATHOM_PAGE_BYTES)));

/* Threads by address, open hashing. Written with interrupts off and the lock; a reader sees a whole entry or none. */
static struct slot {
	uintptr_t thread; /* 0: never used, 1: used before */
	int32_t pid;
	char name[16];
	struct fathom_task task;
} slots[FATHOM_RTT_THREADS];
static struct rt_spinlock slots_lock;
static int32_t last_pid;

static struct slot *slot_of(uintptr_t thread)
{
	unsigned at = (unsigned)(thread >> 4) * 2654435761u >> 16;

	for (unsigned i = 0; i < FATHOM_RTT_THREADS; i++) {
		struct slot *s = &slots[(at + i) % FATHOM_RTT_THREADS];
		const uintptr_t t = __atomic_load_n(&s->thread, __ATOMIC_ACQUIRE);

		if (t == thread)
			return s;
		if (!t)
			break;
	}
	return RT_NULL;
}

int32_t fathom_rtt_pid(uintptr_t thread)
{
	const struct slot *s = thread > 1 ? slot_of(thread) : RT_NULL;

	return s ? s->pid : 0;
}

struct fathom_task *fathom_rtt_state(uintptr_t thread)
{
	struct slot *s = thread > 1 ? slot_of(thread) : RT_NULL;

	return s ? &s->task : RT_NULL;
}

static void copy_name(char to[16], const char *from)
{
	unsigned n = 0;

	for (; n < 15 && from[n]; n++)
		to[n] = from[n];
	to[n] = 0;
}

/* Idle threads are 0, as on Linux. */
static void thread_new(rt_thread_t thread)
{
	const unsigned from = (unsigned)((uintptr_t)thread >> 4) * 2654435761u >> 16;
	const rt_base_t level = rt_spin_lock_irqsave(&slots_lock);

	for (unsigned i = 0; i < FATHOM_RTT_THREADS && !slot_of((uintptr_t)thread); i++) {
		struct slot *s = &slots[(from + i) % FATHOM_RTT_THREADS];

		if (s->thread > 1)
			continue;
		copy_name(s->name, thread->parent.name);
		s->pid = rt_strncmp(s->name, "tidle", 5) ? ++last_pid : 0;
		fathom_task_new(&s->task, fathom_port_task(), s->pid);
		__atomic_store_n(&s->thread, (uintptr_t)thread, __ATOMIC_RELEASE);
	}
	rt_spin_unlock_irqrestore(&slots_lock, level);
}

static void thread_gone(rt_thread_t thread)
{
	const rt_base_t level = rt_spin_lock_irqsave(&slots_lock);
	struct slot *s = slot_of((uintptr_t)thread);

	if (s)
		__atomic_store_n(&s->thread, 1, __ATOMIC_RELEASE);
	rt_spin_unlock_irqrestore(&slots_lock, level);
}

static int name_of(int32_t pid, char buf[16])
{
	for (unsigned i = 0; pid && i < FATHOM_RTT_THREADS; i++)
		if (slots[i].pid == pid) {
			copy_name(buf, slots[i].name);
			return 0;
		}
	return -FATHOM_ESRCH;
}

/* ---- hooks ---- */

static void on_attach(struct rt_object *object)
{
	if ((object->type & ~RT_Object_Class_Static) == RT_Object_Class_Thread)
		thread_new((rt_thread_t)object);
}

static void on_detach(struct rt_object *object)
{
	if ((object->type & ~RT_Object_Class_Static) == RT_Object_Class_Thread)
		thread_gone((rt_thread_t)object);
}

static long state_of(rt_thread_t t)
{
	const rt_uint8_t stat = RT_SCHED_CTX(t).stat & RT_THREAD_STAT_MASK;

	return stat == RT_THREAD_CLOSE					   ? 0x10
	       : (stat & RT_THREAD_SUSPEND_MASK) == RT_THREAD_SUSPEND_MASK ? 1
									   : 0;
}

/* Before the switch, with the scheduler locked. Priorities count from 0, the most urgent, as Linux's do. */
static void on_switch(rt_thread_t from, rt_thread_t to)
{
	const struct slot *f = slot_of((uintptr_t)from), *t = slot_of((uintptr_t)to);

	if (f == t || !to)
		return;
	trace_sched_switch(f ? f->name : "boot", f ? f->pid : 0,
			   from ? RT_SCHED_PRIV(from).current_priority : 0,
			   from ? state_of(from) : 0, t ? t->name : "?", t ? t->pid : 0,
			   RT_SCHED_PRIV(to).current_priority);
	if (f && t && fathom_wanted(FATHOM_WANT_SWITCH)) {
		struct fathom_sched_task a = {(struct fathom_task *)&f->task, f->pid, 120, 0};
		struct fathom_sched_task b = {(struct fathom_task *)&t->task, t->pid, 120, 0};

		fathom_task_switch(&a, &b);
	}
}

static void on_irq(void)
{
	struct fathom_rtt_cpu *c = &fathom_rtt_cpus[fathom_port_cpu()];

	c->depth++;
	__atomic_store_n(&c->taken, c->taken + 1, __ATOMIC_RELEASE);
	trace_irq_handler_entry(0);
}

static void on_irq_end(void)
{
	trace_irq_handler_exit(0);
	fathom_rtt_cpus[fathom_port_cpu()].depth--;
}

static void on_malloc(void **at, rt_size_t bytes)
{
	if (*at)
		trace_kmalloc((uintptr_t)*at, bytes);
}

static void on_free(void **at)
{
	if (*at)
		trace_kfree((uintptr_t)*at);
}

static void on_realloc(void **at, rt_size_t bytes)
{
	(void)bytes;
	on_free(at);
}

static void on_trytake(struct rt_object *o)
{
	trace_trytake(o->type & ~RT_Object_Class_Static, o->name);
}

static void on_take(struct rt_object *o)
{
	trace_take(o->type & ~RT_Object_Class_Static, o->name);
}

static void on_put(struct rt_object *o)
{
	trace_put(o->type & ~RT_Object_Class_Static, o->name);
}

/* ---- the cold half ---- */

void fathom_rtt_stack(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	const struct rt_thread *t = (const struct rt_thread *)FATHOM_RTT_REGISTER("tpidr_el1");
	const uintptr_t from = t ? (uintptr_t)t->stack_addr : 0;

	if (from && at - from < t->stack_size) {
		*lo = from;
		*hi = from + t->stack_size;
	}
}

static void *text_map(void *at, size_t bytes)
{
	(void)bytes;
	return at;
}

/* Taking an interrupt synchronises: ask every CPU that runs for one. */
static void sync_cpus(void)
{
	uint32_t before[FATHOM_CPUS_MAX], others = 0;

	for (uint32_t i = 0; i < FATHOM_CPUS_MAX; i++) {
		before[i] = __atomic_load_n(&fathom_rtt_cpus[i].taken, __ATOMIC_ACQUIRE);
		if (i != fathom_port_cpu() && before[i])
			others |= 1u << i;
	}
#ifdef RT_USING_SMP
	if (others)
		rt_hw_ipi_send(RT_SCHEDULE_IPI, others);
#endif
	for (uint32_t i = 0; i < FATHOM_CPUS_MAX; i++)
		while (others >> i & 1 &&
		       __atomic_load_n(&fathom_rtt_cpus[i].taken, __ATOMIC_ACQUIRE) == before[i])
			;
	__asm__ volatile("isb" : : : "memory");
}

static struct rt_mutex mutex;

static void lock(void *unused)
{
	(void)unused;
	if (rt_thread_self())
		rt_mutex_take(&mutex, RT_WAITING_FOREVER);
}

static void unlock(void *unused)
{
	(void)unused;
	if (rt_thread_self())
		rt_mutex_release(&mutex);
}

static void sink(void *unused, const char *text, size_t bytes)
{
	(void)unused;
	rt_kprintf("%.*s", (int)bytes, text);
}

static void hooks(void)
{
	struct rt_object_information *info = rt_object_get_information(RT_Object_Class_Thread);
	rt_list_t *node;

	rt_object_attach_sethook(on_attach);
	rt_object_detach_sethook(on_detach);
	rt_list_for_each(node, &info->object_list)
		thread_new((rt_thread_t)rt_list_entry(node, struct rt_object, list));
	rt_scheduler_sethook(on_switch);
	rt_interrupt_enter_sethook(on_irq);
	rt_interrupt_leave_sethook(on_irq_end);
	rt_malloc_sethook(on_malloc);
	rt_free_sethook(on_free);
	rt_realloc_set_entry_hook(on_realloc);
	rt_realloc_set_exit_hook(on_malloc);
	rt_object_trytake_sethook(on_trytake);
	rt_object_take_sethook(on_take);
	rt_object_put_sethook(on_put);
}

/* On the first CPU, before there are threads that run and before the others are started. */
static int fathom_rtt_init(void)
{
	const struct fathom_config config = {
		.memory = memory,
		.memory_bytes = sizeof(memory),
		.nr_cpus = FATHOM_CPUS_MAX,
		.pages_per_cpu = FATHOM_RTT_PAGES,
		.clock_hz = FATHOM_RTT_REGISTER("cntfrq_el0"),
		.clock_name = "cntvct",
		.release = "RT-Thread",
		.lock = lock,
		.unlock = unlock,
		.sink = sink,
		.task_name = name_of,
		.text_map = text_map,
		.sync = sync_cpus,
	};
	int err;

	rt_mutex_init(&mutex, "fathom", RT_IPC_FLAG_PRIO);
	rt_spin_lock_init(&slots_lock);
	err = fathom_init(&config);
	if (!err)
		err = fathom_beacon(0);
	if (err)
		rt_kprintf("fathom: %d\n", err);
	else
		hooks();
	return err;
}
INIT_BOARD_EXPORT(fathom_rtt_init);

/* The control tree in RT-Thread's shell: `fathom FILE VALUE` writes, `fathom FILE` shows. */
static int fathom(int argc, char **argv)
{
	static char text[512];
	int err;

	if (argc > 2)
		err = fathom_set(argv[1], argv[2]);
	else
		err = argc == 2 ? fathom_get(argv[1], text, sizeof(text)) : -FATHOM_EINVAL;
	if (err >= 0 && argc == 2)
		rt_kprintf("%s", text);
	rt_kprintf("fathom: %d\n", err);
	return err;
}
MSH_CMD_EXPORT(fathom, FILE[VALUE] : a file of the control tree);
