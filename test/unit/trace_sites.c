/* SPDX-License-Identifier: MIT */
/* trace_sites.c -- call sites of many events are patched together: few syncs, and each site as its event wants it. */
#define FATHOM_PATCH 1
#include <sys/mman.h>
#include <unistd.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
#include "fathom_port.h"

#ifdef __x86_64__

TRACE_DEFINE(site, a, "n=%u", (U32, n))
TRACE_DEFINE(site, b, "n=%u", (U32, n))
TRACE_DEFINE(site, c, "n=%u", (U32, n))

#define TEN(e)                                                                        \
	do {                                                                          \
		trace_##e(0), trace_##e(1), trace_##e(2), trace_##e(3), trace_##e(4); \
		trace_##e(5), trace_##e(6), trace_##e(7), trace_##e(8), trace_##e(9); \
	} while (0)

/* 70 sites: more than are patched at once, and those of an event are not together. */
static __attribute__((noinline, no_reorder)) void every_site(void)
{
	TEN(a);
	TEN(c);
	TEN(a);
	TEN(b);
	TEN(c);
	TEN(b);
	TEN(a);
}

/* In the part of the text that is linked first, and last in this file: the addresses of the sites do not ascend in their table. */
static void rare_sites(void);

static char memory[16 << 20] __attribute__((aligned(4096)));
static int syncs, maps, refuse;

static void *text_map(void *at, size_t bytes)
{
	uintptr_t page = (uintptr_t)at & ~4095ul, end = ((uintptr_t)at + bytes + 4095) & ~4095ul;

	if (refuse)
		return NULL;
	maps++;
	return mprotect((void *)page, end - page, PROT_READ | PROT_WRITE | PROT_EXEC) ? NULL : at;
}

extern const struct fathom_site __start_fathom_sites[], __stop_fathom_sites[];
static unsigned int in_flight, strangers, descents;

/* A CPU that runs into any of the breakpoints now goes on after the site. */
static void sync_cpus(void)
{
	uintptr_t before = 0;

	syncs++;
	for (const struct fathom_site *s = __start_fathom_sites; s < __stop_fathom_sites; s++) {
		uintptr_t at = (uintptr_t)&s->at + (uintptr_t)(intptr_t)s->at, ip = at + 1;

		if (!s->at)
			continue;
		descents += at < before;
		before = at;
		if (*(const uint8_t *)at != 0xcc)
			continue;
		in_flight++;
		strangers += !fathom_arch_breakpoint(&ip) || ip != at + FATHOM_SITE_BYTES;
	}
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 2,
				       .pages_per_cpu = 64,
				       .text_map = text_map,
				       .sync = sync_cpus};

	refuse = 0;
	fathom_exit();
	REQUIRE(fathom_init(&config) == 0);
	fathom_user_cpu = 0;
	CHECK_EQ(fathom_set("trace", ""), 0);
	syncs = maps = 0;
	in_flight = strangers = descents = 0;
}

/* How often each event is recorded if every site is run once: a, b and c as digits of a number of base 100. */
static unsigned int recorded(void)
{
	unsigned int n = 0;
	const char *line;

	CHECK_EQ(fathom_set("trace", ""), 0);
	every_site();
	rare_sites();
	line = get("trace");
	for (const char *p = line; (p = strstr(p, ": n=")); p++)
		n += p[-1] == 'a' ? 10000 : p[-1] == 'b' ? 100 : 1;
	return n;
}

TEST(breakpoints_are_known_while_they_stand)
{
	start();
	CHECK_EQ(fathom_set("events/enable", "1"), 0);
	CHECK(descents > 0);
	CHECK(in_flight >= 72);
	CHECK_EQ(strangers, 0);
}

/* Three steps and the store again, for each batch of 32 sites. */
#define ROUND 4

