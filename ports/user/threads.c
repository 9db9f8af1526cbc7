/* SPDX-License-Identifier: MIT */
/* threads.c -- a thread is a CPU: it takes a ring with its first event and gives it back when it ends. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fathom_port.h"
#include "fathom_user.h"
#include "port.h"

/*
 * T1  a bit of `threads_free` is set = no thread writes to that ring. A thread clears a bit to take the ring and sets it
 *     (release) after its last event there; the next taker (acquire) sees all of it.
 * T2  fathom_user_cpu is a ring of this thread's own, or FATHOM_USER_NONE.
 * T3  signals wait while their thread is inside thread_attach(); one that came just before has taken the ring, which
 *     thread_find_ring() then finds. What the C library traces in there, of a malloc of the program's own, finds
 *     thread_busy and is left out, as the tracer's own doing.
 * T4  a thread may trace after it gave its ring back: a signal handler, a destructor that runs later. It takes one again,
 *     the same if nobody has that, and if pthreads calls thread_detach() no more, the ring is found to be a dead thread's
 *     (threads_owner) when there is no other.
 */
#define THREADS_RINGS 64
#define THREADS_ASKS \
	256 /* of so many refusals in a row the first looks for dead threads: a system call for each ring */
#define THREADS_NAMES 256 /* tasks remembered: `pid comm` of the file */

__thread int32_t fathom_user_tid;
static __thread volatile int thread_busy;
static __thread uint64_t thread_had;  /* the bit of the ring it had before */
static __thread uint32_t thread_asks; /* how often it found no free ring */

static _Atomic uint64_t threads_free = ~0ull;
static _Atomic uint32_t threads_limit = THREADS_RINGS;
static _Atomic int32_t threads_owner[THREADS_RINGS]; /* 0: nobody, or not yet */
static _Atomic uint64_t threads_refused;
static pthread_key_t threads_key;
static int threads_have_key;

/* Names of threads, the newest of them; those that have a ring stay. */
static struct thread_named {
	_Atomic int32_t pid;	  /* 0: unused, or being filled; set last */
	_Atomic uint64_t name[2]; /* 16 bytes, the last of them 0 */
} threads_named[THREADS_NAMES];
static _Atomic uint32_t threads_nr_named; /* ever given a place */

static struct thread_named *threads_find_name(int32_t tid)
{
	for (uint32_t i = 0; i < THREADS_NAMES; i++)
		if (atomic_load(&threads_named[i].pid) == tid)
			return &threads_named[i];
	return NULL;
}

static int threads_has_ring(int32_t tid)
{
	for (uint32_t i = 0; i < THREADS_RINGS; i++)
		if (tid && atomic_load(&threads_owner[i]) == tid)
			return 1;
	return 0;
}

/* There are fewer rings than names, so one is always found. */
static struct thread_named *threads_new_name(void)
{
	struct thread_named *e;

	do
		e = &threads_named[atomic_fetch_add(&threads_nr_named, 1) % THREADS_NAMES];
	while (threads_has_ring(atomic_load(&e->pid)));
	atomic_store(&e->pid, 0);
	return e;
}

static void threads_put_name(struct thread_named *e, const char name[16])
{
	uint64_t half[2];

	memcpy(half, name, sizeof(half));
	atomic_store(&e->name[0], half[0]);
	atomic_store(&e->name[1], half[1]);
}

/* A thread's own name, at its first event and at its end. */
static void thread_note_name(int32_t tid)
{
	struct thread_named *e = threads_find_name(tid);
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	if (!e)
		e = threads_new_name();
	threads_put_name(e, name);
	atomic_store(&e->pid, tid);
}

/* Of another thread, which may have changed it since: most get theirs in a function that is traced already. */
static void threads_look_name(int32_t tid)
{
	struct thread_named *e = threads_find_name(tid);
	char path[] = "/proc/self/task/0000000000/comm", name[17] = "";
	char *digit = path + sizeof("/proc/self/task/0000000000") - 1;
	ssize_t n;
	int fd;

	for (uint32_t v = (uint32_t)tid; v; v /= 10)
		*--digit = (char)('0' + v % 10);
	memmove(path + sizeof("/proc/self/task/") - 1, digit, strlen(digit) + 1);
	fd = e ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	n = read(fd, name, sizeof(name) - 1);
	close(fd);
	if (n > 0 && name[n - 1] == '\n' && atomic_load(&e->pid) == tid) {
		name[n - 1] = '\0';
		threads_put_name(e, name);
	}
}

