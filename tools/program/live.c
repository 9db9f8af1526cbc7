/* SPDX-License-Identifier: MIT */
/* live.c -- a program inside a live target: loaded, attached, its events carried out, its maps printed. */
#include "program/live.h"

#include "base/diag.h"
#include "program/image.h"
#include "program/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS	    50
#define EVENT_BYTES (64u << 10)

struct live_program {
	const struct live_tree *tree;
	struct generator *c;
	struct machine machine;
	const struct bpf_image_map *maps; /* of the image: names of files */
	char dir[64];
	struct tick *ticks; /* intervals, by the host's clock */
	uint32_t nr_ticks;
	uint8_t *events;
	bool dated;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int complain(const struct live_program *l, const char *path, int err)
{
	if (err < 0)
		diag_error("%s: %s: %s", l->tree->target, path, strerror(-err));
	return err;
}

static int store(const struct live_program *l, const char *file, const void *data, size_t bytes)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", l->dir, file);
	return l->tree->store(l->tree->arg, path, data, bytes);
}

static __attribute__((format(printf, 3, 4))) int order(const struct live_program *l,
						       const char *file, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return n < (int)sizeof(text) ? store(l, file, text, (size_t)n) : -ENAMETOOLONG;
}

static char *fetch(const struct live_program *l, const char *file, int *err)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", l->dir, file);
	return l->tree->load(l->tree->arg, path, err);
}

/* ---- results ---- */

static int fetch_map(struct live_program *l, uint32_t number)
{
	char file[32];
	int err;
	char *text;

	snprintf(file, sizeof(file), "maps/%s", l->maps[number].name);
	text = fetch(l, file, &err);
	if (text)
		err = image_read_map(&l->machine.maps[number], text);
	free(text);
	return complain(l, file, err);
}

static int fetch_stacks(struct live_program *l)
{
	char *text;
	int err = 0;
	uint32_t i;

	for (i = 0; i < l->c->nr_probes && !l->c->probes[i].uses_stack; i++)
		;
	if (i == l->c->nr_probes)
		return 0;
	text = fetch(l, "stacks", &err);
	if (text)
		err = image_read_stacks(&l->machine, text);
	free(text);
	return complain(l, "stacks", err);
}

static int carry_out(struct live_program *l, const struct bpf_emitted *e, const uint8_t *data)
{
	const struct action *a = e->action < l->c->nr_actions ? &l->c->actions[e->action] : NULL;
	uint32_t need = 0, i;
	int err = 0;

	if (e->action & BPF_EMITTED_RING) {
		machine_ring(&l->machine, e->action & ~BPF_EMITTED_RING, data, e->bytes);
		return 0;
	}
	for (i = 0; a && i < a->nr_args; i++)
		need += type_room(&a->args[i]);
	if (!a || e->bytes < need)
		return complain(l, "events", -EPROTO);
	if (!l->dated) { /* the target's clock need not know the time of day */
		l->dated = l->machine.source->info.has_date = true;
		l->machine.source->info.date_offset = (int64_t)(now_ns(CLOCK_REALTIME) - e->time);
	}
	l->machine.now = e->time;
	if (a->kind == ACTION_PRINT_MAP)
		err = fetch_map(l, a->map);
	if (!err && l->machine.c->nr_probes)
		err = fetch_stacks(l);
	if (err)
		return err;
	machine_act(&l->machine, e->action, data);
	if (a->kind == ACTION_CLEAR || a->kind == ACTION_ZERO) {
		char file[32];

		snprintf(file, sizeof(file), "maps/%s", l->maps[a->map].name);
		err = complain(l, file, order(l, file, a->kind == ACTION_CLEAR ? "clear" : "zero"));
	}
	return err;
}

/* All that the target has emitted. */
static int take_events(struct live_program *l)
{
	ssize_t n;
	int err = 0;

	while (!err && !l->machine.done &&
	       (n = l->tree->events_read(l->tree->arg, l->events, EVENT_BYTES)) != 0) {
		size_t at = 0;

		if (n == -EAGAIN)
			break;
		if (n < 0)
			return complain(l, "events", (int)n);
		while (!err && !l->machine.done && (size_t)n - at >= sizeof(struct bpf_emitted)) {
			struct bpf_emitted e;

			memcpy(&e, l->events + at, sizeof(e));
			at += sizeof(e);
			if (e.bytes > (size_t)n - at)
				return complain(l, "events", -EPROTO);
			err = carry_out(l, &e, l->events + at);
			at += (e.bytes + 7) & ~(size_t)7;
		}
	}
	fflush(l->machine.out);
	return err;
}

