/* SPDX-License-Identifier: MIT */
/* hooks.c -- hooks of events that come and go under walks, on a weakly ordered machine: every schedule of the real code. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include "trace/events/hooks.c"
#include "fathom/inside/define.h"
#include "fathom/inside/emit.h"
#include "weak.h"

/*
 * A task on one CPU adds and removes hooks and asks whether the removed ones are quiet; events on the other CPU walk the
 * lists. weak.c calls weak_step() before each access of what both use, and there the schedule chooses: go on, let the other
 * CPU run, or let an interrupt on this CPU walk a list. What a load sees is a choice as well. A run follows a trail of
 * choices; after it the last choice that has an alternative is changed, until none is left.
 *
 *	hooks [--slow | SCENARIO [TRAIL]]	quick ones, slow ones, one, one run of it (a failure prints it)
 */
struct scenario {
	const char *name;
	const char *before; /* hooks that are there, by number: the last one is first in its list */
	const char *task;   /* +N adds, -N removes, q asks whether it is quiet, w walks */
	const char *walks;  /* of the other CPU: numbers of events */
	uint32_t switches;  /* from one CPU to the other in one run */
	uint32_t interrupts; /* in one run, on either CPU */
	uint32_t stale;	     /* loads that see an old value in one run */
	int slow;
};

/* Hooks 0 and 1 are of event 0, 2 and 3 of event 1; there are two nodes. */
static const struct scenario scenarios[] = {
	{"hooks-add", "", "+0+1w", "00", 3, 0, 2, 0},
	{"hooks-remove", "0", "-0qq", "00", 3, 0, 2, 0},
	{"hooks-first", "01", "-1q+1w", "00", 3, 0, 1, 0},
	{"hooks-last", "01", "-0q+0w", "00", 3, 0, 1, 0},
	{"hooks-reuse", "01", "-0+2w", "01", 3, 0, 2, 0},
	{"hooks-reuse-both", "01", "-0-1+2+3", "01", 3, 0, 1, 0},
	{"hooks-return", "0", "-0+0-0+0w", "00", 3, 0, 1, 0},
	{"hooks-interrupted", "01", "-0q+2w", "01", 2, 1, 1, 0},
	{"hooks-stream", "01", "-0qq+2w", "000", 3, 0, 0, 0},
	{"hooks-reuse-2", "01", "-0+2w", "010", 4, 0, 2, 1},
	{"hooks-interrupted-2", "01", "-0+2w", "01", 2, 2, 0, 1},
};

enum {
	TRAIL_MAX = 512,
	NR_HOOKS = 4,
	RUNS_MAX = 30000000,
};

static struct fathom_event both[2];
#define fathom_ev_zero both[0]
#define fathom_ev_one  both[1]

static const struct scenario *sc;
static uint8_t trail[TRAIL_MAX], options[TRAIL_MAX];
static uint32_t trail_len, trail_at;
static int scheduling, looking;
static uint32_t switches, interrupts, level;
static char failure[256];

static ucontext_t walker_context;
static jmp_buf task_jump, walker_jump;
static char walker_stack[65536];
static int in_walker, walker_started, walker_alive, task_alive;

/* What is known of each hook. */
static struct known {
	int there; /* from before it is added until it is removed */
	int gone;  /* removed, and quiet was told */
} known[NR_HOOKS];

/* Calls of the innermost walk on each CPU. */
static uint8_t *walk_calls[2];

#define FAIL(...)                                                        \
	do {                                                             \
		if (!failure[0])                                         \
			snprintf(failure, sizeof(failure), __VA_ARGS__); \
	} while (0)

static uint32_t choose(uint32_t n)
{
	if (n <= 1)
		return 0;
	if (trail_at == trail_len) {
		if (trail_len == TRAIL_MAX) {
			FAIL("trail too long");
			return 0;
		}
		trail[trail_len++] = 0;
	}
	options[trail_at] = (uint8_t)n;
	return trail[trail_at++];
}

/* ---- what hooks.c and weak.c ask for ---- */

void fathom_lock(void)
{
}

void fathom_unlock(void)
{
}

/* The bit stays: a walk that looked before it was cleared is the one of interest. */
int fathom_event_set(struct fathom_event *ev, uint32_t set, uint32_t clear)
{
	(void)ev, (void)set, (void)clear;
	return 0;
}

/* The one that removes and reuses is thread 0: it must know what the other has read (weak_claim). */
int weak_thread(void)
{
	return scheduling && !looking ? in_walker : -1;
}

