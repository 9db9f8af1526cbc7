/* SPDX-License-Identifier: MIT */
/* build.c -- make the sparse index: segments walked in parallel, joined in order. */
#include "decode/sel4/index.h"
#include "base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The stream is cut into segments at places that are surely the beginning of an event: none of the seven words before
 * is a marker, so no event reaches across (the longest has eight words). Threads take segments from a counter. Within a
 * segment numbers and state are relative; joining adds what the segments before it left behind.
 *
 *  B1  A segment begins at word 0, at a gap, or at a sure boundary.
 *  B2  Joining in order gives what one walk from the start gives, byte for byte. Time depends on everything before it,
 *      so a stream with timestamps is walked as one segment.
 */
#define SEGMENT_WORDS (4u << 20)
#define THREADS_MAX   8u

struct id_list {
	uint8_t *data;
	size_t nr, room;
};

struct segment {
	uint64_t first, end; /* words */
	bool gap;	     /* words are missing before it */
	uint64_t nr_events;
	uint64_t count[WIRE_SEL4_NR_TYPES];
	struct id_list lists[WIRE_SEL4_NR_TYPES];
	struct sel4_checkpoint *checkpoints;
	size_t nr_checkpoints;
	struct sel4_state state; /* at the end, relative */
	uint64_t first_vmid;
	int error;
};

struct sel4_build {
	const struct sel4_input *in;
	sel4_scan_fn scan;
	struct segment *segments;
	size_t nr_segments;
	uint64_t list_max;
	bool count_only;
	atomic_size_t next;
	/* by all threads: a type past list_max is not rare */
	atomic_ullong listed[WIRE_SEL4_NR_TYPES];
};

struct sel4_worker {
	struct sel4_build *build;
	struct segment *segment;
	uint16_t *buf; /* SEL4_AHEAD words carried over, then a block */
	uint32_t *at;
};

uint64_t sel4_input_limit(const struct sel4_input *in, uint64_t word)
{
	for (size_t i = 0; i < in->nr_gaps; i++)
		if (in->gaps[i] > word)
			return in->gaps[i];
	return in->nr_words;
}

bool sel4_input_is_gap(const struct sel4_input *in, uint64_t word)
{
	for (size_t i = 0; i < in->nr_gaps && in->gaps[i] <= word; i++)
		if (in->gaps[i] == word)
			return true;
	return false;
}

size_t sel4_input_ahead(const struct sel4_input *in, uint64_t first, uint64_t end)
{
	uint64_t limit = sel4_input_limit(in, first);

	return limit > end ? (size_t)(limit - end) : 0;
}

