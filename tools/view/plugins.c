/* SPDX-License-Identifier: MIT */
/* plugins.c -- events that trace-cmd prints by plugin, not by print fmt; its choice for each event type. */
#include "view/lines.h"
#include "base/colour.h"
#include "decode/blk.h"
#include "wire/text_line.h"

#include <stdio.h>
#include <string.h>

static void put_text(struct line_writer *w, const struct item *i, const struct format_field *f)
{
	struct expr_record r = writer_record(w, i);
	const char *s;
	uint32_t n;

	if (f->flags & FORMAT_DYNAMIC) {
		struct value v = expr_dynamic(&r, f->offset, (f->flags & FORMAT_REL_LOC) != 0);

		s = v.s;
		n = v.len;
	} else {
		if (f->offset >= i->size)
			return;
		s = (const char *)w->data + f->offset;
		n = f->size < i->size - f->offset ? f->size : i->size - f->offset;
	}
	out_bytes(w->out, s, strnlen(s, n));
}

/* ---- sched ---- */

enum {
	SWITCH_PREV_COMM,
	SWITCH_PREV_PID,
	SWITCH_PREV_PRIO,
	SWITCH_PREV_STATE,
	SWITCH_NEXT_COMM,
	SWITCH_NEXT_PID,
	SWITCH_NEXT_PRIO
};

/* The bits as Linux has had them since 4.14, and as trace-cmd 3.1 took them to be. */
static void put_state(struct line_writer *w, uint64_t state)
{
	const char *letters = w->o->like_31 ? "SDTtZXxW" : "SDTtXZPI";
	struct out *o = w->out;
	bool any = false;

	for (unsigned k = 0; letters[k]; k++) {
		if (!(state >> k & 1))
			continue;
		if (any)
			out_char(o, '|');
		any = true;
		out_char(o, letters[k]);
	}
	if (!any)
		out_char(o, 'R');
}

static void put_task(struct line_writer *w, const struct item *i, const struct format_field *comm,
		     const struct format_field *pid, const struct format_field *prio)
{
	if (comm) {
		put_text(w, i, comm);
		out_char(w->out, ':');
	}
	out_s64(w->out, (int64_t)item_number(w, i, pid));
	if (prio) {
		out_bytes(w->out, " [", 2);
		out_s64(w->out, (int64_t)item_number(w, i, prio));
		out_char(w->out, ']');
	}
}

static void print_switch(struct line_writer *w, const struct printer *p, const struct item *i)
{
	put_task(w, i, p->field[SWITCH_PREV_COMM], p->field[SWITCH_PREV_PID],
		 p->field[SWITCH_PREV_PRIO]);
	out_char(w->out, ' ');
	if (p->field[SWITCH_PREV_STATE])
		put_state(w, item_number(w, i, p->field[SWITCH_PREV_STATE]));
	out_bytes(w->out, " ==> ", 5);
	put_task(w, i, p->field[SWITCH_NEXT_COMM], p->field[SWITCH_NEXT_PID],
		 p->field[SWITCH_NEXT_PRIO]);
}

enum {
	WAKEUP_COMM,
	WAKEUP_PID,
	WAKEUP_PRIO,
	WAKEUP_SUCCESS,
	WAKEUP_CPU
};

static void print_wakeup(struct line_writer *w, const struct printer *p, const struct item *i)
{
	put_task(w, i, p->field[WAKEUP_COMM], p->field[WAKEUP_PID], p->field[WAKEUP_PRIO]);
	if (p->field[WAKEUP_SUCCESS]) {
		out_str(w->out, " success=");
		out_s64(w->out, (int64_t)item_number(w, i, p->field[WAKEUP_SUCCESS]));
	}
	if (p->field[WAKEUP_CPU] && out_room(w->out, 32)) {
		out_bytes(w->out, " CPU:", 5);
		w->out->at += writer_cpu(w, w->out->at, item_number(w, i, p->field[WAKEUP_CPU]));
	}
}

