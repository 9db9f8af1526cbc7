/* SPDX-License-Identifier: MIT */
/* graph.c -- the tracers in a process: calls and returns form a forest, registers survive, nothing is lost. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include "fathom/task.h"
#include "functions/tracer.h"
#include "fathom_port.h"
#include "forest.h"
#include "harness.h"
#include "port.h"
#include "traced.h"
#include "top.h"

/* `a{b{}}`: what was called, nested. */
static const char *shape(size_t n)
{
	static char text[1 << 16];
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < n && len < sizeof(text) - 64; i++) {
		if (recs[i].type == WIRE_ID_FUNCGRAPH_ENTRY)
			len += (size_t)sprintf(text + len, "%s{", name_of(recs[i].func));
		else if (recs[i].type == WIRE_ID_FUNCGRAPH_EXIT)
			len += (size_t)sprintf(text + len, "}");
	}
	return text;
}

static void clean(void)
{
	for (int i = 0; i < FATHOM_SET_NR; i++)
		top_set_clear((enum fathom_function_set)i);
	fathom_tracer_set("nop");
	for (uint32_t i = 0; i < 4; i++)
		fathom_ring_reset(fathom_ring_of(i));
	fathom_tracing_on();
}

static int filter(const char *token)
{
	return top_set_write(FATHOM_SET_FILTER, token, strlen(token));
}

/* Written by hand, not asked of the library: what a site that is off is. */
static int is_one_nop(uintptr_t at)
{
#if defined(__x86_64__)
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
#elif defined(__aarch64__)
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};
#else
	static const uint8_t nop[] = {0x13, 0x00, 0x00, 0x00};
#endif
	return !memcmp((const void *)at, nop, sizeof(nop));
}

/* fathom_init() has done it, before any thread could stand among single NOPs. */
TEST(sites_are_one_nop_from_the_start)
{
	uint32_t n = fathom_function_count();

	CHECK(n >= 22);
	for (uint32_t i = 0; i < n; i++) {
		CHECK(is_one_nop(fathom_function_address(i)));
#if defined(__aarch64__) /* mov x9, x30 */
		CHECK_EQ(((const uint32_t *)fathom_function_address(i))[-1], 0xaa1e03e9u);
#elif defined(__riscv) /* auipc t0 */
		CHECK_EQ(((const uint32_t *)fathom_function_address(i))[-1] & 0xfff, 0x297);
#endif
	}
}

TEST(init)
{
	struct fathom_tracer_stats st;

	CHECK_EQ(fathom_tracer_set("function"), 0);
	CHECK(fathom_function_count() >= 22);
	fathom_tracer_stats(&st);
	CHECK_EQ(st.sites_dropped, 0);
	clean();
}

TEST(function_records)
{
	size_t n;

	CHECK_EQ(filter("ret_*"), 0);
	CHECK_EQ(filter("hij_*"), 0);
	CHECK_EQ(fathom_tracer_set("function"), 0);
	ret_mid(1);
	hij_mid(1);
	fathom_tracer_set("nop");
	ret_mid(1);
	n = drain(0, recs, 1000);
	CHECK_EQ(n, 6);
	CHECK_STR(name_of(recs[0].func), "ret_mid");
	CHECK_STR(name_of(recs[1].func), "ret_leaf");
	CHECK_STR(name_of(recs[1].parent), "ret_mid");
	CHECK_STR(name_of(recs[5].func), "hij_leaf");
	CHECK_STR(name_of(recs[5].parent), "hij_mid");
	clean();
}

TEST(graph_shape)
{
	size_t n, open_ends;

	filter("ret_*");
	filter("hij_*");
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
	CHECK_EQ(ret_mid(1), 6);
	CHECK_EQ(hij_mid(1), 6);
	fathom_tracer_set("nop");
	n = drain(0, recs, 1000);
	CHECK_STR(shape(n), "ret_mid{ret_leaf{}ret_leaf{}}hij_mid{hij_leaf{}hij_leaf{}}");
	CHECK_EQ(forest_faults(n, &open_ends), 0);
	CHECK_EQ(open_ends, 0);
	clean();
}

