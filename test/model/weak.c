/* SPDX-License-Identifier: MIT */
/* weak.c -- memory as a weakly ordered CPU may show it: a runtime for -fsanitize=thread that chooses what a load sees. */
#include "weak.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The compiler calls this file at every access, with the order that the source asks for. Stores go to memory in the order in
 * which the model runs them; what each location held before is kept. A load may see any of these values, the newest or an
 * older one, unless the rules of C11 forbid it:
 *
 *	coherence	not older than what this thread wrote or saw there
 *	happens-before	not older than a store that this thread knows of: by an acquire load (or a load and an acquire fence) of
 *			what a release store (or a release fence and a store) left, or by a full barrier on both sides
 *
 * So loads are satisfied early, and stores become visible late and in any order: all that a weakly ordered CPU does between
 * two threads, except that it may also satisfy a load after a later store. That is checked by weak_claim(): who hands memory
 * over must have finished reading it, so whoever overwrites it must know that.
 *
 * Knowledge is a pair of counters per thread: how many of its own events, how many of the other's. A location is 4 bytes
 * (8 where an aligned 8-byte word outside of the pages is accessed as one).
 */
enum {
	THREADS = 2,
	MESSAGES = 48,
};

struct knows {
	uint32_t of[THREADS];
};

struct message {
	uint64_t value;
	struct knows shows; /* to whoever loads it and acquires */
	uint32_t seq;	    /* of the writer */
	int writer;
};

struct loc {
	uint32_t run; /* in which it was last touched: else it is empty */
	uint32_t nr;
	uint32_t seen[THREADS]; /* index of the newest message that the thread has seen */
	uint32_t read;		/* thread 1's event when it last loaded it */
	uint32_t claimed;
	struct message m[MESSAGES];
};

static struct area {
	uint8_t *base;
	size_t bytes, pages;
	struct loc *loc; /* one per 4 bytes */
} areas[2];

static struct thread {
	struct knows knows, fenced; /* fenced: what it knew at its last release fence */
	struct knows pending;	    /* what an acquire fence would show it */
} threads[THREADS];

static struct knows full;   /* what the last full barrier of either knew */
static uint32_t run, stale; /* number of the run; old values it may still see */

/* A plain access happens after its hook: what is left to do at the next one. */
static struct {
	struct loc *loc[2];
	uint8_t *at[2];
	uint32_t bytes[2];
	uint64_t truth[2];
	int nr, stores, thread;
} late;

static void join(struct knows *to, const struct knows *from)
{
	for (int i = 0; i < THREADS; i++)
		if (from->of[i] > to->of[i])
			to->of[i] = from->of[i];
}

static uint64_t value_at(const uint8_t *at, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return v;
}

void weak_watch(void *memory, size_t bytes, size_t pages)
{
	free(areas[0].loc);
	areas[0] = (struct area){memory, bytes, pages, calloc(bytes / 4 + 1, sizeof(struct loc))};
}

void weak_watch_more(void *memory, size_t bytes)
{
	free(areas[1].loc);
	areas[1] = (struct area){memory, bytes, bytes, calloc(bytes / 4 + 1, sizeof(struct loc))};
}

void weak_start(uint32_t stale_loads)
{
	memset(threads, 0, sizeof(threads));
	memset(&full, 0, sizeof(full));
	memset(&late, 0, sizeof(late));
	stale = stale_loads;
	run++;
}

static inline int is_watched(const void *p)
{
	for (int i = 0; i < 2; i++)
		if ((size_t)((const uint8_t *)p - areas[i].base) < areas[i].bytes)
			return 1;
	return 0;
}

/* Who runs, if it is of interest. The model is built with these hooks as well, so its answer must not be asked for always. */
static int thread_at(const void *p)
{
	return is_watched(p) ? weak_thread() : -1;
}

/* What comes before an access, and must not come in the middle of one. */
static void step(const void *p)
{
#ifdef WEAK_STEPS
	if (p ? thread_at(p) >= 0 : weak_thread() >= 0) {
		weak_flush();
		weak_step(p);
	}
#else
	(void)p;
#endif
}

