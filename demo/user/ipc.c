/* SPDX-License-Identifier: MIT */
/* ipc.c -- ping-pong: a server here and clients (ipc_client) that call it ARG times each, checking every answer. */
#include "user.h"

#define CLIENTS 3

int program(uint64_t rounds)
{
	struct message m = {{0}};
	uint64_t served = 0;
	int slot = (int)sys0(endpoint);

	if (!rounds)
		rounds = 1000;
	for (int i = 0; i < CLIENTS; i++)
		if (spawn("ipc_client", rounds, slot, ORDINARY, 0) < 0)
			return 1;
	int64_t from = sys_message(recv, slot, &m);

	while (from > 0 && ++served < CLIENTS * rounds) {
		m.word[0] = m.word[0] * 2 + 1;
		m.word[1] = (uint64_t)from;
		from = sys_message(reply_recv, slot, &m);
	}
	m.word[0] = m.word[0] * 2 + 1;
	m.word[1] = (uint64_t)from;
	/* The last answer: there is nobody left to receive from, so the wait ends with this task's own end. */
	if (spawn("ipc_client", 0, slot, ORDINARY, 0) < 0)
		return 2;
	sys_message(reply_recv, slot, &m);
	return wait_all();
}
