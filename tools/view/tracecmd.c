/* SPDX-License-Identifier: MIT */
/* tracecmd.c -- report as trace-cmd does: one reader, several writers, texts in order. */
#include "view/lines.h"
#include "base/diag.h"
#include "base/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 8
#define BATCHES	    2	   /* of each thread: one to fill, one that waits to be sent */
#define SPINS	    10000u /* some 200 us, which is a turn */
#define HELPS \
	64u /* looks at the turn between two at what can be helped with: there may be many streams */

/*
 * Every thread does the same: take one of its batches, fill it when it is its turn to read, make the text, send it if it is
 * the next, and unpack some of what it will read next. So a batch stays in the cache of one CPU, no matter which thread sends it, and there
 * is nothing to hand over but the turn. A text that is ready before its turn waits in `done`; who sends takes those after
 * it along.
 */
struct hand {
	struct crew *crew;
	unsigned number;
};

struct crew {
	struct source *source;
	const struct report_options *o;
	struct line_reader *reader; /* from here to `ended` under `turn` */
	uint64_t filled;
	bool ended;
	pthread_mutex_t turn;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t freed;
	struct batch *free[THREADS_MAX];
	struct batch *done; /* any order */
	uint64_t next;	    /* number of the batch to be sent next */
	bool sending;	    /* a thread is inside write() */
	int error;	    /* of write(), negative */
	struct batch *all[THREADS_MAX * BATCHES];
	struct hand hands[THREADS_MAX];
};

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

static struct batch *take_done(struct crew *c)
{
	for (struct batch **p = &c->done; *p; p = &(*p)->next)
		if ((*p)->number == c->next) {
			struct batch *b = *p;

			*p = b->next;
			return b;
		}
	return NULL;
}

/* Send what is next in order, if no one else is at it. Called and left with the lock held. */
static void send_ready(struct crew *c)
{
	struct batch *b;

	while (!c->sending && (b = take_done(c))) {
		int rc = 0;

		c->sending = true;
		pthread_mutex_unlock(&c->lock);
		if (b->text.failed)
			rc = -ENOMEM;
		else if (!c->error)
			rc = terminal_write(c->o->fd, b->text.base, out_len(&b->text));
		pthread_mutex_lock(&c->lock);
		c->sending = false;
		if (rc)
			c->error = rc;
		c->next++;
		b->next = c->free[b->owner];
		c->free[b->owner] = b;
		pthread_cond_broadcast(&c->freed); /* an error is for all */
	}
}

static struct batch *take_free(struct crew *c, unsigned owner)
{
	struct batch *b;

	pthread_mutex_lock(&c->lock);
	while (!c->free[owner] && !c->error)
		pthread_cond_wait(&c->freed, &c->lock);
	b = c->error ? NULL : c->free[owner];
	if (b)
		c->free[owner] = b->next;
	pthread_mutex_unlock(&c->lock);
	return b;
}

/* A turn is short, and to sleep and be woken takes longer: the one that waits for it helps, then looks again for a while. */
static void take_turn(struct crew *c)
{
	for (unsigned looks = 0; pthread_mutex_trylock(&c->turn);) {
		if (looks % HELPS == 0 && reader_help(c->reader))
			continue;
		if (++looks == SPINS) {
			pthread_mutex_lock(&c->turn);
			return;
		}
		cpu_relax();
	}
}

/* Fill the batch when it is this thread's turn. False: nothing is left. */
static bool fill(struct crew *c, struct batch *b)
{
	bool more;

	take_turn(c);
	more = !c->ended && reader_fill(c->reader, b);
	c->ended = !more;
	b->number = c->filled;
	c->filled += more;
	if (c->o->progress && c->filled % 64 == 0) {
		uint64_t done, total;

		reader_place(c->reader, &done, &total);
		c->o->progress(c->o->progress_arg, "printing", done, total);
	}
	pthread_mutex_unlock(&c->turn);
	return more;
}

static void finish(struct crew *c, struct batch *b)
{
	pthread_mutex_lock(&c->lock);
	b->next = c->done;
	c->done = b;
	send_ready(c);
	pthread_mutex_unlock(&c->lock);
}

