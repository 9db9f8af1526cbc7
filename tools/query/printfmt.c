/* SPDX-License-Identifier: MIT */
/* printfmt.c -- compile a print fmt into pieces, each a text or one conversion, and run them over a record. */
#include "query/printfmt.h"
#include "query/compile.h"
#include "query/conv.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 1024
#define HEAD_MAX   16u

/* The first kinds need no program: most arguments are fields as they stand in the record. */
enum piece_kind {
	PIECE_TEXT,
	PIECE_DECIMAL, /* %d %u of a field, no width */
	PIECE_HEX,     /* %x of a field, no width */
	PIECE_NUMBER,  /* any other conversion of a field to a number */
	PIECE_FIELD,   /* %s of a char array */
	PIECE_DYNAMIC, /* %s of a __data_loc */
	PIECE_CONV,    /* anything else */
};

struct piece {
	uint8_t kind;
	uint8_t head_bytes;
	uint8_t load; /* type of the field */
	uint8_t cut;  /* type the value is cut to before printing */
	uint8_t relative;
	uint32_t
		quick; /* the offset, if the value is eight bytes there, shifted up and down by `unused` */
	uint8_t unused; /* bits */
	uint8_t is_signed;
	uint32_t offset, size; /* of the field; of the text */
	uint32_t lead_bytes;
	const char *lead; /* the text in front of it */
	char head
		[HEAD_MAX]; /* the same, if it is short: copied as a whole; else it is a piece of its own */
	const char *text;
	struct conv conv;
	struct expr arg, width, prec;
};

struct printfmt {
	struct program program;
	struct piece *pieces;
	uint32_t nr, cap;
	uint32_t room; /* for all heads and numbers */
	uint8_t long_bytes;
	bool libc;
	bool broken;
	struct expr_error err;
};

static struct piece *piece_add(struct compiler *c, struct printfmt *p, uint8_t kind)
{
	struct piece *n =
		program_push((void **)&p->pieces, &p->nr, &p->cap, sizeof(*n), PIECES_MAX);

	if (!n) {
		compiler_fail(c, "the format has too many parts");
		return NULL;
	}
	*n = (struct piece){.kind = kind, .quick = UINT32_MAX};
	return n;
}

static bool text_add(struct compiler *c, struct printfmt *p, const char *s, const char *end)
{
	struct piece *n;

	if (s == end)
		return true;
	n = piece_add(c, p, PIECE_TEXT);
	if (!n)
		return false;
	n->text = s;
	n->size = (uint32_t)(end - s);
	return true;
}

/* Cut the format string at its conversions. */
static bool split(struct compiler *c, struct printfmt *p, const char *s, uint32_t len)
{
	const char *end = s + len, *from = s;

	while (s < end) {
		const char *percent = s;
		struct piece *n;
		struct conv conv;

		if (*s++ != '%')
			continue;
		s = conv_parse(s, end, p->long_bytes, &conv);
		if (conv.conv == '%') {
			/* The second % is the first character of the text that follows. */
			if (!text_add(c, p, from, percent))
				return false;
			from = s - 1;
			continue;
		}
		if (!conv.conv)
			continue; /* not a conversion: printed as it stands */
		if (!text_add(c, p, from, percent))
			return false;
		n = piece_add(c, p, PIECE_CONV);
		if (!n)
			return false;
		n->conv = conv;
		if (p->libc)
			n->conv.flags |= CONV_LIBC;
		from = s;
	}
	return text_add(c, p, from, end);
}

static bool argument(struct compiler *c, struct expr *e)
{
	if (!token_is(&c->t, ','))
		return compiler_fail(c, "an argument is missing");
	compiler_advance(c);
	e->begin = c->p->nr_code;
	c->stack = 0;
	if (!compile_expr(c, &e->type))
		return false;
	e->end = c->p->nr_code;
	return true;
}

