/* SPDX-License-Identifier: MIT */
/* ipc_client.c -- the other side of ipc: calls through capability 1; with ARG 0 it sends one message that ends the game. */
#include "user.h"

#define ENDPOINT 1

int program(uint64_t rounds)
{
	uint64_t me = (uint64_t)sys0(getpid);

	if (!rounds) {
		struct message end = {{0}};

		return sys_message(send, ENDPOINT, &end) < 0;
	}
	for (uint64_t i = 0; i < rounds; i++) {
		struct message m = {{i}};

		if (sys_message(call, ENDPOINT, &m) < 0 || m.word[0] != i * 2 + 1 ||
		    m.word[1] != me)
			return 1;
	}
	return 0;
}
