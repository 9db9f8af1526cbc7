/* SPDX-License-Identifier: MIT */
/* error_log.c -- the last errors of commands, each with its text and a caret under the place, as in Linux. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "wire/text_line.h"

#define ERROR_COMMAND_MAX 255

struct error_entry {
	uint64_t time;	  /* in ns */
	const char *what; /* a literal */
	uint32_t at;
	char where[48];
	char command[ERROR_COMMAND_MAX + 1];
};

/* Each instance has its own; that of the top needs no memory of the pool. */
struct ctl_errors {
	uint32_t count; /* ever logged; the newest is count - 1 */
	struct error_entry entry[FATHOM_ERRORS_MAX];
};
static struct ctl_errors error_top;

/* Made when the first error comes; NULL if there is no memory for it: then errors go untold. */
static struct ctl_errors *error_log_of(struct ctl_instance *tr)
{
	if (!tr->index)
		return &error_top;
	if (!tr->errors)
		tr->errors = fathom_pool_get(sizeof(*tr->errors));
	return tr->errors;
}

void fathom_ctl_error(struct ctl_instance *tr, const char *where, const char *what,
		      const char *command, size_t len, uint32_t at)
{
	struct ctl_errors *log = error_log_of(tr);
	struct error_entry *e;
	size_t n = ctl_len(where);

	if (!log)
		return;
	e = &log->entry[log->count++ % FATHOM_ERRORS_MAX];
	e->time = fathom_ticks_to_ns(fathom_now());
	e->what = what ? what : "Error";
	e->at = at;
	if (n >= sizeof(e->where))
		n = sizeof(e->where) - 1;
	__builtin_memcpy(e->where, where, n);
	e->where[n] = '\0';
	if (len > ERROR_COMMAND_MAX)
		len = ERROR_COMMAND_MAX;
	__builtin_memcpy(e->command, command, len);
	e->command[len] = '\0';
}

void fathom_ctl_error_forget(struct ctl_instance *tr)
{
	if (!tr->index)
		error_top.count = 0;
	fathom_pool_put(tr->errors);
	tr->errors = 0;
}

/* A piece per error, oldest first. */
static int error_log_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct ctl_errors *log = error_log_of(fathom_ctl_instance(&f->node));
	uint32_t first = log && log->count > FATHOM_ERRORS_MAX ? log->count - FATHOM_ERRORS_MAX : 0;
	uint32_t n = first + f->piece;
	const struct error_entry *e;

	if (!log || n >= log->count)
		return 0;
	e = &log->entry[n % FATHOM_ERRORS_MAX];
	fathom_text_char(t, '[');
	fathom_text_time(t, e->time);
	fathom_text_str(t, "] ");
	fathom_text_str(t, e->where);
	fathom_text_str(t, ": error: ");
	fathom_text_str(t, e->what);
	fathom_text_str(t, "\n  Command: ");
	fathom_text_str(t, e->command);
	fathom_text_char(t, '\n');
	fathom_text_fill(t, ' ', 11 + (size_t)e->at);
	fathom_text_str(t, "^\n");
	return n + 1 < log->count;
}

/* Opening it to write with O_TRUNC empties it, as any write does. */
static int error_log_open(struct fathom_file *f)
{
	if (fathom_ctl_truncates(f))
		fathom_ctl_error_forget(fathom_ctl_instance(&f->node));
	return 0;
}

static int error_log_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	(void)buf;
	fathom_ctl_error_forget(fathom_ctl_instance(&f->node));
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_error_log = {
	.open = error_log_open, .show = error_log_show, .write = error_log_write};
