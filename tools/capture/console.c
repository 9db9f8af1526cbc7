/* SPDX-License-Identifier: MIT */
/* console.c -- a target's console on this terminal, without the frames that share its line. */
#include "capture/console.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/terminal.h"
#include "capture/edit.h"
#include "capture/io.h"
#include "capture/stop.h"
#include "capture/target.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define WRITE_MS     5000
#define COLUMNS_LESS 20 /* a window that is narrower has this many */

struct console_session {
	const struct console_options *o;
	int fd;
	struct wire_receiver in;
	uint8_t received[WIRE_FRAME_MAX];
	/* of a terminal */
	bool edits;
	struct termios was;
	struct edit edit;
	int history;   /* the file of earlier lines; -1: none */
	size_t column; /* where the target's text ends ... */
	size_t back;   /* ... and how far right of that the cursor is */
};

/* ---- the terminal ---- */

static void put_text(const char *text, size_t n)
{
	(void)file_write(STDOUT_FILENO, text, n);
}

static size_t width(void)
{
	struct winsize w;

	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col > COLUMNS_LESS ? w.ws_col
										: COLUMNS_LESS;
}

/* Takes the line that is typed off the screen. */
static void hide(struct console_session *s)
{
	char move[32];

	if (!s->edits)
		return;
	if (s->back)
		put_text(move, (size_t)snprintf(move, sizeof(move), "\033[%zuD", s->back));
	put_text("\033[K", 3);
	s->back = 0;
}

/* The part of the line around the cursor that fits beside the target's text. */
static void show(struct console_session *s)
{
	const struct edit *e = &s->edit;
	size_t all = width(), used = s->column % all, room = all - used - 1, from = 0, to, after;
	char move[32];

	if (!s->edits)
		return;
	while (edit_columns(e->text + from, e->at - from) > room ||
	       (from < e->at && !edit_columns(e->text + from, 1)))
		from++;
	for (to = e->at; to < e->len && edit_columns(e->text + from, to + 1 - from) <= room;)
		to++;
	put_text(e->text + from, to - from);
	after = edit_columns(e->text + e->at, to - e->at);
	if (after)
		put_text(move, (size_t)snprintf(move, sizeof(move), "\033[%zuD", after));
	s->back = edit_columns(e->text + from, e->at - from);
}

static void count_columns(struct console_session *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' || text[i] == '\r')
			s->column = 0;
		else if (text[i] == '\b')
			s->column -= s->column > 0;
		else
			s->column += edit_columns(text + i, 1);
}

/* A console moves its cursor within a line; what else it may want from the terminal is shown, not done. */
static void put_escaped(const char *text, size_t n)
{
	while (n) {
		size_t plain = 0;
		char to[TERMINAL_GROWTH * 512];

		while (plain < n && plain < 512 && !memchr("\r\b\a", text[plain], 3))
			plain++;
		put_text(to, terminal_escape(to, text, plain));
		if (plain < n && plain < 512)
			put_text(text + plain++, 1);
		text += plain;
		n -= plain;
	}
}

static void take_text(void *arg, const void *data, size_t n)
{
	struct console_session *s = arg;

	if (isatty(STDOUT_FILENO))
		put_escaped(data, n);
	else
		put_text(data, n);
	count_columns(s, data, n);
}

static void begin_editing(struct console_session *s)
{
	struct termios t;

	s->edits =
		isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !tcgetattr(STDIN_FILENO, &s->was);
	if (!s->edits)
		return;
	t = s->was;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	t.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
}

/* ---- earlier lines ---- */

