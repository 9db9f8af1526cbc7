/* SPDX-License-Identifier: MIT */
/* p9_int.h -- a request and its answer, shared by the two files of the 9P client. */
#ifndef CAPTURE_P9_INT_H
#define CAPTURE_P9_INT_H

#include <pthread.h>
#include "capture/p9.h"
#include "wire/p9.h"

#define P9_MSIZE 65536u
#define P9_TAGS	 256u
#define P9_ROOT	 0u /* the fid of the attach */

/* One tag: the thread that waits for its answer, and where that goes. */
struct p9_tag {
	uint8_t state; /* enum p9_tag_state */
	uint8_t type;  /* of the answer */
	uint32_t len;  /* of the answer's body */
	uint8_t *body; /* the caller's buffer of P9_MSIZE, or NULL */
	void (*ready)(void *arg);
	void *arg;
	uint32_t fid; /* of a notify */
};
enum p9_tag_state {
	P9_FREE,
	P9_WAITS,
	P9_DONE,
	P9_NOTIFIES,
	P9_ABANDONED /* nobody waits, but its answer may still come */
};

struct p9 {
	int fd;
	uint32_t msize;
	uint32_t next_fid;
	bool dead;
	bool framed;	    /* on a line; never changes once it is attached */
	bool may_frame;	    /* it was asked for frames, and does not answer in time */
	bool frames_came;   /* but it does */
	volatile bool stop; /* p9_close() was called */
	bool (*told_to_stop)(void);
	int64_t patience_ms, flush_ms;
	int64_t silent_ms; /* when a flush was left unanswered; 0: none was; atomic */
	char key[80];	   /* what it leads to, for p9_claim() */
	size_t key_len;
	int claim;	  /* -1: none */
	int64_t heard_ms; /* when the last byte came; atomic */
	char *name;
	pthread_t thread;
	pthread_mutex_t lock; /* everything but the pipe */
	pthread_mutex_t out;  /* the pipe's writing end */
	pthread_cond_t answered;
	struct p9_tag tag[P9_TAGS];
};

/* A message being built, then its answer being read; one per call, in the thread's own memory. */
struct p9_call {
	struct p9 *c;
	uint8_t *buf; /* P9_MSIZE */
	uint32_t len;
	uint32_t at; /* reading the answer */
	uint8_t type;
	int tag; /* once it is sent */
	bool bad;
};

int p9_call_begin(struct p9_call *m, struct p9 *c, uint8_t type);
void p9_call_end(struct p9_call *m);
void p9_call_u(struct p9_call *m, uint64_t v, uint32_t bytes);
void p9_call_text(struct p9_call *m, const char *s, size_t n);
uint64_t p9_call_get(struct p9_call *m, uint32_t bytes);
/*
 * A target answers in the order in which it was asked, so messages that build on one another are sent together: what an
 * earlier one failed at, the later ones fail at too. A message that was sent is waited for.
 */
int p9_call_send(struct p9_call *m);
/* 0 with the answer's body in m, or a negative errno value. Patient: the target may take as long as it likes, as for a read that waits. */
int p9_call_wait(struct p9_call *m, bool patient);
int p9_call_run(struct p9_call *m, bool patient); /* both */
/* Send; nobody waits for the answer. */
int p9_call_drop(struct p9_call *m);
/* Send; the answer calls ready(arg). */
int p9_call_notify(struct p9_call *m, uint32_t fid, void (*ready)(void *arg), void *arg);
uint32_t p9_new_fid(struct p9 *c);

#endif
