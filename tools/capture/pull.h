/* SPDX-License-Identifier: MIT */
/* pull.h -- the pages of a target into a recording, until something ends it. */
#ifndef CAPTURE_PULL_H
#define CAPTURE_PULL_H

#include <sys/types.h>
#include "capture/record.h"
#include "capture/recording.h"
#include "capture/steer.h"

struct wire_packer;
struct pull {
	struct steer *steer;
	struct capture *c;
	struct recording *r;
	struct tree_file *raw; /* of each CPU */
	struct pollfd *polled; /* the same, and what asks to stop; NULL: nothing can be polled */
	uint8_t *page;
	struct wire_packer *packer; /* pages come packed; NULL: as they are */
	uint8_t *packed;
	uint32_t fullest; /* bytes of the fullest page of the last turn */
	int pipe[2];	  /* pages are moved through it; -1: they are read */
	pid_t child;	  /* ends the recording when it ends; 0: none */
	int status;	  /* of the child, as wait() gives it */
	bool child_ended;
	int64_t end_ms;	 /* INT64_MAX: none */
	int64_t rest_ms; /* until then pull_rest() reads, INT64_MAX: all that there is */
	bool unanswered; /* the last call was given up: the target may not answer any more */
	unsigned empty;	 /* turns since a page came */
	struct record_live
		*live; /* somebody watches: pages are taken before they are full; NULL: nobody */
};

/* Open the files of all CPUs. 0, or -1 with a message. */
int pull_open(struct pull *p);
void pull_close(struct pull *p);
/* Until the child ends, the time is up, a signal comes or something breaks, which c->ended then says. 0 or a negative errno. */
int pull_run(struct pull *p);
/* What is left, once tracing is off. */
int pull_rest(struct pull *p);

#endif
