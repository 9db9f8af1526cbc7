/* SPDX-License-Identifier: MIT */
/* trace_p9.c -- fuzz target: bytes from a client of the 9P server. An answer must be a whole message. */
#include "fathom/p9.h"
#include "trace_setup.h"
#include "wire/p9.h"

static void sent(void *arg, const void *data, size_t bytes)
{
	(void)arg;
	if (bytes < WIRE_P9_HEAD || bytes > FATHOM_P9_MSIZE || wire_p9_get(data, 4) != bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fathom_p9 server;
	size_t first = size ? data[size - 1] % size : 0;

	setup();
	fathom_p9_init(&server, sent, NULL);
	fathom_p9_input(&server, data, first);
	fire();
	fathom_p9_tick(&server);
	fathom_p9_input(&server, data + first, size - first);
	fathom_p9_tick(&server);
	fathom_p9_reset(&server);
	return 0;
}
