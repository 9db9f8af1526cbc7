/* SPDX-License-Identifier: MIT */
/* modules.c -- functions that belong to a module, and lines of filters that wait for theirs: `glob:mod:module`. */
#include "arch/arch.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "events/modules.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

#define WAITING_MAX 16

static struct fathom_module *modules;

/* Lines for modules that are not there yet. In the order they came, and listed the other way round, as in Linux. */
static struct {
	struct fathom_listener *instance; /* NULL: the top's */
	uint8_t set;
	uint8_t glob_bytes;
	char text[WAITING_BYTES]; /* `glob:mod:module` */
} waiting[WAITING_MAX];
static uint32_t nr_waiting;

/* `[!]glob:mod:module`, taken apart. */
struct module_line {
	const char *text, *module;
	size_t bytes, glob_bytes, module_bytes;
	int remove;
};

const struct fathom_module *fathom_module_list(void)
{
	return modules;
}

static const struct fathom_module *module_of(uintptr_t at)
{
	for (const struct fathom_module *m = modules; m; m = m->next)
		if (at >= m->from && at < m->to)
			return m;
	return 0;
}

uintptr_t fathom_module_far(uintptr_t at)
{
	const struct fathom_module *m = module_of(at);

	return m ? m->far : 0;
}

const char *fathom_function_module(uint32_t index)
{
	const struct fathom_module *m = module_of(fathom_function_address(index));

	return m ? m->name : 0;
}

static int module_is_here(const char *name, size_t bytes)
{
	for (const struct fathom_module *m = modules; m; m = m->next)
		if (fathom_same_name(m->name, name, bytes))
			return 1;
	return 0;
}

/* As in Linux: a blank module is any, `!` in front means all functions but those of the module. */
int fathom_module_matches(uint32_t index, const char *pattern, size_t bytes)
{
	const char *name = fathom_function_module(index);
	int other = bytes && pattern[0] == '!';

	pattern += other;
	bytes -= (size_t)other;
	if (!bytes)
		return other != (name != 0);
	return other != (name && fathom_glob(pattern, bytes, name, fathom_strlen(name)));
}

/* ---- lines ---- */

int fathom_is_module_line(const char *token, size_t bytes)
{
	size_t colon = 0;

	while (colon < bytes && token[colon] != ':')
		colon++;
	return bytes - colon >= 5 && __builtin_memcmp(token + colon, ":mod:", 5) == 0;
}

static struct module_line module_line(const char *token, size_t bytes)
{
	struct module_line l = {.remove = token[0] == '!'};

	l.text = token + l.remove;
	l.bytes = bytes - (size_t)l.remove;
	while (l.text[l.glob_bytes] != ':')
		l.glob_bytes++;
	l.module = l.text + l.glob_bytes + 5;
	l.module_bytes = l.bytes - l.glob_bytes - 5;
	return l;
}

static struct function_set *set_of(struct fathom_listener *l, uint32_t set)
{
	return l ? &l->set[set] : &fathom_functions.set[set];
}

static const char *waiting_module(uint32_t i)
{
	return waiting[i].text + waiting[i].glob_bytes + 5;
}

static void waiting_drop(uint32_t i)
{
	nr_waiting--;
	for (; i < nr_waiting; i++)
		waiting[i] = waiting[i + 1];
}

static int waiting_is_of(uint32_t i, const struct fathom_listener *l, uint32_t set)
{
	return waiting[i].instance == l && waiting[i].set == set;
}

uint32_t fathom_waiting_count(const struct fathom_listener *l, enum fathom_function_set set)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nr_waiting; i++)
		n += (uint32_t)waiting_is_of(i, l, set);
	return n;
}

const char *fathom_waiting_at(const struct fathom_listener *l, enum fathom_function_set set,
			      uint32_t index)
{
	for (uint32_t i = nr_waiting; i-- > 0;)
		if (waiting_is_of(i, l, set) && !index--)
			return waiting[i].text;
	return 0;
}

void fathom_waiting_clear(const struct fathom_listener *l, enum fathom_function_set set)
{
	for (uint32_t i = nr_waiting; i-- > 0;)
		if (waiting_is_of(i, l, set))
			waiting_drop(i);
}

