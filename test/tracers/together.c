/* SPDX-License-Identifier: MIT */
/* together.c -- shell, link and tree at once, while tracers toggle: every page is read once, and no text is torn. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "fathom/fs.h"
#include "fathom/link.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "harness.h"
#include "port.h"
#include "traced.h"
#include "wire/frame.h"
#include "wire/ringpage.h"

#define WRITERS	 2
#define SEQUENCE (1u << 22)

static atomic_int stop_now;
static atomic_llong bad_calls, bad_records, twice, records, link_pages, tree_pages;
static _Atomic uint8_t seen[WRITERS][SEQUENCE / 8];

/* A page as a consumer got it. Each record counts; each number of a writer comes once. */
static void take_page(const void *bytes)
{
	const struct wire_page *page = bytes;
	uint32_t at = 0, end = (uint32_t)(page->commit & WIRE_COMMIT_SIZE);
	uint64_t time = page->time;
	struct wire_item item;

	for (; at < end; at = item.next) {
		uint16_t id;
		uint32_t mark[2];

		if (end > WIRE_PAGE_DATA || wire_page_step(page->data, at, end, &time, &item)) {
			atomic_fetch_add(&bad_records, 1);
			return;
		}
		if (!item.data)
			continue;
		atomic_fetch_add(&records, 1);
		memcpy(&id, item.data, 2);
		if (id != WIRE_ID_RAW_DATA)
			continue;
		memcpy(mark, item.data + 8, 8);
		if (mark[0] >= WRITERS || mark[1] >= SEQUENCE)
			atomic_fetch_add(&bad_records, 1);
		else if (atomic_fetch_or(&seen[mark[0]][mark[1] / 8],
					 (uint8_t)(1u << mark[1] % 8)) &
			 1u << mark[1] % 8)
			atomic_fetch_add(&twice, 1);
	}
}

static void *writer(void *arg)
{
	uint32_t mark[2] = {(uint32_t)(uintptr_t)arg, 0};

	fathom_user_cpu = mark[0];
	while (!atomic_load(&stop_now)) {
		if (ret_top(3) != hij_top(3) || hij_recurse(9) != 9 || hij_tail(4) != 20)
			atomic_fetch_add(&bad_calls, 1);
		if (mark[1] < SEQUENCE && fathom_marker_raw(mark, sizeof(mark)) > 0)
			mark[1]++;
	}
	return 0;
}

static void link_answer(void *arg, const void *data, size_t bytes)
{
	static __thread _Alignas(8) uint8_t page[WIRE_PAGE_BYTES];
	const uint8_t *frame = data;
	size_t n = bytes - WIRE_FRAME_HEADER - WIRE_FRAME_CRC;

	(void)arg;
	if (frame[4] != (WIRE_FRAME_PAGE | WIRE_FRAME_ANSWER) || !n)
		return;
	memcpy(page, frame + WIRE_FRAME_HEADER, n < sizeof(page) ? n : sizeof(page));
	atomic_fetch_add(&link_pages, 1);
	take_page(page);
}

static void *link_client(void *unused)
{
	static struct fathom_link link;
	uint8_t frame[WIRE_FRAME_MAX];
	uint32_t number = 0;

	(void)unused;
	fathom_link_init(&link, link_answer, 0);
	while (!atomic_load(&stop_now)) {
		for (uint32_t cpu = 0; cpu < WRITERS; cpu++)
			fathom_link_input(&link, frame,
					  fathom_frame_seal(frame, WIRE_FRAME_PAGE, ++number, cpu,
							    0));
		usleep(100); /* the lock is a spinlock here, and not a fair one */
		memcpy(frame + WIRE_FRAME_HEADER, "no:such", 7);
		fathom_link_input(&link, frame,
				  fathom_frame_seal(frame, WIRE_FRAME_ENABLE, ++number, 1, 7));
	}
	return 0;
}

