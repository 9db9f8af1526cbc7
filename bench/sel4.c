/* SPDX-License-Identifier: MIT */
/* sel4.c -- bench-sel4: opening, querying and converting the note's 90 million words; its bars. sel4 DIR [WORDS]. */
#include "decode/sel4/index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct cost {
	double wall_ms, cpu_ms;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

/* One run of a command with its output thrown away. */
static struct cost once(const char *const argv[])
{
	posix_spawn_file_actions_t fa;
	struct cost c = {0};
	double start;
	struct rusage ru;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	start = now_ms();
	if (posix_spawn(&pid, argv[0], &fa, NULL, (char *const *)argv, environ) ||
	    wait4(pid, &status, 0, &ru) != pid || status) {
		fprintf(stderr, "bench-sel4: %s %s failed\n", argv[0], argv[1]);
		exit(1);
	}
	c.wall_ms = now_ms() - start;
	c.cpu_ms = ms(ru.ru_utime) + ms(ru.ru_stime);
	posix_spawn_file_actions_destroy(&fa);
	return c;
}

static struct cost least(struct cost a, struct cost b)
{
	return (struct cost){a.wall_ms < b.wall_ms ? a.wall_ms : b.wall_ms,
			     a.cpu_ms < b.cpu_ms ? a.cpu_ms : b.cpu_ms};
}

/* Two commands in turn, so that what else the machine does falls on both; the least of each. */
static void pair(const char *const a[], const char *const b[], int rounds, struct cost *ca,
		 struct cost *cb)
{
	*ca = *cb = (struct cost){1e9, 1e9};
	for (int i = 0; i < rounds; i++) {
		*ca = least(*ca, once(a));
		*cb = least(*cb, once(b));
	}
}

static int shorts;

/* A bar that must not be exceeded, or (at_least) be reached. */
static void bar(const char *name, double measured, double goal, int at_least)
{
	int ok = at_least ? measured >= goal : measured <= goal;

	shorts += !ok;
	printf("bar %s %.2f %.2f %s\n", name, measured, goal, ok ? "ok" : "SHORT");
}

static void count(const char *path)
{
	static const enum sel4_simd kinds[] = {SEL4_SIMD_SCALAR, SEL4_SIMD_AVX2, SEL4_SIMD_AVX512};
	double best_of_all = 0;

	for (int k = 0; k < 3; k++) {
		struct stat st;
		int fd = open(path, O_RDONLY);
		double best = 0;

		if (!sel4_scan_get(kinds[k]) || fd < 0 || fstat(fd, &st))
			continue;
		setenv("FATHOM_SIMD", sel4_simd_name(kinds[k]), 1);
		for (int i = 0; i < (kinds[k] == SEL4_SIMD_SCALAR ? 3 : 20); i++) {
			struct sel4_input in = {.fd = fd, .nr_words = (uint64_t)st.st_size / 2};
			uint64_t n[WIRE_SEL4_NR_TYPES], all = 0;
			double start = now_ms();

			if (sel4_count(&in, n))
				exit(1);
			for (int t = 0; t < WIRE_SEL4_NR_TYPES; t++)
				all += n[t];
			if ((double)all / (now_ms() - start) / 1e6 > best)
				best = (double)all / (now_ms() - start) / 1e6;
		}
		printf("%-40s %8.2f G events/s\n", sel4_simd_name(kinds[k]), best);
		best_of_all = best > best_of_all ? best : best_of_all;
		close(fd);
	}
	unsetenv("FATHOM_SIMD");
	bar("sel4-count-by-type", best_of_all, 1.0, 1);
}

static void row(const char *what, struct cost c)
{
	printf("%-40s %8.2f ms wall %8.2f ms cpu\n", what, c.wall_ms, c.cpu_ms);
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".", *fathom = "build/fathom";
	const char *base = "build/bench/sel4_base";
	char bin[4096], idx[4096], zero[4096], bytes[32];
	struct cost a, b;
	struct stat st;

	snprintf(bin, sizeof(bin), "%s/ftrace.bin", dir);
	snprintf(idx, sizeof(idx), "%s/ftrace.idx", dir);
	snprintf(zero, sizeof(zero), "%s/zeros", dir);
	if (stat(bin, &st)) {
		perror(bin);
		return 1;
	}
	const char *read_it[] = {base, "read", bin, NULL};
	const char *index_it[] = {fathom, "index", "--force", bin, NULL};
	const char *empty[] = {base, "empty", NULL};
	const char *event[] = {fathom, "query", bin, "--event", "51517274", NULL};
	const char *type[] = {fathom, "query", bin, "--type", "KERNEL_ENTRY", NULL};
	const char *fixed[] = {fathom, "convert", "--force", bin, idx, NULL};
	const char *zeros[] = {base, "zeros", zero, bytes, NULL};

	printf("%s: %lld bytes\n\n", bin, (long long)st.st_size);
	pair(read_it, index_it, 15, &a, &b);
	row("read() the file", a);
	row("build and write the index", b);
	bar("sel4-index-vs-read", b.wall_ms / a.wall_ms, 1.5, 0);
	pair(empty, event, 60, &a, &b);
	row("empty process", a);
	row("query --event 51517274", b);
	bar("sel4-query-event-vs-empty", b.wall_ms / a.wall_ms, 4, 0);
	pair(empty, type, 60, &a, &b);
	row("empty process", a);
	row("query --type KERNEL_ENTRY, every line", b);
	bar("sel4-query-type-vs-empty", b.wall_ms / a.wall_ms, 8, 0);
	count(bin);
	once(fixed);
	stat(idx, &st);
	snprintf(bytes, sizeof(bytes), "%lld", (long long)st.st_size);
	a = b = (struct cost){1e9, 1e9};
	for (int i = 0; i < 3;
	     i++) { /* always a new file: giving the pages of an old one back costs too */
		unlink(idx);
		a = least(a, once(zeros));
		unlink(zero);
		b = least(b, once(fixed));
	}
	row("write as many zeros", a);
	row("write fixed 16-byte records", b);
	bar("sel4-records-vs-zeros-cpu", b.cpu_ms / a.cpu_ms, 2, 0);
	unlink(idx);
	unlink(zero);
	return shorts != 0;
}
