/* SPDX-License-Identifier: MIT */
/* sel4.c -- the seL4 16-bit stream as a source: ftrace.bin with its ftrace.meta, or the dumps of a console log. */
#include "decode/sel4/sel4.h"
#include "decode/sel4/write.h"
#include "decode/names/elf.h"
#include "decode/sel4/fixed.h"
#include "decode/sel4/record.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_BYTES_MAX (64u << 20)

char *sel4_path(const char *path, const char *suffix)
{
	const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
	int stem = dot && (!slash || dot > slash) ? (int)(dot - path) : (int)strlen(path);
	char *out;

	return asprintf(&out, "%.*s%s", stem, path, suffix) < 0 ? NULL : out;
}

static char *read_file(const char *path, size_t max, size_t *bytes)
{
	FILE *f = fopen(path, "rbe");
	char *text = NULL;
	struct stat st;

	if (!f)
		return NULL;
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= max)
		text = malloc((size_t)st.st_size + 1);
	*bytes = text ? fread(text, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	return text;
}

/* ---- one stream ---- */

uint64_t sel4_time(const struct sel4_trace *t, const struct sel4_state *st, uint64_t event)
{
	uint64_t ticks = st->time_known ? st->time : t->stamped ? t->first_time : event;

	if (!t->clock_hz)
		return ticks;
	return ticks / t->clock_hz * 1000000000u +
	       (uint64_t)((unsigned __int128)(ticks % t->clock_hz) * 1000000000u / t->clock_hz);
}

static int by_tcb(const void *a, const void *b)
{
	const struct sel4_thread *x = a, *y = b;

	return x->tcb < y->tcb ? -1 : x->tcb > y->tcb;
}

int32_t sel4_pid(const struct sel4_trace *t, uint64_t tcb)
{
	const struct sel4_thread key = {.tcb = tcb}, *found = NULL;

	if (tcb != SEL4_NO_TCB && t->nr_threads)
		found = bsearch(&key, t->threads, t->nr_threads, sizeof(key), by_tcb);
	return found ? found->pid : 0;
}

/* A thread's number is its place among all that appear, in whichever stream: it may move between CPUs. */
static int load_threads(struct sel4 *p, struct sel4_trace *t)
{
	size_t nr = t->index->head->threads.nr;
	struct sel4_thread *threads = calloc(nr + 1, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		threads[i].tcb = t->index->threads[i];
		for (size_t k = 0; k < p->nr && !threads[i].pid; k++)
			threads[i].pid = sel4_pid(&p->traces[k], threads[i].tcb);
		if (!threads[i].pid)
			threads[i].pid = ++p->nr_threads;
	}
	qsort(threads, nr, sizeof(*threads), by_tcb);
	t->threads = threads;
	t->nr_threads = nr;
	return 0;
}

/* Of a type that has no list because there are too many: how many, and nothing of the places. */
static void report_many(struct source *s, const struct sel4_trace *t, uint64_t base, uint32_t type,
			const char *what)
{
	const struct sel4_index_head *h = t->index->head;

	if (h->count[type] && !h->list[type].offset)
		source_damage(s, base, h->count[type] * 2, "%" PRIu64 " %s", h->count[type], what);
}

static void report_oddities(struct source *s, const struct sel4_trace *t, uint64_t base)
{
	const struct sel4_posting *p;

	report_many(s, t, base, WIRE_SEL4_UNKNOWN, "unknown markers");
	report_many(s, t, base, WIRE_SEL4_CUT, "events are cut off");
	for (uint64_t i = 0;
	     i < SOURCE_DAMAGE_MAX && (p = sel4_index_posting(t->index, WIRE_SEL4_UNKNOWN, i)); i++)
		source_damage(s, base + p->word * 2, 2, "unknown marker 0x%04x, event %" PRIu64,
			      p->word < t->nr_words ? t->words[p->word] : 0, p->event);
	for (uint64_t i = 0;
	     i < SOURCE_DAMAGE_MAX && (p = sel4_index_posting(t->index, WIRE_SEL4_CUT, i)); i++)
		source_damage(s, base + p->word * 2, 2,
			      "event %" PRIu64 " is cut off: its marker or operands are missing",
			      p->event);
}

