/* SPDX-License-Identifier: MIT */
/* fuzz_limit.c -- between libFuzzer and a target: no input may take more than a second of processor time, on a busy machine either. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int fuzz_one(const uint8_t *data,
	     size_t size); /* the target's, which is compiled with this name for the other */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	clock_t start = clock(), took;
	int rc = fuzz_one(data, size);

	took = clock() - start;
	if (took <= CLOCKS_PER_SEC)
		return rc;
	fprintf(stderr, "ERROR: %.1f s of processor time for one input\n",
		(double)took / CLOCKS_PER_SEC);
	abort();
}