/* The location of an access, and how many bytes of it one location holds; NULL if nobody watches. */
static struct loc *find(const void *p, uint32_t bytes, uint8_t **at, uint32_t *unit)
{
	for (int i = 0; i < 2; i++) {
		struct area *a = &areas[i];
		size_t off = (size_t)((const uint8_t *)p - a->base);
		struct loc *l;

		if (!a->base || off >= a->bytes)
			continue;
		*unit = bytes == 8 && off % 8 == 0 && off < a->pages ? 8 : 4;
		off -= off % *unit;
		*at = a->base + off;
		l = &a->loc[off / 4];
		if (l->run != run) {
			l->run = run;
			l->nr = 1;
			l->seen[0] = l->seen[1] = l->read = l->claimed = 0;
			l->m[0] = (struct message){.value = value_at(*at, *unit)};
		}
		return l;
	}
	return NULL;
}

static size_t offset_of(const uint8_t *at)
{
	return (size_t)(at - areas[0].base);
}

/* A new value is in memory: what others may see from now on. */
static void add_message(struct loc *l, int t, uint64_t value, struct knows shows)
{
	if (l->nr == MESSAGES) {
		weak_failed("more stores to one place than the model keeps", 0);
		return;
	}
	l->m[l->nr] = (struct message){value, shows, ++threads[t].knows.of[t], t};
	l->seen[t] = l->nr++;
}

void weak_flush(void)
{
	for (int i = 0; i < late.nr; i++) {
		if (late.stores)
			add_message(late.loc[i], late.thread, value_at(late.at[i], late.bytes[i]),
				    threads[late.thread].fenced);
		else
			memcpy(late.at[i], &late.truth[i], late.bytes[i]);
	}
	late.nr = 0;
}

/* The oldest message that t may still see. */
static uint32_t oldest_visible(const struct loc *l, int t)
{
	uint32_t i = l->nr - 1;

	while (i > l->seen[t] && l->m[i].seq > threads[t].knows.of[l->m[i].writer])
		i--;
	return i;
}

/* Choose what a load sees: the newest value, or, while old ones may be seen, any before. Equal ones count once, oldest first. */
static const struct message *choose_message(struct loc *l, int t)
{
	uint32_t low = oldest_visible(l, t), pick[MESSAGES], n = 0;

	if (low == l->nr - 1) {
		l->seen[t] = low;
		return &l->m[low];
	}
	for (uint32_t i = l->nr; i-- > low;) {
		uint32_t k = 0;

		while (k < n && l->m[pick[k]].value != l->m[i].value)
			k++;
		pick[k] = i;
		n += k == n;
	}
	n = n > 1 && stale ? weak_choose(n, "load") : 0;
	stale -= n != 0;
	l->seen[t] = pick[n] > l->seen[t] ? pick[n] : l->seen[t];
	return &l->m[pick[n]];
}

static void note_read(struct loc *l, int t)
{
	if (t == 1)
		l->read = ++threads[1].knows.of[1];
}

static void check_claim(const struct loc *l, int t, const uint8_t *at)
{
	if (t == 0 && l->claimed > threads[0].knows.of[1])
		weak_failed("the owner writes where the reader may still read", offset_of(at));
}

void weak_claim(const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4) {
		struct area *a = &areas[0];
		size_t off = (size_t)((const uint8_t *)from + i - a->base);

		if (off < a->bytes && a->loc[off / 4].run == run)
			a->loc[off / 4].claimed = a->loc[off / 4].read;
	}
}

