/* SPDX-License-Identifier: MIT */
/* symbols.c -- symbols by address: kallsyms, System.map, or added one by one. */
#include "decode/names/names.h"
#include "base/vec.h"
#include "base/memory.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Strings live in one growing pool and are kept as offsets, so that growing does not break them; a later one follows. The
 * name of a module stands after that of its symbol, after a '['. Entries are small: a kernel has some hundred thousand.
 */
struct entry {
	uint64_t addr;
	uint32_t size; /* 0: up to the next one */
	uint32_t name; /* offset and the flags below */
};

#define REACH_MAX   (1u << 20) /* how far a symbol reaches whose size is not known */
#define NAME_MASK   0x1fffffffu
#define NAME_DATA   0x20000000u /* of a module, and not code: what lies after it is not its */
#define NAME_MODULE 0x40000000u /* it is followed by its module's */
#define NAME_SKIP   0x80000000u /* trace-cmd does not take it: absolute */

struct symbols {
	struct entry *e;
	size_t nr, cap;
	char *pool;
	size_t pool_bytes, pool_cap;
	uint32_t *
		tc; /* the order trace-cmd searches in: by address, then last added first; made on first use */
	size_t nr_tc;
	bool sorted;
	void *map; /* entries and strings lie in this mapping and are not ours to change */
	size_t map_bytes;
	pthread_mutex_t lock;					   /* of making tc */
	bool (*ask)(void *arg, uint64_t addr, struct symbol *out); /* first; may be NULL */
	void *ask_arg;
};

#define POOL_MAX (1u << 29)

struct symbols *symbols_new(void)
{
	struct symbols *t = calloc(1, sizeof(*t));