/*
 * What the dump's head counts. It counts events that found no room; words that were overwritten are the difference of all
 * words and those kept, and how many events they were is not known.
 */
static void state_losses(struct source *s, const struct sel4_trace *t, uint32_t stream)
{
	const struct sel4_value *h = t->meta.header, *full = &h[SEL4_KEY_OVERFLOW_EVENTS];
	uint64_t refused = full->given && full->number > 0 ? (uint64_t)full->number : 0;
	bool over = h[SEL4_KEY_TOTAL_LOGGED].given && h[SEL4_KEY_TOTAL_ENTRIES].given &&
		    h[SEL4_KEY_TOTAL_LOGGED].number > h[SEL4_KEY_TOTAL_ENTRIES].number;
	bool some = h[SEL4_KEY_OVERFLOW].number || h[SEL4_KEY_STORAGE_FULL].number;
	int64_t failed = h[SEL4_KEY_COMPRESS_FAIL_EVENTS].number;

	source_state_loss(s, stream, LOSS_FULL, refused, LOSS_EXACT);
	source_state_loss(s, stream, LOSS_FULL, failed > 0 ? (uint64_t)failed : 0, LOSS_EXACT);
	if (over)
		source_state_loss(s, stream, LOSS_OVERWRITTEN, UINT64_MAX, LOSS_EXACT);
	else if (some && !refused && failed <= 0)
		source_state_loss(s, stream, LOSS_FULL, UINT64_MAX, LOSS_EXACT);
	s->streams[stream].counted = full->given || h[SEL4_KEY_OVERFLOW].given;
}

/* The first timestamp. A trace with so many that they have no list has one near its beginning. */
static uint64_t first_stamp(const struct sel4_trace *t)
{
	const struct sel4_posting *p = sel4_index_posting(t->index, WIRE_SEL4_TIMESTAMP, 0);
	uint32_t type, skip;

	if (p || !t->index->head->count[WIRE_SEL4_TIMESTAMP])
		return p ? wire_sel4_get48(p->operand + 1) : 0;
	for (uint64_t at = 0; at < t->nr_words; at += skip) {
		uint64_t limit = sel4_input_limit(&t->input, at);

		skip = sel4_input_is_gap(&t->input, at)
			       ? sel4_resync(t->words + at, (size_t)(limit - at), t->dict)
			       : 0;
		if (skip)
			continue;
		skip = sel4_step(t->words + at, (size_t)(limit - at), true, t->dict, &type);
		if (type == WIRE_SEL4_TIMESTAMP)
			return wire_sel4_get48(t->words + at + 2);
	}
	return 0;
}

/* The rest of the set-up, when words, meta, dictionary and index are there. */
static int finish_trace(struct source *s, struct sel4_trace *t, uint32_t cpu)
{
	const struct sel4_index_head *h = t->index->head;
	struct stream *st = source_add_stream(s, cpu);

	if (!st)
		return -ENOMEM;
	st->nr_blocks = h->checkpoints.nr;
	st->bytes = t->nr_words * 2;
	state_losses(s, t, (uint32_t)(st - s->streams));
	t->task_stacks = !strcmp(t->meta.header[SEL4_KEY_STACKS].text, "THREAD");
	s->cpu_stacks = !t->task_stacks;
	t->stamped = h->count[WIRE_SEL4_TIMESTAMP] > 0;
	t->first_time = first_stamp(t);
	if (t->stamped && t->meta.header[SEL4_KEY_CLOCK_HZ].number > 0)
		t->clock_hz = (uint64_t)t->meta.header[SEL4_KEY_CLOCK_HZ].number;
	s->unit = t->clock_hz ? CLOCK_NS : CLOCK_TICKS;
	if (s->info.nr_cpus <= cpu)
		s->info.nr_cpus = cpu + 1;
	return load_threads(s->priv, t);
}

