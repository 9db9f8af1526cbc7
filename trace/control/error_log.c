/* SPDX-License-Identifier: MIT */
/* error_log.c -- the last errors of commands, each with its text and a caret under the place, as in Linux. */
#include "control/control.h"
#include "control/files.h"
#include "control/str.h"
#include "wire/text_line.h"

#define ERROR_LOG_MAX	  8
#define ERROR_COMMAND_MAX 255

static struct error_entry {
	uint64_t time; /* in ns */
	const struct ctl_instance *tr;
	const char *what; /* a literal */
	uint32_t at;
	char where[48];
	char command[ERROR_COMMAND_MAX + 1];
} error_log[ERROR_LOG_MAX];
static uint32_t error_count; /* ever logged; the newest is error_count - 1 */

void fathom_ctl_error(const struct ctl_instance *tr, const char *where, const char *what,
		      const char *command, size_t len, uint32_t at)
{
	struct error_entry *e = &error_log[error_count++ % ERROR_LOG_MAX];
	size_t n = ctl_len(where);

	e->time = fathom_ticks_to_ns(fathom_now());
	e->tr = tr;
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

void fathom_ctl_error_reset(void)
{
	error_count = 0;
}

void fathom_ctl_error_forget(const struct ctl_instance *tr)
{
	for (uint32_t i = 0; i < ERROR_LOG_MAX; i++)
		if (error_log[i].tr == tr)
			error_log[i].tr = 0;
}

/* A piece per slot, oldest first; slots of other instances are empty pieces. */
static int error_log_show(struct fathom_file *f, struct fathom_text *t)
{
	uint32_t first = error_count > ERROR_LOG_MAX ? error_count - ERROR_LOG_MAX : 0;
	uint32_t n = first + f->piece;
	const struct error_entry *e = &error_log[n % ERROR_LOG_MAX];

	if (n >= error_count)
		return 0;
	if (e->tr == fathom_ctl_instance(&f->node)) {
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
	}
	return n + 1 < error_count;
}

/* Opening it to write with O_TRUNC empties it, as any write does. */
static int error_log_open(struct fathom_file *f)
{
	if (f->flags & FATHOM_O_TRUNC && (f->flags & FATHOM_O_ACCMODE) != FATHOM_O_RDONLY)
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
