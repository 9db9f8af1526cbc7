/* SPDX-License-Identifier: MIT */
/* trace_program_runs.c -- programs in the library: images that are wrong, runs and their limits, attachments, files. */
#include <stdlib.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom/tracepoint.h"
#include "fathom_port.h"
#include "programs/programs.h"

TRACE_DEFINE(runs, number, "u=%u", (U32, u))

static int start(void)
{
	static uint8_t memory[8 << 20] __attribute__((aligned(4096)));
	struct fathom_config c = {.memory = memory,
				  .memory_bytes = sizeof(memory),
				  .nr_cpus = 8,
				  .pages_per_cpu = 8,
				  .programs = &fathom_programs};
	char buf[64];

	return fathom_init(&c) || fathom_get("tracing_on", buf, sizeof(buf)) < 0;
}

/* ---- images ---- */

struct image {
	struct bpf_image head;
	struct bpf_image_map map;
	struct bpf_image_part part;
	struct bpf_insn code[6];
};

static const struct image good = {
	.head = {.magic = BPF_IMAGE_MAGIC,
		 .version = 1,
		 .nr_maps = 1,
		 .nr_parts = 1,
		 .ring_bytes = 256,
		 .nr_code = 6},
	.map = {.name = "m",
		.kind = BPF_MAP_COUNTS,
		.key_bytes = 8,
		.value_bytes = 8,
		.entries = 16},
	.part = {0, 2, 0, 8},
	.code = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0}},
};

static int load(const struct image *image, size_t bytes, size_t step)
{
	struct fathom_node node;
	struct fathom_file f;
	int err;

	CHECK_EQ(fathom_fs_lookup("programs", &node), 0);
	CHECK_EQ(fathom_fs_mkdir(&node, "p", 1), 0);
	CHECK_EQ(fathom_fs_lookup("programs/p/load", &node), 0);
	err = fathom_fs_open(&f, &node, FATHOM_O_WRONLY);
	for (size_t at = 0; at < bytes && err >= 0; at += step)
		err = fathom_fs_write(&f, (const uint8_t *)image + at,
				      bytes - at < step ? bytes - at : step);
	fathom_fs_close(&f);
	return err < 0 ? err : 0;
}

static void discard(void)
{
	struct fathom_node node;

	CHECK_EQ(fathom_fs_lookup("programs/p", &node), 0);
	CHECK_EQ(fathom_fs_rmdir(&node), 0);
}

/* What was taken in spite of that may have broken the pool: the case ends. */
#define WRONG(want, change)                                           \
	do {                                                          \
		struct image i = good;                                \
		int got;                                              \
		change;                                               \
		CHECK_EQ(got = load(&i, sizeof(i), sizeof(i)), want); \
		REQUIRE(got == (want));                               \
		discard();                                            \
	} while (0)

static const char *error_log(void)
{
	static char text[8192];

	text[0] = 0;
	CHECK(fathom_get("error_log", text, sizeof(text)) > 0);
	return text;
}

