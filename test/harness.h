/* SPDX-License-Identifier: MIT */
/* harness.h -- a unit-test harness in a page: TEST(name) { CHECK(...); } and TEST_MAIN at the end. */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
	const char *name;
	void (*run)(void);
	struct test_case *next;
};

static struct test_case *test_first, **test_tail = &test_first;
static int test_failures; /* in the running case */
static jmp_buf test_end;  /* of the running case, for REQUIRE() */

/* A loop that fails says so a few times; the rest is only counted. */
#define TEST_SAY(...) (test_failures++ < 8 ? printf(__VA_ARGS__) : 0)

/* A case registers itself before main(), so cases run in the order of the file. */
#define TEST(id)                                                         \
	static void test_##id(void);                                     \
	static struct test_case test_case_##id = {#id, test_##id, NULL}; \
	__attribute__((constructor)) static void test_add_##id(void)     \
	{                                                                \
		*test_tail = &test_case_##id;                            \
		test_tail = &test_case_##id.next;                        \
	}                                                                \
	static void test_##id(void)

#define CHECK(cond)                                                                  \
	do {                                                                         \
		if (!(cond)) {                                                       \
			TEST_SAY("  %s:%d: CHECK(%s)\n", __FILE__, __LINE__, #cond); \
		}                                                                    \
	} while (0)

/* What the rest of the case stands on: if it does not hold, the case ends here. Only in the thread that runs the case. */
#define REQUIRE(cond)                                                                  \
	do {                                                                           \
		if (!(cond)) {                                                         \
			TEST_SAY("  %s:%d: REQUIRE(%s)\n", __FILE__, __LINE__, #cond); \
			longjmp(test_end, 1);                                          \
		}                                                                      \
	} while (0)

#define CHECK_EQ(got, want)                                                                    \
	do {                                                                                   \
		long long test_g = (long long)(got), test_w = (long long)(want);               \
		if (test_g != test_w) {                                                        \
			TEST_SAY("  %s:%d: %s is %lld, want %lld\n", __FILE__, __LINE__, #got, \
				 test_g, test_w);                                              \
		}                                                                              \
	} while (0)

#define CHECK_STR(got, want)                                                                     \
	do {                                                                                     \
		const char *test_g = (got), *test_w = (want);                                    \
		if (!test_g || strcmp(test_g, test_w) != 0) {                                    \
			TEST_SAY("  %s:%d: %s is\n[%s]\nwant\n[%s]\n", __FILE__, __LINE__, #got, \
				 test_g ? test_g : "(null)", test_w);                            \
		}                                                                                \
	} while (0)

/* A case that ends early comes back here. */
__attribute__((noinline, unused)) static void test_run(struct test_case *t)
{
	test_failures = 0;
	if (!setjmp(test_end))
		t->run();
}

/* `./test NAME` runs one case. */
static inline int test_main(int argc, char **argv)
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct test_case *t = test_first; t; t = t->next) {
		if (argc > 1 && strcmp(argv[1], t->name) != 0)
			continue;
		test_run(t);
		if (test_failures) {
			printf("not ok %s: %d checks failed\n", t->name, test_failures);
			failed = 1;
		} else {
			printf("ok %s\n", t->name);
		}
	}
	return failed;
}

#define TEST_MAIN                             \
	int main(int argc, char **argv)       \
	{                                     \
		return test_main(argc, argv); \
	}

#endif
