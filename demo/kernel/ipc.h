/* SPDX-License-Identifier: MIT */
/* ipc.h -- capabilities and synchronous endpoints. */
#ifndef DEMO_IPC_H
#define DEMO_IPC_H

#include "sched.h"

#define IPC_WORDS 4

/* A capability names an object and nothing else does: a task reaches what its slots hold. */
enum cap_type {
	CAP_NULL,
	CAP_ENDPOINT,
	CAP_REPLY, /* slot 0: the caller that waits for this task's answer */
};

struct cap {
	enum cap_type type;
	struct endpoint *endpoint;
};

/* Where senders and receivers meet. Only one of the two queues is ever non-empty. */
struct endpoint {
	struct spinlock lock;
	uint32_t refs; /* capabilities that name it; 0: free */
	int32_t owner; /* pid; when it dies everyone who waits here is told */
	struct task *senders, *receivers;
};

enum ipc_op {
	IPC_SEND,
	IPC_RECV,
	IPC_CALL,
	IPC_REPLY_RECV,
};

int64_t ipc(enum ipc_op op,
	    uint32_t slot); /* message in current's message[]; sender's pid or -errno */
/* Whether it would take the fast path as things stand now: a guess, nothing is locked. */
int ipc_is_fast(enum ipc_op op, uint32_t slot);
int endpoint_create(void); /* slot in current's table, or -errno */
void endpoint_put(struct endpoint *e);
void endpoint_get(struct endpoint *e);
struct endpoint *cap_endpoint(uint32_t slot); /* of current; NULL if it is none */
void ipc_task_exit(struct task *t);	      /* give back capabilities, tell those who wait */

#endif
