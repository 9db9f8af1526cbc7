/* SPDX-License-Identifier: MIT */
/* sets.c -- sets of functions and of tasks: what set_ftrace_filter and its kin hold. */
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "events/modules.h"
#include "functions/pids.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"

static struct function_pids pid_sets[FATHOM_PIDS_NR]; /* the top's */

int fathom_set_test(const struct function_set *s, uint32_t index)
{
	return fathom_load(&s->word[index / 32]) >> (index % 32) & 1;
}

/* A bit for each function there may be, and one that no function has: fathom_sets_forget(). */
static uint32_t set_words(void)
{
	return fathom_functions.room_sites / 32 + 1;
}

int fathom_set_has(enum fathom_function_set set, uint32_t index)
{
	if (fathom_set_is_empty(&fathom_functions.set[set]))
		return set == FATHOM_SET_FILTER || set == FATHOM_SET_GRAPH ||
		       set == FATHOM_SET_STACK;
	return fathom_set_test(&fathom_functions.set[set], index);
}

static int has_glob(const char *s, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (s[i] == '*' || s[i] == '?' || s[i] == '[')
			return 1;
	return 0;
}

int fathom_same_name(const char *name, const char *s, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && name[i] && name[i] == s[i])
		i++;
	return i == bytes && !name[i];
}

static uint32_t digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	c |= 'a' - 'A';
	return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : 16;
}

int fathom_parse_number(const char *s, size_t bytes, uint32_t *out)
{
	uint32_t base = 10;
	uint64_t n = 0;
	size_t i = 0;

	if (bytes > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	} else if (bytes > 1 && s[0] == '0') {
		base = 8;
		i = 1;
	}
	if (!bytes)
		return -FATHOM_EINVAL;
	for (; i < bytes; i++) {
		uint32_t digit = digit_value(s[i]);

		if (digit >= base)
			return -FATHOM_EINVAL;
		n = n * base + digit;
		if (n > INT32_MAX)
			return -FATHOM_ERANGE;
	}
	*out = (uint32_t)n;
	return 0;
}

/* A number N is the N-th function of available_filter_functions, from 1: its index + 1. 0: not a number, or none such. */
static uint32_t function_number(const char *s, size_t bytes)
{
	uint32_t n, i = 0;

	if (fathom_parse_number(s, bytes, &n) || !n)
		return 0;
	for (; i < fathom_functions.nr_sites && n; i++)
		n -= (uint32_t)!fathom_site_is_gone(i);
	return n ? 0 : i;
}

void fathom_match_init(struct function_match *m, const char *pattern, size_t bytes)
{
	m->pattern = pattern;
	m->bytes = bytes;
	m->number = function_number(pattern, bytes);
	m->glob = has_glob(pattern, bytes);
	m->hash = fathom_site_hash(pattern, bytes);
	m->next = m->glob || m->number ? 0 : fathom_site_first_named(m->hash);
	m->module = 0;
}

/* A glob looks at all of them, a name at those of its hash, a number at one. The candidate of m->next, or -1. */
static int match_candidate(const struct function_match *m)
{
	if (m->number)
		return m->next ? -1 : (int)m->number - 1;
	if (m->glob)
		return m->next < fathom_functions.nr_sites ? (int)m->next : -1;
	return m->next < fathom_functions.nr_named &&
			       fathom_functions.named[m->next].hash == m->hash
		       ? (int)fathom_functions.named[m->next].site
		       : -1;
}

static int match_is(const struct function_match *m, uint32_t i)
{
	const char *name = fathom_function_name(i);

	if (m->number)
		return 1; /* whatever its module, as in Linux */
	if (!name || (m->module && !fathom_module_matches(i, m->module, m->module_bytes)))
		return 0;
	return m->glob ? fathom_glob(m->pattern, m->bytes, name, fathom_strlen(name))
		       : fathom_same_name(name, m->pattern, m->bytes);
}

int fathom_match_next(struct function_match *m)
{
	int i;

	for (; (i = match_candidate(m)) >= 0; m->next++)
		if (!fathom_site_is_gone((uint32_t)i) && match_is(m, (uint32_t)i)) {
			m->next++;
			return i;
		}
	return -1;
}

size_t fathom_function_set_bytes(void)
{
	return set_words() * sizeof(uint32_t);
}