static void work(const struct hand *h, struct line_writer *w)
{
	struct crew *c = h->crew;
	struct batch *b;

	while ((b = take_free(c, h->number)) && fill(c, b)) {
		writer_run(w, b);
		finish(c, b);
		while (reader_prepare(c->reader))
			;
	}
}

static void *work_thread(void *arg)
{
	const struct hand *h = arg;
	struct line_writer *w = malloc(sizeof(*w));

	if (w && writer_init(w, h->crew->source, h->crew->o)) {
		work(h, w);
		writer_free(w);
	}
	free(w); /* without memory for one more writer the others do all */
	return NULL;
}

static bool make_hands(struct crew *c, unsigned threads)
{
	for (unsigned i = 0; i < threads * BATCHES; i++) {
		struct batch *b = c->all[i] = calloc(1, sizeof(*b));

		if (!b || !(b->items = malloc(BATCH_ITEMS * sizeof(*b->items))) ||
		    !out_room(&b->text, BATCH_TEXT))
			return false;
		b->owner = i % threads;
		b->next = c->free[b->owner];
		c->free[b->owner] = b;
		c->hands[b->owner] = (struct hand){c, b->owner};
	}
	return true;
}

/* Tables are sorted on the first lookup: before anyone needs them. The others wait for the turn meanwhile, and help. */
static void load_names(struct source *s)
{
	struct symbol sym;

	source_want_names(s);
	symbols_find(s->symbols, 0, ALIAS_TRACE_CMD, &sym);
	symbols_find(s->symbols, 0, ALIAS_FIRST, &sym);
}

static int run(struct crew *c, struct line_writer *w, unsigned threads)
{
	pthread_t ids[THREADS_MAX];
	unsigned nr = 0;

	if (threads > 1)
		reader_share(c->reader, threads);
	pthread_mutex_lock(&c->turn);
	while (nr + 1 < threads && !pthread_create(&ids[nr], NULL, work_thread, &c->hands[nr + 1]))
		nr++;
	load_names(c->source);
	pthread_mutex_unlock(&c->turn);
	work(&c->hands[0], w);
	while (nr)
		pthread_join(ids[--nr], NULL);
	return c->error;
}

static unsigned thread_count(const struct report_options *o)
{
	long n = o->threads ? (long)o->threads : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

static int print_head(struct source *s, const struct report_options *o)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "cpus=%u\n", s->info.nr_cpus);

	return terminal_write(o->fd, line, (size_t)n);
}

int report_texts(const struct source *s, int fd)
{
	int rc = 0;

	for (size_t i = 0; i < s->nr_buffers && !rc; i++)
		if (s->buffers[i].text)
			rc = terminal_write(fd, s->buffers[i].text, s->buffers[i].text_bytes);
	return rc;
}

int report_trace_cmd(struct source *s, const struct report_options *o)
{
	struct crew c = {.source = s, .o = o};
	unsigned threads = thread_count(o);
	struct line_writer *w = malloc(sizeof(*w));
	int rc;

	c.reader = reader_new(s, o, false);
	pthread_mutex_init(&c.turn, NULL);
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.freed, NULL);
	if (!w || !c.reader || !writer_init(w, s, o) || !make_hands(&c, threads)) {
		diag_error("out of memory");
		rc = -ENOMEM;
	} else {
		rc = print_head(s, o);
		if (!rc && source_is_text(s)) {
			rc = report_texts(s, o->fd);
			rc = rc ? rc : terminal_write(o->fd, "\n", 1);
		}
		if (!rc)
			rc = run(&c, w, threads);
		writer_free(w);
	}
	for (unsigned i = 0; i < THREADS_MAX * BATCHES && c.all[i]; i++) {
		out_free(&c.all[i]->text);
		free(c.all[i]->items);
		free(c.all[i]->data);
		free(c.all[i]);
	}
	free(w);
	reader_free(c.reader);
	if (rc && rc != -EPIPE && rc != -ENOMEM)
		diag_error("cannot write: %s", strerror(-rc));
	return rc;
}
