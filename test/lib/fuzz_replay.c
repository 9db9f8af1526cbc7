/* SPDX-License-Identifier: MIT */
/* fuzz_replay.c -- main() of a fuzz target in `make check`: every input of its corpus, as it is and mutated by a fixed seed. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUTATIONS 50
#ifndef INPUT_MAX
#define INPUT_MAX (1u << 20)
#endif
#define SECONDS \
	5 /* one input may take so long on a CPU, under sanitizers, which cost five times ... */
#define MEGABYTES 1024 /* ... and so much memory, the sanitizer's own included */

/* What was freed does not stay for long: it would count as memory of a later input. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16:allocator_may_return_null=1";
}

static char running[700];

/* A fixed generator: a failure is repeated by running the test again. */
static uint32_t rnd(uint64_t *s, uint32_t n)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (uint32_t)(*s >> 33) % n : 0;
}

/* A piece of the input, many times over: what is cheap to write may be dear to read. */
static size_t repeat(uint8_t *p, size_t n, size_t at, uint64_t *seed)
{
	size_t piece = 1 + rnd(seed, (uint32_t)(n - at < 200 ? n - at : 200));
	size_t times = 1 + rnd(seed, (uint32_t)(INPUT_MAX / piece)), more;

	if (rnd(seed, 4))
		times = 1 + times % 1000;
	more = times * piece;
	if (more > INPUT_MAX - n)
		more = (INPUT_MAX - n) / piece * piece;
	memmove(p + at + more, p + at, n - at);
	for (size_t i = 0; i < more; i++)
		p[at + i] = p[at + more + i % piece];
	return n + more;
}

static size_t mutate(uint8_t *p, size_t n, uint64_t seed)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '%', '(', '"', '\n', '\\'};
	uint32_t times = 1 + rnd(&seed, 4);

	for (uint32_t i = 0; i < times && n; i++) {
		uint32_t at = rnd(&seed, (uint32_t)n), len = rnd(&seed, 16);

		if (len > n - at)
			len = (uint32_t)(n - at);
		switch (rnd(&seed, 6)) {
		case 0: p[at] ^= (uint8_t)(1 << rnd(&seed, 8)); break;
		case 1: p[at] = odd[rnd(&seed, sizeof(odd))]; break;
		case 2: memset(p + at, odd[rnd(&seed, sizeof(odd))], len); break;
		case 3: memmove(p + rnd(&seed, (uint32_t)(n - len + 1)), p + at, len); break;
		case 4: n = at; break;
		default: n = repeat(p, n, at, &seed); break;
		}
	}
	return n;
}

static const uint8_t *input;
static size_t input_bytes;

/* The input is kept for who looks into it. */
static void fail(const char *what, long n)
{
	int fd = open("build/test/fuzz/" FUZZ_NAME ".bad", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	dprintf(1, "not ok fuzz_%s: %s (%ld) for %s, build/test/fuzz/%s.bad has it\n", FUZZ_NAME,
		what, n, running, FUZZ_NAME);
	if (fd < 0 || write(fd, input, input_bytes) < 0)
		_exit(2);
	_exit(1);
}

static void hung(int sig)
{
	(void)sig;
	fail("too many seconds", SECONDS);
}

static void aborted(int sig)
{
	fail("abort", sig);
}

/* Time on a CPU, so that a busy machine is not a slow parser. */
static void limit(int seconds)
{
	struct itimerval t = {.it_value.tv_sec = seconds};

	setitimer(ITIMER_PROF, &t, NULL);
}

static void check_memory(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	if (r.ru_maxrss / 1024 >= MEGABYTES)
		fail("too many megabytes", r.ru_maxrss / 1024);
}

/* The input lies at the very end of its allocation, so that ASan sees one byte too many. */
static void run(const uint8_t *p, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);

	memcpy(exact, p, n);
	input = exact;
	input_bytes = n;
	limit(SECONDS);
	LLVMFuzzerTestOneInput(exact, n);
	limit(0);
	check_memory();
	free(exact);
}

static int replay(const char *path)
{
	FILE *f = fopen(path, "r");
	uint8_t *p = malloc(INPUT_MAX), *copy = malloc(INPUT_MAX);
	size_t n = f && p ? fread(p, 1, INPUT_MAX, f) : 0;

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

	signal(SIGPROF, hung);
	signal(SIGABRT, aborted);
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