static __attribute__((noinline)) void plain_watched(void *p, uint32_t bytes, int store)
{
	int t;
	uint8_t *at;
	uint32_t unit;

	step(p);
	t = thread_at(p);
	if (t < 0)
		return;
	weak_flush();
	late.stores = store;
	late.thread = t;
	for (uint32_t done = 0; done < bytes; done += unit) {
		struct loc *l = find((uint8_t *)p + done, bytes, &at, &unit);

		if (!l)
			return;
		if (store) {
			check_claim(l, t, at);
		} else if (l->nr == 1) { /* nobody has stored here: there is one value */
			note_read(l, t);
			continue;
		} else {
			const struct message *m = choose_message(l, t);

			join(&threads[t].pending, &m->shows);
			note_read(l, t);
			late.truth[late.nr] = value_at(at, unit);
			memcpy(at, &m->value, unit);
		}
		late.loc[late.nr] = l;
		late.at[late.nr] = at;
		late.bytes[late.nr++] = unit;
	}
}

/* Most accesses are the model's own: they must cost next to nothing. */
static inline void plain(void *p, uint32_t bytes, int store)
{
	if (is_watched(p))
		plain_watched(p, bytes, store);
}

static int acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
	       order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static int releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void saw(int t, const struct message *m, int order)
{
	join(&threads[t].pending, &m->shows);
	if (acquires(order))
		join(&threads[t].knows, &m->shows);
}

static uint64_t atomic_load(const void *p, uint32_t bytes, int order)
{
	const struct message *m;
	struct loc *l;
	uint8_t *at;
	uint32_t unit;
	int t;

	step(p);
	t = thread_at(p);
	if (t < 0 || !(l = find(p, bytes, &at, &unit)))
		return value_at(p, bytes);
	weak_flush();
	note_read(l, t);
	m = choose_message(l, t);
	saw(t, m, order);
	return m->value;
}

/* What this store shows to whoever acquires it; `over`: what a read-modify-write replaced (the release sequence goes on). */
static void atomic_put(void *p, uint32_t bytes, uint64_t v, int order, int rmw)
{
	int t = thread_at(p);
	struct loc *l = NULL;
	struct knows shows;
	uint8_t *at;
	uint32_t unit;

	if (t >= 0)
		l = find(p, bytes, &at, &unit);
	if (l) {
		check_claim(l, t, at);
		shows = releases(order) ? threads[t].knows : threads[t].fenced;
		if (releases(order))
			shows.of[t]++; /* this store, too */
		if (rmw)
			join(&shows, &l->m[l->nr - 1].shows);
	}
	memcpy(p, &v, bytes);
	if (l)
		add_message(l, t, v, shows);
}

static void atomic_store(void *p, uint32_t bytes, uint64_t v, int order)
{
	step(p);
	if (thread_at(p) >= 0)
		weak_flush();
	atomic_put(p, bytes, v, order, 0);
}

/* A read-modify-write finds the newest value, always. */
static uint64_t atomic_latest(void *p, uint32_t bytes, int order)
{
	int t = thread_at(p);
	struct loc *l;
	uint8_t *at;
	uint32_t unit;

	if (t < 0)
		return value_at(p, bytes);
	weak_flush();
	l = find(p, bytes, &at, &unit);
	if (l) {
		note_read(l, t);
		l->seen[t] = l->nr - 1;
		saw(t, &l->m[l->nr - 1], order);
	}
	return value_at(p, bytes);
}

static void fence(int order)
{
	int t;

	step(NULL);
	t = weak_thread();
	if (t < 0)
		return;
	weak_flush();
	if (acquires(order))
		join(&threads[t].knows, &threads[t].pending);
	if (order == __ATOMIC_SEQ_CST) {
		join(&threads[t].knows, &full);
		full = threads[t].knows;
	}
	if (releases(order))
		threads[t].fenced = threads[t].knows;
}

void weak_sync(void)
{
	weak_flush();
	for (int t = 0; t < THREADS; t++)
		join(&threads[t].knows, &threads[t].pending);
	join(&threads[0].knows, &threads[1].knows);
	threads[1].knows = threads[0].knows;
	for (int t = 0; t < THREADS; t++)
		threads[t].fenced = threads[0].knows;
	full = threads[0].knows;
}

/* The names that the compiler calls. */
void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc)
{
	(void)pc;
}
void __tsan_func_exit(void)
{
}