static int times(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

TEST(images)
{
	char text[4096];

	CHECK(!start());
	for (size_t step = 1; step < sizeof(good); step += 13) {
		CHECK_EQ(load(&good, sizeof(good), step), 0);
		CHECK_EQ(fathom_set("programs/p/run", "0"), 0);
		CHECK(fathom_get("programs/p/stats", text, sizeof(text)) > 0);
		CHECK(strstr(text, "loaded: 1\nruns: 1\n") != NULL);
		CHECK_EQ(fathom_get("programs/p/maps/m", text, sizeof(text)), 0);
		CHECK_EQ(fathom_set("programs/p/maps/m", "zero"), 0);
		CHECK_EQ(fathom_set("programs/p/maps/m", "nothing"), -FATHOM_EINVAL);
		discard();
	}
	CHECK_EQ(load(&good, sizeof(good) - 1, sizeof(good)), 0); /* more has to come */
	CHECK_EQ(fathom_set("programs/p/run", "0"), -FATHOM_EINVAL);
	discard();
	WRONG(-FATHOM_EINVAL, i.head.magic = __builtin_bswap32(i.head.magic));
	WRONG(-FATHOM_EINVAL, i.head.version = 2);
	WRONG(-FATHOM_EINVAL, i.head.nr_maps = 33);
	WRONG(-FATHOM_EINVAL, i.head.nr_parts = 0);
	WRONG(-FATHOM_EINVAL, i.head.nr_code = 1u << 20);
	WRONG(-FATHOM_EINVAL, i.head.nr_code = 3);
	WRONG(-FATHOM_EINVAL, i.head.ring_bytes = 100);
	WRONG(-FATHOM_EINVAL, i.head.ring_bytes = 32);
	WRONG(-FATHOM_EINVAL, i.map.name[0] = 0);
	WRONG(-FATHOM_EINVAL, i.map.name[0] = '/');
	WRONG(-FATHOM_EINVAL, memset(i.map.name, 'x', sizeof(i.map.name)));
	WRONG(-FATHOM_EINVAL, i.map.kind = BPF_MAP_KINDS);
	WRONG(-FATHOM_EINVAL, i.map.kind = BPF_MAP_LOG2);
	WRONG(-FATHOM_EINVAL, i.map.kind = BPF_MAP_ARRAY);
	WRONG(-FATHOM_EINVAL, (i.map.kind = BPF_MAP_LINEAR, i.map.max = INT64_MAX,
			       i.map.min = INT64_MIN, i.map.step = 1));
	WRONG(-FATHOM_EINVAL, i.map.value_bytes = 0);
	WRONG(-FATHOM_EINVAL, i.map.entries = 0);
	WRONG(-FATHOM_E2BIG, i.map.entries = 1u << 20);
	WRONG(-FATHOM_E2BIG, (i.map.key_bytes = 0x80000000, i.map.entries = 0x40000000));
	/* 8 CPUs: with one value each it would fit. */
	WRONG(-FATHOM_E2BIG,
	      (i.map.kind = BPF_MAP_PERCPU_HASH, i.map.value_bytes = 64, i.map.entries = 4096));
	WRONG(-FATHOM_EINVAL, i.part.first = 6);
	WRONG(-FATHOM_EINVAL, i.part.first = UINT32_MAX);
	WRONG(-FATHOM_EINVAL, i.part.nr = 7);
	WRONG(-FATHOM_EINVAL, i.part.nr = 0xffffffff);
	CHECK_EQ(times(error_log(), "a part lies outside the code"), 4);
	WRONG(-FATHOM_EINVAL, i.part.nr = 1);
	CHECK(fathom_get("error_log", text, sizeof(text)) > 0);
	CHECK(strstr(text, "part 0, instruction 1") != NULL);
	CHECK_EQ(fathom_get("programs", text, sizeof(text)), -FATHOM_EISDIR);
	fathom_exit();
}

TEST(no_two_maps_have_one_name)
{
	struct {
		struct bpf_image head;
		struct bpf_image_map map[3];
		struct bpf_image_part part;
		struct bpf_insn code[6];
	} i = {good.head, {good.map, good.map, good.map}, good.part, {{0}}};

	CHECK(!start());
	memcpy(i.code, good.code, sizeof(i.code));
	i.head.nr_maps = 3;
	for (int twin = -1; twin < 3; twin++) {
		for (int k = 0; k < 3; k++) /* m0 m1 m2; two of them are m9 */
			i.map[k].name[1] = (char)(twin < 0 || twin == k ? '0' + k : '9');
		CHECK_EQ(load((const struct image *)(const void *)&i, sizeof(i), sizeof(i)),
			 twin < 0 ? 0 : -FATHOM_EINVAL);
		discard();
	}
	fathom_exit();
}

/* What a program had is free when it is gone: far more than there is, one after the other. */
TEST(a_program_that_is_gone_has_left_its_memory)
{
	struct image i = good;

	CHECK(!start());
	i.head.ring_bytes = 65536;
	i.head.nr_stacks = 64;
	i.map.entries = 8192;
	for (int round = 0; round < 200; round++) {
		REQUIRE(load(&i, sizeof(i), sizeof(i)) == 0);
		discard();
	}
	fathom_exit();
}

/* B2: what was retired while a handler is inside belongs to that handler until it leaves. */
TEST(retired_memory_waits_for_handlers)
{
	void *first, *second;

	CHECK(!start());
	fathom_lock();
	first = fathom_pool_get(64);
	REQUIRE(first != NULL);
	fathom_pool_enter(1);
	fathom_pool_retire(first);
	second = fathom_pool_get(64);
	CHECK(second && second != first);
	fathom_pool_enter(1); /* an interrupt comes and goes: the one below is still inside */
	fathom_pool_leave(1);
	fathom_pool_put(second);
	second = fathom_pool_get(64);
	CHECK(second && second != first);
	fathom_pool_leave(1);
	CHECK(fathom_pool_get(64) == first);
	fathom_unlock();
	fathom_exit();
}

/* ---- runs ---- */

static struct program loaded;

static void load_here(const struct image *image)
{
	loaded = (struct program){.name = "here"};
	fathom_lock();
	CHECK_EQ(fathom_program_load(&loaded, image, sizeof(*image)), 0);
	fathom_unlock();
	REQUIRE(loaded.loaded);
}

static uint64_t runs_of(uint32_t cpu)
{
	uint64_t n;

	memcpy(&n, loaded.runs[cpu].half, sizeof(n));
	return n;
}

TEST(a_record_that_is_too_short_is_counted)
{
	static const uint8_t record[16];
	struct program_hit hit = {.record = record, .bytes = 16, .cpu = 1};
	struct image i = good;

	CHECK(!start());
	i.part.context_bytes = 16;
	i.part.nr = 2;
	i.code[0] = (struct bpf_insn){BPF_LDX | BPF_MEM | BPF_DW, 1 << 4, 8, 0};
	load_here(&i);
	fathom_program_run(&loaded, 0, &hit);
	CHECK_EQ(runs_of(1), 1);
	CHECK_EQ(runs_of(0), 0);
	CHECK_EQ(loaded.too_short, 0);
	for (hit.bytes = 0; hit.bytes < 16; hit.bytes++)
		fathom_program_run(&loaded, 0, &hit);
	CHECK_EQ(runs_of(1), 1);
	CHECK_EQ(loaded.too_short, 16);
	CHECK_EQ(loaded.nested, 0);
	fathom_exit();
}

TEST(a_run_that_is_stopped_is_counted)
{
	struct program_hit hit = {0};
	struct image i = good;

	CHECK(!start());
	i.part.nr = 4;
	i.code[1] = (struct bpf_insn){BPF_MAY_GOTO, 0, 1, 0};
	i.code[2] = (struct bpf_insn){BPF_JMP | BPF_JA, 0, -2, 0};
	i.code[3] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0};
	for (i.head.budget = 0; i.head.budget < 200; i.head.budget += 100) {
		load_here(&i);
		fathom_program_run(&loaded, 0, &hit);
		CHECK_EQ(loaded.stopped, 1);
		CHECK_EQ(runs_of(0), 1);
	}
	load_here(&good);
	fathom_program_run(&loaded, 0, &hit);
	CHECK_EQ(loaded.stopped, 0);
	fathom_exit();
}