/* The argument is a field that is a number, or one cast to a type that has all the bits that are printed. */
static bool is_number(const struct printfmt *p, const struct piece *n)
{
	const struct insn *i = &p->program.code[n->arg.begin];
	uint32_t nr = n->arg.end - n->arg.begin;

	if (i->op != OP_LOAD || !strchr("duxXo", n->conv.conv))
		return false;
	return nr == 1 || (nr == 2 && i[1].op == OP_CAST && (i[1].a & TYPE_SIZE) >= n->conv.size);
}

/* A load and two shifts do what a load by its type and a cut to the conversion's do, but for odd pairs of them. */
static void make_quick(struct piece *n)
{
	uint32_t load = n->load & TYPE_SIZE, cut = n->cut & TYPE_SIZE;
	bool narrow = cut <= load;

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !load || !cut ||
	    (!narrow && cut != 8 && n->load & TYPE_SIGNED))
		return;
	n->quick = n->offset;
	n->unused = (uint8_t)(64 - 8 * (narrow ? cut : load));
	n->is_signed = ((narrow ? n->cut : n->load) & TYPE_SIGNED) != 0;
}

/* A conversion whose argument is a field as it stands needs no program. */
static void specialise(const struct printfmt *p, struct piece *n)
{
	const struct insn *i = &p->program.code[n->arg.begin];
	const struct conv *v = &n->conv;
	bool plain = v->width < 0 && v->prec < 0 && !(v->flags & ~CONV_LIBC);

	if (n->arg.end == n->arg.begin || v->flags & (CONV_STAR_WIDTH | CONV_STAR_PREC))
		return;
	n->offset = i->c;
	if (is_number(p, n)) {
		n->kind = !plain || v->conv == 'X' || v->conv == 'o' ? PIECE_NUMBER
			  : v->conv == 'x'			     ? PIECE_HEX
								     : PIECE_DECIMAL;
		n->load = i->a;
		n->size = i->a & TYPE_SIZE;
		n->cut = (uint8_t)(v->size | (v->conv == 'd' ? TYPE_SIGNED : 0));
		make_quick(n);
	} else if (!plain || n->arg.end != n->arg.begin + 1) {
		return;
	} else if (i->op == OP_BYTES && v->conv == 's' && i->imm <= UINT16_MAX) {
		n->kind = PIECE_FIELD;
		n->size = (uint32_t)i->imm;
	} else if (i->op == OP_DYNAMIC && v->conv == 's') {
		n->kind = PIECE_DYNAMIC;
		n->relative = i->b != 0;
	}
}

static bool arguments(struct compiler *c, struct printfmt *p)
{
	for (uint32_t i = 0; i < p->nr; i++) {
		struct piece *n = &p->pieces[i];

		if (n->kind != PIECE_CONV)
			continue;
		if (n->conv.flags & CONV_STAR_WIDTH && !argument(c, &n->width))
			return false;
		if (n->conv.flags & CONV_STAR_PREC && !argument(c, &n->prec))
			return false;
		c->unknown = false;
		if (!argument(c, &n->arg))
			return false;
		if (c->unknown)
			*n = (struct piece){
				.kind = PIECE_TEXT, .quick = UINT32_MAX, .text = "?", .size = 1};
		else
			specialise(p, n);
	}
	return !c->failed;
}

/* A number and the text in front of it. */
#define NUMBER_ROOM (HEAD_MAX + 32u)

/* A short text goes with the conversion after it: one step, not two. */
static void join_texts(struct printfmt *p)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->nr; i++) {
		struct piece n = p->pieces[i];
		const struct piece *last = nr ? &p->pieces[nr - 1] : NULL;

		if (n.kind != PIECE_TEXT && last && last->kind == PIECE_TEXT) {
			n.lead = last->text;
			n.lead_bytes = last->size;
			if (n.lead_bytes <= HEAD_MAX) {
				memcpy(n.head, n.lead, n.lead_bytes);
				n.head_bytes = (uint8_t)n.lead_bytes;
				nr--;
			}
		}
		p->pieces[nr++] = n;
	}
	p->nr = nr;
	p->room = nr * NUMBER_ROOM;
}

