/* SPDX-License-Identifier: MIT */
/* kernel_events.c -- the text of each kind of event as the kernel prints it: functions, stacks, printk, syscalls. */
#include "view/kernel.h"
#include "wire/noise.h"

#include <stdlib.h>
#include <string.h>

#define STACK_ENTRIES 8 /* of a user stack, whatever its record says */

struct fathom_text kernel_text(struct kernel_view *k, size_t room)
{
	struct fathom_text t;

	if (!out_room(&k->out, room))
		room = 0;
	fathom_text_init(&t, k->out.at, room);
	return t;
}

void kernel_text_end(struct kernel_view *k, const struct fathom_text *t)
{
	k->out.at += t->len;
}

struct expr_record kernel_record(struct kernel_view *k)
{
	return (struct expr_record){
		.data = k->data,
		.size = k->event.size,
		.cpu = k->event.cpu,
		.pid = k->event.pid,
		.time = k->event.time,
		.name = source_event_name(k->source, k->event.type),
		.env = &k->lookup.env,
		.scratch = k->scratch,
	};
}

uint64_t kernel_number(const struct kernel_view *k, const struct format_field *f)
{
	return expr_field(k->data, k->event.size, f, k->lookup.env.swap);
}

static uint64_t field_number(const struct kernel_view *k, const struct kernel_event *t, unsigned n)
{
	return kernel_number(k, t->field[n]);
}

struct fathom_text_symbol kernel_symbol_of(struct kernel_view *k, uint64_t addr)
{
	const struct lookup_symbol *s = lookup_symbol(&k->lookup, addr);

	return (struct fathom_text_symbol){s->name, addr, s->offset, s->size, s->module};
}

void kernel_symbol(struct kernel_view *k, uint64_t addr)
{
	struct fathom_text_symbol sym = kernel_symbol_of(k, addr);
	struct fathom_text t = kernel_text(k, 1024);

	fathom_text_symbol(&t, k->view.options, &sym);
	kernel_text_end(k, &t);
}

/* ---- functions ---- */

enum {
	FUNCTION_IP,
	FUNCTION_PARENT,
	FUNCTION_COUNT,
	FUNCTION_TOP,
	FUNCTION_BOTTOM
};

static void put_args(struct fathom_text *t, const struct fathom_text_args *args)
{
	fathom_text_bytes(t, args->data, args->nr);
}

struct fathom_text_args kernel_args(struct kernel_view *k, const struct kernel_event *e,
				    uint64_t func)
{
	struct out *o = &k->args_text;

	o->at = o->base;
	k->args.nr = 0;
	k->args.has_from = k->args.has_value = false;
	if (k->event.size >= e->more.need)
		args_read(&e->more, &k->lookup.env, k->data, k->event.size, &k->args);
	if (!k->args.nr)
		return (struct fathom_text_args){0};
	args_text(&k->lookup, func, &k->args, o);
	return (struct fathom_text_args){put_args, o->base, (uint32_t)out_len(o)};
}

static void put_function(struct kernel_view *k, const struct kernel_event *e)
{
	struct fathom_text_symbol func = kernel_symbol_of(k, field_number(k, e, FUNCTION_IP));
	struct fathom_text_symbol parent = kernel_symbol_of(k, field_number(k, e, FUNCTION_PARENT));
	struct fathom_text_args args = kernel_args(k, e, func.address);
	struct fathom_text t = kernel_text(k, 2048 + args.nr);

	fathom_text_function(&t, k->view.options, &func, &args, &parent);
	kernel_text_end(k, &t);
}

static void print_function(struct kernel_view *k, const struct kernel_event *e)
{
	put_function(k, e);
	out_char(&k->out, '\n');
}

static void raw_function(struct kernel_view *k, const struct kernel_event *e)
{
	uint64_t ip = field_number(k, e, FUNCTION_IP), parent = field_number(k, e, FUNCTION_PARENT);

	if (k->view.options & FATHOM_TEXT_BIN) {
		out_bytes(&k->out, (const char *)&ip, 8);
		out_bytes(&k->out, (const char *)&parent, 8);
	} else if (k->view.options & FATHOM_TEXT_HEX) {
		out_printf(&k->out, "%016llx %016llx ", (unsigned long long)ip,
			   (unsigned long long)parent);
	} else {
		out_printf(&k->out, "%llx %llx\n", (unsigned long long)ip,
			   (unsigned long long)parent);
	}
}

static void print_repeats(struct kernel_view *k, const struct kernel_event *e)
{
	uint64_t delta =
		field_number(k, e, FUNCTION_TOP) << 32 | field_number(k, e, FUNCTION_BOTTOM);
	struct fathom_text t;

	put_function(k, e);
	out_printf(&k->out,
		   " (repeats: %u, last_ts: ", (unsigned)field_number(k, e, FUNCTION_COUNT));
	t = kernel_text(k, 64);
	if (k->view.plain_clock)
		fathom_text_u64(&t, k->event.time - delta, 12, ' ');
	else
		fathom_text_time(&t, k->event.time - delta);
	fathom_text_str(&t, ")\n");
	kernel_text_end(k, &t);
}

