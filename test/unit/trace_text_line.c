/* SPDX-License-Identifier: MIT */
/* trace_text_line.c -- columns and headers, against what a Linux 6.1 printed. */
#include "harness.h"
#include "wire/text_line.h"

static char buf[4096];
static struct fathom_text t;

static const struct fathom_text_entry bash = {
	.comm = "bash",
	.pid = 131,
	.cpu = 0,
	.flags = 45,
	.preempt_count = 6,
	.time = 141613448000,
	.next_time = 141613818000,
};

static const char *prefix(uint32_t options, const struct fathom_text_entry *e)
{
	struct fathom_text_view v = {.options = options, .nr_cpus = 2, .start = 141613437000};

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_prefix(&t, &v, e);
	return fathom_text_cstr(&t);
}

TEST(line_forms)
{
	const uint32_t normal = FATHOM_TEXT_DEFAULT;

	CHECK_STR(prefix(normal, &bash), "            bash-131     [000] dNh6.   141.613448: ");
	CHECK_STR(prefix(normal & ~FATHOM_TEXT_IRQ_INFO, &bash),
		  "            bash-131     [000]    141.613448: ");
	CHECK_STR(prefix(normal | FATHOM_TEXT_RECORD_TGID, &bash),
		  "            bash-131     (-------) [000] dNh6.   141.613448: ");
	CHECK_STR(prefix(normal | FATHOM_TEXT_LATENCY, &bash),
		  "    bash-131       0dNh6.   11us!: ");
	CHECK_STR(prefix(normal | FATHOM_TEXT_LATENCY | FATHOM_TEXT_VERBOSE, &bash),
		  "            bash     131   0 45 00000006 00000000 [0870d988] 0.011ms "
		  "(+0.370ms): ");
	CHECK_STR(prefix(normal | FATHOM_TEXT_RAW, &bash), "131 0 141613448000 ");
	CHECK_STR(prefix(normal | FATHOM_TEXT_HEX, &bash), "00000083 00000000 00000020f8d1bb40 ");
	CHECK_STR(prefix(normal & ~FATHOM_TEXT_CONTEXT_INFO, &bash), "");
}

TEST(line_names_and_clocks)
{
	struct fathom_text_entry e = {.pid = 0, .cpu = 12, .time = 7, .tgid = 57};
	struct fathom_text_view v = {.options = FATHOM_TEXT_DEFAULT | FATHOM_TEXT_RECORD_TGID,
				     .plain_clock = 1,
				     .start = 3};

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_prefix(&t, &v, &e);
	CHECK_STR(fathom_text_cstr(&t),
		  "          <idle>-0       (     57) [012] .....            7: ");
	v.options = FATHOM_TEXT_DEFAULT | FATHOM_TEXT_LATENCY;
	e.comm = "kworker/0:1";
	e.pid = 22;
	e.cpu = 0;
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_prefix(&t, &v, &e);
	CHECK_STR(fathom_text_cstr(&t), "kworker/-22        0.....    4: ");
	CHECK_STR(fathom_text_comm(9, NULL), "<...>");
	CHECK_STR(fathom_text_comm(-1, "x"), "<XXX>");
	/* Rounded, not cut. */
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_time(&t, 1999999500);
	CHECK_STR(fathom_text_cstr(&t), "    2.000000");
}

TEST(line_flags)
{
	const struct fathom_text_view view = {0};
	static const struct {
		uint8_t flags, preempt;
		const char *text;
	} cases[] = {
		{0x00, 0x00, "....."}, {0x01, 0x02, "d..2."}, {0x81, 0x00, "D...."},
		{0x80, 0x00, "b...."}, {0x02, 0x00, "X...."}, {0x24, 0x10, ".N..1"},
		{0x04, 0x00, ".n..."}, {0x20, 0x00, ".p..."}, {0x48, 0x00, "..Z.."},
		{0x40, 0xfa, "..zaf"}, {0x18, 0x00, "..H.."}, {0x08, 0x00, "..h.."},
		{0x10, 0x00, "..s.."},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fathom_text_init(&t, buf, sizeof(buf));
		fathom_text_flags(&t, &view,
				  &(struct fathom_text_entry){.flags = cases[i].flags,
							      .preempt_count = cases[i].preempt});
		CHECK_STR(fathom_text_cstr(&t), cases[i].text);
	}
}

/* Bit 0x02 has had two meanings; PREEMPT_RT has two columns more. */
TEST(line_flags_of_newer_kernels)
{
	static const struct {
		uint8_t columns, flags, preempt, lazy;
		const char *text;
	} cases[] = {
		{FATHOM_TEXT_FLAGS_LAZY, 0x02, 0, 0, ".l..."},
		{FATHOM_TEXT_FLAGS_LAZY, 0x03, 1, 0, "dl.1."},
		{FATHOM_TEXT_FLAGS_LAZY, 0x22, 0, 0, ".L..."},
		{FATHOM_TEXT_FLAGS_LAZY, 0x06, 0, 0, ".b..."},
		{FATHOM_TEXT_FLAGS_LAZY, 0x26, 0, 0, ".B..."},
		{FATHOM_TEXT_FLAGS_LAZY, 0x24, 0, 0, ".N..."},
		{FATHOM_TEXT_FLAGS_RT, 0x02, 0x12, 3, "..L.231"},
		{FATHOM_TEXT_FLAGS_RT, 0x25, 0, 0, "dN....."},
	};
	struct fathom_text t;
	char buf[16];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fathom_text_view view = {.columns = cases[i].columns};

		fathom_text_init(&t, buf, sizeof(buf));
		fathom_text_flags(&t, &view,
				  &(struct fathom_text_entry){.flags = cases[i].flags,
							      .preempt_count = cases[i].preempt,
							      .lazy_count = cases[i].lazy});
		CHECK_STR(fathom_text_cstr(&t), cases[i].text);
	}
}