static bool compile(struct printfmt *p, struct compiler *c)
{
	const char *s;
	uint32_t len;

	compiler_advance(c);
	if (c->t.kind != TOKEN_STRING)
		return compiler_fail(c, "expected a format string");
	s = c->lex.string;
	len = c->lex.string_len;
	compiler_advance(c);
	if (!split(c, p, s, len) || !arguments(c, p))
		return false;
	while (token_is(&c->t, ',')) {
		/* An argument without a conversion: it must be readable, no more. */
		struct expr extra;

		if (!argument(c, &extra))
			return false;
	}
	return c->t.kind == TOKEN_END || compiler_fail(c, "expected the end");
}

struct printfmt *printfmt_new(const struct format *f, const char *text, size_t bytes,
			      uint8_t long_bytes, enum printfmt_dialect dialect)
{
	return printfmt_new_env(f, text, bytes, long_bytes, dialect, NULL);
}

struct printfmt *printfmt_new_env(const struct format *f, const char *text, size_t bytes,
				  uint8_t long_bytes, enum printfmt_dialect dialect,
				  const struct expr_env *env)
{
	struct printfmt *p = calloc(1, sizeof(*p));
	struct compiler c;

	if (!p)
		return NULL;
	p->libc = dialect == PRINTFMT_TRACE_CMD;
	p->long_bytes = long_bytes == 4 ? 4 : 8;
	if (!compiler_init(&c, &p->program, f, long_bytes, text, bytes, &p->err)) {
		p->broken = true;
		return p;
	}
	c.trace_cmd = p->libc;
	c.env = env;
	p->broken = !compile(p, &c) || c.failed;
	if (!p->broken)
		join_texts(p);
	return p;
}

void printfmt_free(struct printfmt *p)
{
	if (!p)
		return;
	program_free(&p->program);
	free(p->pieces);
	free(p);
}

const struct expr_error *printfmt_error(const struct printfmt *p)
{
	return p->broken ? &p->err : NULL;
}

static int32_t star(int64_t v)
{
	return v > CONV_WIDTH_MAX    ? CONV_WIDTH_MAX
	       : v < -CONV_WIDTH_MAX ? -CONV_WIDTH_MAX
				     : (int32_t)v;
}

/* A string argument that is an address in the kernel: known if it is one of the trace's own strings. */
static void string_at(struct out *o, const struct conv *c, uint64_t addr,
		      const struct expr_record *r)
{
	const char *s = r->env->printk ? r->env->printk(r->env->arg, addr) : NULL;
	char buf[32] = "(0x";
	unsigned n = c->flags & CONV_LIBC ? 0 : 3; /* libtraceevent prints bare hex */

	if (s) {
		conv_string(o, c, s, UINT32_MAX);
		return;
	}
	for (int shift = 60; shift >= 0; shift -= 4)
		if (addr >> shift || !shift)
			buf[n++] = "0123456789abcdef"[addr >> shift & 15];
	if (!(c->flags & CONV_LIBC))
		buf[n++] = ')';
	conv_string(o, c, buf, n);
}

static void convert(struct out *o, const struct conv *c, const struct value *v, uint8_t type,
		    const struct expr_record *r)
{
	switch (c->conv) {
	case 's':
		if (v->s)
			conv_string(o, c, v->s, v->len);
		else
			string_at(o, c, v->n, r);
		break;
	case 'c': conv_char(o, c, (char)v->n); break;
	case 'p':
		conv_pointer(o, c, v, v->s ? TYPE_BYTES : (uint8_t)(type & ~TYPE_BYTES), r);
		break;
	default: conv_number(o, c, v->n); break;
	}
}

static void run_conv(const struct printfmt *p, const struct piece *n, struct expr_record *r,
		     struct out *o)
{
	struct conv c = n->conv;
	struct value v;

