/* SPDX-License-Identifier: MIT */
/* pull.c -- the pages of a target into a recording, until something ends it. */
#include "capture/pull.h"
#include "capture/io.h"
#include "capture/stop.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "wire/pagepack.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDLE_MS	    20 /* between two looks at empty rings, where they cannot be polled */
#define IDLE_MAX_MS 200
#define FILL_MS \
	100 /* on a line, after a turn that found no full page, and twice that where not even a quarter: full ones are packed better */
#define LIVE_MS 50 /* the same where somebody watches: each look may cost a page of the file */
#define PACKED_ROOM \
	65536 /* bytes of packed pages that are asked for: the largest message has fewer */
#define FALSE_ALARMS \
	2 /* polls that say there is a page when there is none, before poll() is not believed */

/* ---- the files ---- */

/* Pages of this machine's tracefs are moved, not copied, and poll() waits until a ring is as full as buffer_percent says. */
static int open_ways(struct pull *p)
{
	struct steer *s = p->steer;

	p->page = malloc(p->c->page_bytes);
	if (!p->page)
		return -ENOMEM;
	if (p->live)
		return 0;
	if (tree_is_local(s->t) && pipe2(p->pipe, O_CLOEXEC | O_NONBLOCK))
		p->pipe[0] = p->pipe[1] = -1;
	if (p->c->nr_cpus && p->raw[0].fd < 0)
		return 0;
	p->polled = calloc(p->c->nr_cpus + 1, sizeof(*p->polled));
	if (!p->polled)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < p->c->nr_cpus; cpu++)
		p->polled[cpu] = (struct pollfd){.fd = p->raw[cpu].fd, .events = POLLIN};
	p->polled[p->c->nr_cpus] = (struct pollfd){.fd = stop_fd(), .events = POLLIN};
	return 0;
}

static const char *pages_file(const struct pull *p, uint32_t cpu, char path[512])
{
	char file[64];

	snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_%s", cpu,
		 p->packer ? "packed" : "raw");
	return steer_path(p->steer, file, path);
}

static void close_files(struct pull *p, uint32_t nr)
{
	while (nr--)
		tree_file_close(&p->raw[nr]);
}

static void pack_no_more(struct pull *p)
{
	free(p->packer);
	free(p->packed);
	p->packer = NULL;
	p->packed = NULL;
}

/* 0, or a negative errno. A target that does not pack its pages gives them as they are. */
static int open_files(struct pull *p)
{
	char path[512];

	for (uint32_t cpu = 0; cpu < p->c->nr_cpus; cpu++) {
		int err = tree_file_open(p->steer->t, pages_file(p, cpu, path), &p->raw[cpu]);

		if (err && p->packer && err != -EINTR) {
			close_files(p, cpu);
			pack_no_more(p);
			return open_files(p);
		}
		if (!err)
			continue;
		if (err != -EINTR || !stop_signal())
			diag_error("%s: %s: %s", p->steer->target, path, strerror(-err));
		close_files(p, cpu);
		return err;
	}
	return 0;
}

int pull_open(struct pull *p)
{
	uint32_t nr = p->c->nr_cpus;

	p->pipe[0] = p->pipe[1] = -1;
	p->raw = calloc(nr ? nr : 1, sizeof(*p->raw));
	if (tree_is_framed(p->steer->t)) {
		p->packer = malloc(sizeof(*p->packer));
		p->packed = malloc(PACKED_ROOM);
		if (!p->packer || !p->packed)
			pack_no_more(p);
	}
	if (p->raw && open_files(p)) {
		pack_no_more(p);
		free(p->raw);
		p->raw = NULL;
	}
	return p->raw && !open_ways(p) ? 0 : -1;
}

void pull_close(struct pull *p)
{
	if (p->raw)
		close_files(p, p->c->nr_cpus);
	pack_no_more(p);
	if (p->pipe[0] >= 0) {
		close(p->pipe[0]);
		close(p->pipe[1]);
	}
	free(p->raw);
	free(p->polled);
	free(p->page);
	p->raw = NULL;
	p->polled = NULL;
	p->page = NULL;
	p->pipe[0] = p->pipe[1] = -1;
}