static int read_words(const struct sel4_input *in, uint64_t at, size_t n, uint16_t *to)
{
	size_t done = 0;

	if (in->words) {
		memcpy(to, in->words + at, n * 2);
		return 0;
	}
	while (done < n * 2) {
		ssize_t r = pread(in->fd, (char *)to + done, n * 2 - done, (off_t)(at * 2 + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -EIO;
		done += (size_t)r;
	}
	return 0;
}

static void *list_add(struct id_list *l, uint32_t bytes)
{
	if (!vec_room(&l->data, l->nr, &l->room, bytes))
		return NULL;
	return l->data + l->nr++ * bytes;
}

static void found(void *arg, const struct sel4_special *s)
{
	struct sel4_worker *w = arg;
	struct sel4_build *b = w->build;
	struct segment *g = w->segment;
	uint32_t operands = wire_sel4_words(s->type) - 1;
	struct sel4_posting *p;

	if (s->type == WIRE_SEL4_VMID && g->first_vmid == SEL4_NO_EVENT)
		g->first_vmid = s->event;
	if (b->count_only || (s->type != WIRE_SEL4_THREAD &&
			      atomic_fetch_add_explicit(&b->listed[s->type], 1,
							memory_order_relaxed) >= b->list_max))
		return;
	p = list_add(&g->lists[s->type], sel4_posting_bytes(s->type));
	if (!p) {
		g->error = -ENOMEM;
		return;
	}
	memset(p, 0, sel4_posting_bytes(s->type));
	p->event = s->event;
	p->word = s->word & 0xffffffffffffull;
	p->vmid = s->vmid;
	memcpy(p->operand, s->w + 1, operands * 2);
}

static void checkpoint(struct segment *g, const struct sel4_bulk *k)
{
	const struct sel4_state *st = &k->state;

	g->checkpoints[g->nr_checkpoints++] = (struct sel4_checkpoint){
		.word = k->word,
		.event = st->event,
		.time = st->time,
		.time_raw = st->time_raw,
		.entry_time = st->entry_time,
		.tcb = st->tcb,
		.depth = (int32_t)st->depth,
		.vmid = (int16_t)st->vmid,
		.wraps = st->wraps,
		.flags = (uint16_t)((st->time_known ? SEL4_AT_TIME : 0) |
				    (st->entry_known ? SEL4_AT_ENTRY : 0) |
				    (st->depth_known ? SEL4_AT_DEPTH : 0)),
	};
}

/* After a gap the first words may be operands of an event whose marker is lost: one CUT event. */
static size_t skip_gap(struct sel4_worker *w, struct sel4_bulk *k, const uint16_t *buf, size_t n)
{
	struct sel4_special s = {.w = buf, .type = WIRE_SEL4_CUT, .vmid = k->state.vmid};

	s.nr_words = sel4_resync(buf, n, k->dict);
	if (!s.nr_words)
		return 0;
	s.event = k->state.event++;
	s.word = k->word;
	k->count[WIRE_SEL4_CUT]++;
	k->word += s.nr_words;
	found(w, &s);
	return s.nr_words;
}

static int walk_segment(struct sel4_worker *w, struct segment *g)
{
	const struct sel4_input *in = w->build->in;
	struct sel4_bulk k = {.scan = w->build->scan,
			      .dict = in->dict,
			      .found = found,
			      .arg = w,
			      .at = w->at,
			      .word = g->first};
	uint64_t read_to = g->first; /* words before it are in the buffer or accounted for */
	size_t carried = 0;
	int err = 0;

	w->segment = g;
	sel4_state_init(&k.state);
	g->first_vmid = SEL4_NO_EVENT;
	while (!err && (read_to < g->end || carried)) {
		size_t n = g->end - read_to < SEL4_BLOCK_WORDS ? (size_t)(g->end - read_to)
							       : SEL4_BLOCK_WORDS;
		size_t used = 0;

		err = read_words(in, read_to, n, w->buf + carried);
		if (err)
			break;
		read_to += n;
		n += carried;
		if (!w->build->count_only)
			checkpoint(g, &k);
		if (g->gap && k.word == g->first)
			used = skip_gap(w, &k, w->buf, n);
		used += sel4_bulk_block(&k, w->buf + used, n - used, read_to == g->end);
		carried = n - used;
		memmove(w->buf, w->buf + used, carried * 2);
		err = g->error;
	}
	g->nr_events = k.state.event;
	g->state = k.state;
	memcpy(g->count, k.count, sizeof(g->count));
	return err;
}

static void *work(void *arg)
{
	struct sel4_build *b = arg;
	struct sel4_worker w = {.build = b};

	w.buf = malloc(sel4_block_room(b->in->nr_words) * sizeof(*w.buf));
	w.at = malloc(sel4_block_room(b->in->nr_words) * sizeof(*w.at));
	for (;;) {
		size_t i = atomic_fetch_add(&b->next, 1);

		if (i >= b->nr_segments)
			break;
		if (!w.buf || !w.at)
			b->segments[i].error = -ENOMEM;
		else
			b->segments[i].error = walk_segment(&w, &b->segments[i]);
	}
	free(w.buf);
	free(w.at);
	return NULL;
}

static int add_segment(struct sel4_build *b, uint64_t first, uint64_t end, bool gap)
{
	struct segment *g = &b->segments[b->nr_segments++];
	size_t room = (size_t)((end - first) / SEL4_BLOCK_WORDS) + 2;

	*g = (struct segment){.first = first, .end = end, .gap = gap};
	if (b->count_only)
		return 0;
	g->checkpoints = malloc(room * sizeof(*g->checkpoints));
	return g->checkpoints ? 0 : -ENOMEM;
}

/* The end of a segment that begins at `first`: a sure boundary near SEGMENT_WORDS, or the end of the run. */
static uint64_t segment_end(const struct sel4_input *in, uint64_t first, uint64_t end,
			    uint64_t words)
{
	uint16_t near[8192];
	size_t n, at;

	if (end - first < words + words / 2)
		return end;
	n = end - first - words < 8192 ? (size_t)(end - first - words) : 8192;
	if (read_words(in, first + words, n, near))
		return end;
	at = sel4_boundary(near, n, 0);
	return at < n ? first + words + at : end;
}

static int cut_segments(struct sel4_build *b, bool whole)
{
	const struct sel4_input *in = b->in;
	uint64_t words = in->segment_words ? in->segment_words : SEGMENT_WORDS, at = 0;
	size_t room;
	int err = 0;

	if (whole)
		words = in->nr_words + 1;
	room = (size_t)(in->nr_words / words) + 2 + in->nr_gaps;
	b->segments = calloc(room, sizeof(*b->segments));
	if (!b->segments)
		return -ENOMEM;
	while (at < in->nr_words && !err) {
		uint64_t run = sel4_input_limit(in, at);
		uint64_t end = segment_end(in, at, run, words);

		err = add_segment(b, at, end, sel4_input_is_gap(in, at));
		at = end;
	}
	return err;
}

static void free_segments(struct sel4_build *b)
{
	for (size_t i = 0; i < b->nr_segments; i++) {
		free(b->segments[i].checkpoints);
		for (int t = 0; t < WIRE_SEL4_NR_TYPES; t++)
			free(b->segments[i].lists[t].data);
	}
	free(b->segments);
	b->segments = NULL;
	b->nr_segments = 0;
}

static unsigned thread_count(const struct sel4_build *b)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = b->in->nr_threads ? b->in->nr_threads : cpus > 0 ? (unsigned)cpus : 1u;

	if (n > THREADS_MAX)
		n = THREADS_MAX;
	return n < b->nr_segments ? n : (unsigned)b->nr_segments;
}

static int run(struct sel4_build *b, bool whole)
{
	pthread_t threads[THREADS_MAX];
	unsigned n, started = 0;
	int err;

	atomic_store(&b->next, 0);
	for (int t = 0; t < WIRE_SEL4_NR_TYPES; t++)
		atomic_store(&b->listed[t], 0);
	err = cut_segments(b, whole);
	if (err)
		return err;
	n = thread_count(b);
	while (started + 1 < n && !pthread_create(&threads[started], NULL, work, b))
		started++;
	work(b);
	while (started)
		pthread_join(threads[--started], NULL);
	for (size_t i = 0; i < b->nr_segments && !err; i++)
		err = b->segments[i].error;
	return err;
}

/* What a segment's checkpoint did not know is what the segments before it left. */
static void join_checkpoint(struct sel4_checkpoint *c, const struct sel4_state *before)
{
	c->event += before->event;
	if (c->vmid < 0)
		c->vmid = (int16_t)before->vmid;
	if (c->tcb == SEL4_NO_TCB)
		c->tcb = before->tcb;
	if (!(c->flags & SEL4_AT_DEPTH)) {
		c->depth += (int32_t)before->depth;
		c->flags |= before->depth_known ? SEL4_AT_DEPTH : 0;
	}
	if (!(c->flags & SEL4_AT_TIME)) {
		c->time = before->time;
		c->time_raw = before->time_raw;
		c->wraps = before->wraps;
		c->entry_time = before->entry_time;
		c->flags |= (before->time_known ? SEL4_AT_TIME : 0) |
			    (before->entry_known ? SEL4_AT_ENTRY : 0);
	}
}

static void join_state(struct sel4_state *before, const struct sel4_state *seg)
{
	before->event += seg->event;
	before->depth = seg->depth_known ? seg->depth : before->depth + seg->depth;
	before->depth_known |= seg->depth_known;
	if (seg->vmid >= 0)
		before->vmid = seg->vmid;
	if (seg->tcb != SEL4_NO_TCB)
		before->tcb = seg->tcb;
	if (seg->time_known) {
		before->time = seg->time;
		before->time_raw = seg->time_raw;
		before->wraps = seg->wraps;
		before->entry_time = seg->entry_time;
		before->entry_known = seg->entry_known;
		before->time_known = true;
	}
}

static void join_segment(struct segment *g, struct sel4_state *before)
{
	for (size_t i = 0; i < g->nr_checkpoints; i++)
		join_checkpoint(&g->checkpoints[i], before);
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		for (size_t i = 0; i < g->lists[t].nr; i++) {
			struct sel4_posting *p =
				(void *)(g->lists[t].data + i * sel4_posting_bytes(t));

			p->event += before->event;
			if (p->vmid < 0)
				p->vmid = before->vmid;
		}
	}
	if (g->first_vmid != SEL4_NO_EVENT)
		g->first_vmid += before->event;
	join_state(before, &g->state);
}