/* What a 9P client's reads become. */
static int tree_read(uint32_t cpu)
{
	static __thread _Alignas(8) uint8_t page[WIRE_PAGE_BYTES];
	struct fathom_node node;
	struct fathom_file f;
	char path[64];
	int n;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	if (fathom_fs_lookup(path, &node) || fathom_fs_open(&f, &node, FATHOM_O_RDONLY))
		return -1;
	n = fathom_fs_read(&f, page, sizeof(page));
	fathom_fs_close(&f);
	if (n > 0) {
		atomic_fetch_add(&tree_pages, 1);
		take_page(page);
	}
	return n;
}

static void *tree_client(void *unused)
{
	(void)unused;
	for (; !atomic_load(&stop_now); usleep(100))
		for (uint32_t cpu = 0; cpu < WRITERS; cpu++)
			tree_read(cpu);
	return 0;
}

/* Everybody had a turn. */
static int all_ran(int changes)
{
	return link_pages > 0 && tree_pages > 0 && changes > 1;
}

/* The shell: the test's own thread. A new tracer empties the rings, so only without one can records be counted. */
static int toggle(int seconds, int counted)
{
	static const char *const tracers[] = {"function", "nop", "function_graph", "nop"};
	static char text[1 << 16];
	time_t end = time(0) + seconds;
	int n = 0;

	for (; time(0) < end || !all_ran(n); n++) {
		int err = counted ? 0 : fathom_set("current_tracer", tracers[n % 4]);

		CHECK(!err || err == -FATHOM_EBUSY); /* as in Linux: trace_pipe_raw is open */
		if (n % 8 == 0)
			CHECK(fathom_get("trace", text, sizeof(text)) >= 0);
		CHECK_EQ(fathom_set("set_ftrace_filter", n % 3 ? "hij_*" : "*_top"), 0);
		CHECK_EQ(fathom_set("function_profile_enabled", n % 2 ? "1" : "0"), 0);
		usleep(2000);
	}
	return n;
}

static void run_together(int counted)
{
	const char *seconds = getenv("TOGETHER_SECONDS");
	struct fathom_ring_stats st;
	pthread_t t[WRITERS + 2];
	uint64_t read = 0, lost = 0;
	int n;

	atomic_store(&stop_now, 0);
	memset((void *)seen, 0, sizeof(seen));
	records = link_pages = tree_pages = 0;
	CHECK_EQ(fathom_set("current_tracer", "function_graph"), 0);
	for (uint32_t i = 0; i < 4; i++)
		fathom_ring_reset(fathom_ring_of(i));
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_create(&t[i], 0, writer, (void *)(uintptr_t)i);
	pthread_create(&t[WRITERS], 0, link_client, 0);
	pthread_create(&t[WRITERS + 1], 0, tree_client, 0);
	fathom_user_cpu = 3;
	n = toggle(seconds ? atoi(seconds) / 2 : 2, counted);
	atomic_store(&stop_now, 1);
	for (int i = 0; i < WRITERS + 2; i++)
		pthread_join(t[i], 0);
	fathom_set("function_profile_enabled", "0");
	for (uint32_t cpu = 0; cpu < WRITERS; cpu++) {
		while (tree_read(cpu) > 0)
			;
		fathom_ring_stats(fathom_ring_of(cpu), &st);
		read += st.read;
		lost += st.overwritten;
		CHECK_EQ(st.entries, 0);
	}
	fathom_set("current_tracer", "nop");
	printf("  %d changes, %lld records in %lld pages of the link and %lld of the tree, %llu "
	       "overwritten\n",
	       n, (long long)records, (long long)link_pages, (long long)tree_pages,
	       (unsigned long long)lost);
	if (counted)
		CHECK_EQ(atomic_load(&records), read);
	CHECK_EQ(atomic_load(&bad_records), 0);
	CHECK_EQ(atomic_load(&twice), 0);
	CHECK_EQ(atomic_load(&bad_calls), 0);
	CHECK_EQ(port_strangers, 0);
}

TEST(every_page_is_read_once)
{
	CHECK_EQ(port_init(4), 0);
	run_together(1);
}

TEST(tracers_toggle_meanwhile)
{
	run_together(0);
}

TEST_MAIN
