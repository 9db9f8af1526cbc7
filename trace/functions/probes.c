/* SPDX-License-Identifier: MIT */
/* probes.c -- commands that hang on functions: set_ftrace_filter's `function:command:count`. */
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/trace.h"
#include "events/modules.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

#define COMMANDS_MAX 16

/*
 * As in Linux, probes come in groups of one command, one argument, and counted or not: that is what `!` removes by. The
 * group that was made last is listed first.
 */
struct function_probe {
	uint32_t function;
	uint32_t group; /* ascending; 0: free */
	int32_t left;	/* runs left; -1: unlimited. Any CPU lowers it */
	uint8_t command;
	uint8_t counted;
	struct fathom_listener *instance; /* NULL: the top's */
	void *data;
};

static struct function_probe probes[FATHOM_PROBES_MAX];
static uint32_t nr_probes; /* in use; they are few, and the functions that ask many */
static uint32_t probe_groups;
static const struct fathom_function_command *commands[COMMANDS_MAX];
static uint32_t nr_commands;

/* ---- built in ---- */

static void command_traceon(const struct fathom_function_hit *hit)
{
	if (hit->instance)
		fathom_listener_turn(hit->instance, 1);
	else
		fathom_tracing_on();
}

static void command_traceoff(const struct fathom_function_hit *hit)
{
	if (hit->instance)
		fathom_listener_turn(hit->instance, 0);
	else
		fathom_tracing_off();
}

static int command_is_on(const struct fathom_function_hit *hit)
{
	return hit->instance ? fathom_listener_is_recording(hit->instance) : fathom_tracing_is_on();
}

static int command_is_off(const struct fathom_function_hit *hit)
{
	return !command_is_on(hit);
}

static void command_stacktrace(const struct fathom_function_hit *hit)
{
	struct fathom_ring *ring =
		hit->instance ? hit->instance->ring[fathom_port_cpu()] : fathom_tracer_ring();

	fathom_stack_record(ring, hit->ip, hit->parent_ip, hit->fp, hit->context);
}

/* Recording ends with what was dumped, as in Linux. */
static void command_dump(const struct fathom_function_hit *hit)
{
	(void)hit;
	fathom_tracing_off();
	fathom_dump(0);
}

/* It runs at every call: the same records are not printed again. */
static void command_cpudump(const struct fathom_function_hit *hit)
{
	(void)hit;
	if (!fathom_tracing_is_on())
		return;
	fathom_tracing_off();
	fathom_dump_cpu((int32_t)fathom_port_cpu(), 0);
}

/* One that switches counts only when it changes something. */
static const struct fathom_function_command built_in[] = {
	{"traceon", 0, command_traceon, 0, command_is_on},
	{"traceoff", 0, command_traceoff, 0, command_is_off},
	{"stacktrace", 0, command_stacktrace, 0, 0},
	{"dump", 0, command_dump, 0, 0},
	{"cpudump", 0, command_cpudump, 0, 0},
};

static void commands_init(void)
{
	if (nr_commands)
		return;
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		commands[nr_commands++] = &built_in[i];
}

int fathom_function_command_add(const struct fathom_function_command *command)
{
	commands_init();
	for (uint32_t i = 0; i < nr_commands; i++)
		if (commands[i] == command)
			return 0;
	if (nr_commands == COMMANDS_MAX)
		return -FATHOM_ENOSPC;
	commands[nr_commands++] = command;
	return 0;
}

/* ---- running ---- */