/* ---- pages ---- */

static bool commit_fits(const struct pull *p, bool big)
{
	uint32_t n = p->c->long_bytes;
	uint64_t commit = n == 8 ? get_u64(p->page + 8, big) : get_u32(p->page + 8, big);

	commit &= ~(uint64_t)(WIRE_COMMIT_MISSED | WIRE_COMMIT_STORED);
	return commit <= p->c->page_bytes - 8 - n;
}

/* Nothing in a control tree says the target's byte order; its first page does. The head is rewritten then. */
static int settle_order(struct pull *p, size_t bytes)
{
	bool other = !p->c->big;

	if (p->r->nr_pages || bytes < 16 || commit_fits(p, p->c->big) || !commit_fits(p, other))
		return 0;
	p->c->big = other;
	return recording_begin(p->r, p->c);
}

static int take_page(struct pull *p, uint32_t cpu, size_t bytes)
{
	int err = settle_order(p, bytes);

	return err ? err : recording_page(p->r, cpu, p->page, bytes);
}

static int take_packed(struct pull *p, uint32_t cpu, const uint8_t *from, size_t bytes)
{
	int err = 0;

	while (bytes && !err) {
		uint32_t used;
		int big;
		int32_t n = fathom_page_unpack(p->packer, from, bytes, p->page, p->c->page_bytes,
					       &used, &big);

		if (n < 0)
			return -EPROTO;
		from += n;
		bytes -= (size_t)n;
		if (used > p->fullest)
			p->fullest = used;
		err = take_page(p, cpu, p->c->page_bytes);
	}
	return err;
}

/* Its messages are too short for packed pages, or its memory is. */
static int pages_as_they_are(struct pull *p)
{
	close_files(p, p->c->nr_cpus);
	pack_no_more(p);
	return open_files(p);
}

/* A page of a target with short messages comes in parts. */
static ssize_t read_raw(struct pull *p, uint32_t cpu)
{
	size_t size = p->c->page_bytes, have = 0;
	ssize_t n;

	do {
		n = tree_file_read(&p->raw[cpu], p->page + have, size - have, 0);
		have += n > 0 ? (size_t)n : 0;
	} while (n > 0 && have < size && !tree_is_local(p->steer->t));
	return have ? (ssize_t)have : n;
}

/* One page by reading, or all that fit into a message, packed. 1: it came, 0: there is none, or a negative errno. */
static int read_page(struct pull *p, uint32_t cpu)
{
	ssize_t n = p->packer ? tree_file_read(&p->raw[cpu], p->packed, PACKED_ROOM, 0)
			      : read_raw(p, cpu);
	int err;

	p->unanswered = n == -EINTR;
	if (n == -EAGAIN || n == -EINTR || n == 0)
		return 0;
	if (p->packer && (n == -EINVAL || n == -ENOMEM))
		return pages_as_they_are(p);
	if (n < 0)
		return (int)n;
	err = p->packer ? take_packed(p, cpu, p->packed, (size_t)n) : take_page(p, cpu, (size_t)n);
	return err ? err : 1;
}

/* Full pages through the pipe. As read_page(). */
static int move_pages(struct pull *p, uint32_t cpu)
{
	ssize_t n = splice(p->raw[cpu].fd, NULL, p->pipe[1], NULL,
			   (size_t)RECORDING_SPLICE_PAGES * p->c->page_bytes,
			   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	int err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno == EINVAL) { /* a kernel that cannot: read from now on */
		close(p->pipe[0]);
		close(p->pipe[1]);
		p->pipe[0] = p->pipe[1] = -1;
		return 0;
	}
	if (n <= 0)
		return n < 0 ? -errno : 0;
	err = recording_splice(p->r, cpu, p->pipe[0], (size_t)n);
	return err ? err : 1;
}

