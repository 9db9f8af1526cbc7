/* SPDX-License-Identifier: MIT */
/* trace_user.c -- the user port from inside: rings taken and given back, refusals, nested signals, start and stop. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "harness.h"
#define CREATE_TRACE_POINTS
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
#include "fathom/inside/unwind.h"
#include "fathom_port.h"
#include "fathom_user.h"
#include "port.h"
#include "tree.h"

TRACE_DEFINE(user, step, "n=%u", (U32, n))
TRACE_DEFINE(user, tick, "sig=%d", (S32, sig))

static uint64_t entries(uint32_t cpu)
{
	struct fathom_ring_stats st;

	fathom_ring_stats(fathom_ring_of(cpu), &st);
	return st.entries;
}

static void *one_step(void *arg)
{
	trace_step((uint32_t)(uintptr_t)arg);
	return NULL;
}

TEST(bad_options)
{
	static char text[400];

	CHECK_EQ(fathom_user_start("events=nosuch"), -EINVAL);
	CHECK_EQ(fathom_user_start("cpus=0"), -EINVAL);
	CHECK_EQ(fathom_user_start("buffer_kb=12x"), -EINVAL);
	memset(stpcpy(text, "out=/tmp/"), 'x', 300); /* not the file of the first 255 */
	CHECK_EQ(fathom_user_start(text), -EINVAL);
	CHECK_EQ(fathom_user_save("/tmp/never"), -EINVAL);
	fathom_user_stop();
}

TEST(threads_reuse_rings)
{
	pthread_t t;

	CHECK_EQ(fathom_user_start("events=user,cpus=2,buffer_kb=64,out="), 0);
	CHECK_EQ(fathom_user_start("1"), -EBUSY);
	trace_step(0);
	CHECK_EQ(entries(0), 1);
	for (uintptr_t i = 0; i < 20; i++) {
		pthread_create(&t, NULL, one_step, (void *)i);
		pthread_join(t, NULL);
	}
	CHECK_EQ(entries(0), 1);
	CHECK_EQ(entries(1), 20);
	CHECK_EQ(fathom_user_refused(), 0);
	fathom_user_stop();
}

static pthread_key_t late;
static _Atomic uint32_t moved; /* threads that traced on another ring at their end */

/* Runs behind the port's own destructor, every time there is one: what a signal handler does that comes that late. */
static void trace_late(void *arg)
{
	uint32_t ring = (uint32_t)(uintptr_t)arg;

	trace_step(1000);
	moved += ring != fathom_user_cpu + 1;
	pthread_setspecific(late, arg);
}

static void *ends_late(void *arg)
{
	trace_step((uint32_t)(uintptr_t)arg);
	pthread_setspecific(late, (void *)(uintptr_t)(fathom_user_cpu + 1));
	if (arg)
		pthread_barrier_wait(arg);
	return NULL;
}

TEST(threads_that_trace_at_their_very_end)
{
	enum {
		ROUNDS = 40,
		RINGS = 17
	}; /* several rounds' worth: a joined thread may not be quite gone */
	pthread_barrier_t two;
	uint64_t all = 0;
	pthread_t t, u;

	CHECK_EQ(fathom_user_start("events=user,cpus=17,buffer_kb=64,out="), 0);
	pthread_key_create(&late, trace_late);
	trace_step(0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_init(&two, NULL, 2);
		pthread_create(&t, NULL, ends_late, &two);
		pthread_create(&u, NULL, ends_late, &two);
		pthread_join(t, NULL);
		pthread_join(u, NULL);
		pthread_barrier_destroy(&two);
	}
	CHECK_EQ(moved, 0);
	CHECK_EQ(fathom_user_refused(), 0);
	CHECK_EQ(entries(0), 1);
	for (uint32_t cpu = 1; cpu < RINGS; cpu++)
		all += entries(cpu);
	CHECK_EQ(all, ROUNDS * 2 * (1 + PTHREAD_DESTRUCTOR_ITERATIONS));
	pthread_key_delete(late);
	fathom_user_stop();
}

static pthread_barrier_t both;
static void *hold(void *arg)
{
	trace_step(1);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return arg;
}

TEST(no_ring_left_is_counted)
{
	pthread_t a, b;

	CHECK_EQ(fathom_user_start("events=user,cpus=2,buffer_kb=64,out="), 0);
	trace_step(0);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&a, NULL, hold, NULL);
	pthread_barrier_wait(&both);
	pthread_create(&b, NULL, one_step, NULL);
	pthread_join(b, NULL);
	CHECK_EQ(fathom_user_refused(), 1);
	pthread_barrier_wait(&both);
	pthread_join(a, NULL);
	pthread_create(&b, NULL, one_step, NULL); /* one is free again */
	pthread_join(b, NULL);
	CHECK_EQ(fathom_user_refused(), 1);
	CHECK_EQ(entries(1), 2);
	fathom_user_stop();
}