/* ---- functions and stacks ---- */

static void put_symbol(struct line_writer *w, uint64_t addr)
{
	const struct lookup_symbol *s = lookup_symbol(&w->lookup, addr);

	if (s->name) {
		out_padded(w->out, s->name, s->len);
	} else {
		out_bytes(w->out, "0x", 2);
		out_hex(w->out, addr);
	}
}

static void print_function(struct line_writer *w, const struct printer *p, const struct item *i)
{
	out_blanks(w->out, 3u * i->depth);
	if (i->name) {
		out_padded(w->out, i->name, i->name_len);
	} else {
		out_bytes(w->out, "0x", 2);
		out_hex(w->out, i->value);
	}
	if (item_has_more(p, i)) {
		struct args a;

		args_read(&p->more, &w->lookup.env, w->data, i->size, &a);
		out_char(w->out, '(');
		args_text(&w->lookup, i->value, &a, w->out);
		out_char(w->out, ')');
	}
}

static void print_stack(struct line_writer *w, const struct printer *p, const struct item *i)
{
	uint32_t size = w->lookup.env.long_bytes;
	uint64_t end = size == 4 ? UINT32_MAX : UINT64_MAX;

	out_str(w->out, p->field[1] ? "<user stack trace >\n" : "<stack trace >\n");
	for (uint32_t at = p->field[0]->offset; at + size <= i->size; at += size) {
		uint64_t addr = expr_load(w->data + at, (uint8_t)size, w->lookup.env.swap);

		if (addr == end)
			break;
		out_bytes(w->out, "=> ", 3);
		put_symbol(w, addr);
		out_bytes(w->out, " (", 2);
		out_hex(w->out, addr);
		out_bytes(w->out, ")\n", 2);
	}
}

/* A marker of bytes: its number and all of them. */
static void print_raw_data(struct line_writer *w, const struct printer *p, const struct item *i)
{
	out_printf(w->out, "# %x", (unsigned)item_number(w, i, p->field[0]));
	for (uint32_t at = p->field[1]->offset; at < i->size; at++)
		out_printf(w->out, " %02x", w->data[at]);
}

enum {
	REPEATS_IP,
	REPEATS_PARENT,
	REPEATS_COUNT,
	REPEATS_TOP,
	REPEATS_BOTTOM
};

/* As the kernel prints it: how often, and when it was last. */
static void print_repeats(struct line_writer *w, const struct printer *p, const struct item *i)
{
	uint64_t delta = item_number(w, i, p->field[REPEATS_TOP]) << 32 |
			 item_number(w, i, p->field[REPEATS_BOTTOM]);
	uint64_t last = i->time - delta;

	put_symbol(w, item_number(w, i, p->field[REPEATS_IP]));
	out_str(w->out, " <-");
	put_symbol(w, item_number(w, i, p->field[REPEATS_PARENT]));
	out_printf(w->out, " (repeats: %u, last_ts: ",
		   (unsigned)item_number(w, i, p->field[REPEATS_COUNT]));
	if (w->source->unit == CLOCK_NS)
		out_printf(w->out, "%5llu.%06llu)", (unsigned long long)((last + 500) / 1000000000),
			   (unsigned long long)((last + 500) / 1000 % 1000000));
	else
		out_printf(w->out, "%12llu)", (unsigned long long)last);
}

/* ---- timers ---- */

enum {
	HRTIMER_TIMER,
	HRTIMER_NOW,
	HRTIMER_FUNCTION,
	HRTIMER_EXPIRES,
	HRTIMER_SOFT
};

static void put_pointer(struct line_writer *w, const struct item *i, const char *label,
			const struct format_field *f)
{
	uint64_t v = item_number(w, i, f);

	out_str(w->out, label);
	out_bytes(w->out, "0x", 2);
	out_hex(w->out, v);
}

