/* SPDX-License-Identifier: MIT */
/* args.c -- arguments and return values as text and JSON. */
#include "view/args.h"

#include <inttypes.h>
#include <stdio.h>

/* Text in the program that an argument points to: so much of it is shown. */
#define ARGS_TEXT_MAX 64u

void args_fields(struct args_fields *a, const struct format *f)
{
	*a = (struct args_fields){.need = UINT32_MAX};
	if (!f)
		return;
	a->args = format_field(f, "args");
	a->retaddr = format_field(f, "retaddr");
	a->retval = format_field(f, "retval");
	a->graph = format_field(f, "depth") != NULL;
	if (a->args)
		a->need = a->args->offset + 4;
	if (a->retaddr)
		a->need = a->retaddr->offset + a->retaddr->size;
	if (a->retval == NULL && format_field(f, "rettime")) {
		for (uint32_t i = 0; i < f->nr_fields; i++)
			if (f->fields[i].offset + f->fields[i].size > a->behind)
				a->behind = f->fields[i].offset + f->fields[i].size;
		a->need = a->behind + 4;
	}
	if (a->retval && a->retval->offset + a->retval->size < a->need)
		a->need = a->retval->offset + a->retval->size;
}

static bool field_of(const struct format_field *f, const struct expr_env *env, const uint8_t *data,
		     uint32_t size, uint64_t *out)
{
	if (!f || (uint64_t)f->offset + f->size > size ||
	    (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8))
		return false;
	*out = expr_load(data + f->offset, (uint8_t)f->size, env->swap);
	return true;
}

/* Since 6.18 where a call returns to is the first of its words, if their number is odd. */
void args_read(const struct args_fields *a, const struct expr_env *env, const uint8_t *data,
	       uint32_t size, struct args *out)
{
	uint32_t word = env->long_bytes;

	out->nr = 0;
	out->has_from = field_of(a->retaddr, env, data, size, &out->from);
	out->has_value = field_of(a->retval, env, data, size, &out->value);
	if (a->behind && (uint64_t)a->behind + word <= size) {
		out->has_value = true;
		out->value = expr_load(data + a->behind, (uint8_t)word, env->swap);
	}
	if (!a->args)
		return;
	for (uint32_t at = a->args->offset; at + word <= size && out->nr < ARGS_WORDS_MAX;
	     at += word)
		out->word[out->nr++] = expr_load(data + at, (uint8_t)word, env->swap);
	if (a->graph && out->nr & 1) {
		out->has_from = true;
		out->from = out->word[0];
		memmove(out->word, out->word + 1, --out->nr * sizeof(out->word[0]));
	}
}

/* ---- one value ---- */

static void put_hex(struct out *o, uint64_t v)
{
	out_bytes(o, "0x", 2);
	out_hex(o, v);
}

/* The rest of a register that is wider than the type means nothing. */
static uint64_t cut(const struct proto_type *t, uint64_t v)
{
	uint32_t bits = t->bytes * 8;

	if (!bits || bits >= 64)
		return v;
	v &= (1ull << bits) - 1;
	if (t->is_signed && v >> (bits - 1) & 1)
		v |= ~0ull << bits;
	return v;
}

static const char *enum_name(const struct proto_type *t, uint64_t v)
{
	for (uint32_t i = 0; i < t->nr_values; i++)
		if (cut(t, (uint64_t)t->values[i].value) == v)
			return t->values[i].name;
	return NULL;
}

static void put_number(struct out *o, const struct proto_type *t, uint64_t v)
{
	if (t->is_signed)
		out_s64(o, (int64_t)v);
	else
		put_hex(o, v);
}

static void put_char(struct out *o, const struct proto_type *t, uint64_t v)
{
	if (v >= ' ' && v < 127 && v != '\'' && v != '\\') {
		out_char(o, '\'');
		out_char(o, (char)v);
		out_char(o, '\'');
	} else {
		put_number(o, t, v);
	}
}