uint32_t weak_choose(uint32_t n, const char *point)
{
	(void)point;
	return choose(n);
}

void weak_failed(const char *what, size_t at)
{
	FAIL("%s: at %zu", what, at);
}

void weak_exchanged(const void *at, uint64_t old, uint64_t put)
{
	(void)at, (void)old, (void)put;
}

static void walk(uint32_t event, int exact);

static void walker_go_on(void)
{
	in_walker = 1;
	if (!_setjmp(task_jump)) {
		if (walker_started)
			_longjmp(walker_jump, 1);
		walker_started = 1;
		setcontext(&walker_context);
	}
	in_walker = 0;
}

static void walker_pause(void)
{
	if (!_setjmp(walker_jump))
		_longjmp(task_jump, 1);
}

/* What only the task uses is no place for others to come between. */
static int is_private(const void *at)
{
	for (uint32_t i = 0; i < FATHOM_HOOKS_MAX; i++)
		if (at == &hooks.node[i].state)
			return 1;
	return at == &both[0].state || at == &both[1].state;
}

void weak_step(const void *at)
{
	if (failure[0] || is_private(at))
		return;
	/* A walk that counts itself out has read all that it will read of the nodes. */
	if (in_walker && (at == &hooks.in[0] || at == &hooks.in[1]))
		for (uint32_t i = 0; i < FATHOM_HOOKS_MAX; i++)
			weak_claim(&hooks.node[i].fn, sizeof(void *) * 2);
	for (;;) {
		int other = switches && (in_walker ? task_alive : walker_alive);
		int nest = interrupts && level < 2;
		uint32_t c = choose(1u + (uint32_t)other + (uint32_t)nest);

		if (c == 0)
			return;
		if (c == 1 && other) {
			switches--;
			if (in_walker)
				walker_pause();
			else
				walker_go_on();
			return;
		}
		interrupts--;
		walk(interrupts & 1, 0);
	}
}

/* ---- hooks, walks and the task ---- */

static uint32_t event_of(uint32_t hook)
{
	return hook / 2;
}

static void called(uint32_t hook, const void *data, uint32_t event)
{
	if (data != &known[hook])
		FAIL("hook %u is called with another's data", hook);
	if (event_of(hook) != event)
		FAIL("hook %u is called by the other event", hook);
	if (known[hook].gone)
		FAIL("hook %u is called after it was quiet", hook);
	walk_calls[in_walker][hook]++;
}

#define HOOK(n)                                       \
	static void hook_##n(void *data, uint32_t ev) \
	{                                             \
		called(n, data, ev);                  \
	}
HOOK(0)
HOOK(1)
HOOK(2)
HOOK(3)

typedef void (*hook_fn)(void *, uint32_t);
static const hook_fn hook_fns[NR_HOOKS] = {hook_0, hook_1, hook_2, hook_3};

/* It was there before the run, and nobody removes it. */
static int is_steady(uint32_t hook)
{
	const char name[] = {'-', (char)('0' + hook), 0};

	return strchr(sc->before, name[1]) && !strstr(sc->task, name);
}

/* Every hook that stays is called once. Exactly: as the task does between its changes, which it knows all of. */
static void walk(uint32_t event, int exact)
{
	uint8_t calls[NR_HOOKS] = {0}, *below = walk_calls[in_walker];

	walk_calls[in_walker] = calls;
	level++;
	if (event == 0) {
		FATHOM_HOOKS(zero, hook_fn, , event)
	} else {
		FATHOM_HOOKS(one, hook_fn, , event)
	}
	level--;
	walk_calls[in_walker] = below;
	for (uint32_t i = 0; i < NR_HOOKS; i++)
		if (event_of(i) == event && (exact || is_steady(i)) && calls[i] != known[i].there)
			FAIL("hook %u is called %u times by one walk", i, calls[i]);
}

static void walker_main(void)
{
	for (const char *w = sc->walks; *w; w++)
		walk((uint32_t)(*w - '0'), 0);
	walker_alive = 0;
	walker_pause();
}

static void ask_quiet(void)
{
	if (!fathom_hooks_quiet())
		return;
	for (uint32_t i = 0; i < NR_HOOKS; i++)
		known[i].gone |= !known[i].there;
}

