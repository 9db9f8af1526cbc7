/* SPDX-License-Identifier: MIT */
/* text.c -- what a record says behind the columns: events by their print format, the tracers' own records by Linux's. */
#include "wire/cold.h"
#include "fathom/internal.h"
#include "fathom/print.h"
#include "fathom/view.h"

#define TEXT_STACK_MAX 512 /* frames: a record cannot hold more */

static void text_symbol_of(uintptr_t at, struct fathom_text_symbol *sym)
{
	uintptr_t offset = 0, size = 0;

	sym->address = at;
	sym->name =
		fathom_core.config.symbol ? fathom_core.config.symbol(at, &offset, &size) : NULL;
	sym->offset = offset;
	sym->size = size;
}

static void text_put_symbol(struct fathom_text *out, uint32_t options, uintptr_t at)
{
	struct fathom_text_symbol sym;

	text_symbol_of(at, &sym);
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

static void text_function(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_function *r = (const void *)v->record;
	struct fathom_text_symbol func, parent;

	text_symbol_of(r->ip, &func);
	text_symbol_of(r->parent_ip, &parent);
	fathom_text_function(out, v->config.options, &func, &parent);
	fathom_text_char(out, '\n');
}

static void text_repeats(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_repeats *r = (const void *)v->record;
	uint64_t delta = (uint64_t)r->top_delta_ts << 32 | r->bottom_delta_ts;
	struct fathom_text_symbol func, parent;

	text_symbol_of(r->ip, &func);
	text_symbol_of(r->parent_ip, &parent);
	fathom_text_function(out, v->config.options, &func, &parent);
	fathom_text_str(out, " (repeats: ");
	fathom_text_u64(out, r->count, 0, ' ');
	fathom_text_str(out, ", last_ts:");
	fathom_text_time(out, fathom_clock_time(&v->config.clock, v->time - delta));
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

		text_symbol_of(r->caller[i], &sym);
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
		fathom_text_str(out, " =>  <");
		fathom_text_hex(out, r->caller[i], 2 * (int)sizeof(uintptr_t), '0');
		fathom_text_str(out, ">\n");
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

	fathom_text_str(out, "# ");
	fathom_text_hex(out, r->id, 0, ' ');
	fathom_text_str(out, " buf:");
	for (uint32_t i = sizeof(*r); i < v->bytes; i++) {
		fathom_text_char(out, ' ');
		fathom_text_hex(out, b[i], 2, '0');
	}
	fathom_text_char(out, '\n');
}

/* Linux's option `raw` (and hex, bin): addresses of functions; of most events the type alone. */
static void text_raw(struct fathom_view *v, struct fathom_text *out)
{
	const struct fathom_rec_function *r = (const void *)v->record;
	int hex = (v->config.options & FATHOM_TEXT_HEX) != 0;

	if (r->ent.type == WIRE_ID_FUNCTION && v->config.options & FATHOM_TEXT_BIN) {
		fathom_text_bytes(out, (const char *)&r->ip, 2 * sizeof(r->ip));
		return;
	}
	if (r->ent.type == WIRE_ID_FUNCTION) {
		fathom_text_hex(out, r->ip, hex ? 2 * (int)sizeof(r->ip) : 0, '0');
		fathom_text_char(out, ' ');
		fathom_text_hex(out, r->parent_ip, hex ? 2 * (int)sizeof(r->ip) : 0, '0');
		fathom_text_str(out, hex ? " " : "\n");
	} else {
		fathom_text_str(out, "type: ");
		fathom_text_u64(out, r->ent.type, 0, ' ');
		fathom_text_char(out, '\n');
	}
	if (hex)
		fathom_text_char(out, '\n');
}

static void text_event(struct fathom_view *v, struct fathom_text *out, uint16_t id)
{
	const struct fathom_event *ev = fathom_event_by_id(id);
	struct fathom_text tmp;

	fathom_text_init(&tmp, v->tmp, sizeof(v->tmp));
	if (!ev) {
		fathom_text_str(out, "Unknown type ");
		fathom_text_u64(out, id, 0, ' ');
		fathom_text_char(out, '\n');
		return;
	}
	fathom_text_str(out, ev->name);
	fathom_text_str(out, ": ");
	fathom_event_print(ev, v->record, v->bytes, out, &tmp);
	fathom_text_char(out, '\n');
}

/* The least bytes a record of the `ftrace` system has; 0: any. What is shorter was cut short and is not looked into. */
static uint32_t text_least(uint16_t id)
{
	switch (id) {
	case WIRE_ID_FUNCTION: return sizeof(struct fathom_rec_function);
	case WIRE_ID_FUNCGRAPH_ENTRY: return sizeof(struct fathom_rec_funcgraph_entry);
	case WIRE_ID_FUNCGRAPH_EXIT: return sizeof(struct fathom_rec_funcgraph_exit);
	case WIRE_ID_CONTEXT_SWITCH:
	case WIRE_ID_WAKEUP: return sizeof(struct fathom_rec_switch);
	case WIRE_ID_BPRINT: return sizeof(struct fathom_rec_bprint);
	case WIRE_ID_BPUTS: return sizeof(struct fathom_rec_bputs);
	case WIRE_ID_PRINT: return sizeof(struct fathom_rec_print);
	case WIRE_ID_RAW_DATA: return sizeof(struct fathom_rec_raw);
	case WIRE_ID_FUNC_REPEATS: return sizeof(struct fathom_rec_repeats);
	default: return 0;
	}
}

/* Calls and returns outside of the graph layout. */
static void text_graph_call(struct fathom_text *out, const char *arrow, uint32_t options,
			    uintptr_t func, int32_t depth)
{
	fathom_text_str(out, arrow);
	text_put_symbol(out, options, func);
	fathom_text_printf(out, " (%d)\n", depth);
}

void fathom_view_body(struct fathom_view *v, struct fathom_text *out)
{
	const void *record = v->record;
	const struct wire_common *c = record;
	uint32_t plain = FATHOM_TEXT_RAW | FATHOM_TEXT_HEX | FATHOM_TEXT_BIN;

	if (v->bytes < text_least(c->type)) {
		fathom_text_str(out, "(cut short)\n");
		return;
	}
	if (v->config.options & plain && !v->config.graph) {
		text_raw(v, out);
		return;
	}
	switch (c->type) {
	case WIRE_ID_FUNCTION: text_function(v, out); break;
	case WIRE_ID_FUNC_REPEATS: text_repeats(v, out); break;
	case WIRE_ID_FUNCGRAPH_ENTRY: {
		const struct fathom_rec_funcgraph_entry *r = record;

		text_graph_call(out, "--> ", v->config.options, r->func, r->depth);
		break;
	}
	case WIRE_ID_FUNCGRAPH_EXIT: {
		const struct fathom_rec_funcgraph_exit *r = record;

		text_graph_call(out, "<-- ", v->config.options, r->func, r->depth);
		break;
	}
	case WIRE_ID_KERNEL_STACK: text_stack(v, out); break;
	case WIRE_ID_USER_STACK: text_user_stack(v, out); break;
	case WIRE_ID_CONTEXT_SWITCH:
	case WIRE_ID_WAKEUP: text_switch(v, out); break;
	case WIRE_ID_PRINT:
		text_put_writer(v, out, ((const struct fathom_rec_print *)record)->ip);
		text_put_tail(v, out, sizeof(struct fathom_rec_print));
		text_end_line(out);
		break;
	case WIRE_ID_BPRINT: text_bprint(v, out); break;
	case WIRE_ID_BPUTS:
		text_put_writer(v, out, ((const struct fathom_rec_bputs *)record)->ip);
		fathom_text_str(out, ((const struct fathom_rec_bputs *)record)->str);
		text_end_line(out);
		break;
	case WIRE_ID_RAW_DATA: text_raw_data(v, out); break;
	default: text_event(v, out, c->type);
	}
}