TEST(graph_tail_calls)
{
	filter("ret_*");
	filter("hij_*");
	fathom_tracer_set("function_graph");
	CHECK_EQ(ret_tail(4), 20);
	fathom_tracer_set("nop");
	/* with return sites the caller is seen to leave before the tail call, without them after it */
#ifdef __x86_64__
	CHECK_STR(shape(drain(0, recs, 1000)), "ret_tail{}ret_mid{ret_leaf{}ret_leaf{}}");
#else
	CHECK_STR(shape(drain(0, recs, 1000)), "ret_tail{ret_mid{ret_leaf{}ret_leaf{}}}");
#endif
	fathom_tracer_set("function_graph");
	CHECK_EQ(hij_tail(4), 20);
	fathom_tracer_set("nop");
	CHECK_STR(shape(drain(0, recs, 1000)), "hij_tail{hij_mid{hij_leaf{}hij_leaf{}}}");
	clean();
}

TEST(graph_longjmp)
{
	struct fathom_tracer_stats st;

	filter("ret_*");
	filter("hij_*");
	for (int i = 0; i < 300; i++) {
		fathom_tracer_set("function_graph");
		CHECK_EQ(ret_catcher(3), 11);
		CHECK_EQ(hij_catcher(3), 11);
		CHECK_EQ(ret_mid(1) + hij_mid(1), 12);
		fathom_tracer_set("nop");
	}
	fathom_tracer_stats(&st);
	CHECK(st.unwound > 0);
	CHECK_EQ(st.shadow_full, 0);
	clean();
}

TEST(graph_longjmp_without_restart)
{
	struct fathom_tracer_stats a, b;

	filter("ret_*");
	filter("hij_*");
	fathom_tracer_set("function_graph");
	fathom_tracer_stats(&a);
	for (int i = 0; i < 10000; i++) {
		CHECK_EQ(ret_catcher(i % 7), 7 + i % 7 + 1);
		CHECK_EQ(hij_catcher(i % 7), 7 + i % 7 + 1);
	}
	fathom_tracer_stats(&b);
	fathom_tracer_set("nop");
	CHECK_EQ(b.shadow_full - a.shadow_full, 0);
	CHECK(b.unwound - a.unwound > 10000);
	clean();
}

/* A trap path that never returns: the kernel is entered again, each time with another depth of stack. */
static jmp_buf user_code;

static size_t trap(int leave)
{
	if (leave)
		fathom_kernel_left();
	longjmp(user_code, 1);
}

static __attribute__((noinline)) void enter_kernel(int i, int leave)
{
	volatile char depth[64 + 48 * (i % 300)];

	depth[0] = 0;
	hij_through(trap, leave);
	traced_sink = depth[0];
}

TEST(graph_of_a_kernel_that_is_left)
{
	struct fathom_tracer_stats a, b;

	for (volatile int leave = 0; leave < 2; leave++) {
		filter("hij_*");
		fathom_tracer_set("function_graph");
		fathom_tracer_stats(&a);
		for (volatile int i = 0; i < 3000; i++)
			if (!setjmp(user_code))
				enter_kernel(i * 7, leave);
		fathom_tracer_stats(&b);
		CHECK_EQ(b.shadow_full - a.shadow_full != 0, !leave);
		if (leave) {
			CHECK_EQ(b.unwound - a.unwound, 3000);
			CHECK_EQ(hij_top(3), ret_top(3));
		}
		fathom_kernel_left();
		clean();
	}
}

static int fatal_pipe[2];

static void fatal_says(const char *why)
{
	_exit(write(fatal_pipe[1], why, strlen(why)) > 0 ? 42 : 1);
}

/* The kernel's current task becomes another one inside a traced function. */
static size_t change_task(int unused)
{
	(void)unused;
	fathom_task_init(&fathom_user_task);
	return 1;
}

TEST(a_lost_return_ends_with_a_message)
{
	char text[512] = "";
	int status = 0;
	pid_t child;

	filter("hij_through");
	CHECK_EQ(pipe(fatal_pipe), 0);
	port_on_fatal = fatal_says;
	fathom_tracer_set("function_graph");
	child = fork();
	if (!child) {
		hij_through(change_task, 0);
		_exit(0);
	}
	fathom_tracer_set("nop");
	close(fatal_pipe[1]); /* if the child says nothing, the read ends */
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	CHECK(read(fatal_pipe[0], text, sizeof(text) - 1) > 0);
	CHECK(strstr(text, "fathom_port_task_state() changed inside a traced function"));
	close(fatal_pipe[0]);
	clean();
}

