/* SPDX-License-Identifier: MIT */
/* link.c -- the host's end of the trace line: ask, wait, ask again; and taking a whole capture over it. */
#include "capture/link.h"
#include "base/diag.h"
#include "capture/io.h"
#include "capture/stop.h"
#include "wire/ringpage.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES	   15	/* switching all events of 8 CPUs on a busy host takes seconds */
#define TIMEOUT_MS 2000 /* of silence; a page takes 10 ms on QEMU's line, 400 ms at 115200 baud */

/*
 * Bytes from the line, at most until *end. While they come that is put off, up to `most`: to ask again for what is on its way
 * would only make a slow line slower. The other fd is served meanwhile. 1: frame; 0: time is up.
 */
static int wait_frame(struct link *l, int64_t *end, int64_t most, struct wire_frame *out)
{
	for (;;) {
		while (l->at < l->have || l->in.done) {
			size_t used;
			int got = fathom_frame_receive(&l->in, l->buf + l->at, l->have - l->at,
						       &used, out);

			l->at += used;
			if (got)
				return 1;
		}
		if (stop_at_once() || (stop_signal() && !l->hurry))
			return -EINTR;
		int64_t now = io_now_ms(), left = *end - now;
		struct pollfd pfd[2] = {{.fd = l->fd, .events = POLLIN},
					{.fd = l->other_fd, .events = POLLIN}};

		/* Even then it is looked at: we may have been stopped ourselves. */
		if (poll(pfd, l->other ? 2 : 1, left > 0 ? (int)left : 0) < 0 && errno != EINTR)
			return -errno;
		if (l->other && pfd[1].revents)
			l->other(l->other_arg);
		if (!pfd[0].revents && left <= 0)
			return 0;
		if (!pfd[0].revents)
			continue;
		ssize_t n = read(l->fd, l->buf, sizeof(l->buf));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -EPIPE;
		l->at = 0;
		l->have = (size_t)n;
		if (now + TIMEOUT_MS > *end)
			*end = now + TIMEOUT_MS < most ? now + TIMEOUT_MS : most;
	}
}

int link_ask(struct link *l, uint8_t type, uint32_t arg, const void *payload, uint32_t bytes,
	     struct wire_frame *answer)
{
	uint8_t out[WIRE_FRAME_BYTES(WIRE_FRAME_REQUEST)];

	if (bytes > WIRE_FRAME_REQUEST)
		return -EINVAL;
	l->in.buf = l->frame;
	l->in.room = sizeof(l->frame);
	if (bytes)
		memcpy(out + WIRE_FRAME_HEADER, payload, bytes);
	uint32_t n = fathom_frame_seal(out, type, ++l->number, arg, bytes);

	int64_t most = l->end_ms ? l->end_ms : io_now_ms() + TRIES * TIMEOUT_MS;

	for (int i = 0; i < TRIES && (!l->end_ms || io_now_ms() < l->end_ms); i++) {
		int64_t end = io_now_ms() + TIMEOUT_MS;

		if (l->end_ms && end > l->end_ms)
			end = l->end_ms;
		int got = io_write_all(l->fd, out, n, TIMEOUT_MS) ? 0 : -EPIPE;

		l->resent += i > 0;
		while (!got && (got = wait_frame(l, &end, most, answer)) > 0) {
			if (answer->number == l->number &&
			    answer->type == (type | WIRE_FRAME_ANSWER))
				return (int32_t)answer->arg < 0 ? (int32_t)answer->arg : 0;
			got = 0; /* an answer to an earlier request */
		}
		if (got < 0)
			return got;
	}
	return -ETIMEDOUT;
}

int link_hello(struct link *l, struct capture *c, uint32_t *nr_events)
{
	struct wire_frame f;
	struct wire_hello h;
	int err = link_ask(l, WIRE_FRAME_HELLO, 0, NULL, 0, &f);

	if (err)
		return err;
	if (f.bytes < sizeof(h))
		return -EPROTO;
	memcpy(&h, f.payload, sizeof(h));
	if (h.version != 1 || !h.nr_cpus || h.nr_cpus > CAPTURE_CPUS_MAX ||
	    !wire_page_bytes_ok(h.page_bytes) || h.nr_events > 65536)
		return -EPROTO;
	if (capture_set_cpus(c, h.nr_cpus))
		return -ENOMEM;
	c->page_bytes = h.page_bytes;
	c->ns_mult = h.ns_mult;
	c->ns_shift = h.ns_shift;
	snprintf(c->release, sizeof(c->release), "%.*s", (int)(f.bytes - sizeof(h)),
		 (const char *)f.payload + sizeof(h));
	*nr_events = h.nr_events;
	return 0;
}

