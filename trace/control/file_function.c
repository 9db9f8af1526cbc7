/* SPDX-License-Identifier: MIT */
/* file_function.c -- the function tracer's lists, the stack tracer, the profile. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "functions/tracer.h"
#include "events/modules.h"
#include "functions/sites.h"
#include "functions/tracers.h"

static enum fathom_function_set function_set_of(const struct fathom_file *f)
{
	return (enum fathom_function_set)f->node.entry->arg;
}

/* Of the instance that the file is in; NULL is the top. */
static struct fathom_listener *function_instance(const struct fathom_file *f)
{
	return fathom_ctl_instance(&f->node)->functions;
}

static struct function_set *function_members(const struct fathom_file *f)
{
	struct fathom_listener *l = function_instance(f);
	enum fathom_function_set set = function_set_of(f);

	return l ? &l->set[set] : &fathom_functions.set[set];
}

static void function_name(struct fathom_text *t, uint32_t index)
{
	const char *name = fathom_function_name(index), *module = fathom_function_module(index);

	if (name) {
		fathom_text_str(t, name);
	} else {
		fathom_text_str(t, "0x");
		fathom_text_hex(t, fathom_function_address(index), 0, ' ');
	}
	if (module) {
		fathom_text_str(t, " [");
		fathom_text_str(t, module);
		fathom_text_char(t, ']');
	}
}

static int available_functions_show(struct fathom_file *f, struct fathom_text *t)
{
	if (f->piece >= fathom_function_count())
		return 0;
	if (fathom_function_address(f->piece)) {
		function_name(t, f->piece);
		fathom_text_char(t, '\n');
	}
	return 1;
}

const struct ctl_file_ops fathom_ctl_available_functions = {.show = available_functions_show};

static int function_addresses_show(struct fathom_file *f, struct fathom_text *t)
{
	if (f->piece < fathom_function_count() && fathom_function_address(f->piece)) {
		fathom_text_hex(t, fathom_function_address(f->piece), 2 * (int)sizeof(uintptr_t),
				'0');
		fathom_text_char(t, ' ');
	}
	return available_functions_show(f, t);
}

const struct ctl_file_ops fathom_ctl_function_addresses = {.show = function_addresses_show};

#define KALLSYMS_GAP 32u /* symbols shown between two traced functions */

static void kallsyms_line(struct fathom_text *t, uintptr_t at, const char *name, const char *module)
{
	fathom_text_hex(t, at, 2 * (int)sizeof(at), '0');
	fathom_text_str(t, " T ");
	fathom_text_str(t, name);
	if (module) {
		fathom_text_str(t, "\t[");
		fathom_text_str(t, module);
		fathom_text_char(t, ']');
	}
	fathom_text_char(t, '\n');
}

/*
 * What Linux has in /proc, for who decodes the records elsewhere. The port names an address but has no list: a piece is
 * a traced function and what lies behind it up to the next one, found by asking behind the end of each.
 */
static int kallsyms_show(struct fathom_file *f, struct fathom_text *t)
{
	uint32_t count = fathom_function_count();
	uintptr_t at, end, offset, size;
	const char *name;

	if (!f->piece) {
		kallsyms_line(t, fathom_marker_ip(), "tracing_mark_write", 0);
		return count != 0 && fathom_core.config.symbol;
	}
	at = fathom_function_address(f->piece - 1);
	end = f->piece < count ? fathom_function_address(f->piece) : 0;
	if (end <= at)
		end = ~(uintptr_t)0; /* the next is in another module, or gone */
	for (uint32_t i = 0; i < KALLSYMS_GAP && at < end; i++) {
		offset = size = 0;
		name = fathom_core.config.symbol(at, &offset, &size);
		if (!name || size <= offset)
			break;
		kallsyms_line(t, at - offset, name, fathom_function_module(f->piece - 1));
		at += size - offset;
	}
	return f->piece < count;
}

const struct ctl_file_ops fathom_ctl_kallsyms = {.show = kallsyms_show};

/* Linux's %pS. */
static void function_symbol(struct fathom_text *t, uintptr_t at)
{
	struct fathom_text_symbol sym;

	fathom_text_symbol_at(&sym, at);
	fathom_text_symbol(t, FATHOM_TEXT_SYM_OFFSET, &sym);
}

