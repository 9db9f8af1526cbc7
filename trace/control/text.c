/* SPDX-License-Identifier: MIT */
/* text.c -- what a record says behind the columns: events by their print format, the tracers' own records by Linux's. */
#include "wire/cold.h"
#include "control/filter.h"
#include "fathom/inside/internal.h"
#include "fathom/inside/print.h"
#include "fathom/inside/view.h"
#include "wire/div.h"
#if FATHOM_FUNCTIONS
#include "functions/extra.h"
#endif

#define TEXT_STACK_MAX 512 /* frames: a record cannot hold more */

static void text_put_symbol(struct fathom_text *out, uint32_t options, uintptr_t at)
{
	struct fathom_text_symbol sym;

	fathom_text_symbol_at(&sym, at);
	fathom_text_symbol(out, options, &sym);
}

/* `func: ` before a message: a marker's is the name Linux shows there. */
static void text_put_writer(struct fathom_view *v, struct fathom_text *out, uintptr_t ip)
{
	if (v->config.options & FATHOM_TEXT_PRINTK_MSG_ONLY || v->config.graph)
		return;
	if (ip == fathom_marker_ip())
		fathom_text_str(out, "tracing_mark_write");
	else
		text_put_symbol(out, v->config.options, ip);
	fathom_text_str(out, ": ");
}

static void text_end_line(struct fathom_text *out)
{
	if (!out->len || out->buf[out->len - 1] != '\n')
		fathom_text_char(out, '\n');
}

/* A string inside the record, up to its NUL or the record's end. */
static void text_put_tail(struct fathom_view *v, struct fathom_text *out, size_t at)
{
	const char *s = (const char *)v->record;
	size_t n = at;

	while (n < v->bytes && s[n])
		n++;
	if (n > at)
		fathom_text_bytes(out, s + at, n - at);
}

static void text_bprint(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_bprint *r = (const void *)v->record;

	text_put_writer(v, out, r->ip);
	fathom_text_packed(out, r->fmt, (const char *)r + sizeof(*r), v->bytes - sizeof(*r));
	text_end_line(out);
}

static void text_raw_data(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_raw *r = (const void *)v->record;
	const uint8_t *b = (const uint8_t *)v->record;

	fathom_text_printf(out, "# %x buf:", r->id);
	for (uint32_t i = sizeof(*r); i < v->bytes; i++)
		fathom_text_printf(out, " %02x", b[i]);
	fathom_text_char(out, '\n');
}

/* What the tracers and the stack recorder write. */
#if FATHOM_FUNCTIONS

/* Nobody knows here what they mean. */
static void text_put_words(struct fathom_text *t, const struct fathom_text_args *args)
{
	for (uint32_t i = 0; i < args->nr; i++) {
		uintptr_t v;

		__builtin_memcpy(&v, (const uint8_t *)args->data + i * sizeof(v), sizeof(v));
		fathom_text_printf(t, "%s0x%lx", i ? ", " : "", (unsigned long)v);
	}
}

void fathom_view_args(struct fathom_view *v, uint32_t at, struct fathom_text_args *args)
{
	args->nr = v->bytes > at ? (v->bytes - at) / (uint32_t)sizeof(uintptr_t) : 0;
	args->data = (const uint8_t *)v->record + at;
	args->put = args->nr ? text_put_words : NULL;
}

static void text_put_call(struct fathom_view *v, struct fathom_text *out, uintptr_t ip,
			  uintptr_t parent_ip, const struct fathom_text_args *args)
{
	struct fathom_text_symbol func, parent;

	fathom_text_symbol_at(&func, ip);
	fathom_text_symbol_at(&parent, parent_ip);
	fathom_text_function(out, v->config.options, &func, args, &parent);
}

static void text_function(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_function *r = (const void *)v->record;

	struct fathom_text_args args;

	fathom_view_args(v, FATHOM_FUNCTION_ARGS, &args);
	text_put_call(v, out, r->ip, r->parent_ip, &args);
	fathom_text_char(out, '\n');
}

/* A span of at most 48 bits in the unit that the clock shows; ticks to within 64. */
static uint64_t text_span(const struct fathom_clock *c, uint64_t ns)
{
	uint64_t of_2_20 = fathom_ticks_to_ns(1u << 20);

	if (c->unit == FATHOM_CLOCK_CENTS) {
		wire_div(&ns, 10000000);
	} else if (c->unit == FATHOM_CLOCK_TICKS) {
		ns <<= 14;
		wire_div(&ns, of_2_20 && of_2_20 <= UINT32_MAX ? (uint32_t)of_2_20 : UINT32_MAX);
		ns <<= 6;
	}
	return ns;
}