static void add(uint32_t hook)
{
	int err = -FATHOM_EAGAIN;

	known[hook].there = 1;
	known[hook].gone = 0;
	for (int tries = 0; tries < 3 && err == -FATHOM_EAGAIN; tries++)
		err = fathom_event_hook(&both[event_of(hook)], (void (*)(void))hook_fns[hook],
					&known[hook]);
	if (err && err != -FATHOM_EAGAIN)
		FAIL("hook %u is refused: %d", hook, err);
	known[hook].there = !err;
}

static void remove_one(uint32_t hook)
{
	if (!known[hook].there)
		return;
	if (fathom_event_unhook(&both[event_of(hook)], (void (*)(void))hook_fns[hook],
				&known[hook]))
		FAIL("hook %u is not found", hook);
	known[hook].there = 0;
}

static void task(void)
{
	for (const char *t = sc->task; *t && !failure[0]; t++) {
		if (*t == 'q')
			ask_quiet();
		else if (*t == 'w')
			walk(0, 1), walk(1, 1);
		else if (*t == '+')
			add((uint32_t)(*++t - '0'));
		else
			remove_one((uint32_t)(*++t - '0'));
	}
}

/* Nobody is inside: two looks are enough for what was removed, whichever counter it waits for. */
static void check_end(void)
{
	if (!fathom_hooks_quiet() && !fathom_hooks_quiet())
		FAIL("never quiet, though nobody is inside");
	walk(0, 1);
	walk(1, 1);
}

static void run_once(void)
{
	memset(&hooks, 0, sizeof(hooks));
	memset(both, 0, sizeof(both));
	memset(known, 0, sizeof(known));
	both[0].state = both[1].state = FATHOM_EVENT_HOOK;
	scheduling = looking = 0;
	level = trail_at = 0;
	for (const char *b = sc->before; *b; b++)
		add((uint32_t)(*b - '0'));
	switches = sc->switches;
	interrupts = sc->interrupts;
	in_walker = walker_started = 0;
	walker_alive = task_alive = 1;
	getcontext(&walker_context);
	walker_context.uc_stack.ss_sp = walker_stack;
	walker_context.uc_stack.ss_size = sizeof(walker_stack);
	makecontext(&walker_context, walker_main, 0);
	weak_start(sc->stale);
	scheduling = 1;
	task();
	weak_flush();
	task_alive = 0;
	while (walker_alive && !failure[0])
		walker_go_on();
	weak_flush();
	scheduling = 0;
	if (!failure[0])
		check_end();
}

/* The next trail: the last choice that has an alternative takes it. 0 if there is none. */
static int next_trail(void)
{
	trail_len = trail_at;
	while (trail_len && trail[trail_len - 1] + 1u >= options[trail_len - 1])
		trail_len--;
	if (!trail_len)
		return 0;
	trail[trail_len - 1]++;
	return 1;
}

static void print_failure(long runs)
{
	printf("not ok model_%s: schedule %ld: %s\n  hooks %s ", sc->name, runs, failure, sc->name);
	for (uint32_t i = 0; i < trail_at; i++)
		putchar('0' + trail[i]);
	printf("\n");
	fflush(stdout);
}

static void on_crash(int sig)
{
	(void)sig;
	FAIL("a function that is not there is called");
	print_failure(0);
	_exit(1);
}

static int run_scenario(const char *given)
{
	long runs = 0;

	failure[0] = 0;
	trail_len = 0;
	for (; given && given[trail_len] && trail_len < TRAIL_MAX; trail_len++)
		trail[trail_len] = (uint8_t)(given[trail_len] - '0');
	weak_watch(&hooks, sizeof(hooks), sizeof(hooks));
	weak_watch_more(both, sizeof(both));
	do {
		run_once();
		runs++;
	} while (!failure[0] && !given && runs < RUNS_MAX && next_trail());
	if (!failure[0] && runs == RUNS_MAX)
		FAIL("more than %d schedules: not exhaustive", RUNS_MAX);
	if (failure[0])
		print_failure(runs);
	else
		printf("ok model_%s (%ld schedules)\n", sc->name, runs);
	return failure[0] != 0;
}

int main(int argc, char **argv)
{
	int failed = 0, slow = argc > 1 && !strcmp(argv[1], "--slow");
	const char *name = argc > 1 && !slow ? argv[1] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGSEGV, on_crash);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		sc = &scenarios[i];
		if (name ? strcmp(name, sc->name) != 0 : sc->slow != slow)
			continue;
		failed |= run_scenario(name && argc > 2 ? argv[2] : NULL);
	}
	return failed;
}
