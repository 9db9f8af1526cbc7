/* SPDX-License-Identifier: MIT */
/* tools_p9.c -- fuzz the host's 9P client: what a target answers to attach, stat, list, read and write. */
#include "capture/p9.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rversion with a message size of 8192, and the Rattach of tag 0. */
static const uint8_t greeting[] = {19, 0, 0, 0,	  101, 0xff, 0xff, 0,	 0x20, 0,
				   0,  6, 0, '9', 'P', '2',  '0',  '0',	 '0', /* */
				   20, 0, 0, 0,	  105, 0,    0,	   0x80, 0,    0,
				   0,  0, 1, 0,	  0,   0,    0,	   0,	 0,    0};

static int each(void *arg, const char *name, const struct p9_stat *st)
{
	size_t *sum = arg;

	*sum += strlen(name) + st->mode;
	return 0;
}

static void use(struct p9 *c)
{
	size_t sum = 0;
	struct p9_stat st;
	char buf[4096];
	uint32_t fid;

	p9_stat(c, "events/sched", &st);
	p9_list(c, "events", each, &sum);
	if (!p9_open(c, "trace", O_RDWR, &fid, &st)) {
		p9_read(c, fid, buf, sizeof(buf), 0, true);
		p9_write(c, fid, "1\n", 2, 1);
		p9_readable(c, fid);
		p9_clunk(c, fid);
	}
	p9_mkdir(c, "instances/x");
	p9_rmdir(c, "instances/x");
}

/* The first byte says whether the greeting is right or part of the input. All answers lie ready, then the line closes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];
	struct p9 *c;

	if (!size || size > 60000 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 0;
	if ((data[0] & 1 && write(pair[1], greeting, sizeof(greeting)) < 0) ||
	    (size > 1 && write(pair[1], data + 1, size - 1) < 0)) {
		close(pair[0]);
		close(pair[1]);
		return 0;
	}
	shutdown(pair[1], SHUT_WR);
	c = p9_attach(pair[0], "fuzz");
	if (c) {
		use(c);
		p9_close(c);
	}
	close(pair[1]);
	return 0;
}