/* $XDG_STATE_HOME/fathom/console, in directories that are made if necessary. */
static int open_history(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char path[4096];
	int n;

	if (state && state[0] == '/')
		n = snprintf(path, sizeof(path), "%s/fathom/console", state);
	else if (home && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/.local/state/fathom/console", home);
	else
		return -1;
	if (n >= (int)sizeof(path))
		return -1;
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
	return open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void load_history(struct console_session *s)
{
	char line[EDIT_MAX + 2];
	FILE *f;

	s->history = open_history();
	f = s->history >= 0 ? fdopen(dup(s->history), "r") : NULL;
	while (f && fgets(line, sizeof(line), f))
		edit_remember(&s->edit, line, strcspn(line, "\n"));
	if (f)
		fclose(f);
}

/* ---- both ways ---- */

static bool send_bytes(struct console_session *s, const void *data, size_t n)
{
	return io_write_all(s->fd, data, n, WRITE_MS);
}

/* The target shows the line as it gets it; one that does not leaves it as it was typed. */
static bool send_line(struct console_session *s)
{
	char line[EDIT_MAX + 1];
	size_t n = s->edit.len;

	memcpy(line, s->edit.text, n);
	if (edit_next(&s->edit) && s->history >= 0) {
		line[n] = '\n';
		(void)file_write(s->history, line, n + 1);
	}
	if (s->o->echo) {
		put_text(line, n);
		put_text("\n", 1);
		s->column = 0;
	}
	line[n] = '\r';
	return send_bytes(s, line, n + 1);
}

/* False: the session is over. */
static bool take_keys(struct console_session *s, const char *keys, size_t n)
{
	bool on = true;

	hide(s);
	for (size_t i = 0; i < n && on; i++)
		switch (edit_key(&s->edit, keys[i])) {
		case EDIT_LINE: on = send_line(s); break;
		case EDIT_SEND: on = send_bytes(s, keys + i, 1); break;
		case EDIT_LEAVE: on = false; break;
		case EDIT_MORE: break;
		}
	show(s);
	return on;
}

static void take_line(struct console_session *s, const uint8_t *data, size_t n)
{
	struct wire_frame f;
	size_t used;

	hide(s);
	while (n || s->in.done) {
		fathom_frame_receive(&s->in, data, n, &used, &f);
		data += used;
		n -= used;
	}
	show(s);
}

/* A read that may find nothing. 1: bytes, 0: none now, -1: the end. */
static int take_some(int fd, void *buf, size_t room, size_t *n)
{
	ssize_t got = read(fd, buf, room);

	*n = got > 0 ? (size_t)got : 0;
	return got > 0 ? 1 : got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* 0, or -1 if the target hung up. */
static int carry(struct console_session *s)
{
	struct pollfd p[3] = {{.fd = s->fd, .events = POLLIN},
			      {.fd = stop_fd(), .events = POLLIN},
			      {.fd = STDIN_FILENO, .events = POLLIN}};
	uint8_t buf[4096];
	size_t n;

	while (!stop_signal()) {
		int ready =
			poll(p, 3, p[2].fd < 0 && s->o->silent_s ? (int)s->o->silent_s * 1000 : -1);

		if (!ready)
			return 0;
		if (ready < 0)
			continue;
		if (p[0].revents) {
			int got = take_some(s->fd, buf, sizeof(buf), &n);

			if (got < 0) {
				hide(s);
				diag_error("%s: the line was closed", s->o->target);
				return -1;
			}
			take_line(s, buf, n);
		}
		if (p[2].revents) {
			int got = take_some(STDIN_FILENO, buf, sizeof(buf), &n);

			if (got < 0)
				p[2].fd = -1;
			else if (s->edits ? !take_keys(s, (char *)buf, n) : !send_bytes(s, buf, n))
				return 0;
		}
	}
	return 0;
}

int console_run(const struct console_options *o)
{
	static struct console_session s;
	int err;

	s.o = o;
	s.fd = target_open(o->target, o->target, false);
	if (s.fd < 0)
		return -1;
	s.in = (struct wire_receiver){
		.buf = s.received, .room = sizeof(s.received), .text = take_text, .text_arg = &s};
	stop_watch();
	begin_editing(&s);
	s.history = -1;
	if (s.edits)
		load_history(&s);
	err = carry(&s);
	if (s.edits) {
		hide(&s);
		put_text("\n", 1);
		tcsetattr(STDIN_FILENO, TCSADRAIN, &s.was);
	}
	if (s.history >= 0)
		close(s.history);
	edit_free(&s.edit);
	close(s.fd);
	return err;
}