static uint32_t interrupts, asked;

/* An interrupt in the middle of a run, which runs the same program. */
static int32_t group_of(int32_t pid)
{
	struct program_hit hit = {.cpu = 2, .pid = pid};

	REQUIRE(++asked <= FATHOM_PROGRAM_BUDGET);
	if (interrupts) {
		interrupts--;
		fathom_program_run(&loaded, 0, &hit);
	}
	return pid;
}

TEST(runs_nest_four_times)
{
	struct program_hit hit = {.cpu = 2, .pid = 7};
	struct image i = good;

	CHECK(!start());
	fathom_core.config.task_group = group_of;
	i.code[0] = (struct bpf_insn){BPF_JMP | BPF_CALL, 0, 0, BPF_PID_TGID};
	load_here(&i);
	for (uint32_t round = 1; round < 4; round++) {
		interrupts = 3;
		fathom_program_run(&loaded, 0, &hit);
		CHECK_EQ(runs_of(2), round * 4);
		CHECK_EQ(loaded.nested, 0);
	}
	interrupts = 10;
	fathom_program_run(&loaded, 0, &hit);
	CHECK_EQ(runs_of(2), 16);
	CHECK_EQ(loaded.nested, 1);
	CHECK_EQ(interrupts, 10 - 4);
	hit.cpu = fathom_core.nr_cpus; /* which is no CPU */
	fathom_program_run(&loaded, 0, &hit);
	CHECK_EQ(loaded.nested, 2);
	CHECK_EQ(loaded.too_short, 0);
	fathom_exit();
}