/* The ring was read: those who watch may read the file so far. */
static void tell_live(struct pull *p, uint32_t cpu, bool came)
{
	struct record_live *l = p->live;

	if (!l || !p->r->nr_pages)
		return;
	if (!came)
		__atomic_store_n(&l->empty[cpu], p->r->at, __ATOMIC_RELAXED);
	else /* pairs with the acquire in live_look() */
		__atomic_store_n(&l->whole, p->r->at, __ATOMIC_RELEASE);
}

/* A turn over all CPUs. Did any have something? */
static int pull_all(struct pull *p, bool rest)
{
	int came = 0;

	p->fullest = 0;
	for (uint32_t cpu = 0; cpu < p->c->nr_cpus; cpu++) {
		int n = p->pipe[0] >= 0 && !rest ? move_pages(p, cpu) : read_page(p, cpu);

		if (n < 0)
			return n;
		came |= n;
		if (p->unanswered)
			break;
		tell_live(p, cpu, n);
	}
	return came;
}

int pull_rest(struct pull *p)
{
	int came;

	do
		came = pull_all(p, true);
	while (came > 0 && !stop_at_once() && io_now_ms() < p->rest_ms);
	return came;
}

/* ---- waiting ---- */

static bool is_over(struct pull *p)
{
	if (p->child && !p->child_ended && stop_child())
		p->child_ended = waitpid(p->child, &p->status, WNOHANG) == p->child;
	return p->child_ended || stop_signal() || io_now_ms() >= p->end_ms;
}

static int left_ms(const struct pull *p, int most)
{
	int64_t left = p->end_ms == INT64_MAX ? INT32_MAX : p->end_ms - io_now_ms();

	if (most >= 0 && left > most)
		left = most;
	return left == INT32_MAX ? -1 : left < 0 ? 0 : (int)left;
}

/*
 * Nothing came: sleep until a ring has enough, or something ends the recording. A kernel whose poll() does not heed
 * buffer_percent says at once that there is something though no page is full; then the recorder just sleeps, longer each
 * time, until pages come.
 */
static void wait_for_pages(struct pull *p)
{
	struct pollfd stop = {.fd = stop_fd(), .events = POLLIN};

	if (p->packer && !p->live) {
		bool few = p->fullest && p->fullest < p->c->page_bytes / 4;

		poll(&stop, 1, left_ms(p, few ? 2 * FILL_MS : FILL_MS));
	} else if (p->polled && p->empty < FALSE_ALARMS) {
		if (poll(p->polled, p->c->nr_cpus + 1, left_ms(p, -1)) > 0)
			p->empty++;
	} else {
		int ms = p->live     ? LIVE_MS
			 : p->polled ? IDLE_MS << (p->empty - FALSE_ALARMS)
				     : IDLE_MS;

		poll(&stop, 1, left_ms(p, ms));
		if (ms < IDLE_MAX_MS)
			p->empty++;
	}
}

static void say_end(struct pull *p)
{
	char *to = p->c->ended;
	size_t n = sizeof(p->c->ended);

	if (stop_signal())
		snprintf(to, n, "interrupted by SIG%s", sigabbrev_np(stop_signal()));
	else if (!p->child_ended)
		snprintf(to, n, "the time was up");
	else if (WIFSIGNALED(p->status))
		snprintf(to, n, "the command was ended by SIG%s",
			 sigabbrev_np(WTERMSIG(p->status)));
	else
		snprintf(to, n, "the command ended with status %d", WEXITSTATUS(p->status));
}

int pull_run(struct pull *p)
{
	int came = 0;

	while (!is_over(p)) {
		came = pull_all(p, false);
		if (came < 0)
			return came;
		if (came)
			p->empty = 0;
		if (!came || (p->packer && p->fullest <= p->c->page_bytes / 4 * 3 && !p->live))
			wait_for_pages(p);
		stop_take();
	}
	say_end(p);
	return 0;
}