static int probe_take_one(struct function_probe *p)
{
	int32_t left = fathom_load(&p->left);

	while (left > 0)
		if (__atomic_compare_exchange_n(&p->left, &left, left - 1, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return 1;
	return left < 0;
}

/*
 * Slots are used again while other CPUs look at them: what was read is of one probe if its group is the same before and
 * after, for who fills a slot does it between a group of 0 and the new one (probe_fill).
 */
static void probe_hit(struct function_probe *p, uint32_t group, struct fathom_function_hit *hit)
{
	const struct fathom_function_command *c = commands[fathom_load(&p->command)];

	hit->instance = fathom_load(&p->instance);
	hit->data = fathom_load(&p->data);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (fathom_load(&p->group) != group)
		return;
	if (!(c->idle && c->idle(hit)) && probe_take_one(p))
		c->run(hit);
}

/* The instance of a probe is there until we leave the gate, if we found its group before. */
void fathom_probe_run(uint32_t function, uintptr_t ip, uintptr_t parent_ip, uintptr_t fp,
		      uint32_t context)
{
	struct fathom_function_hit hit = {
		.ip = ip, .parent_ip = parent_ip, .fp = fp, .context = context};
	uint32_t cpu = fathom_port_cpu();

	if (cpu >= fathom_core.nr_cpus)
		return;
	if (fathom_gate.enter)
		fathom_gate.enter(cpu);
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++) {
		uint32_t group = __atomic_load_n(&probes[i].group, __ATOMIC_ACQUIRE);

		if (group && fathom_load(&probes[i].function) == function)
			probe_hit(&probes[i], group, &hit);
	}
	if (fathom_gate.leave)
		fathom_gate.leave(cpu);
}

int fathom_probe_on(uint32_t function)
{
	if (!nr_probes)
		return 0;
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (probes[i].group && probes[i].function == function)
			return 1;
	return 0;
}

/* ---- writing ---- */

/* `function:command[:arg][:count]`, taken apart. */
struct probe_line {
	const char *pattern, *arg;
	size_t pattern_bytes, arg_bytes;
	uint8_t command;
	uint8_t counted;
	uint8_t remove;
	int32_t count;
	struct fathom_listener *instance;
};

static size_t part_length(const char *s, size_t bytes)
{
	size_t n = 0;

	while (n < bytes && s[n] != ':')
		n++;
	return n;
}

static int find_command(const char *s, size_t bytes)
{
	commands_init();
	for (uint32_t i = 0; i < nr_commands; i++) {
		size_t k = 0;

		while (k < bytes && commands[i]->name[k] == s[k] && s[k])
			k++;
		if (k == bytes && !commands[i]->name[k])
			return (int)i;
	}
	return -1;
}

static int parse_count(const char *s, size_t bytes, struct probe_line *l)
{
	uint32_t n = 0;
	/* What is removed may name any count, `count=3` as it is listed too: that it has one is all that matters. */
	int err = l->remove ? 0 : fathom_parse_number(s, bytes, &n);

	l->counted = 1;
	l->count = (int32_t)n;
	return err;
}

/* What is behind the command: an argument of two parts (system:event) if it takes one, and the count. */
static int parse_rest(const char *s, size_t bytes, struct probe_line *l)
{
	if (commands[l->command]->open) {
		size_t first = part_length(s, bytes), second;

		if (first == bytes)
			return -FATHOM_EINVAL;
		second = part_length(s + first + 1, bytes - first - 1);
		l->arg = s;
		l->arg_bytes = first + 1 + second;
		s += l->arg_bytes;
		bytes -= l->arg_bytes;
		if (bytes) {
			s++;
			bytes--;
		}
	}
	return bytes ? parse_count(s, bytes, l) : 0;
}

static int parse_probe(struct fathom_listener *instance, const char *s, size_t bytes,
		       struct probe_line *l)
{
	size_t n;
	int command;

	*l = (struct probe_line){.count = -1, .instance = instance};
	if (bytes && s[0] == '!') {
		l->remove = 1;
		s++;
		bytes--;
	}
	n = part_length(s, bytes);
	l->pattern = s;
	l->pattern_bytes = n;
	if (!n || n == bytes)
		return -FATHOM_EINVAL;
	s += n + 1;
	bytes -= n + 1;
	n = part_length(s, bytes);
	command = find_command(s, n);
	if (command < 0)
		return -FATHOM_EINVAL;
	l->command = (uint8_t)command;
	s += n;
	bytes -= n;
	if (bytes) {
		s++;
		bytes--;
	}
	return parse_rest(s, bytes, l);
}

/* A dump runs once, as in Linux, a cpudump always, whatever the count; both are removed with or without one. */
static void dump_count(struct probe_line *l)
{
	const struct fathom_function_command *c = commands[l->command];

	if (c->run == command_dump)
		l->count = 1;
	if (c->run == command_cpudump)
		l->count = -1;
	if (c->run == command_dump || c->run == command_cpudump)
		l->counted = 1;
}

static int same_group(const struct function_probe *p, const struct probe_line *l, void *data)
{
	return p->group && p->instance == l->instance && p->command == l->command &&
	       p->data == data && p->counted == l->counted;
}

/* There is one: probe_room() counted them. */
static struct function_probe *free_probe(void)
{
	uint32_t i = 0;

	while (i < FATHOM_PROBES_MAX - 1 && probes[i].group)
		i++;
	return &probes[i];
}

static int has_probe(uint32_t function, const struct probe_line *l, void *data)
{
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (probes[i].function == function && same_group(&probes[i], l, data))
			return 1;
	return 0;
}

static uint32_t group_of(const struct probe_line *l, void *data)
{
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (same_group(&probes[i], l, data))
			return probes[i].group;
	return ++probe_groups;
}

/* 0, -EINVAL: no such function, -ENOSPC: not enough room for all that are not there yet. */
static int probe_room(const struct probe_line *l, void *data)
{
	uint32_t found = 0, more = 0;
	struct function_match m;
	int i;

	fathom_match_init(&m, l->pattern, l->pattern_bytes);
	for (; (i = fathom_match_next(&m)) >= 0; found++)
		more += (uint32_t)!has_probe((uint32_t)i, l, data);
	if (!found)
		return -FATHOM_EINVAL;
	return more > FATHOM_PROBES_MAX - nr_probes ? -FATHOM_ENOSPC : 0;
}

static void probe_fill(struct function_probe *p, uint32_t function, uint32_t group,
		       const struct probe_line *l, void *data)
{
	__atomic_thread_fence(__ATOMIC_RELEASE); /* behind its group of 0; pairs with probe_hit() */
	fathom_store(&p->function, function);
	fathom_store(&p->command, l->command);
	fathom_store(&p->left, l->count);
	fathom_store(&p->data, data);
	fathom_store(&p->instance, l->instance);
	p->counted = l->counted;
	__atomic_store_n(&p->group, group, __ATOMIC_RELEASE);
	nr_probes++;
}

static int probe_add(const struct probe_line *l, void *data)
{
	uint32_t group = group_of(l, data);
	struct function_match m;
	int i, err = probe_room(l, data);

	if (err)
		return err;
	fathom_match_init(&m, l->pattern, l->pattern_bytes);
	while ((i = fathom_match_next(&m)) >= 0)
		if (!has_probe((uint32_t)i, l, data))
			probe_fill(free_probe(), (uint32_t)i, group, l, data);
	return 0;
}

static void probe_free(struct function_probe *p)
{
	nr_probes--;
	__atomic_store_n(&p->group, 0, __ATOMIC_RELEASE);
}

static int probe_remove(const struct probe_line *l, void *data)
{
	struct function_match m;
	int i, any = 0, found = 0;

	for (uint32_t k = 0; k < FATHOM_PROBES_MAX; k++)
		any |= same_group(&probes[k], l, data);
	if (!any)
		return -FATHOM_ENODEV;
	fathom_match_init(&m, l->pattern, l->pattern_bytes);
	while ((i = fathom_match_next(&m)) >= 0)
		for (uint32_t k = 0; k < FATHOM_PROBES_MAX; k++)
			if (probes[k].function == (uint32_t)i && same_group(&probes[k], l, data)) {
				probe_free(&probes[k]);
				found = 1;
			}
	return found ? 0 : -FATHOM_EINVAL;
}

int fathom_probe_is_known(const char *token, size_t bytes)
{
	struct probe_line l;

	return fathom_is_module_line(token, bytes) || !parse_probe(0, token, bytes, &l);
}

int fathom_probe_write(struct fathom_listener *instance, const char *token, size_t bytes)
{
	struct probe_line l;
	void *data = 0;
	int err = parse_probe(instance, token, bytes, &l), refreshed;

	if (err)
		return err;
	dump_count(&l);
	if (l.arg)
		err = commands[l.command]->open(instance, l.arg, l.arg_bytes, &data);
	if (err)
		return err;
	err = l.remove ? probe_remove(&l, data) : probe_add(&l, data);
	refreshed = fathom_tracer_refresh();
	return err ? err : refreshed;
}

void fathom_probe_clear(void)
{
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (probes[i].group)
			probe_free(&probes[i]);
}

void fathom_probe_clear_of(const struct fathom_listener *instance)
{
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (probes[i].group && probes[i].instance == instance)
			probe_free(&probes[i]);
}

uint32_t fathom_probe_drop(const void *data)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (probes[i].group && probes[i].data == data) {
			probe_free(&probes[i]);
			n++;
		}
	if (n)
		fathom_tracer_refresh();
	return n;
}

void fathom_probe_forget(void)
{
	for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++)
		if (probes[i].group && fathom_site_is_gone(probes[i].function))
			probe_free(&probes[i]);
}

/* Newest group first, and within a group by address. */
static int listed_before(const struct function_probe *a, const struct function_probe *b)
{
	return a->group != b->group ? a->group > b->group : a->function < b->function;
}

int fathom_listener_probe_at(struct fathom_listener *instance, uint32_t index,
			     struct fathom_function_probe *out)
{
	const struct function_probe *last = 0;

	for (uint32_t n = 0; n <= index; n++) {
		const struct function_probe *best = 0;

		for (uint32_t i = 0; i < FATHOM_PROBES_MAX; i++) {
			const struct function_probe *p = &probes[i];

			if (p->group && p->instance == instance &&
			    (!last || listed_before(last, p)) && (!best || listed_before(p, best)))
				best = p;
		}
		if (!best)
			return 0;
		last = best;
	}
	out->function = last->function;
	out->left = last->left;
	out->command = commands[last->command]->name;
	out->arg = commands[last->command]->describe
			   ? commands[last->command]->describe(instance, last->data)
			   : 0;
	return 1;
}