	if (c.flags & CONV_STAR_WIDTH) {
		c.width = star((int32_t)expr_run(&p->program, n->width.begin, n->width.end, r).n);
		if (c.width < 0) {
			c.flags |= CONV_LEFT;
			c.width = -c.width;
		}
	}
	if (c.flags & CONV_STAR_PREC)
		c.prec = star((int32_t)expr_run(&p->program, n->prec.begin, n->prec.end, r).n);
	v = expr_run(&p->program, n->arg.begin, n->arg.end, r);
	convert(o, &c, &v, n->arg.type, r);
}

static uint64_t field(const struct expr_record *r, const struct piece *n)
{
	if (n->offset > r->size || n->size > r->size - n->offset)
		return 0;
	return expr_convert(expr_load(r->data + n->offset, n->load, r->env->swap), n->cut);
}

/* The same for most of them: eight bytes that end before `limit`. */
static inline __attribute__((always_inline)) uint64_t quick_field(const struct expr_record *r,
								  const struct piece *n,
								  uint32_t limit)
{
	uint64_t v;

	if (n->quick >= limit)
		return field(r, n);
	memcpy(&v, r->data + n->quick, 8);
	v <<= n->unused;
	return n->is_signed ? (uint64_t)((int64_t)v >> n->unused) : v >> n->unused;
}

static void run_field(const struct expr_record *r, const struct piece *n, struct out *o)
{
	uint32_t size = n->size;
	const char *s;

	if (n->offset >= r->size)
		return;
	if (size > r->size - n->offset)
		size = r->size - n->offset;
	s = (const char *)r->data + n->offset;
	out_bytes(o, s, strnlen(s, size));
}

/* All but numbers without a width. */
static void run_other(const struct printfmt *p, const struct piece *n, struct expr_record *r,
		      struct out *o)
{
	struct value v;

	switch (n->kind) {
	case PIECE_TEXT: out_bytes(o, n->text, n->size); break;
	case PIECE_NUMBER: conv_number(o, &n->conv, field(r, n)); break;
	case PIECE_FIELD: run_field(r, n, o); break;
	case PIECE_DYNAMIC:
		v = expr_dynamic_text(r, n->offset, n->relative);
		out_bytes(o, v.s, v.len);
		break;
	default: run_conv(p, n, r, o); break;
	}
}

/* Most of what is printed are short texts and plain numbers: for these there is room from the beginning, asked for once. */
void printfmt_run(const struct printfmt *p, struct expr_record *r, struct out *o)
{
	uint32_t limit = r->env->swap || r->size < 8 ? 0 : r->size - 7;
	char *at;

	r->scratch_used = 0;
	if (!out_room(o, p->room))
		return;
	at = o->at;
	for (const struct piece *n = p->pieces, *end = n + p->nr; n < end; n++) {
		uint64_t v;

		memcpy(at, n->head, HEAD_MAX);
		at += n->head_bytes;
		if (n->kind == PIECE_HEX) {
			at += out_hex_to(at, quick_field(r, n, limit));
		} else if (n->kind == PIECE_DECIMAL) {
			v = quick_field(r, n, limit);
			if (n->cut & TYPE_SIGNED && (int64_t)v < 0) {
				*at++ = '-';
				v = 0 - v;
			}
			at += out_u64_to(at, v);
		} else {
			o->at = at;
			run_other(p, n, r, o);
			if (!out_room(o, p->room))
				return;
			at = o->at;
		}
	}
	o->at = at;
}

/* The argument is the field itself, a cast aside. */
static bool is_field(const struct printfmt *p, const struct piece *n, const struct format_field *f)
{
	const struct insn *i;

	if (n->kind == PIECE_TEXT || n->arg.end == n->arg.begin || n->arg.end > n->arg.begin + 2)
		return false;
	i = &p->program.code[n->arg.begin];
	if (n->arg.end == n->arg.begin + 2 && i[1].op != OP_CAST)
		return false;
	if (i->op == OP_LOAD) /* of all of it, not of one element */
		return i->c == f->offset && (i->a & TYPE_SIZE) == f->size;
	return (i->op == OP_BYTES || i->op == OP_DYNAMIC) && i->c == f->offset;
}