int link_formats(struct link *l, struct capture *c, uint32_t nr_events)
{
	for (uint32_t i = 0; i < nr_events; i++) {
		struct wire_frame f;
		int err = link_ask(l, WIRE_FRAME_EVENT, i, NULL, 0, &f);
		const char *text = (const char *)f.payload, *eol;
		char system[64];

		if (err)
			return err;
		eol = memchr(text, '\n', f.bytes);
		if (!eol || (size_t)(eol - text) >= sizeof(system))
			return -EPROTO;
		memcpy(system, text, (size_t)(eol - text));
		system[eol - text] = 0;
		if (capture_format(c, system, eol + 1, f.bytes - (size_t)(eol + 1 - text)))
			return -ENOMEM;
	}
	return 0;
}

/* One page: its bytes, 0: there is none, or a negative errno value. */
static int take_page(struct link *l, struct recording *r, uint32_t cpu)
{
	uint8_t page[WIRE_PACKED_MAX];
	struct wire_frame f;
	uint32_t used;
	int big, err = -ENOSYS;

	if (!l->unpacked)
		err = link_ask(l, WIRE_FRAME_PACKED, cpu, NULL, 0, &f);
	if (err == -ENOSYS) {
		l->unpacked = true;
		err = link_ask(l, WIRE_FRAME_PAGE, cpu, NULL, 0, &f);
	}
	if (err || !f.bytes)
		return err;
	if (l->unpacked) {
		err = recording_page(r, cpu, f.payload, f.bytes);
		return err ? err : (int)f.bytes;
	}
	if (fathom_page_unpack(&l->packer, f.payload, f.bytes, page, sizeof(page), &used, &big) !=
	    (int32_t)f.bytes)
		return -EPROTO;
	err = recording_page(r, cpu, page, used);
	return err ? err : (int)used;
}

int link_pages(struct link *l, struct recording *r, uint32_t nr_cpus, bool *full)
{
	int came = 0;

	*full = false;
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++) {
		int bytes = take_page(l, r, cpu);

		if (bytes < 0)
			return bytes;
		*full |= bytes > (int)WIRE_PAGE_BYTES / 4 * 3;
		came += bytes > 0;
	}
	return came;
}

int link_stats(struct link *l, struct capture *c)
{
	for (uint32_t cpu = 0; cpu < c->nr_cpus; cpu++) {
		struct wire_frame f;
		int err = link_ask(l, WIRE_FRAME_STATS, cpu, NULL, 0, &f);

		if (err)
			return err;
		if (f.bytes < sizeof(c->cpus[cpu].stats))
			return -EPROTO;
		memcpy(&c->cpus[cpu].stats, f.payload, sizeof(c->cpus[cpu].stats));
		c->cpus[cpu].counted = true;
	}
	return 0;
}

int link_names(struct link *l, struct capture *c, const struct recording *r)
{
	const size_t batch = WIRE_FRAME_REQUEST / sizeof(int32_t);
	char file[32];
	size_t nr;
	int32_t *pids = capture_pids(recording_file(r, file), &nr);
	int err = pids ? 0 : -EIO;

	for (size_t i = 0; i < nr && !err; i += batch) {
		size_t n = nr - i < batch ? nr - i : batch;
		struct wire_frame f;

		err = link_ask(l, WIRE_FRAME_NAMES, 0, pids + i, (uint32_t)(n * sizeof(*pids)), &f);
		if (!err)
			bytes_add(&c->cmdlines, f.payload, f.bytes);
	}
	free(pids);
	return err;
}

int link_printks(struct link *l, struct capture *c)
{
	for (uint32_t i = 0; i < 65536; i++) {
		struct wire_frame f;
		uint64_t at;
		int err = link_ask(l, WIRE_FRAME_PRINTK, i, NULL, 0, &f);

		if (err)
			return err;
		if (f.bytes < sizeof(at))
			return 0;
		memcpy(&at, f.payload, sizeof(at));
		bytes_text(&c->printks, "0x%llx : \"%.*s\"\n", (unsigned long long)at,
			   (int)(f.bytes - sizeof(at)), (const char *)f.payload + sizeof(at));
	}
	return 0;
}