static volatile uint32_t ticks;
static void on_tick(int sig)
{
	ticks++;
	trace_tick(sig);
	if (ticks % 64 == 1)
		raise(SIGUSR2); /* deeper */
}
static void on_deeper(int sig)
{
	trace_tick(sig);
}

TEST(signals_nest)
{
	uint32_t n = 0;
	struct fathom_ring_stats st;

	CHECK_EQ(fathom_user_start("events=user,cpus=1,buffer_kb=4096,out="), 0);
	signal(SIGALRM, on_tick);
	signal(SIGUSR2, on_deeper);
	ticks = 0;
	ualarm(100, 100);
	while (ticks < 200)
		trace_step(n++);
	ualarm(0, 0);
	fathom_ring_stats(fathom_ring_of(0), &st);
	CHECK_EQ(st.written + st.nested, n + ticks + (ticks + 63) / 64);
	CHECK_EQ(st.corrupt, 0);
	fathom_user_stop();
}

TEST(saved_twice_and_empty_behind)
{
	char path[] = "/tmp/fathom-user-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(fathom_user_start("events=user,cpus=1,buffer_kb=64,out="), 0);
	trace_step(1);
	CHECK_EQ(fathom_user_save(path), 0);
	CHECK_EQ(entries(0), 0);
	CHECK(lseek(fd, 0, SEEK_END) > 4096);
	CHECK_EQ(fathom_user_save("/nonexistent/file"), -ENOENT);
	trace_step(2);
	CHECK_EQ(entries(0), 1);
	CHECK_EQ(fathom_user_save(path), 0);
	fathom_user_stop();
	close(fd);
	unlink(path);
}

/* What was given at the start can be set again after the rings were smaller. */
TEST(size_of_the_rings)
{
	CHECK_EQ(fathom_user_start("cpus=2,buffer_kb=1024,out="), 0);
	CHECK(atoi(get("buffer_size_kb")) >= 1024);
	CHECK_EQ(fathom_set("buffer_size_kb", "100"), 0);
	CHECK_EQ(fathom_set("buffer_size_kb", "1024"), 0);
	fathom_user_stop();
}

static pthread_barrier_t met;

/* Most threads get their name from a function of their own, which may have been traced before. */
static void *named_late(void *arg)
{
	trace_step(1);
	prctl(PR_SET_NAME, "late");
	trace_step(2);
	if (arg) {
		*(int32_t *)arg = (int32_t)syscall(SYS_gettid);
		pthread_barrier_wait(&met);
		pthread_barrier_wait(&met);
	}
	return NULL;
}

static const char *name_of(int32_t pid)
{
	static char name[16];

	return user_thread_name(pid, name) < 0 ? "<...>" : name;
}

TEST(names_of_threads)
{
	int32_t own = (int32_t)syscall(SYS_gettid), old, pid;
	const char *name;
	pthread_t t, u;
	int found = 0;

	CHECK_EQ(fathom_user_start("events=user,cpus=3,buffer_kb=64,out="), 0);
	pthread_barrier_init(&met, NULL, 2);
	trace_step(0);
	pthread_create(&t, NULL, named_late, &old);
	pthread_barrier_wait(&met);
	CHECK_STR(name_of(old), "late"); /* it runs on */
	for (int i = 0; i < 600; i++) {	 /* more than there is room for */
		pthread_create(&u, NULL, named_late, NULL);
		pthread_join(u, NULL);
	}
	CHECK_STR(name_of(old), "late");
	CHECK_STR(name_of(own), name_of(getpid()));
	pthread_barrier_wait(&met);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, named_late, &pid);
	pthread_barrier_wait(&met);
	user_threads_look();		 /* text does not for each line */
	CHECK_STR(name_of(pid), "late"); /* the newest has a place */
	CHECK_EQ(user_thread_group(pid), getpid());
	CHECK_EQ(user_thread_group(getppid()), 0);
	old = pid;
	for (uint32_t i = 0; user_thread_at(i, &pid, &name); i++)
		found += (pid == own) + (pid == old && !strcmp(name, "late"));
	CHECK_EQ(found, 2);
	CHECK_EQ(fathom_set("options/record-tgid", "1"), 0);
	CHECK_EQ(fathom_set("trace", ""), 0);
	trace_step(3);
	CHECK(strstr(get("trace"), "[00") != NULL);
	CHECK(strstr(get("trace"), "(-------)") == NULL);
	CHECK_EQ(fathom_set("events/user/step/filter", "COMM == \"renamed\""), 0);
	prctl(PR_SET_NAME, "renamed");
	CHECK_EQ(fathom_set("trace", ""), 0);
	trace_step(7);
	CHECK(strstr(get("trace"), "n=7") != NULL);
	pthread_barrier_wait(&met);
	pthread_join(t, NULL);
	fathom_user_stop();
}