/* ---- stacks ---- */

static void print_stack(struct kernel_view *k, const struct kernel_event *e)
{
	uint32_t size = k->lookup.env.long_bytes;
	uint64_t end = size == 4 ? UINT32_MAX : UINT64_MAX;

	out_str(&k->out, "<stack trace>\n");
	for (uint32_t at = e->field[0]->offset; at + size <= k->event.size; at += size) {
		uint64_t addr = expr_load(k->data + at, (uint8_t)size, k->lookup.env.swap);
		struct fathom_text_symbol sym;
		struct fathom_text t;

		if (addr == end)
			break;
		sym = kernel_symbol_of(k, addr);
		t = kernel_text(k, 1024);
		fathom_text_frame(&t, k->view.options, &sym);
		kernel_text_end(k, &t);
	}
}

static void print_user_stack(struct kernel_view *k, const struct kernel_event *e)
{
	uint32_t size = k->lookup.env.long_bytes, at = e->field[0]->offset;

	out_str(&k->out, "<user stack trace>\n");
	for (unsigned n = 0; n < STACK_ENTRIES && at + size <= k->event.size; n++, at += size) {
		uint64_t addr = expr_load(k->data + at, (uint8_t)size, k->lookup.env.swap);

		if (!addr)
			break;
		out_printf(&k->out, " =>  <%016llx>\n", (unsigned long long)addr);
	}
}

/* ---- printk and markers ---- */

enum {
	PRINT_IP,
	PRINT_BUF,
	PRINT_FMT
};

static void put_message(struct kernel_view *k, const struct kernel_event *e)
{
	uint32_t at = e->field[PRINT_BUF]->offset;
	const char *s = (const char *)k->data + at;
	struct expr_record r = kernel_record(k);

	if (e->field[PRINT_FMT]) { /* bprint */
		const char *fmt = source_printk(k->source, kernel_number(k, e->field[PRINT_FMT]));

		printfmt_binary(fmt ? fmt : "(no format known)\n", &r, at, PRINTFMT_KERNEL,
				&k->out);
	} else if (e->field[PRINT_BUF]->flags & FORMAT_POINTER) { /* bputs */
		const char *text = source_printk(k->source, kernel_number(k, e->field[PRINT_BUF]));

		out_str(&k->out, text ? text : "(no text known)\n");
	} else if (at < k->event.size) {
		out_bytes(&k->out, s, strnlen(s, k->event.size - at));
	}
}

static void print_print(struct kernel_view *k, const struct kernel_event *e)
{
	if (!k->message_only) {
		kernel_symbol(k, kernel_number(k, e->field[PRINT_IP]));
		out_bytes(&k->out, ": ", 2);
	}
	put_message(k, e);
}

static void raw_print(struct kernel_view *k, const struct kernel_event *e)
{
	unsigned long long ip = kernel_number(k, e->field[PRINT_IP]);

	if (e->field[PRINT_FMT] || e->field[PRINT_BUF]->flags & FORMAT_POINTER)
		out_printf(&k->out, ": %llx : ", ip);
	else
		out_printf(&k->out, "# %llx ", ip);
	put_message(k, e);
}

static void print_raw_data(struct kernel_view *k, const struct kernel_event *e)
{
	out_printf(&k->out, "# %x buf:", (unsigned)field_number(k, e, 0));
	for (uint32_t at = e->field[1]->offset; at < k->event.size; at++)
		out_printf(&k->out, " %02x", k->data[at]);
	out_char(&k->out, '\n');
}

/* ---- latency tracers ---- */

enum {
	SWITCH_PREV_PID,
	SWITCH_NEXT_PID,
	SWITCH_CPU,
	SWITCH_PREV_PRIO,
	SWITCH_PREV_STATE,
	SWITCH_NEXT_PRIO,
	SWITCH_NEXT_STATE
};

static struct fathom_text_switch switch_of(struct kernel_view *k, const struct kernel_event *e)
{
	struct fathom_text_switch s = {
		.prev_pid = (int32_t)field_number(k, e, SWITCH_PREV_PID),
		.next_pid = (int32_t)field_number(k, e, SWITCH_NEXT_PID),
		.next_cpu = (uint32_t)field_number(k, e, SWITCH_CPU),
		.prev_prio = (uint8_t)field_number(k, e, SWITCH_PREV_PRIO),
		.prev_state = (uint8_t)field_number(k, e, SWITCH_PREV_STATE),
		.next_prio = (uint8_t)field_number(k, e, SWITCH_NEXT_PRIO),
		.next_state = (uint8_t)field_number(k, e, SWITCH_NEXT_STATE),
	};

