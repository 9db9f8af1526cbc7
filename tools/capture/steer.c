/* SPDX-License-Identifier: MIT */
/* steer.c -- change files of a control tree for a while: what they said before is put back. */
#include "capture/steer.h"
#include "base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX      (16u << 20)
#define PATH_MAX_TREE 512

/* The saved contents of a file. Lists are restored line by line, values as the word that the file accepts. */
struct steer_undo {
	struct steer_undo *next;
	char *path, *text;
	enum {
		AS_VALUE,
		AS_LIST,
		AS_TRIGGER
	} how;
};

static int complain(const struct steer *s, const char *path, int err)
{
	if (err < 0)
		diag_error("%s: %s: %s", s->target, path, strerror(-err));
	return err < 0 ? -1 : 0;
}

const char *steer_path(const struct steer *s, const char *path, char *buf)
{
	snprintf(buf, PATH_MAX_TREE, "%s%s", s->instance, path);
	return buf;
}

int steer_use_instance(struct steer *s, const char *name)
{
	char path[PATH_MAX_TREE];
	int err;

	if (!*name || strchr(name, '/') || strlen(name) + 13 > sizeof(s->instance)) {
		diag_error("%s: cannot be the name of an instance", name);
		return -1;
	}
	snprintf(path, sizeof(path), "instances/%s", name);
	err = tree_mkdir(s->t, path);
	s->made = !err;
	if (err && err != -EEXIST)
		return complain(s, path, err);
	snprintf(s->instance, sizeof(s->instance), "instances/%s/", name);
	return 0;
}

int steer_make_instance(struct steer *s, const char *name)
{
	if (steer_use_instance(s, name))
		return -1;
	if (!s->made)
		diag_error("%s: instances/%s: already exists", s->target, name);
	return s->made ? 0 : -1;
}

/* Turns the text of a file into the word to write to restore it. In place. */
static void as_written(const char *path, char *text)
{
	const char *file = basename(path);
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	text[strcspn(text, "\n")] = '\0';
	if (!strcmp(file, "trace_clock") && close) { /* the selected word */
		*close = '\0';
		memmove(text, open + 1, strlen(open));
	} else if (!strcmp(file, "buffer_size_kb")) { /* "7 (expanded: 1408)" */
		text[strspn(text, "0123456789")] = '\0';
	} else if (!strcmp(file, "filter") && (!strcmp(text, "none") || *text == '#')) {
		strcpy(text, "0");
	}
}

/* Once for each file: only the first text is the original one. */
static int remember(struct steer *s, const char *path, bool list)
{
	struct steer_undo *u;
	int err;

	for (u = s->undo; u; u = u->next)
		if (!strcmp(u->path, path))
			return 0;
	if (s->made)
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->how = list ? AS_LIST : AS_VALUE;
	u->path = strdup(path);
	u->text = tree_load(s->t, path, TEXT_MAX, NULL, &err);
	if (!u->path || !u->text) {
		free(u->path);
		free(u->text);
		free(u);
		return err ? err : -ENOMEM;
	}
	if (!list)
		as_written(path, u->text);
	u->next = s->undo;
	s->undo = u;
	return 0;
}

int steer_set(struct steer *s, const char *file, const char *value)
{
	char path[PATH_MAX_TREE];
	int err = remember(s, steer_path(s, file, path), false);

	return complain(s, path, err ? err : tree_write(s->t, path, value));
}

int steer_add(struct steer *s, const char *file, const char *value, const char *wrong)
{
	char path[PATH_MAX_TREE];
	int err = tree_append(s->t, steer_path(s, file, path), value);

	if (err != -EINVAL)
		return complain(s, path, err);
	diag_error("%s: %s: %s", s->target, value, wrong);
	return -1;
}

int steer_list(struct steer *s, const char *file, const char *const *values, unsigned nr)
{
	char path[PATH_MAX_TREE];
	int err = remember(s, steer_path(s, file, path), true);

	if (!err)
		err = tree_clear(s->t, path);
	if (complain(s, path, err))
		return -1;
	for (unsigned i = 0; i < nr; i++)
		if (steer_add(s, file, values[i], "the target has nothing of that name"))
			return -1;
	return 0;
}

int steer_trigger(struct steer *s, const char *file, const char *trigger)
{
	char path[PATH_MAX_TREE];
	struct steer_undo *u = calloc(1, sizeof(*u));

	if (!u || asprintf(&u->text, "!%s", trigger) < 0) {
		free(u);
		return complain(s, file, -ENOMEM);
	}
	u->path = strdup(steer_path(s, file, path));
	u->how = AS_TRIGGER;
	u->next = s->undo;
	s->undo = u;
	return complain(s, path, u->path ? tree_append(s->t, path, trigger) : -ENOMEM);
}

bool steer_has(const struct steer *s, const char *file)
{
	char path[PATH_MAX_TREE];
	struct tree_file f;
	int err = tree_file_open(s->t, steer_path(s, file, path), &f);

	if (!err)
		tree_file_close(&f);
	return !err;
}

/* The lines of a list, without what the file says when it is empty ("#### all functions enabled ####", "no pid"). */
static void put_lines(struct steer *s, const char *path, char *text)
{
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (*line && *line != '#' && strcmp(line, "no pid") != 0)
			tree_append(s->t, path, line);
	}
}

static void drop(struct steer *s)
{
	struct steer_undo *u = s->undo;

	s->undo = u->next;
	free(u->path);
	free(u->text);
	free(u);
}

void steer_restore(struct steer *s)
{
	char path[PATH_MAX_TREE];

	for (; s->undo; drop(s)) {
		if (s->undo->how == AS_TRIGGER) {
			tree_append(s->t, s->undo->path, s->undo->text);
		} else if (s->undo->how == AS_LIST) {
			tree_clear(s->t, s->undo->path);
			put_lines(s, s->undo->path, s->undo->text);
		} else {
			tree_write(s->t, s->undo->path, s->undo->text);
		}
	}
	if (s->made) {
		snprintf(path, sizeof(path), "%.*s", (int)strlen(s->instance) - 1, s->instance);
		s->made = false;
		complain(s, path, tree_rmdir(s->t, path));
	}
}

void steer_forget(struct steer *s)
{
	while (s->undo)
		drop(s);
	s->made = false;
}