TEST(line_marks_are_strictly_above)
{
	static const uint64_t edge[] = {1000000000, 100000000, 10000000, 1000000, 100000, 10000};

	for (int i = 0; i < 6; i++) {
		CHECK_EQ(fathom_text_mark(edge[i] + 1), "$@*#!+"[i]);
		CHECK_EQ(fathom_text_mark(edge[i]), "@*#!+ "[i]);
	}
}

TEST(line_symbols)
{
	struct fathom_text_symbol f = {"vfs_write", 0xffffffff81234560, 0, 0x30, NULL};
	struct fathom_text_symbol p = {NULL, 0x1234, 0, 0, NULL};
	struct fathom_text_switch s = {131, 129, 0, 120, 0, 49, 0, "rt-task"};

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_function(&t, FATHOM_TEXT_DEFAULT, &f, NULL, &p);
	CHECK_STR(fathom_text_cstr(&t), "vfs_write <-0x00001234");
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_symbol(&t, FATHOM_TEXT_SYM_OFFSET,
			   &(struct fathom_text_symbol){"ext4_alloc_inode", 0x1234, 0x23, 0x1b0,
							"ext4"});
	CHECK_STR(fathom_text_cstr(&t), "ext4_alloc_inode+0x23/0x1b0 [ext4]");
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_frame(&t, FATHOM_TEXT_SYM_OFFSET | FATHOM_TEXT_SYM_ADDR, &f);
	CHECK_STR(fathom_text_cstr(&t), " => vfs_write+0x0/0x30 <ffffffff81234560>\n");
	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_switch(&t, "  +", &s);
	CHECK_STR(fathom_text_cstr(&t), "     131:120:R   + [000]     129: 49:R rt-task");
}

static const char *header(uint32_t options, uint64_t entries)
{
	static const struct fathom_text_banner b = {.release = "6.1.190-ftlab",
						    .model = "preempt",
						    .latency_us = 5939,
						    .comm = "pong",
						    .pid = 222,
						    .start_at = "a",
						    .end_at = "b"};
	struct fathom_text_view v = {.options = options, .nr_cpus = 2};
	struct fathom_text_head h = {"nop", entries, entries, &b};

	fathom_text_init(&t, buf, sizeof(buf));
	fathom_text_header(&t, &v, &h);
	return fathom_text_cstr(&t);
}

TEST(line_headers)
{
	CHECK_STR(header(FATHOM_TEXT_DEFAULT, 0),
		  "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n"
		  "#                                _-----=> irqs-off/BH-disabled\n"
		  "#                               / _----=> need-resched\n"
		  "#                              | / _---=> hardirq/softirq\n"
		  "#                              || / _--=> preempt-depth\n"
		  "#                              ||| / _-=> migrate-disable\n"
		  "#                              |||| /     delay\n"
		  "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
		  "#              | |         |   |||||     |         |\n");
	CHECK(strstr(header(FATHOM_TEXT_DEFAULT | FATHOM_TEXT_RECORD_TGID, 0),
		     "#                                        |||| /     delay\n"
		     "#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n"
		     "#              | |           |       |   |||||     |         |\n"));
	CHECK_STR(header((FATHOM_TEXT_DEFAULT | FATHOM_TEXT_RECORD_TGID) & ~FATHOM_TEXT_IRQ_INFO,
			 1),
		  "# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:2\n#\n"
		  "#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION\n"
		  "#              | |           |       |         |         |\n");
	CHECK(strstr(header(FATHOM_TEXT_DEFAULT & ~FATHOM_TEXT_IRQ_INFO, 1),
		     "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
		     "#              | |         |         |         |\n"));
	CHECK_STR(header(FATHOM_TEXT_DEFAULT & ~FATHOM_TEXT_CONTEXT_INFO, 1), "# tracer: nop\n#\n");
	CHECK_STR(header(FATHOM_TEXT_DEFAULT | FATHOM_TEXT_LATENCY, 0), "# tracer: nop\n#\n");
	CHECK_STR(header(FATHOM_TEXT_DEFAULT | FATHOM_TEXT_LATENCY | FATHOM_TEXT_VERBOSE, 4),
		  "# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.1.190-ftlab\n"
		  "# --------------------------------------------------------------------\n"
		  "# latency: 5939 us, #4/4, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n"
		  "#    -----------------\n"
		  "#    | task: pong-222 (uid:0 nice:0 policy:0 rt_prio:0)\n"
		  "#    -----------------\n"
		  "#  => started at: a\n#  => ended at:   b\n#\n#\n");
}

TEST_MAIN