/* Calls that do not return may be the last thing in a function; two bytes behind it are nobody's. */
__asm__(".text\n"
	".type ends_early, %function\n"
	"ends_early: .byte 0, 0, 0, 0\n"
	".size ends_early, 4\n"
	".byte 0, 0, 0, 0\n"
	".type begins_at_once, %function\n"
	"begins_at_once: .byte 0, 0, 0, 0\n"
	".size begins_at_once, 4\n"
	".type next_to_it, %function\n"
	"next_to_it: .byte 0, 0, 0, 0\n"
	".size next_to_it, 4\n");
extern char ends_early[], next_to_it[];

TEST(symbols_to_their_very_end)
{
	uintptr_t offset, size, at = (uintptr_t)ends_early;

	CHECK_EQ(fathom_user_start("cpus=1,buffer_kb=64,out="), 0);
	CHECK_STR(user_symbol(at, &offset, &size), "ends_early");
	CHECK_STR(user_symbol(at + 4, &offset, &size), "ends_early");
	CHECK_EQ(offset, 4);
	CHECK_EQ(size, 4);
	CHECK(user_symbol(at + 5, &offset, &size) == NULL);
	CHECK_STR(user_symbol((uintptr_t)next_to_it, &offset, &size), "next_to_it");
	fathom_user_stop();
}

/* The rights of the page at `at`: "r-xp". */
static const char *rights(const char *at)
{
	static char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	uintptr_t from, to;
	char text[8] = "";

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, text) == 3 && (uintptr_t)at >= from &&
		    (uintptr_t)at < to)
			break;
	if (f)
		fclose(f);
	snprintf(line, sizeof(line), "%s", text);
	return line;
}

/* Sites of a page share the system calls, and nothing is writable when the patcher has done a step. */
TEST(text_is_written_page_by_page)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *text =
		mmap(NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_EQ(fathom_user_start("events=user,cpus=1,buffer_kb=64,out="), 0); /* it can sync */
	CHECK(text != MAP_FAILED);
	CHECK(user_text_map(text + 8, 2) == text + 8);
	user_text_unmap(text + 8, 2);
	CHECK_STR(rights(text), "rwxp");
	CHECK_STR(rights(text + page), "r-xp");
	CHECK(user_text_map(text + 16, 2) == text + 16);
	CHECK(user_text_map(text + 2 * page - 1, 2) == text + 2 * page - 1); /* in two pages */
	CHECK_STR(rights(text), "r-xp");
	CHECK_STR(rights(text + page), "rwxp");
	user_sync();
	for (int i = 0; i < 3; i++)
		CHECK_STR(rights(text + (size_t)i * page), "r-xp");
	CHECK(user_text_map((void *)(uintptr_t)page, 1) == NULL);
	munmap(text, 3 * page);
	fathom_user_stop();
}

/* Frames of several pages, the innermost told of by their number. */
static __attribute__((noinline)) uint32_t deep_walk(int n, uintptr_t *out)
{
	volatile char room[1024];
	uint32_t found;

	room[0] = (char)n;
	found = n ? deep_walk(n - 1, out)
		  : fathom_unwind((uintptr_t)__builtin_frame_address(0), out, 64);
	return room[0] == (char)n ? found : 0;
}

/* Walks its stack without having asked for its end before: of libc's part the outermost frames may be missing. */
static void *walks(void *arg)
{
	uintptr_t out[64], lo = 0, hi = 0, at = (uintptr_t)__builtin_frame_address(0);
	pthread_attr_t attr;
	size_t bytes = 0;
	void *from = NULL;

	*(uint32_t *)arg = deep_walk(30, out);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &from, &bytes);
	pthread_attr_destroy(&attr);
	fathom_port_stack(at, &lo, &hi);
	CHECK_EQ(lo, at);
	CHECK(hi > at);
	if (syscall(SYS_gettid) !=
	    getpid()) /* arguments and environment count for some C libraries only */
		CHECK(hi <= (uintptr_t)from + bytes);
	lo = hi = 0;
	fathom_port_stack((uintptr_t)from - 4096, &lo, &hi);
	fathom_port_stack((uintptr_t)arg & ~15ul, &lo, &hi); /* another thread's, or the heap */
	fathom_port_stack(8, &lo, &hi);
	CHECK_EQ(hi, 0);
	return NULL;
}

static void names_fault(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	printf("  %.*s", (int)bytes, text);
}

TEST(port_keeps_its_contract)
{
	CHECK_EQ(fathom_user_start("events=user,cpus=2,buffer_kb=64,out="), 0);
	CHECK_EQ(fathom_port_check(names_fault, NULL), 0);
	fathom_user_stop();
}

TEST(stacks_are_walked_to_their_end)
{
	uint32_t *n = malloc(sizeof(*n));
	pthread_t t;

	CHECK_EQ(fathom_user_start("events=user,cpus=2,buffer_kb=64,out="), 0);
	walks(n);
	CHECK(*n > 31);
	*n = 0;
	pthread_create(&t, NULL, walks, n);
	pthread_join(t, NULL);
	CHECK(*n > 31);
	fathom_user_stop();
	free(n);
}

TEST_MAIN