	s.next_comm = tasks_comm(k->source->tasks, s.next_pid);
	return s;
}

static void print_switch(struct kernel_view *k, const struct kernel_event *e)
{
	struct fathom_text_switch s = switch_of(k, e);
	struct fathom_text t = kernel_text(k, 256);

	fathom_text_switch(&t, strcmp(e->schema->name, "wakeup") ? "==>" : "  +", &s);
	fathom_text_char(&t, '\n');
	kernel_text_end(k, &t);
}

static void print_hwlat(struct kernel_view *k, const struct kernel_event *e)
{
	struct fathom_text t = kernel_text(k, 256);
	struct fathom_text_hwlat h = {
		.seq = (uint32_t)field_number(k, e, 0),
		.inner = field_number(k, e, 1),
		.outer = field_number(k, e, 2),
		.sec = (int64_t)field_number(k, e, 3),
		.nsec = (int32_t)field_number(k, e, 4),
		.count = (uint32_t)field_number(k, e, 5),
		.nmi_total = field_number(k, e, 6),
		.nmi_count = (uint32_t)field_number(k, e, 7),
	};

	fathom_text_hwlat(&t, &h);
	kernel_text_end(k, &t);
}

static void print_osnoise(struct kernel_view *k, const struct kernel_event *e)
{
	struct fathom_text t = kernel_text(k, 256);
	struct fathom_text_osnoise o = {
		.runtime = field_number(k, e, 0),
		.noise = field_number(k, e, 1),
		.max_sample = field_number(k, e, 2),
		.hw = (uint32_t)field_number(k, e, 3),
		.nmi = (uint32_t)field_number(k, e, 4),
		.irq = (uint32_t)field_number(k, e, 5),
		.softirq = (uint32_t)field_number(k, e, 6),
		.thread = (uint32_t)field_number(k, e, 7),
	};

	fathom_text_osnoise(&t, &o);
	kernel_text_end(k, &t);
}

static void print_timerlat(struct kernel_view *k, const struct kernel_event *e)
{
	struct fathom_text t = kernel_text(k, 256);

	fathom_text_timerlat(&t, (uint32_t)field_number(k, e, 0), (int)field_number(k, e, 1),
			     field_number(k, e, 2));
	kernel_text_end(k, &t);
}

/* ---- events ---- */

static void print_format(struct kernel_view *k, const struct kernel_event *e)
{
	struct expr_record r = kernel_record(k);

	out_str(&k->out, e->schema->name);
	out_bytes(&k->out, ": ", 2);
	printfmt_run(e->fmt, &r, &k->out);
	out_char(&k->out, '\n');
}

/* A print fmt that cannot be understood: the fields, so that nothing is lost. */
static void print_fields(struct kernel_view *k, const struct kernel_event *e)
{
	out_printf(&k->out, "%s:", e->schema->name);
	for (uint32_t i = e->format->nr_common; i < e->format->nr_fields; i++) {
		const struct format_field *f = &e->format->fields[i];

		out_printf(&k->out, " %s=%lld", f->name, (long long)kernel_number(k, f));
	}
	out_char(&k->out, '\n');
}

static void print_unknown(struct kernel_view *k, const struct kernel_event *e)
{
	(void)e;
	if (kernel_is_blk(k, k->event.type, k->event.size)) {
		kernel_print_blk(k);
		return;
	}
	out_printf(&k->out, "Unknown type %u\n", k->event.type);
}

static void print_syscall_exit(struct kernel_view *k, const struct kernel_event *e)
{
	out_printf(&k->out, "sys_%s -> 0x%llx\n", e->schema->name + strlen("sys_exit_"),
		   (unsigned long long)field_number(k, e, 0));
}