static int run_kind(struct live_program *l, enum probe_kind kind)
{
	int err = 0;
	uint32_t i;

	for (i = 0; i < l->c->nr_probes && !err; i++)
		if (l->c->probes[i].kind == kind)
			err = complain(l, "run", order(l, "run", "%u", i));
	return err;
}

/* ---- begin ---- */

/* What the target has to say about it is the last line of its error_log. */
static int say_refused(const struct live_program *l, int err)
{
	int no;
	char *text = l->tree->load(l->tree->arg, "error_log", &no), *at = NULL, *next = text;

	while (next && (next = strstr(next, "program: error: ")))
		at = next += strlen("program: error: ");
	if (at)
		at[strcspn(at, "\n")] = 0;
	diag_error("%s: the target refuses the program: %s", l->tree->target,
		   at && err == -EINVAL ? at : strerror(-err));
	free(text);
	return err;
}

static int attach_probe(struct live_program *l, uint32_t number)
{
	const struct probe *p = &l->c->probes[number];
	int err = 0;

	switch (p->kind) {
	case PROBE_EVENT: err = order(l, "attach", "%u %s\n", number, p->name); break;
	case PROBE_ENTRY: err = order(l, "attach", "%u kprobe:%s\n", number, p->pattern); break;
	case PROBE_RETURN: err = order(l, "attach", "%u kretprobe:%s\n", number, p->pattern); break;
	case PROBE_PROFILE:
		err = order(l, "attach", "%u profile:hz:%" PRIu64 "\n", number,
			    1000000000 / p->period_ns);
		break;
	default: break;
	}
	if (err == -ENODEV && p->kind == PROBE_PROFILE)
		diag_error("%s: %s: the target takes no samples", l->tree->target, p->name);
	else if (err)
		diag_error("%s: %s cannot be attached: %s", l->tree->target, p->name,
			   err == -ENOENT ? "the target has no such function" : strerror(-err));
	return err;
}

static int set_intervals(struct live_program *l)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint32_t i;

	l->ticks = calloc(l->c->nr_probes + 1, sizeof(*l->ticks));
	for (i = 0; l->ticks && i < l->c->nr_probes; i++)
		if (l->c->probes[i].kind == PROBE_INTERVAL)
			l->ticks[l->nr_ticks++] =
				(struct tick){&l->c->probes[i], now + l->c->probes[i].period_ns};
	return l->ticks ? 0 : -ENOMEM;
}

/* Loaded and begun; what events there are come from here on. */
static int begin(struct live_program *l, const uint8_t *image, size_t bytes)
{
	char path[128];
	uint32_t i;
	int err = l->tree->make(l->tree->arg, l->dir);

	if (err == -ENOENT || err == -EPERM) {
		diag_error("%s: the target has no programs/ directory: its port does not set "
			   "fathom_config.programs, or it is not Fathom",
			   l->tree->target);
		return err;
	}
	if (complain(l, l->dir, err))
		return err;
	err = store(l, "load", image, bytes);
	if (err)
		return say_refused(l, err);
	snprintf(path, sizeof(path), "%s/events", l->dir);
	err = complain(l, path, l->tree->events_open(l->tree->arg, path));
	if (!err)
		err = run_kind(l, PROBE_BEGIN);
	for (i = 0; i < l->c->nr_probes && !err; i++)
		err = attach_probe(l, i);
	return err ? err : set_intervals(l);
}

/* ---- while it runs ---- */

/* Intervals that are due. Of one that was missed several times the target sees one: their work is done with it. */
static int tick(struct live_program *l)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	int err = 0;

	for (uint32_t i = 0; i < l->nr_ticks && !err; i++) {
		struct tick *t = &l->ticks[i];

		if (t->next > now)
			continue;
		err = complain(l, "run",
			       order(l, "run", "%u", (uint32_t)(t->probe - l->c->probes)));
		t->next += t->probe->period_ns * (1 + (now - t->next) / t->probe->period_ns);
	}
	return err;
}

static int64_t wait_ms(const struct live_program *l, uint64_t end)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), until = now + POLL_MS * 1000000ull;

	for (uint32_t i = 0; i < l->nr_ticks; i++)
		until = l->ticks[i].next < until ? l->ticks[i].next : until;
	until = end < until ? end : until;
	return until > now ? (int64_t)((until - now + 999999) / 1000000) : 0;
}

