/* SPDX-License-Identifier: MIT */
/* program.c -- building programs: growing arrays, instructions, literals, tables. */
#include "query/compile.h"
#include "base/vec.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void program_free(struct program *p)
{
	for (uint32_t i = 0; i < p->nr_regexes; i++) {
		regfree(p->regexes[i]);
		free(p->regexes[i]);
	}
	free(p->regexes);
	free(p->code);
	free(p->literals);
	free(p->tables);
	free(p->entries);
	free(p->strings);
	*p = (struct program){0};
}

void *program_push(void **array, uint32_t *nr, uint32_t *cap, size_t size, uint32_t max)
{
	size_t room = *cap;

	if (*nr >= max || !vec_room(array, *nr, &room, size))
		return NULL;
	*cap = (uint32_t)room;
	return (char *)*array + size * (*nr)++;
}

bool compiler_init(struct compiler *c, struct program *p, const struct format *format,
		   uint8_t long_bytes, const char *text, size_t bytes, struct expr_error *err)
{
	*c = (struct compiler){
		.p = p, .format = format, .long_bytes = long_bytes == 4 ? 4 : 8, .err = err};
	if (err)
		*err = (struct expr_error){0};
	p->strings = malloc(bytes + 1);
	if (!p->strings)
		return compiler_fail(c, "out of memory");
	lex_init(&c->lex, text, bytes, p->strings);
	return true;
}

bool compiler_fail(struct compiler *c, const char *what)
{
	if (!c->failed && c->err) {
		c->err->offset = c->t.at ? (size_t)(c->t.at - c->lex.begin) : 0;
		snprintf(c->err->what, sizeof(c->err->what), "%s", what);
	}
	c->failed = true;
	return false;
}

void compiler_advance(struct compiler *c)
{
	lex_next(&c->lex, &c->t);
	if (c->t.kind == TOKEN_BAD)
		compiler_fail(c, "a quote is not closed");
}

bool compiler_expect(struct compiler *c, uint32_t punct)
{
	char what[24] = "expected '?'";

	if (token_is(&c->t, punct)) {
		compiler_advance(c);
		return !c->failed;
	}
	what[10] = (char)punct;
	return compiler_fail(c, what);
}

uint32_t emit(struct compiler *c, struct insn i, unsigned pops, unsigned pushes)
{
	struct program *p = c->p;
	struct insn *at = program_push((void **)&p->code, &p->nr_code, &p->cap_code, sizeof(*at),
				       EXPR_INSNS_MAX);

	if (!at || c->stack < pops || c->stack - pops + pushes > EXPR_STACK) {
		compiler_fail(c, "the expression is too long or too deep");
		return 0;
	}
	c->stack += pushes - pops;
	*at = i;
	return p->nr_code - 1;
}

uint32_t literal_add(struct compiler *c, const char *s, uint32_t len)
{
	struct program *p = c->p;
	struct literal *l = program_push((void **)&p->literals, &p->nr_literals, &p->cap_literals,
					 sizeof(*l), EXPR_INSNS_MAX);

	if (!l) {
		compiler_fail(c, "too many strings");
		return 0;
	}
	*l = (struct literal){s, len};
	return p->nr_literals - 1;
}

uint32_t table_begin(struct compiler *c)
{
	struct program *p = c->p;
	struct table *t = program_push((void **)&p->tables, &p->nr_tables, &p->cap_tables,
				       sizeof(*t), EXPR_TABLE_MAX);

	if (!t) {
		compiler_fail(c, "too many tables");
		return 0;
	}
	*t = (struct table){p->nr_entries, 0};
	return p->nr_tables - 1;
}

bool table_add(struct compiler *c, uint64_t value, const char *s, uint32_t len)
{
	struct program *p = c->p;
	struct table_entry *e = program_push((void **)&p->entries, &p->nr_entries, &p->cap_entries,
					     sizeof(*e), EXPR_TABLE_MAX);

	if (!e)
		return compiler_fail(c, "a table is too long");
	*e = (struct table_entry){value, {s, len}};
	return true;
}

void table_end(struct compiler *c, uint32_t table)
{
	if (!c->failed)
		c->p->tables[table].nr = c->p->nr_entries - c->p->tables[table].first;
}