/* libtraceevent's own form: the name, a slash, the offset into it. */
static void put_callback(struct line_writer *w, const struct item *i, const struct format_field *f)
{
	uint64_t addr = item_number(w, i, f);
	const struct lookup_symbol *s = lookup_symbol(&w->lookup, addr);

	out_str(w->out, " function=");
	if (s->name) {
		out_padded(w->out, s->name, s->len);
		out_printf(w->out, "/0x%llx", (unsigned long long)s->offset);
	} else {
		out_printf(w->out, "0x%llx", (unsigned long long)addr);
	}
}

static void print_hrtimer_expire(struct line_writer *w, const struct printer *p,
				 const struct item *i)
{
	put_pointer(w, i, "hrtimer=", p->field[HRTIMER_TIMER]);
	out_str(w->out, " now=");
	out_u64(w->out, item_number(w, i, p->field[HRTIMER_NOW]));
	put_callback(w, i, p->field[HRTIMER_FUNCTION]);
}

static void print_hrtimer_start(struct line_writer *w, const struct printer *p,
				const struct item *i)
{
	put_pointer(w, i, "hrtimer=", p->field[HRTIMER_TIMER]);
	put_callback(w, i, p->field[HRTIMER_FUNCTION]);
	out_str(w->out, " expires=");
	out_u64(w->out, item_number(w, i, p->field[HRTIMER_EXPIRES]));
	out_str(w->out, " softexpires=");
	out_u64(w->out, item_number(w, i, p->field[HRTIMER_SOFT]));
}

/* ---- the choice ---- */

void print_format(struct line_writer *w, const struct printer *p, const struct item *i)
{
	struct expr_record r = writer_record(w, i);

	printfmt_run(p->fmt, &r, w->out);
}

/* The caller by name, then the print fmt. */
static void print_kmem(struct line_writer *w, const struct printer *p, const struct item *i)
{
	const struct lookup_symbol *s = lookup_symbol(&w->lookup, item_number(w, i, p->field[0]));

	if (s->name)
		out_printf(w->out, "(%s+0x%x) ", s->name, (unsigned)s->offset);
	print_format(w, p, i);
}

/* trace_printk(): the text of the format lies at an address, the arguments after it as words. */
static void print_bprint(struct line_writer *w, const struct printer *p, const struct item *i)
{
	struct expr_record r = writer_record(w, i);
	uint64_t addr = item_number(w, i, p->field[1]);
	const char *fmt = source_printk(w->source, addr);

	put_symbol(w, item_number(w, i, p->field[0]));
	out_bytes(w->out, ": ", 2);
	if (fmt)
		printfmt_binary(fmt, &r, p->field[2]->offset, PRINTFMT_TRACE_CMD, w->out);
	else
		out_printf(w->out, "(NO FORMAT FOUND at %llx)", (unsigned long long)addr);
}

/* A record of the blk tracer, which trace-cmd does not know: the kernel's line. */
static void put_blk(struct line_writer *w, const struct item *i)
{
	struct event e = {
		.data = w->data, .size = i->size, .time = i->time, .cpu = i->cpu, .pid = i->pid};
	struct fathom_text_blk b;
	struct fathom_text t;

	blk_take(&e, w->source->big_endian, &b);
	b.comm = fathom_text_comm(i->pid, tasks_comm(w->source->tasks, i->pid));
	out_str(w->out, "blk:                  ");
	if (!out_room(w->out, 512 + 3 * (size_t)i->size))
		return;
	fathom_text_init(&t, w->out->at, 512 + 3 * (size_t)i->size);
	fathom_text_blk(&t, &b, 0);
	if (t.len && t.buf[t.len - 1] == '\n')
		t.len--;
	w->out->at += t.len;
}