void user_threads_look(void)
{
	int keep = errno;

	for (uint32_t i = 0; i < THREADS_RINGS; i++)
		if (atomic_load(&threads_owner[i]))
			threads_look_name(atomic_load(&threads_owner[i]));
	errno = keep;
}

#define THREADS_STACK (64 * 1024) /* of a crash handler that writes the file */
static __thread void *thread_stack;

/* A stack of its own for the thread's crash handler, if it has none: so an overflow is told too. System calls only. */
static void thread_take_stack(void)
{
	stack_t ss = {.ss_size = THREADS_STACK}, old;

	if (sigaltstack(NULL, &old) || !(old.ss_flags & SS_DISABLE))
		return;
	ss.ss_sp = mmap(NULL, THREADS_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (ss.ss_sp == MAP_FAILED)
		return;
	if (sigaltstack(&ss, NULL))
		munmap(ss.ss_sp, THREADS_STACK);
	else
		thread_stack = ss.ss_sp;
}

static void thread_drop_stack(void)
{
	stack_t off = {.ss_flags = SS_DISABLE}, now;

	if (thread_stack && !sigaltstack(NULL, &now) && now.ss_sp == thread_stack &&
	    !sigaltstack(&off, NULL))
		munmap(thread_stack, THREADS_STACK);
	thread_stack = NULL;
}

/* Give the ring back; the destructor of threads_key, so `cpu + 1` is not 0. */
static void thread_detach(void *arg)
{
	uint32_t cpu = (uint32_t)(uintptr_t)arg - 1;

	thread_note_name(fathom_user_tid);
	thread_drop_stack();
	fathom_user_cpu = FATHOM_USER_NONE;
	atomic_store(&threads_owner[cpu], 0);
	atomic_fetch_or_explicit(&threads_free, 1ull << cpu, memory_order_release);
}

/* The rings that threads may take at all. */
USER_PLAIN static inline uint64_t threads_rings(void)
{
	return ~0ull >> (THREADS_RINGS - atomic_load(&threads_limit));
}

/* Take a free ring: the one it had, or the first. THREADS_RINGS: there is none. */
static uint32_t thread_take_ring(void)
{
	uint64_t free = atomic_load_explicit(&threads_free, memory_order_acquire), fit;
	uint32_t cpu;

	do {
		fit = free & threads_rings();
		if (!fit)
			return THREADS_RINGS;
		cpu = (uint32_t)__builtin_ctzll(fit & thread_had ? thread_had : fit);
	} while (!atomic_compare_exchange_weak_explicit(&threads_free, &free, free & ~(1ull << cpu),
							memory_order_acq_rel,
							memory_order_acquire));
	return cpu;
}

/* T4: the ring of a dead thread, or THREADS_RINGS. */
static uint32_t thread_inherit_ring(int32_t tid)
{
	uint32_t cpu = 0, nr = atomic_load(&threads_limit);
	int keep = errno;

	for (; cpu < nr; cpu++) {
		int32_t owner = atomic_load(&threads_owner[cpu]);

		if (owner && syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH &&
		    atomic_compare_exchange_strong(&threads_owner[cpu], &owner, tid))
			break;
	}
	errno = keep;
	return cpu < nr ? cpu : THREADS_RINGS;
}

/*
 * Where more threads trace than there are rings, most events are refused here, without a system call: T3's care is for who
 * may get a ring. The order matters: a signal that took the last ring before the first load has set fathom_user_cpu.
 */
USER_PLAIN static inline int thread_is_refused(void)
{
	if ((atomic_load(&threads_free) & threads_rings()) || fathom_user_cpu != FATHOM_USER_NONE ||
	    thread_busy || thread_asks % THREADS_ASKS == 0)
		return 0;
	thread_asks++;
	atomic_fetch_add(&threads_refused, 1);
	return 1;
}

/* Its ring, or FATHOM_USER_NONE if there is none: the event is then refused and counted. */
static uint32_t thread_find_ring(void)
{
	uint32_t cpu;

	if (fathom_user_cpu != FATHOM_USER_NONE) /* a signal was first, and took one */
		return fathom_user_cpu;
	fathom_user_tid = (int32_t)syscall(SYS_gettid);
	cpu = thread_take_ring();
	if (cpu == THREADS_RINGS && thread_asks++ % THREADS_ASKS == 0)
		cpu = thread_inherit_ring(fathom_user_tid);
	if (cpu == THREADS_RINGS) {
		atomic_fetch_add(&threads_refused, 1);
		return FATHOM_USER_NONE;
	}
	thread_had = 1ull << cpu;
	atomic_store(&threads_owner[cpu], fathom_user_tid);
	thread_note_name(fathom_user_tid);
	thread_take_stack();
	if (threads_have_key)
		pthread_setspecific(threads_key, (void *)(uintptr_t)(cpu + 1));
	fathom_user_cpu = cpu;
	return cpu;
}

/* Signals wait meanwhile, but those that the code itself raises: a breakpoint that is blocked would end the program. */
static uint32_t thread_attach(void)
{
	static const int own[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
	sigset_t most, old;
	uint32_t cpu;

	if (thread_busy)
		return FATHOM_USER_NONE;
	sigfillset(&most);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&most, own[i]);
	pthread_sigmask(SIG_BLOCK, &most, &old);
	thread_busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	cpu = thread_find_ring();
	atomic_signal_fence(memory_order_seq_cst);
	thread_busy = 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return cpu;
}

/*
 * The first event of a thread may come from the entry of a traced function: any stack alignment, arguments in vector
 * registers that the C library's code would not preserve.
 */
#ifdef __x86_64__
#define SAVED_STATES 0xe7u /* x87, SSE, AVX, AVX-512 */

__attribute__((force_align_arg_pointer)) USER_PLAIN uint32_t fathom_user_attach(void)
{
	uint8_t area[4096] __attribute__((aligned(64)));
	uint32_t a = 1, b, c = 0, d, cpu;

	if (thread_is_refused())
		return FATHOM_USER_NONE;
	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	if (c & 1u << 27) { /* OSXSAVE */
		for (int i = 512; i < 576; i++)
			((volatile uint8_t *)area)[i] = 0;
		__asm__ volatile("xsave64 %0" : "+m"(area) : "a"(SAVED_STATES), "d"(0));
		cpu = thread_attach();
		__asm__ volatile("xrstor64 %0" : : "m"(area), "a"(SAVED_STATES), "d"(0) : "memory");
		return cpu;
	}
	__asm__ volatile("fxsave64 %0" : "+m"(area));
	cpu = thread_attach();
	__asm__ volatile("fxrstor64 %0" : : "m"(area) : "memory");
	return cpu;
}
#else
uint32_t fathom_user_attach(void)
{
	return thread_is_refused() ? FATHOM_USER_NONE : thread_attach();
}
#endif

static int32_t threads_group; /* getpid() is a system call */

void user_threads_start(uint32_t nr_cpus)
{
	threads_group = getpid();
	if (!threads_have_key)
		threads_have_key = !pthread_key_create(&threads_key, thread_detach);
	atomic_store(&threads_refused, 0);
	atomic_store(&threads_limit,
		     nr_cpus); /* threads that have a ring from before keep it: T1 */
}

uint64_t fathom_user_refused(void)
{
	return atomic_load(&threads_refused);
}

int user_thread_at(uint32_t index, int32_t *pid, const char **name)
{
	if (index >= atomic_load(&threads_nr_named) || index >= THREADS_NAMES)
		return 0;
	*pid = atomic_load(&threads_named[index].pid);
	*name = *pid ? (const char *)threads_named[index].name : "<...>";
	return 1;
}

#define THREADS_LOOK_NS 20000000u /* text asks for each record's name */

/* A thread asks for its own in an event (COMM in a filter, .execname in a histogram), maybe in a signal. */
int user_thread_name(int32_t pid, char buf[16])
{
	static _Atomic uint64_t looked;
	uint64_t now = user_now_ns(), last = atomic_load(&looked);
	const struct thread_named *e;

	if (pid && pid == fathom_user_tid)
		return prctl(PR_GET_NAME, buf);
	if (now - last > THREADS_LOOK_NS && atomic_compare_exchange_strong(&looked, &last, now))
		user_threads_look();
	e = threads_find_name(pid);
	if (!e || !pid)
		return -1;
	memcpy(buf, (const void *)e->name, 16);
	return atomic_load(&e->pid) == pid ? 0 : -1;
}

/* Not every record is of this process: others may write to trace_marker. */
int32_t user_thread_group(int32_t pid)
{
	return pid > 0 && (pid == fathom_user_tid || threads_find_name(pid)) ? threads_group : 0;
}
