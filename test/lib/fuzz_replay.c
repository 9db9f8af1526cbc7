/* SPDX-License-Identifier: MIT */
/* fuzz_replay.c -- main() of a fuzz target in `make check`: every input of its corpus, as it is and mutated by a fixed seed. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUTATIONS 200
#define SECONDS	  20 /* one input may take so long */

static char running[700];

/* A fixed generator: a failure is repeated by running the test again. */
static uint32_t rnd(uint64_t *s, uint32_t n)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (uint32_t)(*s >> 33) % n : 0;
}

static size_t mutate(uint8_t *p, size_t n, uint64_t seed)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '%', '(', '"', '\n', '\\'};
	uint32_t times = 1 + rnd(&seed, 4);

	for (uint32_t i = 0; i < times && n; i++) {
		uint32_t at = rnd(&seed, (uint32_t)n), len = rnd(&seed, 16);

		if (len > n - at)
			len = (uint32_t)(n - at);
		switch (rnd(&seed, 5)) {
		case 0: p[at] ^= (uint8_t)(1 << rnd(&seed, 8)); break;
		case 1: p[at] = odd[rnd(&seed, sizeof(odd))]; break;
		case 2: memset(p + at, odd[rnd(&seed, sizeof(odd))], len); break;
		case 3: memmove(p + rnd(&seed, (uint32_t)(n - len + 1)), p + at, len); break;
		default: n = at; break;
		}
	}
	return n;
}

static void hung(int sig)
{
	(void)sig;
	dprintf(1, "not ok fuzz_%s: more than %d s for %s\n", FUZZ_NAME, SECONDS, running);
	_exit(1);
}

/* The input lies at the very end of its allocation, so that ASan sees one byte too many. */
static void run(const uint8_t *p, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);

	memcpy(exact, p, n);
	alarm(SECONDS);
	LLVMFuzzerTestOneInput(exact, n);
	alarm(0);
	free(exact);
}

static int replay(const char *path)
{
	FILE *f = fopen(path, "r");
	uint8_t *p = malloc(1 << 22), *copy = malloc(1 << 22);
	size_t n = f && p ? fread(p, 1, 1 << 22, f) : 0;

	if (f)
		fclose(f);
	for (uint64_t k = 0; f && k <= MUTATIONS; k++) {
		size_t m = n;

		snprintf(running, sizeof(running), "%s, mutation %d", path, (int)k);
		memcpy(copy, p, n);
		if (k)
			m = mutate(copy, n, k);
		run(copy, m);
	}
	free(p);
	free(copy);
	return f ? 0 : 1;
}

/* Messages about damaged input go nowhere: there are thousands; what ASan says goes to its own log. */
int main(void)
{
	char dir[300], path[600];
	struct dirent *de;
	int n = 0, bad = 0;
	DIR *d;

	signal(SIGALRM, hung);
	if (!freopen("build/test/fuzz/" FUZZ_NAME ".stderr", "w", stderr))
		return 1;
	snprintf(dir, sizeof(dir), "test/fuzz/corpus/%s", FUZZ_NAME);
	d = opendir(dir);
	while (d && (de = readdir(d))) {
		if (de->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
		bad += replay(path);
		n++;
	}
	if (d)
		closedir(d);
	if (!n || bad)
		printf("not ok fuzz_%s: %d inputs in %s, %d unreadable\n", FUZZ_NAME, n, dir, bad);
	else
		printf("ok fuzz_%s: %d inputs, each with %d mutations\n", FUZZ_NAME, n, MUTATIONS);
	return !n || bad;
}