/* trace-cmd prints neither the task nor the time of such an event. */
static void print_unknown(struct line_writer *w, const struct printer *p, const struct item *i)
{
	unsigned type = i->size >= 2 ? (unsigned)expr_load(w->data, 2, w->lookup.env.swap) : 0;

	(void)p;
	if (type == w->blk && i->size >= WIRE_BLK_FIXED) {
		put_blk(w, i);
		return;
	}
	out_printf(w->out, "[UNKNOWN EVENT] id=%u size=%u", type, i->size);
}

static const struct plugin {
	const char *system, *event;
	void (*print)(struct line_writer *w, const struct printer *p, const struct item *i);
	int kind;
	const char *fields[8];
	unsigned required; /* this many of the fields are required */
} plugins[] = {
	{"sched",
	 "sched_switch",
	 print_switch,
	 ITEM_SWITCH,
	 {"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"},
	 2},
	{"sched",
	 "sched_wakeup",
	 print_wakeup,
	 ITEM_WAKEUP,
	 {"comm", "pid", "prio", "success", "target_cpu"},
	 2},
	{"sched",
	 "sched_wakeup_new",
	 print_wakeup,
	 ITEM_WAKEUP,
	 {"comm", "pid", "prio", "success", "target_cpu"},
	 2},
	{"ftrace", "function", print_function, ITEM_FUNCTION, {"ip", "parent_ip"}, 2},
	{"ftrace", "funcgraph_entry", print_graph_entry, ITEM_GRAPH_ENTRY, {"func", "depth"}, 2},
	{"ftrace",
	 "fgraph_retaddr_entry",
	 print_graph_entry,
	 ITEM_GRAPH_ENTRY,
	 {"func", "depth"},
	 2},
	{"ftrace",
	 "funcgraph_exit",
	 print_graph_exit,
	 ITEM_GRAPH_EXIT,
	 {"func", "depth", "calltime", "rettime"},
	 4},
	{"ftrace", "kernel_stack", print_stack, ITEM_PLAIN, {"caller"}, 1},
	{"ftrace", "user_stack", print_stack, ITEM_PLAIN, {"caller", "tgid"}, 1},
	{"ftrace", "raw_data", print_raw_data, ITEM_PLAIN, {"id", "buf"}, 2},
	{"ftrace",
	 "func_repeats",
	 print_repeats,
	 ITEM_PLAIN,
	 {"ip", "parent_ip", "count", "top_delta_ts", "bottom_delta_ts"},
	 5},
	{"ftrace", "bprint", print_bprint, ITEM_PLAIN, {"ip", "fmt", "buf"}, 3},
	{"kmem", "kfree", print_kmem, ITEM_PLAIN, {"call_site"}, 1},
	{"kmem", "kmalloc", print_kmem, ITEM_PLAIN, {"call_site"}, 1},
	{"kmem", "kmalloc_node", print_kmem, ITEM_PLAIN, {"call_site"}, 1},
	{"kmem", "kmem_cache_alloc", print_kmem, ITEM_PLAIN, {"call_site"}, 1},
	{"kmem", "kmem_cache_alloc_node", print_kmem, ITEM_PLAIN, {"call_site"}, 1},
	{"kmem", "kmem_cache_free", print_kmem, ITEM_PLAIN, {"call_site"}, 1},
	{"syscalls",
	 "sys_enter_futex",
	 print_futex,
	 ITEM_PLAIN,
	 {"uaddr", "op", "val", "utime", "uaddr2", "val3"},
	 6},
	{"tlb", "tlb_flush", print_tlb_flush, ITEM_PLAIN, {"reason", "pages"}, 2},
	{"kvm",
	 "kvm_exit",
	 print_kvm_exit,
	 ITEM_PLAIN,
	 {"exit_reason", "guest_rip", "isa", "info1", "info2"},
	 2},
	{"kvm",
	 "kvm_nested_vmexit_inject",
	 print_kvm_inject,
	 ITEM_PLAIN,
	 {"exit_code", "exit_info1", "exit_info2", "exit_int_info", "exit_int_info_err", "isa"},
	 5},
	{"kvm",
	 "kvm_emulate_insn",
	 print_kvm_insn,
	 ITEM_PLAIN,
	 {"rip", "csbase", "len", "insn", "failed"},
	 5},
	{"timer",
	 "hrtimer_expire_entry",
	 print_hrtimer_expire,
	 ITEM_PLAIN,
	 {"hrtimer", "now", "function"},
	 3},
	{"timer",
	 "hrtimer_start",
	 print_hrtimer_start,
	 ITEM_PLAIN,
	 {"hrtimer", "hrtimer", "function", "expires", "softexpires"},
	 5},
};