static const struct kernel_kind {
	const char *system, *event; /* an event that ends in `*` is a prefix */
	kernel_print_fn print, raw;
	int kind;
	const char *fields[10];
	unsigned required;
} kinds[] = {
	{"ftrace",
	 "function",
	 print_function,
	 raw_function,
	 KERNEL_FUNCTION,
	 {"ip", "parent_ip"},
	 2},
	{"ftrace",
	 "func_repeats",
	 print_repeats,
	 NULL,
	 KERNEL_FUNCTION,
	 {"ip", "parent_ip", "count", "top_delta_ts", "bottom_delta_ts"},
	 5},
	{"ftrace", "funcgraph_entry", print_format, NULL, KERNEL_GRAPH_ENTRY, {"func", "depth"}, 2},
	{"ftrace",
	 "fgraph_retaddr_entry",
	 print_format,
	 NULL,
	 KERNEL_GRAPH_ENTRY,
	 {"func", "depth"},
	 2},
	{"ftrace",
	 "funcgraph_exit",
	 print_format,
	 NULL,
	 KERNEL_GRAPH_EXIT,
	 {"func", "depth", "calltime", "rettime", "overrun"},
	 4},
	{"ftrace", "kernel_stack", print_stack, NULL, KERNEL_STACK, {"caller"}, 1},
	{"ftrace", "user_stack", print_user_stack, NULL, KERNEL_OTHER, {"caller"}, 1},
	{"ftrace", "print", print_print, raw_print, KERNEL_PRINT, {"ip", "buf"}, 2},
	{"ftrace", "bprint", print_print, raw_print, KERNEL_PRINT, {"ip", "buf", "fmt"}, 3},
	{"ftrace", "bputs", print_print, raw_print, KERNEL_PRINT, {"ip", "str"}, 2},
	{"ftrace", "raw_data", print_raw_data, print_raw_data, KERNEL_OTHER, {"id", "buf"}, 2},
	{"ftrace",
	 "context_switch",
	 print_switch,
	 NULL,
	 KERNEL_OTHER,
	 {"prev_pid", "next_pid", "next_cpu", "prev_prio", "prev_state", "next_prio", "next_state"},
	 7},
	{"ftrace",
	 "wakeup",
	 print_switch,
	 NULL,
	 KERNEL_OTHER,
	 {"prev_pid", "next_pid", "next_cpu", "prev_prio", "prev_state", "next_prio", "next_state"},
	 7},
	{"ftrace",
	 "hwlat",
	 print_hwlat,
	 NULL,
	 KERNEL_OTHER,
	 {"seqnum", "duration", "outer_duration", "tv_sec", "tv_nsec", "count", "nmi_total_ts",
	  "nmi_count"},
	 8},
	{"ftrace",
	 "osnoise",
	 print_osnoise,
	 NULL,
	 KERNEL_OTHER,
	 {"runtime", "noise", "max_sample", "hw_count", "nmi_count", "irq_count", "softirq_count",
	  "thread_count"},
	 8},
	{"ftrace",
	 "timerlat",
	 print_timerlat,
	 NULL,
	 KERNEL_OTHER,
	 {"seqnum", "context", "timer_latency"},
	 3},
	{"syscalls", "sys_enter_*", kernel_print_syscall, NULL, KERNEL_OTHER, {"__syscall_nr"}, 1},
	{"syscalls", "sys_exit_*", print_syscall_exit, NULL, KERNEL_OTHER, {"ret"}, 1},
};

/* Probes and synthetic events may be of any system: their fields decide. */
static void choose_dynamic(struct kernel_event *t)
{
	const struct format_field *ip = format_field(t->format, "__probe_ip"),
				  *func = format_field(t->format, "__probe_func"),
				  *ret = format_field(t->format, "__probe_ret_ip");

	if (ip || (func && ret)) {
		t->print = kernel_print_probe;
		t->field[0] = ip ? ip : func;
		t->field[1] = ip ? NULL : ret;
	} else if (!strcmp(t->schema->system, "synthetic")) {
		t->print = kernel_print_synthetic;
	}
}

static bool kind_fits(const struct kernel_kind *n, struct kernel_event *t)
{
	size_t len = strlen(n->event);

	if (strcmp(n->system, t->schema->system) != 0)
		return false;
	if (n->event[len - 1] == '*' ? strncmp(n->event, t->schema->name, len - 1) != 0
				     : strcmp(n->event, t->schema->name) != 0)
		return false;
	for (unsigned i = 0; i < 10 && n->fields[i]; i++) {
		t->field[i] = format_field(t->format, n->fields[i]);
		if (!t->field[i] && i < n->required)
			return false;
	}
	return true;
}

void kernel_choose(struct kernel_view *k, struct kernel_event *t)
{
	if (!t->format) {
		t->print = print_unknown;
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !t->print; i++)
		if (kind_fits(&kinds[i], t)) {
			t->print = kinds[i].print;
			t->raw = kinds[i].raw;
			t->kind = kinds[i].kind;
		}
	args_fields(&t->more, t->kind == KERNEL_FUNCTION || t->kind == KERNEL_GRAPH_ENTRY ||
					      t->kind == KERNEL_GRAPH_EXIT
				      ? t->format
				      : NULL);
	if (!t->print)
		choose_dynamic(t);
	if (!t->print || t->print == print_format || t->print == kernel_print_probe ||
	    t->print == kernel_print_synthetic || t->print == kernel_print_syscall) {
		t->fmt = printfmt_new_env(t->format, t->format->print_fmt,
					  strlen(t->format->print_fmt), k->lookup.env.long_bytes,
					  PRINTFMT_KERNEL, &k->lookup.env);
		if (!t->fmt || printfmt_error(t->fmt))
			t->print = t->print == kernel_print_syscall ? t->print : print_fields;
		else if (!t->print)
			t->print = print_format;
	}
}
