/* SPDX-License-Identifier: MIT */
/* trace_functions.c -- set_ftrace_filter and its kin on a kernel of 100,000 functions: names by the thousand, in time. */
#include <errno.h>
#include <time.h>
#include "harness.h"
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "functions/sites.h"
#include "tracers/top.h"

#define FUNCTIONS 100000u
#define TEXT	  0x100000u /* where they are said to be; nothing is ever patched there */
#define LONG	  77u	    /* the one with a name of 511 characters, the longest that Linux has */

static char memory[32 << 20] __attribute__((aligned(4096)));
static struct site sites[FUNCTIONS];
static struct named_site named[FUNCTIONS];
static uint32_t sets[FATHOM_SET_NR][FUNCTIONS / 32 + 1];
static char list[2 << 20];

static int name_of(char name[512], unsigned int i)
{
	return snprintf(name, 512, i == LONG ? "fn_%0508u" : "fn_%u", i);
}

static const char *symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	static char name[512];

	if (at < TEXT || at >= TEXT + 16ul * FUNCTIONS)
		return NULL;
	*offset = (at - TEXT) % 16;
	*size = 16;
	name_of(name, (unsigned)((at - TEXT) / 16));
	return name;
}

static int by_hash(const void *a, const void *b)
{
	const struct named_site *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* The table as fathom_sites_init() would have made it of such a kernel. */
static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 16,
				       .symbol = symbol};

	CHECK_EQ(fathom_init(&config), 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[512];

		sites[i].at = TEXT + 16ul * i;
		named[i].hash = fathom_site_hash(name, (size_t)name_of(name, i));
		named[i].site = i;
	}
	qsort(named, FUNCTIONS, sizeof(named[0]), by_hash);
	fathom_functions.site = sites;
	fathom_functions.named = named;
	fathom_functions.nr_sites = fathom_functions.nr_named = FUNCTIONS;
	fathom_functions.room_sites = FUNCTIONS;
	fathom_functions.part[0] = (struct site_part){.to = UINTPTR_MAX, .nr = FUNCTIONS};
	fathom_functions.nr_parts = 1;
	fathom_functions.ready = 1;
	for (int i = 0; i < FATHOM_SET_NR; i++)
		fathom_functions.set[i].word = sets[i];
}

static int open_file(struct fathom_file *f, const char *path, uint32_t flags)
{
	struct fathom_node node;
	int err = fathom_fs_lookup(path, &node);

	memset(f, 0, sizeof(*f));
	return err ? err : fathom_fs_open(f, &node, flags);
}

/* As a shell writes: what a write() did not take is written again. The first error, or 0. */
static int write_all(struct fathom_file *f, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		int n = (int)fathom_fs_write(f, text, left);

		if (n < 0)
			return n;
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

static int put(const char *path, const char *text, uint32_t flags)
{
	struct fathom_file f;
	int err = open_file(&f, path, FATHOM_O_WRONLY | flags);

	if (err)
		return err;
	err = write_all(&f, text);
	fathom_fs_close(&f);
	return err;
}

static uint32_t members(enum fathom_function_set set)
{
	uint32_t n = 0;

	for (int i = 0; (i = fathom_set_next(top_set(set), (uint32_t)i)) >= 0; i++)
		n++;
	return n;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

TEST(all_names_one_by_one)
{
	double from;
	size_t n = 0;

	start();
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		n += (size_t)name_of(list + n, FUNCTIONS - 1 - i);
		list[n++] = '\n';
	}
	list[n] = 0;
	from = seconds();
	CHECK_EQ(put("set_ftrace_filter", list, FATHOM_O_TRUNC), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), FUNCTIONS);
	for (n = 0; list[n]; n++)
		list[n] = list[n] == 'f' ? 'g' : list[n]; /* nobody's names */
	CHECK_EQ(put("set_ftrace_filter", list, 0), -EINVAL);
	CHECK_EQ(members(FATHOM_SET_FILTER), FUNCTIONS);
	printf("  100,000 names in %.2f s\n", seconds() - from);
	CHECK(seconds() - from < 10); /* each against all would be hours here */
}