static bool plugin_fits(const struct plugin *g, struct printer *p)
{
	if (strcmp(g->system, p->schema->system) != 0 || strcmp(g->event, p->schema->name) != 0)
		return false;
	for (unsigned k = 0; k < 8 && g->fields[k]; k++) {
		p->field[k] = format_field(p->format, g->fields[k]);
		if (!p->field[k] && k < g->required)
			return false;
	}
	return true;
}

/* What the reader needs of functions and calls are words but for the depth of a call, which is an int. */
static void find_plain(struct printer *p, const struct expr_env *env)
{
	unsigned nr = p->kind == ITEM_GRAPH_EXIT ? 4 : 2;
	uint32_t end = 0;

	if (env->swap ||
	    (p->kind != ITEM_FUNCTION && p->kind != ITEM_GRAPH_ENTRY && p->kind != ITEM_GRAPH_EXIT))
		return;
	for (unsigned k = 0; k < nr; k++) {
		const struct format_field *f = p->field[k];

		if (f->size != (k == 1 && p->kind != ITEM_FUNCTION ? 4 : 8) ||
		    f->offset > UINT16_MAX)
			return;
		p->at[k] = (uint16_t)f->offset;
		end = f->offset + f->size > end ? f->offset + f->size : end;
	}
	p->plain = end;
}

/* trace-cmd shows arguments since 3.4. */
static void find_more(struct printer *p, const struct report_options *o)
{
	bool calls = p->kind == ITEM_FUNCTION || p->kind == ITEM_GRAPH_ENTRY ||
		     p->kind == ITEM_GRAPH_EXIT;

	args_fields(&p->more, calls && !o->like_31 ? p->format : NULL);
}

void printer_choose(struct printer *p, const struct report_options *o, const struct expr_env *env)
{
	const char *name = p->schema ? p->schema->name : "";
	uint8_t long_bytes = env->long_bytes;
	int n;

	if (p->format) {
		p->migrate = format_field(p->format, "common_migrate_disable");
		for (size_t k = 0; k < sizeof(plugins) / sizeof(plugins[0]); k++) {
			if (!plugin_fits(&plugins[k], p))
				continue;
			if (!o->raw && !o->no_plugins) {
				p->kind = plugins[k].kind;
				p->print = plugins[k].print;
				find_plain(p, env);
				find_more(p, o);
			}
			break;
		}
		if (!p->print || p->print == print_kmem || p->print == print_futex) {
			p->fmt = printfmt_new_env(p->format, p->format->print_fmt,
						  strlen(p->format->print_fmt), long_bytes,
						  PRINTFMT_TRACE_CMD, env);
			if (!p->fmt || printfmt_error(p->fmt))
				p->print = print_broken;
			else if (!p->print)
				p->print = print_format;
		}
		if (o->raw)
			p->print = print_fields;
	}
	if (!p->print)
		p->print = print_unknown;
	n = snprintf(p->head, sizeof(p->head), ": %s%s%s%s%*s", o->colour ? COLOUR_NAME : "", name,
		     *name ? ":" : "", o->colour ? COLOUR_OFF : "",
		     !*name		 ? 0
		     : strlen(name) < 20 ? (int)(21 - strlen(name))
					 : 1,
		     "");
	p->head_len = (uint8_t)(n < (int)sizeof(p->head) ? n : (int)sizeof(p->head) - 1);
}
