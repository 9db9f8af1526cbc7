/* SPDX-License-Identifier: MIT */
/* tools_p9.c -- fuzz the host's 9P client: what a target answers to attach, stat, list, read and write. */
#include "capture/p9.h"
#include "lib/p9_target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rversion with a message size of 65536, and the Rattach of tag 0. */
static const uint8_t greeting[] = {19, 0, 0, 0,	  101, 0xff, 0xff, 0,	 0,   1,
				   0,  6, 0, '9', 'P', '2',  '0',  '0',	 '0', /* */
				   20, 0, 0, 0,	  105, 0,    0,	   0x80, 0,   0,
				   0,  0, 1, 0,	  0,   0,    0,	   0,	 0,   0};

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

/* The first byte says whether the greeting is right or part of the input. Each request gets the next answer, then the line closes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t greet = size && data[0] & 1 ? sizeof(greeting) : 0;
	struct p9_target t;
	uint8_t *answers;
	struct p9 *c;

	if (!size || !(answers = malloc(greet + size)))
		return 0;
	memcpy(answers, greeting, greet);
	memcpy(answers + greet, data + 1, size - 1);
	p9_target_start(&t, answers, greet + size - 1, 5);
	c = p9_attach(t.pair[0], "fuzz");
	if (c) {
		use(c);
		p9_close(c);
	}
	p9_target_end(&t);
	free(answers);
	return 0;
}