TEST(append_truncate_remove)
{
	CHECK_EQ(put("set_ftrace_filter", "fn_7 fn_70\n", FATHOM_O_TRUNC), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 2);
	CHECK_EQ(put("set_ftrace_filter", "fn_9999?\n", FATHOM_O_APPEND), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 12);
	CHECK_EQ(put("set_ftrace_filter", "!fn_99990 !fn_7\n", FATHOM_O_APPEND), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 10);
	CHECK_EQ(put("set_ftrace_filter", "*\n", FATHOM_O_TRUNC), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), FUNCTIONS);
	CHECK_EQ(put("set_ftrace_filter", "!*1*\n", 0), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 9 * 9 * 9 * 9 * 9);
	CHECK_EQ(put("set_ftrace_filter", "\n", FATHOM_O_TRUNC), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 0);
}

/* N is the N-th line of available_filter_functions. */
TEST(index_numbers)
{
	CHECK_EQ(put("set_ftrace_filter", "1 100000 5\n", FATHOM_O_TRUNC), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 3);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 0), 0);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 1), 4);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 5), 99999);
	CHECK_EQ(put("set_ftrace_filter", "0\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "100001\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "!5\n", 0), 0);
	CHECK_EQ(members(FATHOM_SET_FILTER), 2);
}

/* What is being written counts when the file is closed, all of it at once. */
TEST(takes_effect_when_closed)
{
	struct fathom_file f;

	CHECK_EQ(put("set_graph_function", "fn_1\n", FATHOM_O_TRUNC), 0);
	CHECK_EQ(open_file(&f, "set_graph_function", FATHOM_O_WRONLY | FATHOM_O_TRUNC), 0);
	CHECK_EQ(members(FATHOM_SET_GRAPH), 1);
	CHECK_EQ(write_all(&f, "fn_2 fn_3 fn_4"), 0);
	CHECK_EQ(members(FATHOM_SET_GRAPH), 1);
	fathom_fs_close(&f);
	CHECK_EQ(members(FATHOM_SET_GRAPH), 3);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_GRAPH), 0), 2);
}

/* write(fd, "fn_7", sizeof("fn_7")) */
TEST(nul_ends_a_word)
{
	struct fathom_file f;

	CHECK_EQ(open_file(&f, "set_ftrace_filter", FATHOM_O_WRONLY | FATHOM_O_TRUNC), 0);
	CHECK_EQ(fathom_fs_write(&f, "fn_7\0fn_8\n", 10), 5);
	CHECK_EQ(fathom_fs_write(&f, "fn_9", 5), 5);
	CHECK_EQ(fathom_fs_write(&f, "", 1), 1);
	CHECK_EQ(fathom_fs_write(&f, "fn_x", 5), -EINVAL);
	fathom_fs_close(&f);
	CHECK_EQ(members(FATHOM_SET_FILTER), 2);
	CHECK_EQ(put("set_ftrace_filter", "\n", FATHOM_O_TRUNC), 0);
}

TEST(long_name)
{
	char name[512], line[544];

	name_of(name, LONG);
	CHECK_EQ(put("set_ftrace_filter", name, FATHOM_O_TRUNC), 0);
	CHECK_EQ(fathom_set_next(top_set(FATHOM_SET_FILTER), 0), (int)LONG);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	snprintf(line, sizeof(line), "%s:traceoff:1\n", name);
	CHECK_EQ(put("set_ftrace_filter", line, 0), 0);
	snprintf(line, sizeof(line), "!%s:traceoff:1\n", name);
	CHECK_EQ(put("set_ftrace_filter", line, 0), 0);
}

TEST(bad_lines)
{
	static char line[10241];

	CHECK_EQ(put("set_ftrace_filter", "fn_5\n", FATHOM_O_TRUNC), 0);
	memset(line, 'x', sizeof(line) - 1);
	CHECK_EQ(put("set_ftrace_filter", line, 0), -EINVAL);
	memset(line, '*', sizeof(line) - 1);
	CHECK_EQ(put("set_ftrace_filter", line, 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "nosuch\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "!\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", ":\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "fn_5:bogus\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_notrace", "fn_5:traceoff\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "fn_*:mod\n", 0), -EINVAL);
	CHECK_EQ(put("set_ftrace_filter", "!fn_*:mod:none\n", 0), -EINVAL);
	CHECK_EQ(members(FATHOM_SET_FILTER), 1);
	CHECK_EQ(put("set_ftrace_filter", "fn_6 nosuch fn_7\n", 0), -EINVAL);
	CHECK_EQ(members(FATHOM_SET_FILTER), 2); /* what stood before the error stays */
}

TEST_MAIN
