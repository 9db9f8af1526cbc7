/* SPDX-License-Identifier: MIT */
/* mount_closes.h -- files that were closed and of which the server does not know it yet, and waiting for that word. */
#ifndef CAPTURE_MOUNT_CLOSES_H
#define CAPTURE_MOUNT_CLOSES_H

#include <stdbool.h>

/*
 * The kernel reports each close() and waits (FLUSH), but of the last one later, beside other requests (RELEASE). In
 * between the target has the file open, and refuses what an open file forbids, though for its caller it is closed.
 */

/* One per open file: a close() was reported, and nothing has come since. Starts as zero. */
struct mount_close {
	bool leaving;
};

void mount_close_told(struct mount_close *f); /* from FLUSH: perhaps the last close */
void mount_close_taken(
	struct mount_close *f);		      /* it was not the last: the file is read or written */
void mount_close_done(struct mount_close *f); /* from RELEASE: it was the last */

/* One per request, which is sent again while mount_refused_again() is true. */
struct mount_patience {
	unsigned done; /* last closes, when the request was sent */
	unsigned waited_ms;
};

void mount_patience_start(struct mount_patience *p);
/*
 * Was the answer `ret` of an open file, and was one closed since the request was sent? Waits for that word while there is
 * a file that may give it, some seconds at the most; `stop` ends it.
 */
bool mount_refused_again(int ret, struct mount_patience *p, bool (*stop)(void));

#endif
