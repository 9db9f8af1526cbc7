/* SPDX-License-Identifier: MIT */
/* link.h -- the host's end of the trace line: ask, wait, ask again; and taking a whole capture over it. */
#ifndef CAPTURE_LINK_H
#define CAPTURE_LINK_H

#include "capture/recording.h"
#include "wire/pagepack.h"

struct link {
	int fd;
	uint32_t number;
	uint64_t resent; /* requests that had to be repeated */
	struct wire_receiver in;
	uint8_t frame[WIRE_FRAME_MAX]; /* what `in` has received */
	uint8_t buf[4096];	       /* read from the line, taken up to `at` */
	size_t at, have;
	/* Called while an answer is awaited, with another fd to look after (the console); may be NULL. */
	int other_fd;
	void (*other)(void *arg);
	void *other_arg;
	int64_t end_ms; /* no wait goes past this time; 0: no limit */
	bool unpacked;	/* the target does not pack its pages */
	struct wire_packer packer;
	bool hurry; /* signals were handled: they no longer stop a call */
};

/*
 * One request and its answer, whose payload stays valid until the next. 0, or a negative errno value: the target's own
 * from the answer, -ETIMEDOUT when there was none after several tries, -EPIPE when the line closed, -EINTR on a signal.
 */
int link_ask(struct link *l, uint8_t type, uint32_t arg, const void *payload, uint32_t bytes,
	     struct wire_frame *answer);

int link_hello(struct link *l, struct capture *c, uint32_t *nr_events);
int link_formats(struct link *l, struct capture *c, uint32_t nr_events);
/* Fetch the next page of each CPU that has one: the number of pages, or a negative errno value. *full: one was full, so there may be more. */
int link_pages(struct link *l, struct recording *r, uint32_t nr_cpus, bool *full);
int link_stats(struct link *l, struct capture *c);
/* The names of the tasks that occur in the recording. */
int link_names(struct link *l, struct capture *c, const struct recording *r);
int link_printks(struct link *l, struct capture *c);

#endif