/* In quotes, as C and JSON write it. */
static void put_quoted(struct out *o, const char *s, size_t n)
{
	out_char(o, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\') {
			out_char(o, '\\');
			out_char(o, (char)c);
		} else if (c < ' ' || c >= 127) {
			out_printf(o, "\\u%04x", c);
		} else {
			out_char(o, (char)c);
		}
	}
	out_char(o, '"');
}

/* An address, and the text there, if it is in the program's file. */
static void put_string(struct lookup *l, struct out *o, uint64_t v)
{
	size_t n;
	const char *s = v ? source_program_text(l->source, v, ARGS_TEXT_MAX, &n) : NULL;

	put_hex(o, v);
	if (s) {
		out_char(o, ' ');
		put_quoted(o, s, n);
	}
}

static void put_words(struct out *o, const uint64_t *word, uint32_t nr)
{
	out_char(o, '{');
	for (uint32_t i = 0; i < nr; i++) {
		if (i)
			out_bytes(o, ", ", 2);
		put_hex(o, word[i]);
	}
	out_char(o, '}');
}

static void put_value(struct lookup *l, struct out *o, const struct proto_type *t,
		      const uint64_t *word, uint32_t nr)
{
	uint64_t v = cut(t, word[0]);
	const char *name;

	switch (t->kind) {
	case PROTO_BOOL: out_str(o, v & 0xff ? "true" : "false"); break;
	case PROTO_CHAR: put_char(o, t, v); break;
	case PROTO_STRING: put_string(l, o, v); break;
	case PROTO_ENUM:
		name = enum_name(t, v);
		if (name)
			out_str(o, name);
		else
			put_number(o, t, v);
		break;
	case PROTO_RECORD: put_words(o, word, nr); break;
	case PROTO_INT:
		if (nr == 2) { /* 128 bits, the low ones first */
			put_hex(o, word[1]);
			out_printf(o, "%016" PRIx64, word[0]);
		} else {
			put_number(o, t, v);
		}
		break;
	default: put_hex(o, v); break;
	}
}

/* ---- arguments ---- */

static void raw_words(const struct args *a, struct out *o)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		if (i)
			out_bytes(o, ", ", 2);
		put_hex(o, a->word[i]);
	}
}

/* As Linux prints them: whole registers, and no more when they are used up. False: here they were. */
static bool put_linux(struct out *o, const struct proto_param *p, const struct args *a)
{
	uint64_t v;

	if (p->first >= a->nr) {
		out_str(o, "...");
		return false;
	}
	v = a->word[p->first];
	out_printf(o, "%s=", p->name);
	switch (p->type.kind) {
	case PROTO_INT:
	case PROTO_CHAR:
	case PROTO_BOOL:
		if (p->type.is_signed)
			out_s64(o, (int64_t)v);
		else
			put_hex(o, v);
		return true;
	case PROTO_ENUM: out_s64(o, (int64_t)v); return true;
	case PROTO_VOID: out_char(o, '?'); __attribute__((fallthrough));
	case PROTO_POINTER:
	case PROTO_STRING: put_hex(o, v); return true;
	default: break;
	}
	out_printf(o, "(%s)[", p->type.name);
	for (uint32_t i = 0; i < p->words; i++) {
		if (i)
			out_char(o, ':');
		if (p->first + i >= a->nr) {
			out_str(o, "...]");
			return false;
		}
		put_hex(o, a->word[p->first + i]);
	}
	out_char(o, ']');
	return true;
}

static bool is_known(const struct proto_param *p, const struct args *a)
{
	return p->words && p->first + (uint32_t)p->words <= a->nr;
}

void args_text(struct lookup *l, uint64_t func, const struct args *a, struct out *o)
{
	const struct proto *p = lookup_proto(l, func);

	if (!p) {
		raw_words(a, o);
		return;
	}
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct proto_param *one = &p->param[i];

		if (i)
			out_bytes(o, ", ", 2);
		if (p->is_btf) {
			if (!put_linux(o, one, a))
				return;
			continue;
		}
		if (*one->name)
			out_printf(o, "%s=", one->name);
		if (is_known(one, a))
			put_value(l, o, &one->type, &a->word[one->first], one->words);
		else
			out_char(o, '?');
	}
}

/* ---- return values ---- */