TEST(graph_deep)
{
	struct fathom_tracer_stats a, b;
	size_t n, open_ends;

	filter("ret_recurse");
	filter("hij_recurse");
	fathom_tracer_stats(&a);
	fathom_tracer_set("function_graph");
	CHECK_EQ(ret_recurse(200), 200);
	CHECK_EQ(hij_recurse(200), 200);
	fathom_tracer_set("nop");
	fathom_tracer_stats(&b);
	CHECK_EQ(b.shadow_full - a.shadow_full, 2 * (201 - 64));
	n = drain(0, recs, 1 << 20);
	CHECK_EQ(n, 4 * 64);
	CHECK_EQ(forest_faults(n, &open_ends), 0);
	CHECK_EQ(open_ends, 0);
	clean();
}

TEST(registers_survive)
{
	static const char *const tracers[] = {"function", "function_graph", "nop"};

	for (int slow = 0; slow < 2; slow++) {
		top_pid_clear(FATHOM_PIDS_NOTRACE);
		if (slow)
			top_pid_add(FATHOM_PIDS_NOTRACE, 99999999);
		for (int i = 0; i < 3; i++) {
			struct pair p;

			CHECK_EQ(fathom_tracer_set(tracers[i]), 0);
			CHECK(ret_mix(2.5, 4.0, 2, 1.0, 2, 3.0, 4) == 20.0);
			CHECK(hij_mix(2.5, 4.0, 2, 1.0, 2, 3.0, 4) == 20.0);
			p = ret_pair(1, 2, 3, 4);
			CHECK(p.a == 1002 && p.b == 3004);
			p = hij_pair(1, 2, 3, 4);
			CHECK(p.a == 1002 && p.b == 3004);
			for (int x = -2; x < 110; x += 3)
				CHECK_EQ(ret_branchy(x), hij_branchy(x));
		}
	}
	top_pid_clear(FATHOM_PIDS_NOTRACE);
	clean();
}