static int waiting_add(struct fathom_listener *l, enum fathom_function_set set,
		       const struct module_line *line)
{
	uint32_t i = 0;

	while (i < nr_waiting && !(waiting_is_of(i, l, set) &&
				   fathom_same_name(waiting[i].text, line->text, line->bytes)))
		i++;
	if (i < nr_waiting)
		return 0; /* it waits already */
	if (i == WAITING_MAX || line->bytes >= WAITING_BYTES)
		return -FATHOM_ENOMEM;
	__builtin_memcpy(waiting[i].text, line->text, line->bytes);
	waiting[i].text[line->bytes] = 0;
	waiting[i].instance = l;
	waiting[i].set = (uint8_t)set;
	waiting[i].glob_bytes = (uint8_t)line->glob_bytes;
	nr_waiting++;
	return 0;
}

/* Those of the module with the same glob, or with any if it is `*`. */
static int waiting_remove(const struct fathom_listener *l, enum fathom_function_set set,
			  const struct module_line *line)
{
	int all = line->glob_bytes == 1 && line->text[0] == '*', found = 0;

	for (uint32_t i = nr_waiting; i-- > 0;)
		if (waiting_is_of(i, l, set) &&
		    fathom_same_name(waiting_module(i), line->module, line->module_bytes) &&
		    (all || (waiting[i].glob_bytes == line->glob_bytes &&
			     !__builtin_memcmp(waiting[i].text, line->text, line->glob_bytes)))) {
			waiting_drop(i);
			found = 1;
		}
	return found ? 0 : -FATHOM_EINVAL;
}

static int line_edit(uint32_t *copy, enum fathom_function_set set, const struct module_line *line)
{
	struct function_match m;

	if (line->glob_bytes)
		fathom_match_init(&m, line->text, line->glob_bytes);
	else
		fathom_match_init(&m, "*", 1);
	m.module = line->module;
	m.module_bytes = line->module_bytes;
	return fathom_set_edit(set, copy, &m, !line->remove);
}

int fathom_module_edit(struct fathom_listener *l, enum fathom_function_set set, uint32_t *copy,
		       const char *token, size_t bytes)
{
	struct module_line line = module_line(token, bytes);

	if (!line_edit(copy, set, &line))
		return 0;
	if (line.remove)
		return waiting_remove(l, set, &line);
	return module_is_here(line.module, line.module_bytes) ? -FATHOM_EINVAL
							      : waiting_add(l, set, &line);
}

/* ---- modules come and go ---- */

/* What was written for it before it came. A line that matches none of its functions is done with, too. */
static void module_serve(const struct fathom_module *m)
{
	for (uint32_t i = nr_waiting; i-- > 0;) {
		const char *text = waiting[i].text, *name = waiting_module(i);
		struct module_line line = module_line(text, fathom_strlen(text));
		struct fathom_listener *l = waiting[i].instance;
		enum fathom_function_set set = (enum fathom_function_set)waiting[i].set;
		struct function_set *s = set_of(l, set);

		if (!fathom_same_name(m->name, name, fathom_strlen(name)))
			continue;
		line_edit(s->word, set, &line);
		waiting_drop(i);
		fathom_set_put(s, s->word, fathom_waiting_count(l, set));
	}
}

static int module_unlink(const struct fathom_module *m)
{
	for (struct fathom_module **p = &modules; *p; p = &(*p)->next)
		if (*p == m) {
			*p = m->next;
			return 0;
		}
	return -FATHOM_ENOENT;
}

static int module_is_listed(const struct fathom_module *m)
{
	const struct fathom_module *at = modules;

	while (at && at != m)
		at = at->next;
	return at != 0;
}

static int module_add(struct fathom_module *m)
{
	int err;

	if (!m->name || m->from >= m->to)
		return -FATHOM_EINVAL;
	if (module_is_here(m->name, fathom_strlen(m->name)))
		return -FATHOM_EEXIST;
	m->next = modules;
	modules = m;
	if (!fathom_functions.ready)
		return 0;
	err = fathom_sites_add(m);
	if (err) {
		module_unlink(m);
		return err;
	}
	module_serve(m);
	return fathom_tracer_refresh();
}

static int module_remove(struct fathom_module *m)
{
	if (!module_is_listed(m))
		return -FATHOM_ENOENT;
	if (fathom_functions.ready || !m->entries)
		fathom_sites_forget(m->from, m->to);
	fathom_sites_remove(m);
	return module_unlink(m);
}

int fathom_module_add(struct fathom_module *m)
{
	int err;

	fathom_lock();
	err = module_add(m);
	fathom_unlock();
	return err;
}

int fathom_module_remove(struct fathom_module *m)
{
	int err;

	fathom_lock();
	err = module_remove(m);
	fathom_unlock();
	return err;
}

void fathom_waiting_exit(void)
{
	nr_waiting = 0;
}