static void text_repeats(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_repeats *r = (const void *)v->record;
	const struct fathom_clock *c = &v->config.clock;
	uint64_t ago = text_span(c, (uint64_t)r->top_delta_ts << 32 | r->bottom_delta_ts);
	uint64_t last = fathom_clock_time(c, v->time) - ago;

	text_put_call(v, out, r->ip, r->parent_ip, NULL);
	fathom_text_printf(out, " (repeats: %u, last_ts: ", r->count);
	if (v->text.plain_clock)
		fathom_text_u64(out, last, 12, ' ');
	else
		fathom_text_time(out, last);
	fathom_text_str(out, ")\n");
}

static void text_stack(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_stack *r = (const void *)v->record;
	uint32_t n = (v->bytes - (uint32_t)sizeof(*r)) / sizeof(uintptr_t);

	fathom_text_str(out, "<stack trace>\n");
	if (v->bytes < sizeof(*r))
		return;
	if (r->size >= 0 && (uint32_t)r->size < n)
		n = (uint32_t)r->size;
	for (uint32_t i = 0; i < n && i < TEXT_STACK_MAX && r->caller[i] + 1; i++) {
		struct fathom_text_symbol sym;

		fathom_text_symbol_at(&sym, r->caller[i]);
		fathom_text_frame(out, v->config.options, &sym);
	}
}

static void text_user_stack(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_user_stack *r = (const void *)v->record;

	fathom_text_str(out, "<user stack trace>\n");
	if (v->bytes < sizeof(*r))
		return;
	for (uint32_t i = 0; i < (v->bytes - sizeof(*r)) / sizeof(uintptr_t) && r->caller[i]; i++) {
		fathom_text_printf(out, " =>  <%p>\n", (void *)r->caller[i]);
	}
}

static void text_switch(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_switch *r = (const void *)v->record;
	struct fathom_text_switch s = {.prev_pid = (int32_t)r->prev_pid,
				       .next_pid = (int32_t)r->next_pid,
				       .next_cpu = r->next_cpu,
				       .prev_prio = r->prev_prio,
				       .prev_state = r->prev_state,
				       .next_prio = r->next_prio,
				       .next_state = r->next_state};
	char buf[16];

	s.next_comm = fathom_text_comm(s.next_pid, fathom_view_comm(v, s.next_pid, buf));
	fathom_text_switch(out, r->ent.type == WIRE_ID_WAKEUP ? "  +" : "==>", &s);
	fathom_text_char(out, '\n');
}

/* Calls and returns outside of the graph layout: both begin alike. */
static void text_graph_call(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_funcgraph_entry *r = (const void *)v->record;

	fathom_text_str(out, r->ent.type == WIRE_ID_FUNCGRAPH_ENTRY ? "--> " : "<-- ");
	text_put_symbol(out, v->config.options, r->func);
	fathom_text_printf(out, " (%d)\n", r->depth);
}

#endif

/* Linux's option `raw` (and hex, bin): addresses of functions; of most events the type alone. */
static void text_raw(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_function *r = (const void *)v->record;
	int hex = (v->config.options & FATHOM_TEXT_HEX) != 0;
	int width = hex ? 2 * (int)sizeof(r->ip) : 0;

	if (r->ent.type == WIRE_ID_FUNCTION && v->config.options & FATHOM_TEXT_BIN) {
		fathom_text_bytes(out, (const char *)&r->ip, 2 * sizeof(r->ip));
		return;
	}
	if (r->ent.type == WIRE_ID_FUNCTION) {
		fathom_text_printf(out, "%0*lx %0*lx%c", width, (unsigned long)r->ip, width,
				   (unsigned long)r->parent_ip, hex ? ' ' : '\n');
	} else {
		fathom_text_printf(out, "type: %u\n", r->ent.type);
	}
	if (hex)
		fathom_text_char(out, '\n');
}

/*
 * An event without code that prints it: every one if FATHOM_EVENT_TEXT is 0, and one whose object is gone, which comes with
 * level 4. Its fields, one after the other.
 */
#if FATHOM_FUNCTIONS || !FATHOM_EVENT_TEXT
static void text_fields(const struct fathom_view *v, const struct fathom_event *ev,
			struct fathom_text *out)
{
	for (uint32_t i = 0; i < ev->nr_fields; i++) {
		const struct fathom_field *f = &ev->fields[i];
		struct fathom_operand op;
		uint32_t len;
		const char *s;

		if (fathom_operand_find(ev, f->name, fathom_strlen(f->name), &op))
			continue;
		fathom_text_printf(out, "%s%s=", i ? " " : "", f->name);
		if (op.kind == FATHOM_OPERAND_NUMBER) {
			uint64_t n = fathom_operand_number(&op, v->record, v->bytes);

			fathom_text_printf(out, f->is_signed ? "%lld" : "%llu",
					   (unsigned long long)n);
		} else if (op.kind == FATHOM_OPERAND_ARRAY) {
			fathom_text_str(out, "{...}");
		} else {
			s = fathom_operand_text(&op, v->record, v->bytes, &len);
			fathom_text_bytes(out, s, len);
		}
	}
}
#else
#define text_fields(v, ev, out) ((void)0)
#endif