TEST(all_sites_with_few_syncs)
{
	start();
	CHECK_EQ(recorded(), 0);
	CHECK_EQ(fathom_set("events/enable", "1"), 0);
	CHECK(syncs >= ROUND && syncs <= 3 * ROUND);
	CHECK_EQ(recorded(), 312120);
	syncs = maps = 0;
	CHECK_EQ(fathom_set("events/enable", "1"), 0); /* they are: nothing is written */
	CHECK_EQ(syncs, 0);
	CHECK_EQ(maps, 0);
	CHECK_EQ(fathom_set("events/site/enable", "0"), 0);
	CHECK(syncs >= ROUND && syncs <= 3 * ROUND);
	CHECK_EQ(recorded(), 0);
	syncs = 0;
	CHECK_EQ(fathom_set("events/site/b/enable", "1"), 0);
	CHECK_EQ(syncs, ROUND);
	CHECK_EQ(recorded(), 2100);
	syncs = 0;
	CHECK_EQ(fathom_set("set_event", "site:*"), 0);
	CHECK(syncs <= 4 * ROUND);
	CHECK_EQ(recorded(), 312120);
	CHECK_EQ(append("set_event", "!site:c"), 0);
	CHECK_EQ(recorded(), 312100);
}

TEST(patterns_with_few_syncs)
{
	start();
	CHECK_EQ(fathom_event_enable("site:*", 1), 3);
	CHECK(syncs >= ROUND && syncs <= 3 * ROUND);
	CHECK_EQ(recorded(), 312120);
	CHECK_EQ(fathom_event_enable("site:b", 0), 1);
	CHECK_EQ(recorded(), 310020);
	CHECK_EQ(fathom_event_enable("site:*", 0), 3);
	CHECK_EQ(recorded(), 0);
	syncs = 0;
	CHECK_EQ(fathom_event_enable("site:*", 1), 3);
	fathom_exit(); /* its sites are NOPs: a site that jumps would be seen by the next start */
	syncs = 0;
	start();
	CHECK_EQ(recorded(), 0);
}

/* An event that another instance records stays on; one that a hook wants, too. */
static unsigned int hooked;

static void on_c(void *data, uint32_t n)
{
	(void)data, (void)n;
	hooked++;
}

TEST(others_keep_their_sites)
{
	struct fathom_node dir;

	start();
	REQUIRE(fathom_fs_lookup("instances", &dir) == 0);
	CHECK_EQ(fathom_fs_mkdir(&dir, "other", 5), 0);
	CHECK_EQ(fathom_set("instances/other/events/site/a/enable", "1"), 0);
	CHECK_EQ(register_trace_c(on_c, NULL), 0);
	CHECK_EQ(fathom_set("events/enable", "1"), 0);
	CHECK_EQ(fathom_set("events/enable", "0"), 0);
	hooked = 0;
	CHECK_EQ(recorded(), 0);
	CHECK_EQ(hooked, 20);
	CHECK(strstr(get("instances/other/trace"), "a: n=9") != NULL);
	CHECK_EQ(unregister_trace_c(on_c, NULL), 0);
}

static int reg_refuses(void)
{
	return -FATHOM_ENOMEM;
}

/* An event that refuses is off, its sites too; the others are on. */
TEST(a_refusal_leaves_the_others_on)
{
	start();
	fathom_ev_b.reg = reg_refuses;
	CHECK_EQ(fathom_set("events/enable", "1"), -FATHOM_ENOMEM);
	fathom_ev_b.reg = NULL;
	CHECK_EQ(recorded(), 310020);
	CHECK(!strcmp(get("events/site/b/enable"), "0\n"));
	syncs = 0;
	CHECK_EQ(fathom_set("events/site/b/enable", "1"), 0);
	CHECK_EQ(syncs, ROUND); /* they were NOPs again */
	CHECK_EQ(recorded(), 312120);
}

/* Text that cannot be written is reported, and no event says it is on. */
TEST(text_that_cannot_be_written)
{
	start();
	refuse = 1;
	CHECK_EQ(fathom_set("events/enable", "1"), -FATHOM_EFAULT);
	CHECK(!strcmp(get("events/site/enable"), "0\n"));
	CHECK_EQ(fathom_event_enable("site:a", 1), -FATHOM_EFAULT);
	refuse = 0;
	CHECK_EQ(recorded(), 0);
	CHECK_EQ(fathom_set("events/enable", "1"), 0);
	CHECK_EQ(recorded(), 312120);
	fathom_exit();
}

static __attribute__((noinline, no_reorder, section(".text.unlikely"))) void rare_sites(void)
{
	trace_b(0), trace_a(0);
}

#else

TEST(sites_of_this_machine)
{
	CHECK(1);
}

#endif

TEST_MAIN