static int take_gaps(struct sel4_trace *t)
{
	t->gaps = calloc(t->meta.nr_gaps + 1, sizeof(*t->gaps));
	if (!t->gaps)
		return -ENOMEM;
	for (size_t i = 0; i < t->meta.nr_gaps; i++)
		if (t->meta.gaps[i].word && t->meta.gaps[i].word < t->nr_words)
			t->gaps[t->input.nr_gaps++] = t->meta.gaps[i].word;
	t->input.gaps = t->gaps;
	return 0;
}

static int take_meta(struct sel4_trace *t)
{
	int err = take_gaps(t);

	if (err || !t->meta.nr_functions)
		return err;
	t->dict = calloc(1, sizeof(*t->dict));
	if (!t->dict)
		return -ENOMEM;
	sel4_meta_dict(&t->meta, t->dict);
	t->input.dict = t->dict;
	return 0;
}

static int new_trace(struct source *s, size_t nr, struct sel4 **out)
{
	struct sel4 *p = calloc(1, sizeof(*p));

	s->priv = p;
	if (!p)
		return -ENOMEM;
	p->traces = calloc(nr, sizeof(*p->traces));
	p->nr = p->traces ? nr : 0;
	*out = p;
	if (!p->traces || !source_add_buffer(s, "", "") || sel4_add_schemas(s))
		return -ENOMEM;
	return 0;
}

static void close_source(struct source *s)
{
	struct sel4 *p = s->priv;

	if (!p)
		return;
	for (size_t i = 0; i < p->nr; i++) {
		struct sel4_trace *t = &p->traces[i];

		sel4_index_free(t->index);
		free(t->dict);
		free(t->gaps);
		free(t->threads);
		if (!p->dumps)
			sel4_meta_free(&t->meta);
	}
	sel4_dumps_free(p->dumps, p->nr_dumps);
	spool_free(&p->words);
	free(p->traces);
	free(p);
}

/* ---- ftrace.bin ---- */

/* Of the returns among the first words, how many are of the function that was called last: half at least in a trace. */
static bool calls_nest(const uint16_t *w, size_t n)
{
	uint32_t stack[64], returns = 0, matched = 0, depth = 0;

	for (size_t at = 0; at < n;) {
		uint32_t type, words = sel4_step(w + at, n - at, true, NULL, &type);

		if (type == WIRE_SEL4_FUNC_ENTER) {
			stack[depth++ % 64] = w[at] >> 1;
		} else if (type == WIRE_SEL4_FUNC_EXIT) {
			returns++;
			if (depth)
				matched += stack[--depth % 64] == w[at] >> 1;
		}
		at += words;
	}
	return returns >= 4 && matched >= returns / 2;
}

/* A stream has no magic number. The description beside it, words that make sense, or at last its name must decide. */
static int probe_stream(const struct source_probe *p)
{
	const char *name = basename(p->path);
	char *meta;
	int score = 0;

	if (p->directory || p->head_bytes < 2 || strcmp(source_suffix(p->path), "bin") != 0)
		return 0;
	meta = sel4_path(p->path, ".meta");
	if (meta && !access(meta, R_OK))
		score = 60;
	else if (calls_nest((const void *)p->head, p->head_bytes < 8192 ? p->head_bytes / 2 : 4096))
		score = 20;
	else if (!strncmp(name, "ftrace", 6))
		score = 5;
	free(meta);
	return score;
}