bool printfmt_field(const struct printfmt *p, const struct format_field *f, struct expr_record *r,
		    struct out *o, bool *symbol)
{
	for (uint32_t k = 0; k < p->nr; k++) {
		const struct piece *n = &p->pieces[k];

		if (!is_field(p, n, f))
			continue;
		if (n->lead_bytes >= 2 && !memcmp(n->lead + n->lead_bytes - 2, "0x", 2))
			out_bytes(o, "0x", 2);
		run_conv(p, n, r, o);
		*symbol = n->conv.conv == 'p' && n->conv.ext[0] && strchr("sSfF", n->conv.ext[0]);
		return true;
	}
	return false;
}

/* The next value of a binary trace_printk(): small ones stand at multiples of their size, 8-byte ones at multiples of 4. */
static bool word(struct expr_record *r, uint32_t *at, uint8_t stored, uint64_t *v)
{
	uint32_t align = stored == 8 ? 4 : stored;

	*at = (*at + align - 1) & ~(align - 1);
	if (*at > r->size || stored > r->size - *at)
		return false;
	*v = expr_load(r->data + *at, stored, r->env->swap);
	*at += stored;
	return true;
}

/* How many bytes were stored. Before 6.14 Linux stored %hd and %hhd as short and char. */
static uint8_t stored_bytes(const struct conv *c, const struct expr_env *env)
{
	if (c->conv == 'p')
		return env->long_bytes == 4 ? 4 : 8;
	if (c->conv == 'c')
		return 1;
	if (c->size >= 4)
		return c->size;
	return env->kernel >= 6014 ? 4 : c->size;
}

/* Of %p, these letters need nothing but the address; of others what it points at was printed when it was recorded. */
static bool is_stored_text(const struct conv *c)
{
	return c->conv == 's' || (c->conv == 'p' && c->ext[0] && !strchr("SsFfxKe", c->ext[0]));
}

static bool binary_conv(struct conv *c, struct expr_record *r, uint32_t *at, struct out *o)
{
	struct value v = {0, NULL, 0};
	uint8_t type = TYPE_U64;
	uint64_t n;

	if (c->flags & CONV_STAR_WIDTH) {
		if (!word(r, at, 4, &n))
			return false;
		c->width = star((int32_t)n);
	}
	if (c->flags & CONV_STAR_PREC) {
		if (!word(r, at, 4, &n))
			return false;
		c->prec = star((int32_t)n);
	}
	if (is_stored_text(c)) {
		uint32_t left = *at < r->size ? r->size - *at : 0;

		v.s = left ? (const char *)r->data + *at : "";
		v.len = (uint32_t)strnlen(v.s, left);
		*at += v.len + 1;
		if (c->conv == 'p') /* its width was used up, by a bitmap or by padding */
			c->width = c->prec = -1;
		c->conv = 's';
	} else if (!word(r, at, stored_bytes(c, r->env), &v.n)) {
		return false;
	}
	convert(o, c, &v, type, r);
	return true;
}

void printfmt_binary(const char *fmt, struct expr_record *r, uint32_t offset,
		     enum printfmt_dialect dialect, struct out *o)
{
	const char *s = fmt, *end = fmt + strlen(fmt), *from = fmt;

	r->scratch_used = 0;
	while (s < end) {
		const char *percent = s;
		struct conv c;

		if (*s++ != '%')
			continue;
		out_bytes(o, from, (size_t)(percent - from));
		s = conv_parse(s, end, r->env->long_bytes == 4 ? 4 : 8, &c);
		from = s;
		if (c.conv == '%') {
			out_char(o, '%');
			continue;
		}
		if (dialect == PRINTFMT_TRACE_CMD)
			c.flags |= CONV_LIBC;
		if (!c.conv || !binary_conv(&c, r, &offset, o))
			out_bytes(o, percent, (size_t)(s - percent));
	}
	out_bytes(o, from, (size_t)(end - from));
}