#define PLAIN(name, bytes, store)       \
	void name(void *p);             \
	void name(void *p)              \
	{                               \
		plain(p, bytes, store); \
	}
PLAIN(__tsan_read1, 1, 0)
PLAIN(__tsan_read2, 2, 0)
PLAIN(__tsan_read4, 4, 0)
PLAIN(__tsan_read8, 8, 0)
PLAIN(__tsan_unaligned_read2, 2, 0)
PLAIN(__tsan_unaligned_read4, 4, 0)
PLAIN(__tsan_unaligned_read8, 8, 0)
PLAIN(__tsan_write1, 1, 1)
PLAIN(__tsan_write2, 2, 1)
PLAIN(__tsan_write4, 4, 1)
PLAIN(__tsan_write8, 8, 1)
PLAIN(__tsan_unaligned_write2, 2, 1)
PLAIN(__tsan_unaligned_write4, 4, 1)
PLAIN(__tsan_unaligned_write8, 8, 1)

/* Whole structs, which are never shared here: local variables, and what only one thread has. */
void __tsan_read16(void *p);
void __tsan_write16(void *p);
void __tsan_read_range(void *p, unsigned long n);
void __tsan_write_range(void *p, unsigned long n);
void __tsan_read16(void *p)
{
	(void)p;
}
void __tsan_write16(void *p)
{
	(void)p;
}
void __tsan_read_range(void *p, unsigned long n)
{
	(void)p, (void)n;
}
void __tsan_write_range(void *p, unsigned long n)
{
	(void)p, (void)n;
}

#define ATOMICS(bits)                                                                              \
	uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t *p, int order);             \
	uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t *p, int order)              \
	{                                                                                          \
		return (uint##bits##_t)atomic_load(p, bits / 8, order);                            \
	}                                                                                          \
	void __tsan_atomic##bits##_store(uint##bits##_t *p, uint##bits##_t v, int order);          \
	void __tsan_atomic##bits##_store(uint##bits##_t *p, uint##bits##_t v, int order)           \
	{                                                                                          \
		atomic_store(p, bits / 8, v, order);                                               \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_strong(uint##bits##_t *p, uint##bits##_t *old,  \
							  uint##bits##_t v, int order, int fails); \
	int __tsan_atomic##bits##_compare_exchange_strong(uint##bits##_t *p, uint##bits##_t *old,  \
							  uint##bits##_t v, int order, int fails)  \
	{                                                                                          \
		uint##bits##_t found;                                                              \
		int same;                                                                          \
                                                                                                   \
		step(p);                                                                           \
		found = (uint##bits##_t)atomic_latest(p, bits / 8, fails);                         \
		same = found == *old;                                                              \
                                                                                                   \
		if (same) {                                                                        \
			atomic_latest(p, bits / 8, order);                                         \
			atomic_put(p, bits / 8, v, order, 1);                                      \
			weak_exchanged(p, found, v);                                               \
		}                                                                                  \
		*old = found;                                                                      \
		return same;                                                                       \
	}                                                                                          \
	RMW(bits, exchange, (void)found, v)                                                        \
	RMW(bits, fetch_add, (void)0, found + v)                                                   \
	RMW(bits, fetch_sub, (void)0, found - v)                                                   \
	RMW(bits, fetch_or, (void)0, found | v)                                                    \
	RMW(bits, fetch_and, (void)0, found &v)

#define RMW(bits, name, unused, result)                                                  \
	uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *p, uint##bits##_t v, \
						    int order);                          \
	uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *p, uint##bits##_t v, \
						    int order)                           \
	{                                                                                \
		uint##bits##_t found;                                                    \
                                                                                         \
		step(p);                                                                 \
		found = (uint##bits##_t)atomic_latest(p, bits / 8, order);               \
		unused;                                                                  \
		atomic_put(p, bits / 8, (uint##bits##_t)(result), order, 1);             \
		return found;                                                            \
	}

ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	fence(order);
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