void fathom_set_copy(const struct function_set *s, uint32_t *copy)
{
	for (uint32_t i = 0; i < set_words(); i++)
		copy[i] = s->word[i];
}

static int set_is_of_graph(enum fathom_function_set set)
{
	return set == FATHOM_SET_GRAPH || set == FATHOM_SET_GRAPH_NOTRACE;
}

/* What is to be removed must be there, in Linux, in the sets of the graph only; in the others it must be a function. */
int fathom_set_edit(enum fathom_function_set set, uint32_t *copy, struct function_match *m, int on)
{
	int found = 0, i;

	while ((i = fathom_match_next(m)) >= 0) {
		uint32_t bit = 1u << (i % 32);

		found |= on || !set_is_of_graph(set) || copy[i / 32] & bit;
		copy[i / 32] = on ? copy[i / 32] | bit : copy[i / 32] & ~bit;
	}
	return found ? 0 : -FATHOM_EINVAL;
}

static int set_has_modules(enum fathom_function_set set)
{
	return set == FATHOM_SET_FILTER || set == FATHOM_SET_NOTRACE;
}

int fathom_listener_edit(struct fathom_listener *l, enum fathom_function_set set, uint32_t *copy,
			 const char *token, size_t bytes)
{
	struct function_match m;
	int on = 1;

	if (set_has_modules(set) && fathom_is_module_line(token, bytes))
		return fathom_module_edit(l, set, copy, token, bytes);

	if (bytes && token[0] == '!') {
		on = 0;
		token++;
		bytes--;
	}
	if (!bytes)
		return -FATHOM_EINVAL;
	fathom_match_init(&m, token, bytes);
	return fathom_set_edit(set, copy, &m, on);
}

/* Members of a word. */
static uint32_t set_ones(uint32_t word)
{
	uint32_t n = 0;

	for (; word; word &= word - 1)
		n++;
	return n;
}

void fathom_set_put(struct function_set *s, const uint32_t *copy, uint32_t waits)
{
	uint32_t count = 0;

	if (waits)
		fathom_store(&s->waits, waits);

	for (uint32_t i = 0; i < set_words(); i++)
		count += set_ones(copy[i]);
	if (!count)
		fathom_store(&s->count, 0);
	for (uint32_t i = 0; i < set_words(); i++)
		fathom_store(&s->word[i], copy[i]);
	fathom_store(&s->count, count);
	fathom_store(&s->waits, waits);
}

/* ---- functions that go ---- */

/* Out of the words of a set, and the bit behind the last function in their place. */
static void words_forget(uint32_t *word, uint32_t index)
{
	uint32_t bit = 1u << (index % 32), last = fathom_functions.room_sites;

	if (!(word[index / 32] & bit))
		return;
	fathom_store(&word[last / 32], word[last / 32] | 1u << (last % 32));
	fathom_store(&word[index / 32], word[index / 32] & ~bit);
}

/*
 * As in Linux, a filter whose functions went with their module has none, and is not the empty one that means all: that
 * takes whoever opens it to truncate it.
 */
void fathom_sets_forget(void)
{
	for (uint32_t i = 0; i < fathom_functions.nr_sites; i++) {
		if (!fathom_site_is_gone(i))
			continue;
		for (uint32_t k = 0; k < FATHOM_SET_NR; k++)
			words_forget(fathom_functions.set[k].word, i);
		for (uint32_t k = 0; k < FATHOM_INSTANCES_MAX; k++)
			for (uint32_t n = 0; fathom_listeners[k] && n <= FATHOM_SET_NOTRACE; n++)
				words_forget(fathom_listeners[k]->set[n].word, i);
	}
}

void fathom_set_renew(uint32_t *copy, uint32_t *epoch)
{
	if (*epoch == fathom_functions.epoch)
		return;
	for (uint32_t i = 0; i < fathom_functions.room_sites; i++) {
		const struct site_part *p;

		if (!(copy[i / 32] >> (i % 32) & 1))
			continue;
		p = fathom_part_of(i);
		if (!p || p->born > *epoch || fathom_site_is_gone(i))
			words_forget(copy, i);
	}
	*epoch = fathom_functions.epoch;
}

static int has_colon(const char *s, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (s[i] == ':')
			return 1;
	return 0;
}