/* `beside`: where the description lies if no option says so; to be freed here. */
static int load_meta(const struct source_options *o, char *beside, struct sel4_trace *t)
{
	char *path = o->meta ? strdup(o->meta) : beside;
	size_t bytes = 0, at = 0;
	char *text = path ? read_file(path, META_BYTES_MAX, &bytes) : NULL;
	int err = 0;

	if (text) {
		err = sel4_meta_parse(text, bytes, &t->meta, &at);
		if (err)
			diag_at(path, at, "not the JSON of a seL4 trace");
	} else if (o->meta) {
		diag_error("%s: %s", path, strerror(errno));
		err = -ENOENT;
	}
	free(text);
	if (path != beside)
		free(path);
	free(beside);
	return err;
}

static void check_size(struct source *s, const struct sel4_trace *t)
{
	if (t->meta.raw_bytes && t->meta.raw_bytes / 2 != t->nr_words)
		source_damage(s, s->map_bytes, 0,
			      "%" PRIu64 " words, its description says %" PRIu64, t->nr_words,
			      t->meta.raw_bytes / 2);
}

static int load_index(struct source *s, struct sel4_trace *t, bool rebuild)
{
	int fd = open(s->file, O_RDONLY | O_CLOEXEC), err = -ENOENT;
	char *path = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || asprintf(&path, "%s.fidx", s->path) < 0) {
		err = errno ? -errno : -ENOMEM;
		if (fd >= 0)
			close(fd);
		return err;
	}
	t->input.fd = fd;
	t->input.nr_words = t->nr_words;
	t->input.file_bytes = (uint64_t)st.st_size;
	t->input.file_time_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	if (!rebuild)
		err = sel4_index_open(path, t->input.file_bytes, t->input.file_time_ns, &t->index);
	t->index_loaded = !err;
	if (err)
		err = sel4_index_build(&t->input, &t->index);
	t->input.fd = -1;
	close(fd);
	free(path);
	return err;
}

/* It was loaded or built at opening; what is left is to write it. */
static int write_index(struct source *s, const char *path, bool force, bool *written)
{
	struct sel4_trace *t = &((struct sel4 *)s->priv)->traces[0];
	int err;

	*written = false;
	if (t->index_loaded && !force && !access(path, F_OK))
		return 0;
	if (t->index_loaded && force) {
		sel4_index_free(t->index);
		t->index = NULL;
		err = load_index(s, t, true);
		if (err)
			return err;
	}
	*written = true;
	return sel4_index_write(t->index, path);
}

static int open_stream(struct source *s, const struct source_options *o)
{
	struct sel4_trace *t;
	struct sel4 *p;
	int err = new_trace(s, 1, &p);

	if (err)
		return err;
	t = &p->traces[0];
	t->words = (const void *)s->map;
	t->nr_words = s->map_bytes / 2;
	if (s->map_bytes % 2)
		source_damage(s, s->map_bytes - 1, 1, "a byte after the last 16-bit word");
	err = load_meta(o, sel4_path(s->path, ".meta"), t);
	check_size(s, t);
	if (!err)
		err = take_meta(t);
	if (!err)
		err = load_index(s, t, false);
	if (err)
		return err;
	report_oddities(s, t, 0);
	return finish_trace(s, t, (uint32_t)(t->meta.header[SEL4_KEY_CPU].number & 0xffff));
}

/* ---- ftrace.idx ---- */

#define PROBE_RECORDS 64u

static char *fixed_meta(const char *path)
{
	char *meta;

	return asprintf(&meta, "%s.meta", path) < 0 ? NULL : meta;
}

/* No magic number either: the name, the description beside it, or records that make sense. */
static int probe_fixed(const struct source_probe *p)
{
	const struct wire_sel4_record *r = (const void *)p->head;
	size_t nr = p->head_bytes / sizeof(*r), good = 0;
	char *meta;
	int score;

	if (p->directory || !nr || strcmp(source_suffix(p->path), "idx") != 0)
		return 0;
	nr = nr < PROBE_RECORDS ? nr : PROBE_RECORDS;
	while (good < nr && r[good].type < WIRE_SEL4_NR_TYPES)
		good++;
	meta = fixed_meta(p->path);
	score = meta && !access(meta, R_OK) ? 60 : good == nr ? 30 : 0;
	free(meta);
	return score;
}