	if (t)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

void symbols_free(struct symbols *t)
{
	if (!t)
		return;
	if (t->map) {
		munmap(t->map, t->map_bytes);
	} else {
		free(t->e);
		free(t->pool);
	}
	free(t->tc);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Room for n more bytes of strings; the first byte of the pool is an empty string. */
static int pool_room(struct symbols *t, size_t n)
{
	if (t->map)
		return -EROFS;
	if (n > POOL_MAX - t->pool_bytes || !VEC_ROOM(t->pool, t->pool_bytes + n, t->pool_cap))
		return -ENOMEM;
	if (!t->pool_bytes) {
		t->pool[0] = 0;
		t->pool_bytes = 1;
	}
	return 0;
}

/* A text with another in front of it. */
static int pool_add(struct symbols *t, const char *s, size_t bytes, const char *front, uint32_t *at)
{
	size_t n = strlen(front);
	char *to;

	if (pool_room(t, n + bytes + 1))
		return -ENOMEM;
	*at = (uint32_t)t->pool_bytes;
	to = t->pool + t->pool_bytes;
	memcpy(to, front, n);
	memcpy(to + n, s, bytes);
	to[n + bytes] = 0;
	t->pool_bytes += n + bytes + 1;
	return 0;
}

/* Room for one more entry. False: none. */
static bool entry_room(struct symbols *t)
{
	return !t->map && VEC_ROOM(t->e, t->nr, t->cap);
}

static void put_entry(struct symbols *t, uint64_t addr, uint64_t size, uint32_t name)
{
	t->e[t->nr++] = (struct entry){.addr = addr,
				       .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
				       .name = name};
	t->sorted = false;
}

int symbols_add(struct symbols *t, uint64_t addr, uint64_t size, const char *name,
		size_t name_bytes, const char *module, size_t module_bytes)
{
	bool in_module = module && module_bytes;
	uint32_t n = 0, m;

	if (!entry_room(t) || pool_add(t, name, name_bytes, "", &n) ||
	    (in_module && pool_add(t, module, module_bytes, "[", &m)))
		return -ENOMEM;
	put_entry(t, addr, size, in_module ? n | NAME_MODULE : n);
	return 0;
}

#define EVERY_BYTE 0x0101010101010101ull

/* Eight hex digits at once, a byte each. False: not all are digits. */
static bool hex8(const char *p, uint64_t *v)
{
	uint64_t text, n, letters;

	memcpy(&text, p, sizeof(text));
	text = le64toh(text) | 0x20 * EVERY_BYTE;
	n = (text & 0x0f * EVERY_BYTE) + 9 * (text >> 6 & EVERY_BYTE);
	letters = (n + 0x76 * EVERY_BYTE) >> 7 & EVERY_BYTE;
	if (n + '0' * EVERY_BYTE + ('a' - '0' - 10) * letters != text)
		return false;
	n = __builtin_bswap64(n);
	n = (n | n >> 4) & 0x00ff00ff00ff00ffull;
	n = (n | n >> 8) & 0x0000ffff0000ffffull;
	*v = (n | n >> 16) & 0xffffffffull;
	return true;
}

/* Up to 16 hex digits; what stands after them, or NULL if there are none. */
static char *hex(char *p, const char *end, uint64_t *v)
{
	char *start = p;
	uint64_t low;

	if (end - p > 16 && hex8(p, v) && hex8(p + 8, &low)) {
		*v = *v << 32 | low;
		return p + 16;
	}
	for (*v = 0; p < end && p - start < 16; p++) {
		unsigned d = (unsigned char)*p, n = d - '0';

		if (n > 9) {
			n = (d | 32) - 'a' + 10;
			if (n < 10 || n > 15)
				break;
		}
		*v = *v << 4 | n;
	}
	return p == start ? NULL : p;
}

/* "ffffffff81000000 T name\t[module]\n", in the pool: names are ended in place. */
static bool kallsyms_line(struct symbols *t, char *p, char *end)
{
	char *name, *name_end = end, *open = NULL, type;
	uint64_t addr;
	uint32_t at;

	p = hex(p, end, &addr);
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	type = p[1];
	name = p + 3;
	if (end[-1] == ']') {
		open = memrchr(name, '[', (size_t)(end - name));
		for (name_end = open ? open : end; name_end > name && name_end[-1] <= ' ';)
			name_end--;
	}
	if (name_end == name || !entry_room(t))
		return false;
	*name_end = 0;
	at = (uint32_t)(name - t->pool);
	if (open) {
		end[-1] = 0;
		at |= NAME_MODULE | (strchr("bBdDrR", type) ? NAME_DATA : 0);
	}
	if (*name == '$') /* a mark of ARM's or RISC-V's assembler */
		return true;
	if (type == 'a' || type == 'A')
		at |= NAME_SKIP;
	put_entry(t, addr, 0, at);
	return true;
}

#define LINE_BYTES 48u /* the lines of a kernel's kallsyms are some 60 bytes long */

static void first_entries(struct symbols *t, size_t text_bytes)
{
	size_t cap = text_bytes / LINE_BYTES + 1;

	if (t->map || t->e || !(t->e = memory_large(cap * sizeof(*t->e))))
		return;
	t->cap = cap;
}

/* The lines of a text in the pool, after which there is one more byte. */
static size_t kallsyms_lines(struct symbols *t, char *p, size_t bytes)
{
	char *end = p + bytes;
	size_t n = 0;

	*end = 0;
	first_entries(t, bytes);
	while (p < end) {
		char *nl = memchr(p, '\n', (size_t)(end - p));
		char *stop = nl ? nl : end;

		n += kallsyms_line(t, p, stop);
		p = stop + 1;
	}
	return n;
}

size_t symbols_add_kallsyms(struct symbols *t, const char *text, size_t bytes)
{
	char *p;

	if (pool_room(t, bytes + 1))
		return 0;
	p = t->pool + t->pool_bytes;
	memcpy(p, text, bytes);
	t->pool_bytes += bytes + 1;
	return kallsyms_lines(t, p, bytes);
}

size_t symbols_take_kallsyms(struct symbols *t, char *memory, size_t at, size_t bytes)
{
	size_t n;

	if (t->map || t->pool || !at || at + bytes >= POOL_MAX) {
		n = symbols_add_kallsyms(t, memory + at, bytes);
		free(memory);
		return n;
	}
	t->pool = memory;
	t->pool_bytes = t->pool_cap = at + bytes + 1;
	memory[0] = 0;
	return kallsyms_lines(t, memory + at, bytes);
}

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* in the order of adding */
	return (x->name & NAME_MASK) < (y->name & NAME_MASK) ? -1 : 1;
}

/* The kernel's own symbols come sorted, those of modules after them do not: sort those, then merge from the end. */
static void sort_entries(struct symbols *t)
{
	size_t run = 1, nr, at = t->nr;
	struct entry *rest;

	while (run < t->nr && t->e[run - 1].addr <= t->e[run].addr)
		run++;
	if (run >= t->nr)
		return;
	nr = t->nr - run;
	qsort(t->e + run, nr, sizeof(*t->e), by_address);
	if (t->e[run - 1].addr <= t->e[run].addr)
		return;
	rest = malloc(nr * sizeof(*rest));
	if (!rest) {
		qsort(t->e, t->nr, sizeof(*t->e), by_address);
		return;
	}
	memcpy(rest, t->e + run, nr * sizeof(*rest));
	while (nr)
		if (run && t->e[run - 1].addr > rest[nr - 1].addr)
			t->e[--at] = t->e[--run];
		else
			t->e[--at] = rest[--nr];
	free(rest);
}

static void sort(struct symbols *t)
{
	if (t->sorted)
		return;
	sort_entries(t);
	free(t->tc);
	t->tc = NULL;
	t->sorted = true;
}

static uint32_t *make_trace_cmd_order(struct symbols *t)
{
	uint32_t *tc = malloc((t->nr + 1) * sizeof(*tc));
	size_t nr = 0;

	for (size_t i = 0; tc && i < t->nr;) {
		size_t next = i + 1;

		while (next < t->nr && t->e[next].addr == t->e[i].addr)
			next++;
		for (size_t k = next; k-- > i;)
			if (!(t->e[k].name & NAME_SKIP))
				tc[nr++] = (uint32_t)k;
		i = next;
	}
	t->nr_tc = nr;
	return tc;
}

/* Threads may ask for it first at the same time. */
static void trace_cmd_order(struct symbols *t)
{
	if (__atomic_load_n(&t->tc, __ATOMIC_ACQUIRE)) /* pairs with the release below */
		return;
	pthread_mutex_lock(&t->lock);
	if (!t->tc)
		__atomic_store_n(&t->tc, make_trace_cmd_order(t), __ATOMIC_RELEASE);
	pthread_mutex_unlock(&t->lock);
}

/* The last entry whose address is <= addr, or nr. */
static size_t last_before(const struct entry *e, size_t nr, uint64_t addr)
{
	size_t lo = 0, hi = nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (e[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : nr;
}

/* C's bsearch() halves [0, nr): which of several equal addresses it meets is part of what trace-cmd prints. */
static size_t trace_cmd_search(const struct symbols *t, uint64_t addr)
{
	size_t lo = 0, hi = t->nr_tc;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		uint64_t here = t->e[t->tc[mid]].addr;

		if (addr == here ||
		    (addr > here && mid + 1 < t->nr_tc && addr < t->e[t->tc[mid + 1]].addr))
			return mid;
		if (addr < here)
			hi = mid;
		else
			lo = mid + 1;
	}
	return t->nr_tc;
}

static const char *name_of(const struct symbols *t, const struct entry *e)
{
	return t->pool + (e->name & NAME_MASK);
}

/* "" if it has none. In a text of kallsyms there may be blanks in front of the '['. */
static const char *module_of(const struct symbols *t, const struct entry *e)
{
	const char *end = t->pool + t->pool_bytes, *p = name_of(t, e);

	if (!(e->name & NAME_MODULE))
		return "";
	p += strlen(p) + 1;
	while (p < end && *p && *p <= ' ')
		p++;
	if (p < end && *p == '[')
		p++;
	return p < end ? p : "";
}

static void fill(const struct symbols *t, size_t i, uint64_t addr, struct symbol *out)
{
	size_t n = i + 1;

	while (n < t->nr && t->e[n].addr == t->e[i].addr)
		n++;
	out->name = name_of(t, &t->e[i]);
	out->module = module_of(t, &t->e[i]);
	out->start = t->e[i].addr;
	out->size = t->e[i].size ? t->e[i].size : n < t->nr ? t->e[n].addr - t->e[i].addr : 0;
	out->offset = addr - t->e[i].addr;
}

void symbols_ask(struct symbols *t, bool (*ask)(void *arg, uint64_t addr, struct symbol *out),
		 void *arg)
{
	t->ask = ask;
	t->ask_arg = arg;
}

bool symbols_find(struct symbols *t, uint64_t addr, enum symbols_alias alias, struct symbol *out)
{
	size_t i;

	if (t && t->ask && t->ask(t->ask_arg, addr, out))
		return true;
	if (!t || !t->nr)
		return false;
	sort(t);
	if (alias == ALIAS_TRACE_CMD) {
		trace_cmd_order(t);
		i = t->tc ? trace_cmd_search(t, addr) : t->nr_tc;
		if (i == t->nr_tc)
			return false;
		fill(t, t->tc[i], addr, out);
		return true;
	}
	i = last_before(t->e, t->nr, addr);
	if (i == t->nr)
		return false;
	while (i && t->e[i - 1].addr == t->e[i].addr)
		i--;
	fill(t, i, addr, out);
	if (out->offset && t->e[i].name & NAME_DATA)
		return false;
	return out->offset < (t->e[i].size ? t->e[i].size : REACH_MAX);
}

size_t symbols_count(const struct symbols *t)
{
	return t ? t->nr : 0;
}

bool symbols_at(struct symbols *t, size_t i, struct symbol *out)
{
	if (i >= symbols_count(t))
		return false;
	sort(t);
	fill(t, i, t->e[i].addr, out);
	return true;
}

/* ---- packed: for the index file ---- */

/* Copy a string to the pool that is being packed; where it lies. */
static uint32_t pack_text(char *pool, size_t *at, const char *s)
{
	size_t n = strlen(s) + 1, here = *at;

	memcpy(pool + here, s, n);
	*at += n;
	return (uint32_t)here;
}

static size_t pack_bytes(const struct symbols *t)
{
	size_t bytes = 1;

	for (size_t i = 0; i < t->nr; i++)
		bytes += strlen(name_of(t, &t->e[i])) + strlen(module_of(t, &t->e[i])) + 3;
	return bytes;
}

int symbols_pack(struct symbols *t, struct symbols_packed *out)
{
	struct entry *e = malloc((t->nr + 1) * sizeof(*e));
	char *pool = malloc(pack_bytes(t));
	size_t at = 1;

	if (!e || !pool) {
		free(e);
		free(pool);
		return -ENOMEM;
	}
	sort(t);
	pool[0] = 0;
	for (size_t i = 0; i < t->nr; i++) {
		e[i] = t->e[i];
		e[i].name = pack_text(pool, &at, name_of(t, &t->e[i])) | (e[i].name & ~NAME_MASK);
		if (e[i].name & NAME_MODULE) {
			pool[at++] = '[';
			pack_text(pool, &at, module_of(t, &t->e[i]));
		}
	}
	*out = (struct symbols_packed){e, t->nr, sizeof(*e), pool, at};
	return 0;
}

int symbols_borrow(struct symbols *t, const struct symbols_packed *in, void *map, size_t map_bytes)
{
	const struct entry *e = in->entries;

	if (t->nr || t->map || in->entry_bytes != sizeof(*e) || !in->pool_bytes ||
	    in->pool[in->pool_bytes - 1])
		return -EINVAL;
	for (size_t i = 0; i < in->nr; i++)
		if ((e[i].name & NAME_MASK) >= in->pool_bytes || (i && e[i].addr < e[i - 1].addr))
			return -EINVAL;
	free(t->pool);
	free(t->e);
	t->e = (struct entry *)e;
	t->nr = in->nr;
	t->pool = (char *)in->pool;
	t->pool_bytes = in->pool_bytes;
	t->map = map;
	t->map_bytes = map_bytes;
	t->sorted = true;
	return 0;
}
