/* SPDX-License-Identifier: MIT */
/* program.c -- compile a program for a trace, and run it over the events. */
#include "program/program.h"

#include "base/diag.h"
#include "program/object.h"
#include "program/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PASSES_MAX 10 /* the type of a map may depend on another map's */

static bool make_code(struct generator *c)
{
	uint32_t i, pass;

	c->is_object = object_is(c->ast->text, c->ast->bytes);
	if (c->is_object)
		return object_compile(c);
	if (!ast_parse(c->ast) || !match_probes(c))
		return false;
	for (pass = 0, c->changed = true; c->changed && pass < PASSES_MAX; pass++) {
		c->changed = false;
		for (i = 0; i < c->nr_probes; i++)
			if (!types_clause(c, &c->probes[i]))
				return false;
	}
	/* Maps are settled, so that a clause can be compiled; its types depend on the probe, so both go together. */
	c->final = true;
	for (i = 0; i < c->nr_probes; i++)
		if (!types_clause(c, &c->probes[i]) || !gen_clause(c, &c->probes[i]))
			return false;
	return true;
}

/* A mistake of the compiler must not become one in memory: what it made is proved before it runs. */
static bool verify(struct generator *c)
{
	static uint64_t scratch[1 << 18];
	struct bpf_map_info *maps = arena_take(&c->ast->arena, sizeof(*maps) * (c->nr_maps + 1));
	struct bpf_verdict v;
	uint32_t i;

	for (i = 0; i < c->nr_maps; i++)
		maps[i] = map_info(&c->maps[i]);
	for (i = 0; i < c->nr_probes; i++) {
		const struct probe *p = &c->probes[i];
		struct bpf_subject s = {.code = p->code,
					.nr = p->nr_code,
					.context_bytes = p->record_bytes,
					.stack_bytes = p->stack_bytes,
					.maps = maps,
					.nr_maps = c->nr_maps,
					.scratch = scratch,
					.scratch_bytes = sizeof(scratch)};

		if (p->stack_bytes > BPF_STACK_BYTES)
			continue; /* more than eBPF has: the host alone runs it */
		if (fathom_bpf_verify(&s, &v) == -EINVAL) {
			if (c->is_object)
				return object_error(c->ast, "%s is refused at instruction %u: %s",
						    p->name, v.at, v.why);
			ast_error(c->ast, p->at,
				  "the compiled program is refused at instruction %u: %s", v.at,
				  v.why);
			return false;
		}
	}
	return true;
}

bool program_compile(struct generator *c)
{
	return make_code(c) && verify(c);
}

struct ast program_ast(const struct program_options *o)
{
	return (struct ast){.file = o->file,
			    .text = o->text,
			    .bytes = o->bytes,
			    .parameters = o->parameters,
			    .nr_parameters = o->nr_parameters};
}

/* bpftrace counts attach points after wildcards; a function's pattern counts once. */
uint32_t program_attached(const struct generator *c)
{
	uint32_t i, nr = 0;

	for (i = 0; i < c->nr_probes; i++) {
		const struct probe *p = &c->probes[i], *before = i ? p - 1 : NULL;
		bool same = before && before->at.line == p->at.line &&
			    before->at.column == p->at.column;

		nr += !(same && p->pattern);
	}
	return nr;
}

static void warn(const struct runner *r)
{
	if (r->cut)
		diag_warn("%llu records were too short for the program and were skipped",
			  (unsigned long long)r->cut);
	if (r->machine.stopped)
		diag_warn("%llu runs were stopped after %u instructions: a loop does not end",
			  (unsigned long long)r->machine.stopped, RUN_BUDGET);
}

static int run(struct generator *c, const struct program_options *o, FILE *out)
{
	struct runner r;
	int err = runner_init(&r, c, o, out);

	if (!err) {
		uint32_t n = program_attached(c);

		fprintf(out, "Attaching %u probe%s...\n", n, n == 1 ? "" : "s");
		err = runner_run(&r);
	}
	if (!err) {
		fputs("\n\n", out);
		show_maps(&r.machine);
		fflush(out);
		warn(&r);
	}
	runner_free(&r);
	return err;
}

int program_run(struct source *s, const struct program_options *o, FILE *out)
{
	struct ast ast = program_ast(o);
	struct generator c = {.ast = &ast, .source = s};
	int err = -EINVAL;

	if (program_compile(&c)) {
		if (o->listing) {
			listing_print(&c, out);
			err = 0;
		} else {
			err = run(&c, o, out);
		}
	}
	arena_free(ast.arena);
	return err;
}