static int open_fixed(struct source *s, const struct source_options *o)
{
	struct sel4_trace *t;
	struct sel4 *p;
	int err = new_trace(s, 1, &p);

	if (err)
		return err;
	t = &p->traces[0];
	if (s->map_bytes % sizeof(struct wire_sel4_record))
		source_damage(s, s->map_bytes, 0, "the last record is cut");
	t->dict = calloc(1, sizeof(*t->dict));
	err = t->dict ? sel4_fixed_words(s, &p->words, t->dict, &t->nr_words) : -ENOMEM;
	if (!err)
		err = load_meta(o, fixed_meta(s->path), t);
	if (err)
		return err;
	t->words = (const void *)p->words.map;
	check_size(s, t);
	t->input = (struct sel4_input){.words = t->words,
				       .nr_words = t->nr_words,
				       .file_bytes = s->map_bytes,
				       .dict = t->dict,
				       .fd = -1};
	err = take_gaps(t);
	if (!err)
		err = sel4_index_build(&t->input, &t->index);
	if (err)
		return err;
	report_oddities(s, t, 0);
	return finish_trace(s, t, (uint32_t)(t->meta.header[SEL4_KEY_CPU].number & 0xffff));
}

/* ---- a console log ---- */

#define LOOK_BYTES (1u << 20)
#define LOOK_MORE  256u /* a line that is cut by the end of a piece is whole in it all the same */

/* A boot may print a lot before the first dump: look through all of the log, piece by piece, so that it need not fit into
 * memory. */
static bool dump_within(const char *map, size_t bytes)
{
	size_t walked = 0;

	for (size_t at = 0; at < bytes; at += LOOK_BYTES) {
		size_t n =
			bytes - at < LOOK_BYTES + LOOK_MORE ? bytes - at : LOOK_BYTES + LOOK_MORE;

		if (sel4_dump_start(map + at, n))
			return true;
		file_map_walked(map, bytes, n, &walked);
	}
	return false;
}

static int probe_log(const struct source_probe *p)
{
	size_t text = 0, head = p->head_bytes < 4096 ? p->head_bytes : 4096;
	int fd, score = 0;
	void *map;

	if (p->directory || !p->head_bytes)
		return 0;
	if (sel4_dump_start((const char *)p->head, p->head_bytes))
		return 90;
	for (size_t i = 0; i < head; i++)
		text += p->head[i] >= 32 || p->head[i] == '\n' || p->head[i] == '\r' ||
			p->head[i] == '\t' || p->head[i] == 27;
	if (p->bytes <= p->head_bytes || text < head - head / 20)
		return 0;
	fd = open(p->path, O_RDONLY | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, p->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED) {
		score = dump_within(map, p->bytes) ? 80 : 0;
		munmap(map, p->bytes);
	}
	if (fd >= 0)
		close(fd);
	return score;
}

static void log_problem(void *arg, uint64_t offset, uint64_t bytes, const char *what)
{
	source_damage(arg, offset, bytes, "%s", what);
}

static int open_dump(struct source *s, struct sel4_trace *t, struct sel4_dump *d, uint32_t cpu)
{
	int err;

	t->meta = d->meta;
	t->words = (const void *)d->raw;
	t->nr_words = d->meta.raw_bytes / 2;
	t->input.words = t->words;
	t->input.nr_words = t->nr_words;
	t->input.file_bytes = d->meta.raw_bytes;
	t->input.fd = -1;
	err = take_meta(t);
	if (!err)
		err = sel4_index_build(&t->input, &t->index);
	if (err)
		return err;
	report_oddities(s, t, d->offset);
	return finish_trace(s, t, cpu);
}