static void text_event(struct fathom_view *v, struct fathom_text *out)
{
	const struct wire_common *c = (const void *)v->record;
	const struct fathom_event *ev = fathom_event_by_id(c->type);
	struct fathom_text tmp;

	fathom_text_init(&tmp, v->tmp, sizeof(v->tmp));
	if (!ev) {
		fathom_text_printf(out, "Unknown type %u\n", c->type);
		return;
	}
	fathom_text_printf(out, "%s: ", ev->name);
	if (ev->print)
		fathom_event_print(ev, v->record, v->bytes, out, &tmp);
	else
		text_fields(v, ev, out);
	fathom_text_char(out, '\n');
}

static void text_print(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_print *r = (const void *)v->record;

	text_put_writer(v, out, r->ip);
	text_put_tail(v, out, sizeof(*r));
	text_end_line(out);
}

static void text_bputs(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_bputs *r = (const void *)v->record;

	text_put_writer(v, out, r->ip);
	fathom_text_str(out, r->str);
	text_end_line(out);
}

/* Records of the `ftrace` system. `least` bytes they have: what is shorter was cut short and is not looked into. */
static const struct text_body {
	void (*put)(struct fathom_view *v, struct fathom_text *out);
	uint32_t least;
} text_bodies[] = {
#if FATHOM_FUNCTIONS
	[WIRE_ID_FUNCTION] = {text_function, sizeof(struct fathom_rec_function)},
	[WIRE_ID_FUNC_REPEATS] = {text_repeats, sizeof(struct fathom_rec_repeats)},
	[WIRE_ID_FUNCGRAPH_ENTRY] = {text_graph_call, sizeof(struct fathom_rec_funcgraph_entry)},
	[WIRE_ID_FUNCGRAPH_EXIT] = {text_graph_call, sizeof(struct fathom_rec_funcgraph_exit)},
	[WIRE_ID_KERNEL_STACK] = {text_stack, sizeof(struct wire_common)},
	[WIRE_ID_USER_STACK] = {text_user_stack, sizeof(struct wire_common)},
	[WIRE_ID_CONTEXT_SWITCH] = {text_switch, sizeof(struct fathom_rec_switch)},
	[WIRE_ID_WAKEUP] = {text_switch, sizeof(struct fathom_rec_switch)},
#endif
	[WIRE_ID_PRINT] = {text_print, sizeof(struct fathom_rec_print)},
	[WIRE_ID_BPRINT] = {text_bprint, sizeof(struct fathom_rec_bprint)},
	[WIRE_ID_BPUTS] = {text_bputs, sizeof(struct fathom_rec_bputs)},
	[WIRE_ID_RAW_DATA] = {text_raw_data, sizeof(struct fathom_rec_raw)},
};

#if FATHOM_FUNCTIONS
/* Of the tracers that the port asked for. */
static int text_extra(struct fathom_view *v, struct fathom_text *out)
{
	uint32_t plain = FATHOM_TEXT_RAW | FATHOM_TEXT_HEX | FATHOM_TEXT_BIN;

	for (uint32_t i = 0; i < FATHOM_EXTRAS && !(v->config.options & plain); i++) {
		const struct fathom_extra *x = fathom_extra_at(i);

		if (x && x->body(v, out))
			return 1;
	}
	return 0;
}
#else
#define text_extra(v, out) 0
#endif

void fathom_view_body(struct fathom_view *v, struct fathom_text *out)
{
	const struct wire_common *c = (const void *)v->record;
	static const struct text_body event = {text_event, sizeof(*c)};
	uint32_t plain = FATHOM_TEXT_RAW | FATHOM_TEXT_HEX | FATHOM_TEXT_BIN;
	const struct text_body *b = &event;

	if (c->type < sizeof(text_bodies) / sizeof(text_bodies[0]) && text_bodies[c->type].put)
		b = &text_bodies[c->type];
	if (c->type < WIRE_ID_FIRST && text_extra(v, out))
		return;
	if (v->bytes < b->least)
		fathom_text_str(out, "(cut short)\n");
	else if (v->config.options & plain && !v->config.graph)
		text_raw(v, out);
	else
		b->put(v, out);
}
