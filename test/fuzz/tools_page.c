/* SPDX-License-Identifier: MIT */
/* tools_page.c -- fuzz target: a file of the page (.fpage) whose checks are right but whose tables say anything. */
#include "lib/fuzz_file.h"
#include "view/page/asks.h"
#include "view/page/tiles.h"

/* The reader itself: it alone can say which checks are right. */
#define lanes_open  page_lanes_open
#define lanes_close page_lanes_close
#include "../../tools/view/page/lanes.c"
#undef lanes_open
#undef lanes_close

static struct source *source;
static uint8_t *base, *file;
static size_t base_bytes;

/* Two CPUs that switch, wake and are interrupted: lanes of most kinds. */
static void prepare(void)
{
	static const struct scan_choice all = {.to = UINT64_MAX};
	const struct lanes_options o = {.choice = &all, .no_file = true};
	const struct source_options so = {.quiet = true};
	struct lanes *l;
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	fputs("# tracer: nop\n#\n", f);
	for (unsigned i = 0; i < 300; i++) {
		unsigned cpu = i & 1, from = i % 5, to = (i + 1) % 5;

		fprintf(f, "  task%u-%u  [00%u] d..2. 1%u.%06u: ", from, from + 100, cpu, i / 150,
			i * 3000 % 450000);
		if (i % 7 == 3)
			fprintf(f, "irq_handler_entry: irq=%u name=timer\n", cpu);
		else if (i % 7 == 5)
			fprintf(f, "irq_handler_exit: irq=%u ret=handled\n", cpu);
		else if (i % 7 == 6)
			fprintf(f, "sched_wakeup: comm=task%u pid=%u prio=120 target_cpu=00%u\n",
				to, to + 100, cpu);
		else
			fprintf(f,
				"sched_switch: prev_comm=task%u prev_pid=%u prev_prio=120 "
				"prev_state=S ==> next_comm=task%u next_pid=%u next_prio=120\n",
				from, from + 100, to, to + 100);
	}
	fclose(f);
	source = fuzz_open((const uint8_t *)text, n, &so);
	free(text);
	if (!source || lanes_open(source, &o, &l))
		abort();
	base_bytes = l->map_bytes;
	base = malloc(base_bytes);
	file = malloc(base_bytes);
	memcpy(base, l->map, base_bytes);
	lanes_close(l);
}

/* ---- what the page asks ---- */

static const char *const *answers;

static const char *get(void *arg, const char *name)
{
	(void)arg;
	for (size_t i = 0; answers[i]; i += 2)
		if (!strcmp(answers[i], name))
			return answers[i + 1];
	return NULL;
}

static void use(const struct lanes *l, uint32_t turn)
{
	static const struct scan_choice all = {.to = UINT64_MAX};
	static const char *const whole[] = {"from",  "0",     "to",    "1e18",	"lanes", "0-40",
					    "level", "0",     "first", "0",	"n",	 "4",
					    "pid",   "100",   "names", "0,1,2", "tasks", "1,2,100",
					    "types", "1,2,3", "after", "0",	NULL};
	static const char *const part[] = {"from",  "100000000", "to",	"300000000", "lanes",
					   "3-9,0", "level",	 "9",	"first",     "100",
					   "n",	    "64",	 "pid", "102",	     "names",
					   "1",	    "tasks",	 "0",	"before",    "400000000",
					   NULL};
	static const char *const questions[] = {"tiles", "sums", "meta", "search"};
	struct asks a = {.s = source, .lanes = l, .choice = &all, .title = "", .no_index = true};
	struct asked q = {get, NULL};
	uint32_t levels = tile_levels(l);

	/* Of each lane one tile on each of some levels, and one of two forms of each question: the input's check decides which, so that all have their turn. */
	for (uint64_t lane = 0; lane < l->nr_lanes && lane < 60; lane++)
		for (uint32_t level = turn % 2; level <= levels; level += 1 + levels / 3) {
			const uint64_t last = (1ull << level) - 1, places[] = {0, last / 3, last};
			struct tile_bytes b = {0};

			tile_put(l, lane, level, places[turn++ / 2 % 3], &b);
			free(b.v);
		}
	pthread_mutex_init(&a.walking, NULL);
	for (uint32_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		char *out, why[256];
		bool binary;
		size_t n;
		FILE *f = open_memstream(&out, &n);

		answers = turn >> (8 + i) & 1 ? part : whole;
		ask(&a, questions[i], &q, f, &binary, why);
		fclose(f);
		free(out);
	}
	pthread_mutex_destroy(&a.walking);
}

/* The input is a list of changes: u24 place, u8 length, u8 value. With 0x80 in the length the place is counted from the chunks on, 0x40: from the lanes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lanes_header h;
	struct lanes l = {0};
	int fd;

	if (!source)
		prepare();
	memcpy(file, base, base_bytes);
	for (size_t i = 0; i + 5 <= size; i += 5) {
		size_t at = (data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16);
		size_t n = (data[i + 3] & 0x3f) % 9;

		memcpy(&h, base, sizeof(h));
		if (data[i + 3] & 0x80)
			at += h.chunks_at;
		else if (data[i + 3] & 0x40)
			at += h.lanes_at;
		at %= base_bytes;
		memset(file + at, data[i + 4], n > base_bytes - at ? base_bytes - at : n);
	}
	memcpy(&h, file, sizeof(h));
	if (h.chunks_at <= base_bytes)
		h.check = tables_check(&h, file, base_bytes);
	h.head_check = head_check(&h);
	memcpy(file, &h, sizeof(h));
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, file, base_bytes) != (ssize_t)base_bytes)
		abort();
	if (!map_file(fd, &h, &l)) {
		use(&l, h.head_check);
		munmap((void *)(uintptr_t)l.map, l.map_bytes);
	}
	close(fd);
	return 0;
}