int fathom_listener_command(struct fathom_listener *l, enum fathom_function_set set,
			    const char *token, size_t bytes)
{
	int err;

	if (set_is_of_graph(set) || !has_colon(token, bytes))
		return 0;
	if (set == FATHOM_SET_STACK)
		return fathom_probe_is_known(token, bytes) ? -FATHOM_ENODEV : -FATHOM_EINVAL;
	if (fathom_is_module_line(token, bytes))
		return 0;
	if (set == FATHOM_SET_NOTRACE)
		return -FATHOM_EINVAL;
	err = fathom_probe_write(l, token, bytes);
	return err ? err : 1;
}

int fathom_set_next(const struct function_set *s, uint32_t from)
{
	for (uint32_t i = from; s->count && i < fathom_functions.nr_sites; i++)
		if (fathom_set_test(s, i))
			return (int)i;
	return -1;
}

/* ---- tasks ---- */

int fathom_list_add(struct function_pids *list, int32_t pid)
{
	int err = pid < 0 || pid == 0x7fffffff ? -FATHOM_EINVAL : fathom_pids_put(&list->pids, pid);

	if (!err)
		fathom_store(&list->active, 1);
	return err;
}

void fathom_list_clear(struct function_pids *list)
{
	fathom_store(&list->active, 0);
	fathom_pids_clear(&list->pids);
}

struct function_pids *fathom_function_pids(enum fathom_pid_set set)
{
	return &pid_sets[set];
}

int fathom_pids_any(void)
{
	return fathom_load(&pid_sets[FATHOM_PIDS_TRACE].active) ||
	       fathom_load(&pid_sets[FATHOM_PIDS_NOTRACE].active);
}

int fathom_pids_pass(const struct function_pids lists[FATHOM_PIDS_NR], int32_t pid)
{
	if (fathom_load(&lists[FATHOM_PIDS_TRACE].active) &&
	    !fathom_pids_has(&lists[FATHOM_PIDS_TRACE].pids, pid))
		return 0;
	return !fathom_load(&lists[FATHOM_PIDS_NOTRACE].active) ||
	       !fathom_pids_has(&lists[FATHOM_PIDS_NOTRACE].pids, pid);
}

int fathom_pid_traced(int32_t pid)
{
	return fathom_pids_pass(pid_sets, pid);
}

/* ---- forks ---- */

void (*fathom_fork_hook)(int32_t parent, int32_t child);
static uint32_t fork_users;

void fathom_want_forks(enum fathom_fork_user who, int on)
{
	uint32_t users = on ? fork_users | who : fork_users & ~(uint32_t)who;

	fathom_store(&fork_users, users);
	fathom_want_change(users ? FATHOM_WANT_FORK : 0, FATHOM_WANT_FORK);
}

void fathom_function_forks_changed(void)
{
	fathom_want_forks(FATHOM_FORKS_FUNCTION,
			  fathom_tracer_option_bits & FATHOM_OPT_FUNCTION_FORK ||
				  fathom_listeners_follow_forks());
}

static void tell_control(int32_t parent, int32_t child)
{
	void (*hook)(int32_t, int32_t) = __atomic_load_n(&fathom_fork_hook, __ATOMIC_RELAXED);

	if (fathom_load(&fork_users) & FATHOM_FORKS_CONTROL && hook)
		hook(parent, child);
}

/* function-fork: a child is in the lists that its parent is in, until it ends (child -1). */
static void lists_fork(struct function_pids lists[FATHOM_PIDS_NR], int32_t parent, int32_t child)
{
	for (int i = 0; i < FATHOM_PIDS_NR; i++) {
		if (child < 0)
			fathom_pids_take(&lists[i].pids, parent);
		else if (fathom_pids_has(&lists[i].pids, parent) &&
			 fathom_pids_put(&lists[i].pids, child))
			fathom_counts()->forks_lost++;
	}
}

static void follow_fork(int32_t parent, int32_t child)
{
	if (fathom_load(&fork_users) & FATHOM_FORKS_FUNCTION) {
		if (fathom_load(&fathom_tracer_option_bits) & FATHOM_OPT_FUNCTION_FORK)
			lists_fork(pid_sets, parent, child);
		fathom_listeners_fork(lists_fork, parent, child);
	}
	tell_control(parent, child);
}

/* Context: where the kernel forks. */
void fathom_note_fork_slow(int32_t parent, int32_t child)
{
	follow_fork(parent, child);
}

void fathom_note_exit_slow(int32_t pid)
{
	follow_fork(pid, -1);
}
