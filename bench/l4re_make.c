/* SPDX-License-Identifier: MIT */
/* l4re_make.c -- a backtracer console log or buffer of any size: `l4re_make STACKS CPUS FILE.traced|FILE.btb`. */
#include "btb_make.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct made m = {0};
	FILE *f;

	if (argc != 4 || !(f = fopen(argv[3], "wb"))) {
		fprintf(stderr, "usage: l4re_make STACKS CPUS FILE.traced|FILE.btb\n");
		return 2;
	}
	made_stacks(&m, strtoul(argv[1], NULL, 0), (uint32_t)strtoul(argv[2], NULL, 0), 1);
	if (strstr(argv[3], ".btb")) {
		fwrite(m.w, 8, m.n, f);
	} else {
		if (made_export(&m, 0, 1))
			return 1;
		fwrite(m.text, 1, m.bytes, f);
	}
	return fclose(f) ? 1 : 0;
}