static int join(struct sel4_build *b, struct sel4_index_head *h)
{
	struct sel4_state before;

	sel4_state_init(&before);
	h->first_vmid_event = SEL4_NO_EVENT;
	for (size_t i = 0; i < b->nr_segments; i++) {
		struct segment *g = &b->segments[i];

		join_segment(g, &before);
		if (h->first_vmid_event == SEL4_NO_EVENT)
			h->first_vmid_event = g->first_vmid;
		for (int t = 0; t < WIRE_SEL4_NR_TYPES; t++)
			h->count[t] += g->count[t];
		h->checkpoints.nr += g->nr_checkpoints;
	}
	h->nr_events = before.event;
	h->nr_words = b->in->nr_words;
	h->file_bytes = b->in->file_bytes;
	h->file_time_ns = b->in->file_time_ns;
	return 0;
}

/* Distinct TCBs in the order of appearance, at most `room`. Open addressing; a trace has few threads. */
static size_t collect_threads(struct sel4_build *b, uint64_t *out, size_t room)
{
	size_t slots = 16, nr = 0;
	uint64_t *seen;

	while (slots < room * 2)
		slots *= 2;
	seen = calloc(slots, sizeof(*seen));
	for (size_t i = 0; seen && i < b->nr_segments; i++) {
		struct id_list *l = &b->segments[i].lists[WIRE_SEL4_THREAD];

		for (size_t k = 0; k < l->nr && nr < room; k++) {
			struct sel4_posting *p =
				(void *)(l->data + k * sel4_posting_bytes(WIRE_SEL4_THREAD));
			uint64_t tcb = wire_sel4_get48(p->operand) + 1; /* 0 is "empty" */
			size_t at = (tcb >> 4) * 0x9e3779b97f4a7c15ull >> 40 & (slots - 1);

			while (seen[at] && seen[at] != tcb)
				at = (at + 1) & (slots - 1);
			if (!seen[at]) {
				seen[at] = tcb;
				out[nr++] = tcb - 1;
			}
		}
	}
	free(seen);
	return nr;
}

