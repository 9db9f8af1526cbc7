/* SPDX-License-Identifier: MIT */
/* tracecmd.c -- report as trace-cmd does: one reader, several writers, texts in order. */
#include "view/lines.h"
#include "base/diag.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 8
#define BATCHES	    (2 * THREADS_MAX)

/*
 * Batches go round: free → filled by the reader → waiting → being written by some thread → done → sent in order → free.
 * All lists are under the lock; the reader helps writing when nothing is free.
 */
struct crew {
	struct source *source;
	const struct report_options *o;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *free, *waiting, **waiting_end;
	struct batch *done; /* any order */
	uint64_t next;	    /* number of the batch to be sent next */
	bool sending;	    /* a thread is inside write() */
	bool finished;	    /* nothing more will wait */
	int error;	    /* of write(), negative */
	struct batch *all[BATCHES];
};

static int write_all(int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t k = write(fd, s, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		s += k;
		n -= (size_t)k;
	}
	return 0;
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
			rc = write_all(c->o->fd, b->text.base, out_len(&b->text));
		pthread_mutex_lock(&c->lock);
		c->sending = false;
		if (rc)
			c->error = rc;
		c->next++;
		b->next = c->free;
		c->free = b;
		pthread_cond_broadcast(&c->changed);
	}
}

/* Make the text of the oldest waiting batch. Called and left with the lock held. */
static bool write_one(struct crew *c, struct writer *w)
{
	struct batch *b = c->waiting;

	if (!b)
		return false;
	c->waiting = b->next;
	if (!c->waiting)
		c->waiting_end = &c->waiting;
	pthread_mutex_unlock(&c->lock);
	writer_run(w, b);
	pthread_mutex_lock(&c->lock);
	b->next = c->done;
	c->done = b;
	send_ready(c);
	return true;
}

static void *writer_thread(void *arg)
{
	struct crew *c = arg;
	struct writer *w = malloc(sizeof(*w));

	if (!w || !writer_init(w, c->source, c->o)) {
		free(w);
		return NULL; /* the reader writes everything itself */
	}
	pthread_mutex_lock(&c->lock);
	while (!c->finished || c->waiting)
		if (!write_one(c, w))
			pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	writer_free(w);
	free(w);
	return NULL;
}

/* A batch to fill; writes waiting ones itself until there is one. */
static struct batch *take_free(struct crew *c, struct writer *w)
{
	struct batch *b;

	pthread_mutex_lock(&c->lock);
	while (!c->free && !c->error)
		if (!write_one(c, w))
			pthread_cond_wait(&c->changed, &c->lock);
	b = c->error ? NULL : c->free;
	if (b)
		c->free = b->next;
	pthread_mutex_unlock(&c->lock);
	return b;
}

static void read_all(struct crew *c, struct reader *r, struct writer *w)
{
	uint64_t number = 0;
	struct batch *b;

	while ((b = take_free(c, w))) {
		bool more = reader_fill(r, b);

		pthread_mutex_lock(&c->lock);
		if (more) {
			b->number = number++;
			b->next = NULL;
			*c->waiting_end = b;
			c->waiting_end = &b->next;
		} else {
			b->next = c->free;
			c->free = b;
		}
		pthread_cond_broadcast(&c->changed);
		pthread_mutex_unlock(&c->lock);
		if (!more)
			break;
	}
	pthread_mutex_lock(&c->lock);
	c->finished = true;
	pthread_cond_broadcast(&c->changed);
	while (write_one(c, w))
		;
	pthread_mutex_unlock(&c->lock);
}

static bool make_batches(struct crew *c, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		c->all[i] = calloc(1, sizeof(*c->all[i]));
		if (!c->all[i])
			return false;
		c->all[i]->next = c->free;
		c->free = c->all[i];
	}
	return true;
}

static int run(struct crew *c, struct reader *r, struct writer *w, unsigned threads)
{
	pthread_t ids[THREADS_MAX];
	unsigned nr = 0;

	while (nr + 1 < threads && !pthread_create(&ids[nr], NULL, writer_thread, c))
		nr++;
	read_all(c, r, w);
	while (nr)
		pthread_join(ids[--nr], NULL);
	pthread_mutex_lock(&c->lock);
	send_ready(c);
	pthread_mutex_unlock(&c->lock);
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

	return write_all(o->fd, line, (size_t)n);
}

int report_trace_cmd(struct source *s, const struct report_options *o)
{
	struct crew c = {.source = s, .o = o, .waiting_end = &c.waiting};
	unsigned threads = thread_count(o);
	struct writer *w = malloc(sizeof(*w));
	struct reader *r;
	struct symbol sym;
	int rc;

	/* Tables are sorted on the first lookup: before there are threads. */
	source_want_names(s);
	symbols_find(s->symbols, 0, ALIAS_TRACE_CMD, &sym);
	symbols_find(s->symbols, 0, ALIAS_FIRST, &sym);
	r = reader_new(s, o);
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.changed, NULL);
	if (!w || !r || !writer_init(w, s, o) || !make_batches(&c, 2 * threads)) {
		diag_error("out of memory");
		rc = -ENOMEM;
	} else {
		rc = print_head(s, o);
		if (!rc)
			rc = run(&c, r, w, threads);
		writer_free(w);
	}
	for (unsigned i = 0; i < BATCHES && c.all[i]; i++) {
		out_free(&c.all[i]->text);
		free(c.all[i]->data);
		free(c.all[i]);
	}
	free(w);
	reader_free(r);
	if (rc && rc != -EPIPE && rc != -ENOMEM)
		diag_error("cannot write: %s", strerror(-rc));
	return rc;
}