/*
 * Linux's R, I and D are blanks: no user of ours gets the registers, turns a function aside or has a call of its own. A
 * site with one user leads to code for that; one with several to what asks them all, as Linux's list function does.
 */
static void function_way(struct fathom_text *t, uint32_t index)
{
	uintptr_t entry, handler;

	fathom_function_way(index, &entry, &handler);
	if (entry) {
		fathom_text_str(t, "\ttramp: ");
		function_symbol(t, entry);
		fathom_text_str(t, " (");
		function_symbol(t, handler);
		fathom_text_char(t, ')');
	}
	fathom_text_str(t, " ->");
	function_symbol(t, handler);
}

/* enabled_functions, and touched_functions (`arg` 1), which has those that are off again too. */
static int enabled_functions_show(struct fathom_file *f, struct fathom_text *t)
{
	uint32_t users;

	if (f->piece >= fathom_function_count())
		return 0;
	users = fathom_function_users(f->piece);
	if (!users && !(f->node.entry->arg && fathom_function_is_touched(f->piece)))
		return 1;
	function_name(t, f->piece);
	fathom_text_str(t, " (");
	fathom_text_u64(t, users, 0, ' ');
	fathom_text_str(t, ")      ");
	if (users)
		function_way(t, f->piece);
	fathom_text_char(t, '\n');
	return 1;
}

const struct ctl_file_ops fathom_ctl_enabled_functions = {.show = enabled_functions_show};

static int function_info_show(struct fathom_file *f, struct fathom_text *t)
{
	uint32_t n = 0;

	(void)f;
	for (uint32_t i = 0; i < fathom_function_count(); i++)
		n += (uint32_t)(fathom_function_address(i) != 0);
	fathom_text_u64(t, n, 0, ' ');
	fathom_text_char(t, '\n');
	return 0;
}

const struct ctl_file_ops fathom_ctl_function_info = {.show = function_info_show};

static void function_set_none(struct fathom_text *t, enum fathom_function_set set)
{
	fathom_text_str(t, set == FATHOM_SET_NOTRACE || set == FATHOM_SET_GRAPH_NOTRACE
				   ? "#### no functions disabled ####\n"
				   : "#### all functions enabled ####\n");
}

static int function_probe_show(struct fathom_listener *l, uint32_t index, struct fathom_text *t)
{
	struct fathom_function_probe p;

	if (fathom_listener_probe_at(l, index, &p) != 1)
		return 0;
	function_name(t, p.function);
	fathom_text_char(t, ':');
	fathom_text_str(t, p.command);
	if (p.arg) {
		fathom_text_char(t, ':');
		fathom_text_str(t, p.arg);
	}
	if (p.left < 0) {
		fathom_text_str(t, ":unlimited\n");
	} else {
		fathom_text_str(t, ":count=");
		fathom_text_u64(t, (uint32_t)p.left, 0, ' ');
		fathom_text_char(t, '\n');
	}
	return 1;
}

/* Behind the members: lines that wait for a module, then the probes. */
static int function_rest_show(const struct fathom_file *f, uint32_t index, struct fathom_text *t)
{
	enum fathom_function_set set = function_set_of(f);
	struct fathom_listener *l = function_instance(f);
	const char *line = fathom_waiting_at(l, set, index);

	if (line) {
		fathom_text_str(t, line);
		fathom_text_char(t, '\n');
		return 1;
	}
	return set == FATHOM_SET_FILTER &&
	       function_probe_show(l, index - fathom_waiting_count(l, set), t);
}

/*
 * Of an empty set the first piece says what that means. In Linux a filter that waits is not empty, nor a set whose
 * functions went with their module.
 */
static int function_set_says_none(const struct fathom_file *f)
{
	const struct function_set *s = function_members(f);

	return !s->count && (function_set_of(f) != FATHOM_SET_FILTER || !s->waits);
}

/*
 * The members, a piece each, then the rest. u[0] is the member of piece u[1], so that going on needs no counting;
 * u[2] is the piece behind the last member, and one more, once it is known.
 */