static int open_log(struct source *s, const struct source_options *o)
{
	const struct sel4_report report = {log_problem, s};
	struct sel4_dump *dumps;
	struct sel4 *p;
	size_t nr;
	int err;

	(void)o;
	err = sel4_dumps_read((const char *)s->map, s->map_bytes, &report, &dumps, &nr);

	if (err)
		return err;
	if (!nr) {
		diag_error("%s: it has no seL4 trace dump", s->path);
		return -ENODATA;
	}
	err = new_trace(s, nr, &p);
	if (!p) {
		sel4_dumps_free(dumps, nr);
		return -ENOMEM;
	}
	p->dumps = dumps;
	p->nr_dumps = nr;
	for (size_t i = 0; i < nr && !err; i++) {
		const struct sel4_value *cpu = &dumps[i].meta.header[SEL4_KEY_CPU];

		err = open_dump(s, &p->traces[i], &dumps[i],
				cpu->given ? (uint32_t)cpu->number & 0xffffu : (uint32_t)i);
	}
	return err;
}

/* ---- names ---- */

static void load_names(struct source *s, enum source_names what)
{
	struct sel4 *p = s->priv;

	if (what != SOURCE_TASKS)
		return;
	for (size_t i = 0; i < p->nr; i++) {
		const struct sel4_trace *t = &p->traces[i];

		for (size_t k = 0; k < t->nr_threads; k++) {
			char comm[32];
			int n = snprintf(comm, sizeof(comm), "tcb-%" PRIx64, t->threads[k].tcb);

			tasks_set_comm(s->tasks, t->threads[k].pid, comm, (size_t)n);
		}
	}
}

static uint64_t count(struct source *s, uint32_t id)
{
	struct sel4 *p = s->priv;
	uint32_t type = id == UINT32_MAX ? 0 : sel4_type_of_id(id);
	uint64_t n = 0;

	for (size_t i = 0; i < p->nr && type < WIRE_SEL4_NR_TYPES; i++)
		n += id == UINT32_MAX ? p->traces[i].index->head->nr_events
				      : p->traces[i].index->head->count[type];
	return n;
}

#define SHARED_INDEX                                                                  \
	.seek_number = sel4_seek_number, .seek_type = sel4_seek_type, .count = count, \
	.print = sel4_print

/* One stream in one file has its index beside it; console logs and fixed records are indexed when they are read. */
static const struct source_index stream_index = {SHARED_INDEX, .write = write_index};
static const struct source_index read_index = {SHARED_INDEX};
static const struct source_own stream_own = {.index = &stream_index, .forms = sel4_forms};
static const struct source_own read_own = {.index = &read_index, .forms = sel4_forms};

#define SHARED_OPS                                                                         \
	.close = close_source, .cursor_bytes = sizeof(struct sel4_cursor),                 \
	.cursor_init = sel4_cursor_init, .cursor_fini = sel4_cursor_fini,                  \
	.seek = sel4_cursor_seek, .next = sel4_cursor_next, .block_time = sel4_block_time, \
	.names = load_names, .tally = sel4_cursor_tally

const struct source_ops source_sel4 = {
	.name = "sel4",
	.what = "seL4 16-bit stream (ftrace.bin, with ftrace.meta beside it)",
	.takes = SOURCE_TAKES_SYMBOLS | SOURCE_TAKES_META,
	.probe = probe_stream,
	.open = open_stream,
	.own = &stream_own,
	SHARED_OPS,
};

const struct source_ops source_sel4_log = {
	.name = "sel4-log",
	.what = "console log with seL4 trace dumps",
	.takes = SOURCE_TAKES_SYMBOLS,
	.probe = probe_log,
	.open = open_log,
	.own = &read_own,
	SHARED_OPS,
};

const struct source_ops source_sel4_fixed = {
	.name = "sel4-idx",
	.what = "fixed records of a seL4 stream (ftrace.idx, with ftrace.idx.meta beside it)",
	.takes = SOURCE_TAKES_SYMBOLS | SOURCE_TAKES_META,
	.probe = probe_fixed,
	.open = open_fixed,
	.own = &read_own,
	SHARED_OPS,
};