static void copy_parts(struct sel4_build *b, uint8_t *image, const struct sel4_index_head *h)
{
	uint64_t at = h->checkpoints.offset;

	for (size_t i = 0; i < b->nr_segments; i++) {
		struct segment *g = &b->segments[i];
		size_t bytes = g->nr_checkpoints * sizeof(*g->checkpoints);

		memcpy(image + at, g->checkpoints, bytes);
		at += bytes;
	}
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		at = h->list[t].offset;
		for (size_t i = 0; at && i < b->nr_segments; i++) {
			struct id_list *l = &b->segments[i].lists[t];

			if (!l->nr)
				continue;
			memcpy(image + at, l->data, l->nr * sel4_posting_bytes(t));
			at += l->nr * sel4_posting_bytes(t);
		}
	}
}

static int assemble(struct sel4_build *b, struct sel4_index_head *h, struct sel4_index **out)
{
	uint64_t switches = h->count[WIRE_SEL4_THREAD], at = sizeof(*h);
	size_t room = switches < SEL4_THREADS_MAX ? (size_t)switches : SEL4_THREADS_MAX;
	uint64_t *threads = malloc((room + 1) * sizeof(*threads));
	uint8_t *image;

	if (!threads)
		return -ENOMEM;
	h->checkpoints.offset = at;
	at += h->checkpoints.nr * sizeof(struct sel4_checkpoint);
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		if (t <= WIRE_SEL4_FUNC_EXIT ||
		    (t != WIRE_SEL4_THREAD && h->count[t] > b->list_max))
			continue;
		h->list[t] = (struct sel4_part){.offset = at, .nr = h->count[t]};
		at += h->count[t] * sel4_posting_bytes(t);
	}
	h->threads.offset = at;
	if (h->list[WIRE_SEL4_THREAD].offset)
		h->threads.nr = collect_threads(b, threads, room);
	at += h->threads.nr * sizeof(*threads);
	h->index_bytes = at;
	image = malloc(at);
	if (!image) {
		free(threads);
		return -ENOMEM;
	}
	copy_parts(b, image, h);
	memcpy(image + h->threads.offset, threads, h->threads.nr * sizeof(*threads));
	free(threads);
	memcpy(h->magic, SEL4_INDEX_MAGIC, 8);
	h->version = SEL4_INDEX_VERSION;
	h->head_bytes = sizeof(*h);
	h->crc = sel4_index_crc(h);
	memcpy(image, h, sizeof(*h));
	*out = sel4_index_adopt(image, at, false);
	return *out ? 0 : -EBADMSG;
}