/* Overwrites what a traced function's arguments are in, as the C code behind an entry may. */
static void clobber(const struct fathom_function_hit *hit)
{
	(void)hit;
#if defined(__aarch64__)
	__asm__ volatile("mov x1, #-1\nmov x2, #-1\nmov x3, #-1\nmov x4, #-1\nmov x5, #-1\n"
			 "mov x6, #-1\nmov x7, #-1\nmov x8, #-1\n"
			 "movi v0.16b, #255\nmovi v1.16b, #255\nmovi v2.16b, #255\n"
			 "movi v3.16b, #255\nmovi v4.16b, #255\nmovi v5.16b, #255\n"
			 "movi v6.16b, #255\nmovi v7.16b, #255" ::
				 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "v0", "v1", "v2",
				   "v3", "v4", "v5", "v6", "v7");
#elif defined(__riscv)
	__asm__ volatile("li a1, -1\nli a2, -1\nli a3, -1\nli a4, -1\nli a5, -1\nli a6, -1\n"
			 "li a7, -1\nli t2, -1\n"
			 "fmv.d.x fa0, a1\nfmv.d.x fa1, a1\nfmv.d.x fa2, a1\nfmv.d.x fa3, a1\n"
			 "fmv.d.x fa4, a1\nfmv.d.x fa5, a1\nfmv.d.x fa6, a1\nfmv.d.x fa7, a1" ::
				 : "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t2", "fa0", "fa1",
				   "fa2", "fa3", "fa4", "fa5", "fa6", "fa7");
#elif defined(__x86_64__) /* a command may use vector registers, as memcpy does */
	__asm__ volatile("mov $-1, %%rcx\nmov %%rcx, %%rdx\nmov %%rcx, %%rsi\nmov %%rcx, %%r8\n"
			 "mov %%rcx, %%r9\nmov %%rcx, %%r10\nmov %%rcx, %%rax\n"
			 "pcmpeqd %%xmm0, %%xmm0\npcmpeqd %%xmm1, %%xmm1\npcmpeqd %%xmm2, %%xmm2\n"
			 "pcmpeqd %%xmm3, %%xmm3\npcmpeqd %%xmm4, %%xmm4\npcmpeqd %%xmm5, %%xmm5\n"
			 "pcmpeqd %%xmm6, %%xmm6\npcmpeqd %%xmm7, %%xmm7" ::
				 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "rax", "xmm0", "xmm1",
				   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
#endif
}

TEST(arguments_survive_any_code)
{
	static const struct fathom_function_command command = {.name = "clobber", .run = clobber};
	static const double v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const long w[8] = {8, 7, 6, 5, 4, 3, 2, 1};

	CHECK_EQ(fathom_function_command_add(&command), 0);
	CHECK_EQ(filter("*_big:clobber"), 0);
	CHECK_EQ(filter("*_eight*:clobber"), 0);
	for (int graph = 0; graph < 2; graph++) {
		struct big b = {{0}};

		CHECK_EQ(fathom_tracer_set(graph ? "function_graph" : "nop"), 0);
		traced_sink = 9;
		b = ret_big(5, 3);
		CHECK(b.v[0] == 5 && b.v[1] == 3 && b.v[2] == 8 && b.v[4] == 15 && b.v[5] == 9);
		b = hij_big(7, 2);
		CHECK(b.v[0] == 7 && b.v[1] == 2 && b.v[3] == 5 && b.v[4] == 14 && b.v[5] == 9);
		CHECK(ret_eight(v, w) == 120204.0);
		CHECK(hij_eight(v, w) == 120204.0);
	}
	CHECK_EQ(filter("!*_big:clobber"), 0);
	CHECK_EQ(filter("!*_eight*:clobber"), 0);
	clean();
}

/* Nothing is recorded: every call takes the way that is out of the ordinary, where the port's hooks may use any register. */
TEST(arguments_survive_a_ring_that_refuses)
{
	static const double v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const long w[8] = {8, 7, 6, 5, 4, 3, 2, 1};

	for (int graph = 0; graph < 2; graph++) {
		CHECK_EQ(fathom_tracer_set(graph ? "function_graph" : "function"), 0);
		fathom_tracing_off();
		CHECK(ret_eight(v, w) == 120204.0);
		CHECK(hij_eight(v, w) == 120204.0);
		fathom_tracing_on();
	}
	clean();
}

/* ---- threads and signals ---- */

static atomic_int stop_now;
static atomic_llong rounds, bad;

static void on_alarm(int sig)
{
	(void)sig;
	if (hij_mid(1) != 6 || ret_mid(1) != 6)
		atomic_fetch_add(&bad, 1);
}

static void *worker(void *arg)
{
	fathom_user_cpu = (uint32_t)(uintptr_t)arg;
	while (!atomic_load(&stop_now)) {
		if (ret_top(3) != hij_top(3) || ret_recurse(30) != 30 || hij_recurse(30) != 30 ||
		    ret_tail(4) != 20 || hij_tail(4) != 20 || hij_catcher(2) != 10)
			atomic_fetch_add(&bad, 1);
		atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
	}
	return 0;
}

/* The tracers go on and off a thousand times (or TOGGLES) while threads run traced code and signals interrupt them. */
TEST(toggle_under_threads)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	int toggles = getenv("TOGGLES") ? atoi(getenv("TOGGLES")) : 1000;
	pthread_t t[3];

	sigaction(SIGUSR1, &sa, 0);
	filter("ret_*");
	filter("hij_*");
	atomic_store(&stop_now, 0);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], 0, worker, (void *)(i + 1));
	while (!atomic_load(&rounds))
		usleep(100);
	for (int i = 0; i < toggles; i++) {
		CHECK_EQ(fathom_tracer_set(i & 1   ? "nop"
					   : i & 2 ? "function"
						   : "function_graph"),
			 0);
		pthread_kill(t[i % 3], SIGUSR1);
		if (i % 16 == 0)
			usleep(200);
	}
	fathom_tracer_set("nop");
	atomic_store(&stop_now, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	CHECK_EQ(atomic_load(&bad), 0);
	CHECK_EQ(port_strangers, 0);
	printf("  %lld rounds\n", (long long)atomic_load(&rounds));
	clean();
}

/* ---- an interrupt after every instruction ---- */

#ifdef __x86_64__ /* others have no trap flag in user mode */

static volatile long step, step_at, step_calls;

