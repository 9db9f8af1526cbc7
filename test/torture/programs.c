/* SPDX-License-Identifier: MIT */
/* programs.c -- programs that come and go in a process, while four threads fire the event and call the function they are at. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "fathom/fs.h"
#include "fathom/inside/errno.h"
#include "fathom/trace.h"
#include "fathom_user.h"
#include "wire/bpf_image.h"

/*
 *	programs [EVENTS]
 *
 * Each thread counts its turns: a turn is an event with the turn's number, and a call. One program is there from the first turn
 * to the last and has counted every one of them. Others are loaded, attached, detached and removed all the while. Of each thread, one
 * of these has noted an unbroken sequence of numbers, each once; and it has seen at least what began after it was attached
 * and ended before it was to be detached, and at most what ended after it was to be attached and began before it was gone. Some
 * are removed while they are attached.
 */
enum {
	THREADS = 4,
	GUESTS = 3,
};

TRACE_DEFINE(torture, turn, "who=%u n=%u", (U32, who), (U32, n))

static struct thread {
	pthread_t thread;
	uint64_t begun, ended; /* turns; read by main */
} __attribute__((aligned(64))) threads[THREADS];
static uint64_t quota;
static int running, enough;
static uint64_t failures, guests, guests_ran, refused;

__attribute__((noinline, noclone)) static unsigned step(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void *fire(void *arg)
{
	struct thread *t = arg;
	uint64_t n;

	for (n = 0; n < quota || !__atomic_load_n(&enough, __ATOMIC_RELAXED); n++) {
		__atomic_store_n(&t->begun, n + 1, __ATOMIC_SEQ_CST);
		trace_turn((uint32_t)(t - threads), (uint32_t)n);
		step((unsigned)n);
		__atomic_store_n(&t->ended, n + 1, __ATOMIC_SEQ_CST);
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

struct turns {
	uint64_t of[THREADS];
};

static struct turns turns_begun(void)
{
	struct turns t;

	for (int i = 0; i < THREADS; i++)
		t.of[i] = __atomic_load_n(&threads[i].begun, __ATOMIC_SEQ_CST);
	return t;
}

static struct turns turns_ended(void)
{
	struct turns t;

	for (int i = 0; i < THREADS; i++)
		t.of[i] = __atomic_load_n(&threads[i].ended, __ATOMIC_SEQ_CST);
	return t;
}

/* Until every turn that had begun by now has ended: nobody is inside what was detached before. */
static void wait_for_late(void)
{
	struct turns late = turns_begun();

	for (int i = 0; i < THREADS; i++)
		while (__atomic_load_n(&threads[i].ended, __ATOMIC_SEQ_CST) < late.of[i])
			sched_yield();
}

/* ---- the program ---- */

#define ALU64(op, x, dst, src, imm)                                \
	{                                                          \
		BPF_ALU64 | (op) | (x), BPF_REGS(dst, src), 0, imm \
	}
#define KEY(reg)                                                         \
	{                                                                \
		BPF_STX | BPF_MEM | BPF_DW, BPF_REGS(BPF_FP, reg), -8, 0 \
	}
#define MAP(index)                                             \
	{BPF_LD_IMM64, BPF_REGS(1, BPF_PSEUDO_MAP), 0, index}, \
	{                                                      \
		0, 0, 0, 0                                     \
	}
#define CALL(helper)                             \
	{                                        \
		BPF_JMP | BPF_CALL, 0, 0, helper \
	}
#define KEY_ADDRESS ALU64(BPF_MOV, BPF_X, 2, BPF_FP, 0), ALU64(BPF_ADD, BPF_K, 2, 0, -8)
#define EXIT                                \
	{                                   \
		BPF_JMP | BPF_EXIT, 0, 0, 0 \
	}

static const struct {
	struct bpf_image head;
	struct bpf_image_map map[2];
	struct bpf_image_part part[2];
	struct bpf_insn code[18];
} image = {
	.head = {.magic = BPF_IMAGE_MAGIC,
		 .version = BPF_IMAGE_VERSION,
		 .nr_maps = 2,
		 .nr_parts = 2,
		 .nr_code = 18},
	.map = {{.name = "turns",
		 .kind = BPF_MAP_NOTES,
		 .key_bytes = 8,
		 .value_bytes = 32,
		 .entries = 16},
		{.name = "calls",
		 .kind = BPF_MAP_COUNTS,
		 .key_bytes = 8,
		 .value_bytes = 8,
		 .entries = 16}},
	.part = {{0, 9, 16, 8}, {9, 9, 8, 8}},
	.code = {{BPF_LDX | BPF_MEM | BPF_W, BPF_REGS(0, 1), 8, 0},  /* who */
		 {BPF_LDX | BPF_MEM | BPF_W, BPF_REGS(3, 1), 12, 0}, /* n */
		 KEY(0),
		 MAP(0),
		 KEY_ADDRESS,
		 CALL(BPF_MAP_NOTE),
		 EXIT,
		 CALL(BPF_TID),
		 KEY(0),
		 ALU64(BPF_MOV, BPF_K, 3, 0, 1),
		 MAP(1),
		 KEY_ADDRESS,
		 CALL(BPF_MAP_ADD),
		 EXIT},
};

static int put(const char *program, const char *file, const char *text)
{
	char path[64];
	struct fathom_node node;
	struct fathom_file f;
	int err;

	snprintf(path, sizeof(path), "programs/%s/%s", program, file);
	err = fathom_fs_lookup(path, &node);
	if (!err)
		err = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_APPEND);
	if (err < 0)
		return err;
	err = text ? fathom_fs_write(&f, text, strlen(text))
		   : fathom_fs_write(&f, &image, sizeof(image));
	fathom_fs_close(&f);
	return err < 0 ? err : 0;
}

static int load(const char *program)
{
	struct fathom_node node;
	int err = fathom_fs_lookup("programs", &node);

	if (!err)
		err = fathom_fs_mkdir(&node, program, strlen(program));
	return err ? err : put(program, "load", NULL);
}

static int discard(const char *program)
{
	char path[64];
	struct fathom_node node;
	int err;

	snprintf(path, sizeof(path), "programs/%s", program);
	err = fathom_fs_lookup(path, &node);
	return err ? err : fathom_fs_rmdir(&node);
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("# %s: %d\n", what, err);
	failures++;
}

/* ---- what it has counted ---- */

struct counted {
	struct turns count, min, max, total;
	uint64_t calls;
};

static const char *text_of(const char *program, const char *map)
{
	static char text[4096];
	char path[64];

	snprintf(path, sizeof(path), "programs/%s/maps/%s", program, map);
	text[0] = 0;
	if (fathom_get(path, text, sizeof(text)) < 0)
		failures++;
	return text;
}

static struct counted counted(const char *program)
{
	struct counted c = {0};
	uint64_t who, v[4];
	const char *at;

	for (at = text_of(program, "turns");
	     sscanf(at, "%" SCNx64 " = %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &who, &v[0],
		    &v[1], &v[2], &v[3]) == 5 &&
	     who < THREADS;
	     at = strchr(at, '\n') + 1) {
		c.count.of[who] += v[0];
		c.total.of[who] += v[1];
		c.min.of[who] = v[2];
		c.max.of[who] = v[3];
	}
	for (at = text_of(program, "calls"); sscanf(at, "%" SCNx64 " = %" SCNx64, &who, &v[0]) == 2;
	     at = strchr(at, '\n') + 1)
		c.calls += v[0];
	return c;
}

static void check_range(const char *what, uint64_t v, uint64_t least, uint64_t most)
{
	if (v >= least && v <= most)
		return;
	printf("# %s: %" PRIu64 ", not %" PRIu64 " to %" PRIu64 "\n", what, v, least, most);
	failures++;
}

/* Each number from the first to the last, once. */
static void check_sequence(const struct counted *c, int who)
{
	uint64_t n = c->count.of[who], min = c->min.of[who], max = c->max.of[who];

	if (n && (n != max - min + 1 || c->total.of[who] != (min + max) * n / 2)) {
		printf("# thread %d: %" PRIu64 " turns noted from %" PRIu64 " to %" PRIu64
		       ", sum %" PRIu64 "\n",
		       who, n, min, max, c->total.of[who]);
		failures++;
	}
}

/* ---- programs that come and go ---- */

static struct guest {
	int there;
	struct turns asked, attached;
} guest[GUESTS];

static const char *const names[GUESTS] = {"a", "b", "c"};
#define EVENT	 "0 tracepoint:torture:turn"
#define FUNCTION "1 kprobe:step"

static void come(int i)
{
	int err = load(names[i]);

	if (err == -FATHOM_ENOMEM) { /* what others left is not free yet */
		refused++;
		discard(names[i]);
		return;
	}
	must(err, "load");
	guest[i].asked = turns_ended();
	must(put(names[i], "attach", EVENT), "attach " EVENT);
	must(put(names[i], "attach", FUNCTION), "attach " FUNCTION);
	guest[i].attached = turns_begun();
	guest[i].there = 1;
	guests++;
}

static void leave(int i)
{
	struct turns least = turns_ended(), most;
	uint64_t calls_least = 0, calls_most = 0;
	struct counted c;

	must(put(names[i], "attach", "!" FUNCTION), "detach " FUNCTION);
	must(put(names[i], "attach", "!" EVENT), "detach " EVENT);
	most = turns_begun();
	wait_for_late();
	c = counted(names[i]);
	for (int t = 0; t < THREADS; t++) {
		uint64_t from = guest[i].attached.of[t], all = most.of[t] - guest[i].asked.of[t];
		uint64_t sure = least.of[t] > from ? least.of[t] - from : 0;

		check_sequence(&c, t);
		check_range("turns", c.count.of[t], sure, all);
		calls_least += sure;
		calls_most += all;
		guests_ran += c.count.of[t] != 0;
	}
	check_range("calls", c.calls, calls_least, calls_most);
	must(discard(names[i]), "remove");
	guest[i].there = 0;
}

static void turn_guest(uint32_t round)
{
	int i = (int)(round * 2654435761u >> 16) % GUESTS;

	if (!guest[i].there) {
		come(i);
	} else if (round % 5 == 0) { /* with its attachments */
		must(discard(names[i]), "remove");
		guest[i].there = 0;
	} else {
		leave(i);
	}
}

/* ---- the program that stays ---- */

static void check_all(void)
{
	struct counted c = counted("all");
	uint64_t turns = 0;

	for (int i = 0; i < THREADS; i++) {
		uint64_t n = threads[i].ended;

		check_sequence(&c, i);
		check_range("all turns", c.count.of[i], n, n);
		check_range("first turn", c.min.of[i], 0, 0);
		check_range("last turn", c.max.of[i], n - 1, n - 1);
		turns += n;
	}
	check_range("all calls", c.calls, turns, turns);
	printf("  %" PRIu64 " turns; %" PRIu64 " programs came and went, %" PRIu64
	       " were refused; %" PRIu64 " sequences\n",
	       turns, guests, refused, guests_ran);
}

int main(int argc, char **argv)
{
	uint32_t round = 0;

	quota = (argc > 1 ? strtoull(argv[1], NULL, 0) : 400000) / THREADS;
	must(fathom_user_start("out="), "start");
	must(load("all"), "load all");
	must(put("all", "attach", EVENT), "attach " EVENT);
	must(put("all", "attach", FUNCTION), "attach " FUNCTION);
	if (failures) {
		static char log[4096];

		fathom_get("error_log", log, sizeof(log));
		printf("%snot ok torture_programs: it does not start\n", log);
		return 1;
	}
	running = THREADS;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i].thread, NULL, fire, &threads[i]);
	for (; __atomic_load_n(&running, __ATOMIC_SEQ_CST); round++) {
		turn_guest(round);
		if (guests > 20 && guests_ran > 40)
			__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	for (int i = 0; i < GUESTS; i++)
		if (guest[i].there)
			leave(i);
	check_all();
	printf("%s torture_programs\n", failures ? "not ok" : "ok");
	return failures != 0;
}