static uint64_t list_limit(const struct sel4_input *in)
{
	uint64_t share = in->nr_words / SEL4_LIST_SHARE;

	return share > SEL4_LIST_MIN ? share : SEL4_LIST_MIN;
}

int sel4_index_build(const struct sel4_input *in, struct sel4_index **out)
{
	struct sel4_build b = {.in = in, .scan = sel4_scan_best(), .list_max = list_limit(in)};
	struct sel4_index_head head = {.version = SEL4_INDEX_VERSION};
	bool stamped = false;
	int err = run(&b, false);

	for (size_t i = 0; i < b.nr_segments && !err; i++)
		stamped |= b.segments[i].count[WIRE_SEL4_TIMESTAMP] != 0;
	if (!err && stamped && b.nr_segments > in->nr_gaps + 1) { /* B2 */
		free_segments(&b);
		err = run(&b, true);
	}
	if (!err)
		err = join(&b, &head);
	if (!err)
		err = assemble(&b, &head, out);
	free_segments(&b);
	return err;
}

int sel4_count(const struct sel4_input *in, uint64_t count[WIRE_SEL4_NR_TYPES])
{
	struct sel4_build b = {.in = in, .scan = sel4_scan_best(), .count_only = true};
	int err = run(&b, false);

	memset(count, 0, WIRE_SEL4_NR_TYPES * sizeof(*count));
	for (size_t i = 0; i < b.nr_segments; i++)
		for (int t = 0; t < WIRE_SEL4_NR_TYPES; t++)
			count[t] += b.segments[i].count[t];
	free_segments(&b);
	return err;
}