static int function_set_show(struct fathom_file *f, struct fathom_text *t)
{
	int at = (int)f->u[0];

	if (!f->piece)
		f->u[0] = f->u[1] = f->u[2] = 0;
	if (!f->piece || (!f->u[2] && f->u[1] != f->piece)) {
		at = fathom_set_next(function_members(f), f->piece ? (uint32_t)at + 1 : 0);
		if (at < 0)
			f->u[2] = f->piece + 1;
		else
			f->u[0] = (uint64_t)at;
	}
	f->u[1] = f->piece;
	if (!f->piece && at < 0 && function_set_says_none(f)) {
		f->u[2]++;
		function_set_none(t, function_set_of(f));
		return 1;
	}
	if (f->u[2])
		return function_rest_show(f, f->piece + 1 - (uint32_t)f->u[2], t);
	function_name(t, (uint32_t)f->u[0]);
	fathom_text_char(t, '\n');
	return 1;
}

#define FUNCTION_WORD_BYTES 560u /* Linux's: a name of 511 characters, a module, a command */

/* What an open file for writing has at f->ptr: the word that is being written, and the copy. */
struct function_edit {
	char word[FUNCTION_WORD_BYTES];
	uint32_t epoch; /* of the copy: fathom_set_renew() */
	uint32_t copy[];
};

static char *function_word(const struct fathom_file *f)
{
	return ((struct function_edit *)f->ptr)->word;
}

/* Right for the modules that came and went since it was looked at last. */
static uint32_t *function_copy(const struct fathom_file *f)
{
	struct function_edit *e = f->ptr;

	fathom_set_renew(e->copy, &e->epoch);
	return e->copy;
}

/*
 * As in Linux, whoever writes edits a copy (of u[3] bytes), empty if the file was opened with O_TRUNC, which takes the
 * set's place when the file is closed: text is patched once, whatever the number of names. Lines that wait for a module
 * are no members, and go when it is opened.
 */
static int function_set_open(struct fathom_file *f)
{
	size_t bytes = fathom_function_set_bytes();
	struct function_edit *e;

	if ((f->flags & FATHOM_O_ACCMODE) == FATHOM_O_RDONLY)
		return 0;
	e = f->ptr = fathom_pool_get(sizeof(*e) + bytes);
	if (!e)
		return -FATHOM_ENOMEM;
	f->u[3] = bytes;
	e->epoch = fathom_functions.epoch;
	if (fathom_ctl_truncates(f)) {
		__builtin_memset(e->copy, 0, bytes);
		fathom_waiting_clear(function_instance(f), function_set_of(f));
	} else {
		fathom_set_copy(function_members(f), e->copy);
	}
	return 0;
}

/* A snapshot probe needs the snapshot's memory before it runs. 1: it was a command, 0: it is a member, or an error. */
static int function_set_command(struct fathom_file *f)
{
	enum fathom_function_set set = function_set_of(f);
	const char *word = function_word(f);
	size_t colon = ctl_find(word, f->used, ':');
	int ret = 0;

	if (set == FATHOM_SET_FILTER && word[0] != '!' &&
	    ctl_starts(word + colon, f->used - colon, ":snapshot"))
		ret = fathom_ctl_snapshot_alloc(fathom_ctl_instance(&f->node));
	if (!ret)
		ret = fathom_listener_command(function_instance(f), set, word, f->used);
	if (set == FATHOM_SET_FILTER && colon < f->used)
		fathom_ctl_function_events(fathom_ctl_instance(&f->node));
	return ret;
}

static int function_set_word(struct fathom_file *f)
{
	int ret = function_set_command(f);

	if (!ret && f->u[3] != fathom_function_set_bytes())
		ret = -FATHOM_EINVAL; /* the table was made after the file was opened */
	if (!ret)
		ret = fathom_listener_edit(function_instance(f), function_set_of(f),
					   function_copy(f), function_word(f), f->used);
	f->used = 0;
	return ret < 0 ? ret : 0;
}

static int function_set_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	size_t used;
	int ret =
		fathom_ctl_write_word(f, function_word(f), FUNCTION_WORD_BYTES, buf, bytes, &used);

	if (ret > 0)
		ret = function_set_word(f);
	return ret < 0 ? ret : (int)used;
}