static int follow(struct live_program *l, uint32_t seconds)
{
	uint64_t end = seconds ? now_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull : UINT64_MAX;
	int err = 0;

	while (!err && !l->machine.done && now_ns(CLOCK_MONOTONIC) < end &&
	       !l->tree->wait(l->tree->arg, wait_ms(l, end))) {
		err = tick(l);
		if (!err)
			err = take_events(l);
	}
	return err;
}

/* ---- end ---- */

static void warn_losses(const struct live_program *l)
{
	int err;
	char *text = fetch(l, "stats", &err), *line, *save = NULL;

	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *n = strrchr(line, ':');

		if (n && strncmp(line, "loaded", 6) != 0 && strncmp(line, "runs", 4) != 0 &&
		    strcmp(n, ": 0") != 0)
			diag_warn("%s: %s: these are missing in the results", l->tree->target,
				  line);
	}
	free(text);
}

static int finish(struct live_program *l)
{
	/* Without its points it changes no more; what it emitted is still there. */
	int err = complain(l, "attach", store(l, "attach", "", 0));
	uint32_t i;

	if (!err && !l->machine.done)
		err = take_events(l);
	l->machine.done = false;
	if (!err)
		err = run_kind(l, PROBE_END);
	if (!err)
		err = take_events(l);
	for (i = 0; i < l->c->nr_maps && !err; i++)
		err = fetch_map(l, i);
	if (!err)
		err = fetch_stacks(l);
	if (err)
		return err;
	fputs("\n\n", l->machine.out);
	show_maps(&l->machine);
	fflush(l->machine.out);
	warn_losses(l);
	return 0;
}

static int run(struct live_program *l, uint32_t seconds)
{
	size_t bytes;
	uint8_t *image = image_build(l->c, &bytes);
	uint32_t n = program_attached(l->c);
	int err;

	if (!image)
		return -ENOMEM;
	l->maps = (const struct bpf_image_map *)(const void *)(image + sizeof(struct bpf_image));
	err = begin(l, image, bytes);
	if (!err) {
		fprintf(l->machine.out, "Attaching %u probe%s...\n", n, n == 1 ? "" : "s");
		fflush(l->machine.out);
		err = follow(l, seconds);
	}
	if (!err)
		err = finish(l);
	l->tree->remove(l->tree->arg, l->dir);
	free(image);
	return err ? -EINVAL : 0; /* said */
}

/* What a target cannot do. */
static bool fits(struct generator *c, bool process)
{
	uint32_t i;

	for (i = 0; i < c->nr_probes; i++) {
		const struct probe *p = &c->probes[i];

		if (p->stack_bytes > BPF_STACK_BYTES)
			ast_error(c->ast, p->at,
				  "needs %u bytes of stack; a program in a target has %u",
				  p->stack_bytes, BPF_STACK_BYTES);
		if (p->uses_user_stack && !process)
			ast_error(c->ast, p->at,
				  "ustack is known of a process only (--target PID), not inside a "
				  "kernel");
	}
	if (c->nr_maps > BPF_IMAGE_MAPS_MAX || c->nr_probes > BPF_IMAGE_PARTS_MAX) {
		diag_error("%u maps and %u probes: a program in a target has at most %u and %u",
			   c->nr_maps, c->nr_probes, BPF_IMAGE_MAPS_MAX, BPF_IMAGE_PARTS_MAX);
		return false;
	}
	return !c->ast->failed;
}

int live_run(struct source *s, const struct program_options *o, const struct live_tree *tree,
	     uint32_t seconds, FILE *out)
{
	struct ast ast = program_ast(o);
	struct generator c = {.ast = &ast, .source = s, .live = true};
	struct live_program l = {.tree = tree, .c = &c, .events = malloc(EVENT_BYTES)};
	int err = -EINVAL;

	if (s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		diag_error("%s: a target of the other byte order cannot run programs",
			   tree->target);
	else if (program_compile(&c) && fits(&c, tree->process) && o->listing)
		listing_print(&c, out), err = 0;
	else if (!ast.failed && c.nr_probes && l.events && machine_init(&l.machine, &c, out)) {
		l.machine.live = true;
		snprintf(l.dir, sizeof(l.dir), "programs/fathom-%d", (int)getpid());
		err = run(&l, seconds);
		machine_free(&l.machine);
	}
	free(l.ticks);
	free(l.events);
	arena_free(ast.arena);
	return err;
}