/* A program may ask for less than there is, not for more. */
TEST(nobody_runs_longer_than_the_target_allows)
{
	struct program_hit hit = {.cpu = 2, .pid = 7};
	struct image i = good;

	CHECK(!start());
	fathom_core.config.task_group = group_of;
	i.part.nr = 5;
	i.code[1] = (struct bpf_insn){BPF_MAY_GOTO, 0, 2, 0};
	i.code[2] = (struct bpf_insn){BPF_JMP | BPF_CALL, 0, 0, BPF_PID_TGID};
	i.code[3] = (struct bpf_insn){BPF_JMP | BPF_JA, 0, -3, 0};
	i.code[4] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0};
	i.head.budget = UINT32_MAX;
	load_here(&i);
	asked = interrupts = 0;
	fathom_program_run(&loaded, 0, &hit);
	CHECK(asked > 100);
	CHECK_EQ(loaded.stopped, 1);
	i.head.budget = 30;
	load_here(&i);
	asked = 0;
	fathom_program_run(&loaded, 0, &hit);
	CHECK(asked > 5 && asked < 30);
	fathom_exit();
}

/* ---- attachments ---- */

static uint64_t stat_of(const char *what)
{
	char text[4096] = "";
	const char *at;

	CHECK(fathom_get("programs/p/stats", text, sizeof(text)) > 0);
	at = strstr(text, what);
	CHECK(at != NULL);
	return at ? strtoull(at + strlen(what), NULL, 10) : 0;
}

#define ATTACH "programs/p/attach"
#define POINT  "0 tracepoint:runs:number"