static void function_set_close(struct fathom_file *f)
{
	if (!f->ptr)
		return;
	if (f->used)
		function_set_word(f);
	if (f->u[3] == fathom_function_set_bytes()) {
		fathom_set_put(function_members(f), function_copy(f),
			       fathom_waiting_count(function_instance(f), function_set_of(f)));
		fathom_tracer_refresh();
	}
	fathom_pool_put(f->ptr);
	f->ptr = NULL;
}

const struct ctl_file_ops fathom_ctl_function_set = {.open = function_set_open,
						     .show = function_set_show,
						     .write = function_set_write,
						     .close = function_set_close,
						     .words = 1};

/* The deepest stack of when the file was opened (f->ptr): one that is found meanwhile is not mixed in. */
static int stack_trace_open(struct fathom_file *f)
{
	f->ptr = fathom_pool_get(sizeof(struct fathom_stack_seen));
	if (!f->ptr)
		return -FATHOM_ENOMEM;
	fathom_stack_copy(f->ptr);
	return 0;
}

/* Files that keep a copy for as long as they are open. */
static void copy_close(struct fathom_file *f)
{
	fathom_pool_put(f->ptr);
	f->ptr = NULL;
}

static int stack_trace_show(struct fathom_file *f, struct fathom_text *t)
{
	fathom_stack_text(t, f->ptr);
	return 0;
}

const struct ctl_file_ops fathom_ctl_stack_trace = {
	.open = stack_trace_open, .show = stack_trace_show, .close = copy_close};

static void stats_line(struct fathom_text *t, const char *name, uint64_t n)
{
	fathom_text_str(t, name);
	fathom_text_str(t, ": ");
	fathom_text_u64(t, n, 0, ' ');
	fathom_text_char(t, '\n');
}

/* Not in Linux: what the tracers left out, and why. */
static int tracer_stats_show(struct fathom_file *f, struct fathom_text *t)
{
	struct fathom_tracer_stats st;

	(void)f;
	fathom_tracer_stats(&st);
	stats_line(t, "shadow stack full", st.shadow_full);
	stats_line(t, "refused by the ring", st.refused);
	stats_line(t, "return refused", st.cut);
	stats_line(t, "left without return", st.unwound);
	stats_line(t, "return of an earlier call", st.earlier);
	stats_line(t, "return without call", st.unmatched);
	stats_line(t, "recursion", st.recursion);
	stats_line(t, "forks not followed", st.forks_lost);
	stats_line(t, "sites dropped", st.sites_dropped);
	stats_line(t, "modules' functions without room", st.sites_refused);
	return 0;
}

const struct ctl_file_ops fathom_ctl_tracer_stats = {.show = tracer_stats_show};

/* As in Linux the functions are put in order when the file is opened: f->ptr, u[0] of them. */
static int profile_stat_open(struct fathom_file *f)
{
	uint32_t count = fathom_function_count();

	f->ptr = fathom_pool_get((count + 1) * sizeof(uint32_t));
	if (!f->ptr)
		return -FATHOM_ENOMEM;
	f->u[0] = fathom_profile_order(f->node.at, f->ptr);
	return 0;
}

/* Functions go on meanwhile: the counts of a line that is read in parts stay in u[1] to u[3]. */
static void profile_stat_line(struct fathom_file *f, uint32_t function, struct fathom_text *t)
{
	struct fathom_profile_count c = {(unsigned long)f->u[1], f->u[2], f->u[3]};

	if (!f->piece_skip) {
		fathom_profile_get(f->node.at, function, &c);
		f->u[1] = c.hits;
		f->u[2] = c.ns;
		f->u[3] = c.squared;
	}
	if (c.hits || c.ns)
		fathom_profile_text(&c, function, t);
}

static int profile_stat_show(struct fathom_file *f, struct fathom_text *t)
{
	const uint32_t *order = f->ptr;

	if (!f->piece)
		fathom_profile_head(t);
	else
		profile_stat_line(f, order[f->piece - 1], t);
	return f->piece < f->u[0];
}

static const struct ctl_file_ops profile_stat_ops = {
	.open = profile_stat_open, .show = profile_stat_show, .close = copy_close};
const struct fathom_fs_entry fathom_ctl_stat_file = {"function", 0440, 0, &profile_stat_ops, 0};