static bool is_in_register(const struct proto_type *t)
{
	return t->kind != PROTO_VOID && t->kind != PROTO_FLOAT && t->kind != PROTO_RECORD &&
	       t->bytes <= 8;
}

bool args_is_void(struct lookup *l, uint64_t func)
{
	const struct proto *p = lookup_proto(l, func);

	return p && !p->is_btf && !is_in_register(&p->ret);
}

#define ERRNO_MAX 4095

/* An int that was returned may have 32 bits of a register of 64. */
static int64_t error_of(const struct lookup *l, uint64_t v)
{
	if ((l->env.long_bytes == 4 || !(v >> 32)) && v >> 31 & 1)
		v |= ~(uint64_t)UINT32_MAX;
	return v >= (uint64_t)-ERRNO_MAX ? (int64_t)v : 0;
}

void args_value(struct lookup *l, uint64_t func, uint64_t value, struct out *o)
{
	const struct proto *p = lookup_proto(l, func);

	if (p && !p->is_btf && is_in_register(&p->ret))
		put_value(l, o, &p->ret, &value, 1);
	else if (error_of(l, value))
		out_s64(o, error_of(l, value));
	else
		put_hex(o, value);
}

/* ---- JSON ---- */

static void json_hex(struct json *j, const char *key, uint64_t v)
{
	char text[24];

	json_bytes(j, key, text, (size_t)snprintf(text, sizeof(text), "0x%" PRIx64, v));
}

static void json_integer(struct json *j, const char *key, const struct proto_type *t, uint64_t v)
{
	if (t->is_signed)
		json_s64(j, key, (int64_t)v);
	else
		json_u64(j, key, v);
}

static void json_words(struct json *j, const char *key, const uint64_t *word, uint32_t nr)
{
	json_open(j, key, '[');
	for (uint32_t i = 0; i < nr; i++)
		json_hex(j, NULL, word[i]);
	json_close(j, ']');
}

static void json_value(struct lookup *l, struct json *j, const char *key,
		       const struct proto_type *t, const uint64_t *word, uint32_t nr)
{
	uint64_t v = cut(t, word[0]);
	const char *name = t->kind == PROTO_ENUM ? enum_name(t, v) : NULL, *text = NULL;
	size_t n = 0;

	if (t->kind == PROTO_STRING && v)
		text = source_program_text(l->source, v, ARGS_TEXT_MAX, &n);
	if (nr > 1)
		json_words(j, key, word, nr);
	else if (t->kind == PROTO_BOOL)
		json_bool(j, key, v & 0xff);
	else if (name)
		json_str(j, key, name);
	else if (text)
		json_bytes(j, key, text, n);
	else if (t->kind == PROTO_INT || t->kind == PROTO_CHAR || t->kind == PROTO_ENUM)
		json_integer(j, key, t, v);
	else
		json_hex(j, key, v);
}

static void json_args(struct lookup *l, const struct proto *p, const struct args *a, struct json *j)
{
	if (!p) {
		json_words(j, "args", a->word, a->nr);
		return;
	}
	json_open(j, "args", '{');
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct proto_param *one = &p->param[i];
		char number[16];

		if (!is_known(one, a))
			continue;
		snprintf(number, sizeof(number), "%u", i + 1);
		json_value(l, j, *one->name ? one->name : number, &one->type, &a->word[one->first],
			   one->words);
	}
	json_close(j, '}');
}

void args_json(struct lookup *l, uint64_t func, const struct args *a, struct json *j)
{
	const struct proto *p = lookup_proto(l, func);

	json_open(j, "call", '{');
	if (a->nr)
		json_args(l, p, a, j);
	if (a->has_from) {
		const struct lookup_symbol *s = lookup_symbol(l, a->from);

		if (s->name)
			json_bytes(j, "from", s->name, s->len);
		else
			json_hex(j, "from", a->from);
	}
	if (a->has_value && !p)
		json_hex(j, "returned", a->value);
	else if (a->has_value && is_in_register(&p->ret))
		json_value(l, j, "returned", &p->ret, &a->value, 1);
	json_close(j, '}');
}