TEST(an_event_runs_what_is_attached)
{
	char text[4096], far[200];

	CHECK(!start());
	CHECK_EQ(load(&good, sizeof(good), sizeof(good)), 0);
	CHECK_EQ(append(ATTACH, POINT), 0);
	CHECK_EQ(append(ATTACH, POINT), -FATHOM_EEXIST);
	CHECK_EQ(fathom_set("events/runs/number/enable", "1"), 0);
	CHECK(fathom_get(ATTACH, text, sizeof(text)) > 0);
	CHECK_STR(text, POINT "\n");
	trace_number(1);
	trace_number(2);
	CHECK_EQ(stat_of("runs: "), 2);
	/* A record that no longer fits the scratch is not shown to programs. */
	fathom_core.scratch_used[fathom_port_cpu()] = FATHOM_SCRATCH_BYTES;
	trace_number(3);
	fathom_core.scratch_used[fathom_port_cpu()] = 0;
	CHECK_EQ(stat_of("runs: "), 2);
	CHECK_EQ(stat_of("record too large: "), 1);
	CHECK_EQ(append(ATTACH, "!" POINT), 0);
	CHECK_EQ(append(ATTACH, "!" POINT), -FATHOM_ENOENT);
	trace_number(4);
	CHECK_EQ(stat_of("runs: "), 2);
	CHECK_EQ(append(ATTACH, "1 tracepoint:runs:number"), -FATHOM_EINVAL); /* it has one part */
	CHECK_EQ(append(ATTACH, "0 tracepoint:runs:nobody"), -FATHOM_ENOENT);
	CHECK_EQ(append(ATTACH, "0 elsewhere:runs:number"), -FATHOM_EINVAL);
	memset(far, 'x', sizeof(far) - 1);
	far[sizeof(far) - 1] = 0;
	memcpy(far, "0 tracepoint:", 13);
	CHECK_EQ(append(ATTACH, far), -FATHOM_EINVAL);
	CHECK_EQ(append(ATTACH, POINT), 0);
	discard();
	trace_number(5); /* its program is gone */
	CHECK_EQ(load(&good, sizeof(good), sizeof(good)), 0);
	CHECK_EQ(stat_of("runs: "), 0);
	fathom_exit();
}

/* ---- files ---- */

TEST(a_part_that_needs_a_record_is_not_run_without)
{
	struct image i = good;

	CHECK(!start());
	i.part.context_bytes = 8;
	CHECK_EQ(load(&i, sizeof(i), sizeof(i)), 0);
	CHECK_EQ(fathom_set("programs/p/run", "0"), -FATHOM_EINVAL);
	CHECK_EQ(fathom_set("programs/p/run", "1"), -FATHOM_EINVAL);
	CHECK_EQ(stat_of("record too short: "), 0);
	fathom_exit();
}

static int open_at(const char *path, struct fathom_file *f)
{
	struct fathom_node node;
	int err = fathom_fs_lookup(path, &node);

	return err ? err : fathom_fs_open(f, &node, FATHOM_O_RDONLY);
}

TEST(a_file_that_stayed_open_is_not_the_next_programs)
{
	struct fathom_file stats, map;
	char text[256];

	CHECK(!start());
	CHECK_EQ(load(&good, sizeof(good), sizeof(good)), 0);
	CHECK_EQ(open_at("programs/p/stats", &stats), 0);
	CHECK_EQ(open_at("programs/p/maps/m", &map), 0);
	discard();
	CHECK_EQ(load(&good, sizeof(good), sizeof(good)), 0);
	CHECK_EQ(fathom_fs_read(&stats, text, sizeof(text)), -FATHOM_ENODEV);
	CHECK_EQ(fathom_fs_read(&map, text, sizeof(text)), -FATHOM_ENODEV);
	fathom_fs_close(&stats);
	fathom_fs_close(&map);
	fathom_exit();
}

/* Lines that are longer than the buffer come in pieces, and nothing of them is missing. */
TEST(long_lines_in_small_pieces)
{
	struct image i = good;
	char whole[4096] = "", text[4096];
	struct fathom_file f;

	CHECK(!start());
	i.map.kind = BPF_MAP_ARRAY;
	i.map.key_bytes = 4;
	i.map.value_bytes = 256;
	i.map.entries = 3;
	CHECK_EQ(load(&i, sizeof(i), sizeof(i)), 0);
	CHECK(fathom_get("programs/p/maps/m", whole, sizeof(whole)) > 3 * 64);
	for (size_t step = 1; step < 300; step = step * 3 + 1) {
		size_t n = 0;
		int got;

		REQUIRE(open_at("programs/p/maps/m", &f) == 0);
		while ((got = fathom_fs_read(&f, text + n, step)) > 0 && n + 300 < sizeof(text))
			n += (size_t)got;
		fathom_fs_close(&f);
		text[n] = 0;
		CHECK_STR(text, whole);
	}
	fathom_exit();
}

TEST_MAIN