static void on_step(int sig, siginfo_t *info, void *context)
{
	uint32_t outer = fathom_user_context;

	if (info->si_code != TRAP_TRACE) {
		port_trap(sig, info, context);
		return;
	}
	if (step++ != step_at)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100l; /* the rest runs free */
	fathom_user_context = outer | WIRE_FLAG_HARDIRQ;
	if (ret_leaf(1) != 2 || hij_leaf(1) != 2)
		atomic_fetch_add(&bad, 1);
	step_calls += 2;
	fathom_user_context = outer;
}

static inline void trap_flag(int on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

#define ANYWHERE (~0u)

/* Fill the page that is being written until so many bytes are left. */
static void leave_room(uint32_t bytes)
{
	struct fathom_ring *ring = fathom_ring_of(0);
	uint32_t most = FATHOM_RING_WORDS - bytes / 4, used, left;

	while (bytes != ANYWHERE && (used = FATHOM_POS_WORDS(ring->tail)) != most) {
		struct fathom_slot slot;
		void *p;

		left = (used < most ? most : FATHOM_RING_WORDS + 1) -
		       used; /* or first of all a new page */
		p = fathom_ring_reserve(ring,
					left > 64   ? 4 * (left - 32)
					: left == 3 ? 8
						    : 4,
					&slot);
		memset(p, 0xff, 4);
		fathom_ring_commit(ring, &slot);
	}
}

/*
 * Single-step a call again and again, with so much room in the page; each time an "interrupt" that calls traced functions
 * itself comes some instructions later, in the tracer as well as around it. Nothing may be lost, and all of it nests.
 * STEP_STRIDE=1 in the environment takes every instruction: half a minute where a trap is slow.
 */
static void step_through(int (*call)(int), size_t traced, uint32_t room)
{
	struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct fathom_tracer_stats before, after;
	const char *env = getenv("STEP_STRIDE");
	int stride = env ? atoi(env) : 11;
	size_t n, open_ends, want = 0;

	atomic_store(&bad, 0);
	sigfillset(&sa.sa_mask);
	sigaction(SIGTRAP, &sa, 0);
	filter("ret_*");
	filter("hij_*");
	fathom_tracer_set("function_graph");
	fathom_tracer_stats(&before);
	step_calls = 0;
	for (step_at = 0;; step_at += stride) {
		uint32_t page;

		leave_room(room);
		page = FATHOM_POS_INDEX(fathom_ring_of(0)->tail);
		step = 0;
		trap_flag(1);
		if (call(1) != 2)
			atomic_fetch_add(&bad, 1);
		trap_flag(0);
		want += traced;
		CHECK(room == ANYWHERE || FATHOM_POS_INDEX(fathom_ring_of(0)->tail) != page);
		if (step <= step_at)
			break; /* behind the last instruction */
	}
	fathom_tracer_set("nop");
	fathom_tracer_stats(&after);
	n = drain(0, recs, sizeof(recs) / sizeof(recs[0]));
	CHECK_EQ(n, 2 * ((size_t)step_calls + want));
	CHECK_EQ(forest_faults(n, &open_ends), 0);
	CHECK_EQ(open_ends, 0);
	CHECK_EQ(atomic_load(&bad), 0);
	CHECK_EQ(after.recursion - before.recursion, 0);
	CHECK_EQ(after.unmatched - before.unmatched, 0);
	CHECK_EQ(after.unwound - before.unwound, 0);
	CHECK(step > 100);
	printf("  %ld instructions, every %dth interrupted\n", step, stride);
	clean();
}

static int both_leaves(int x)
{
	return ret_leaf(x) == x + 1 ? hij_leaf(x) : 0;
}

TEST(interrupt_at_every_instruction)
{
	step_through(both_leaves, 2, ANYWHERE);
}

/* The record that does not fit is the first one, of the entry (24 bytes), or the second. */
TEST(interrupt_at_every_instruction_of_a_page_end)
{
	step_through(ret_leaf, 1, 16);
	step_through(ret_leaf, 1, 24);
	step_through(hij_leaf, 1, 16);
	step_through(hij_leaf, 1, 24);
}
#endif

int main(int argc, char **argv)
{
	if (port_init(4) || !fathom_function_count()) {
		printf("not ok init: fathom_init failed\n");
		return 1;
	}
	return test_main(argc, argv);
}
