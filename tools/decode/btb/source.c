/* SPDX-License-Identifier: MIT */
/* source.c -- a backtracer capture as a source: every command works on it. */
#include "decode/btb/load.h"
#include "decode/btb/names.h"
#include "decode/btb/write.h"
#include "decode/source.h"
#include "base/diag.h"
#include "wire/record.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A STACK entry gives two events: btb:stack with what the entry says, and right after it ftrace:kernel_stack with the
 * frames, as Linux records a stack after the event it belongs to. The task is the pid. A CPU is a stream, 1024 entries
 * a block.
 */
#define BLOCK_ENTRIES 1024
#define RECORD_BYTES  (16 + 8 * 8192)
#define FRAMES_MAX    8192

enum {
	ID_STACK = 1001,
	ID_MAPPING,
	ID_INFO,
	ID_CONTROL,
	ID_STATS
};

static const char kernel_stack_format[] =
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
	"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> "
	"%ps\\n\" "
	"\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], (void "
	"*)REC->caller[2], "
	"(void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void "
	"*)REC->caller[6], "
	"(void *)REC->caller[7]\n";

static const char stack_format[] =
	"\tfield:u64 task;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:u64 "
	"step;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 depth;\toffset:24;\tsize:8;\tsigned:0;\n\tfield:u64 "
	"cost;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"task=%llx step=%llu depth=%llu cost=%llu ns\", REC->task, REC->step, "
	"REC->depth, REC->cost\n";

static const char mapping_format[] =
	"\tfield:u64 task;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:u64 "
	"base;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 gone;\toffset:24;\tsize:8;\tsigned:0;\n\tfield:char "
	"name[64];\toffset:32;\tsize:64;\tsigned:1;\n\n"
	"print fmt: \"task=%llx base=%llx %s%s\", REC->task, REC->base, REC->name, REC->gone ? \" "
	"unmapped\" : \"\"\n";

static const char info_format[] =
	"\tfield:u64 version;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 types;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"version=%llu types=%llu\", REC->version, REC->types\n";

static const char control_format[] =
	"\tfield:u64 flags;\toffset:8;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"%s\", __print_flags(REC->flags, \"|\", {1, "
	"\"START\"}, {2, \"STOP\"}, {4, \"RESET\"}, "
	"{8, \"SET_TIMESTEP\"}, {16, \"GET_TIMESTEP\"}, {32, "
	"\"IS_RUNNING\"}, {64, \"WRITE_STATS\"}, {256, \"STOP_AFTER\"})\n";

static const char stats_format[] =
	"\tfield:u64 samples;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:u64 "
	"time;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"samples=%llu cost=%llu ns\", REC->samples, REC->time\n";

struct btb_stream {
	const struct btb_entry **entries;
	size_t nr;
	uint64_t started; /* the end of what started the run, before its first stack */
};

struct btb_priv {
	struct btb_file file;
	struct btb_names *names;
	pthread_mutex_t lock; /* of names, whose lookups fill a cache */
	struct btb_stream *streams;
};

struct btb_cursor {
	struct cursor base;
	size_t at;	/* entry */
	bool stack_due; /* the frames of the entry given last come next */
	size_t walked;	/* bytes since pages of the buffer were released */
	uint64_t record[RECORD_BYTES / 8];
};

static int btb_probe(const struct source_probe *p)
{
	const char *suffix = source_suffix(p->path);
	enum btb_stage stage = p->head ? btb_stage_of(p->path, p->head, p->head_bytes) : BTB_NONE;
	bool named = !strcmp(suffix, "traced") || !strcmp(suffix, "cleaned") ||
		     !strcmp(suffix, "compressed") || !strcmp(suffix, "btb");

	if (stage == BTB_NONE)
		return 0;
	return named ? 90 : stage == BTB_TRACED ? 80 : 60;
}

static int add_schema(struct source *s, const char *system, const char *name, uint32_t id,
		      const char *fields)
{
	char *text = NULL;
	int err, n = asprintf(&text, SOURCE_COMMON "%s", name, id, fields);

	if (n < 0)
		return -ENOMEM;
	err = source_add_schema(s, system, text, (size_t)n, true);
	free(text);
	return err;
}

static int add_schemas(struct source *s)
{
	int err =
		add_schema(s, "ftrace", "kernel_stack", WIRE_ID_KERNEL_STACK, kernel_stack_format);

	err = err ? err : add_schema(s, "btb", "stack", ID_STACK, stack_format);
	err = err ? err : add_schema(s, "btb", "mapping", ID_MAPPING, mapping_format);
	err = err ? err : add_schema(s, "btb", "info", ID_INFO, info_format);
	err = err ? err : add_schema(s, "btb", "control", ID_CONTROL, control_format);
	return err ? err : add_schema(s, "btb", "stats", ID_STATS, stats_format);
}

#define CPUS_MAX 4096u /* more is a damaged entry */

/* Room for the entries of each CPU that occurs, in the order of CPUs; slot[cpu] is its stream. */
static int make_streams(struct source *s, struct btb_priv *p, const size_t *count, uint32_t *slot)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		n += count[cpu] != 0;
	p->streams = calloc(n + 1, sizeof(*p->streams));
	if (!p->streams || !source_add_buffer(s, "", "tsc"))
		return -ENOMEM;
	s->info.nr_cpus = n;
	for (uint32_t cpu = 0, k = 0; cpu < CPUS_MAX; cpu++) {
		struct stream *stream;

		if (!count[cpu])
			continue;
		stream = source_add_stream(s, cpu);
		p->streams[k].entries = malloc(count[cpu] * sizeof(*p->streams[k].entries));
		if (!stream || !p->streams[k].entries)
			return -ENOMEM;
		stream->nr_blocks = (count[cpu] + BLOCK_ENTRIES - 1) / BLOCK_ENTRIES;
		slot[cpu] = k++;
	}
	return 0;
}

static int add_streams(struct source *s, struct btb_priv *p)
{
	const struct btb *b = &p->file.btb;
	size_t count[CPUS_MAX] = {0};
	uint32_t slot[CPUS_MAX];
	const struct btb_entry *odd = NULL;
	uint64_t started = 0;
	size_t walked = 0;

	for (size_t i = 0; i < b->nr_entries; i++) {
		uint64_t cpu = btb_entry_cpu(b, &b->entries[i]);

		btb_walked(b, b->entries[i].at, &walked);
		if (cpu < CPUS_MAX)
			count[cpu]++;
		else
			odd = odd ? odd : &b->entries[i];
	}
	if (odd)
		source_damage(s, 8 * (uint64_t)(btb_entry_words(b, odd) - b->w), 0,
			      "an entry of CPU %llu, which is impossible",
			      (unsigned long long)btb_entry_cpu(b, odd));
	if (make_streams(s, p, count, slot))
		return -ENOMEM;
	for (size_t i = 0; i < b->nr_entries; i++) {
		uint64_t cpu = btb_entry_cpu(b, &b->entries[i]);
		struct btb_stream *v = cpu < CPUS_MAX ? &p->streams[slot[cpu]] : NULL;
		const uint64_t *w = btb_entry_words(b, &b->entries[i]);

		btb_walked(b, b->entries[i].at, &walked);
		if (w[0] != WIRE_BTB_STACK)
			started = w[2] + w[3];
		if (!v)
			continue;
		if (w[0] == WIRE_BTB_STACK && !v->started)
			v->started = started ? started : UINT64_MAX;
		v->entries[v->nr++] = &b->entries[i];
		s->streams[slot[cpu]].bytes += 8 * w[1];
	}
	return 0;
}

static int btb_source_open(struct source *s, const struct source_options *o)
{
	struct btb_priv *p = calloc(1, sizeof(*p));
	struct btb_names_options names = {.tables = o->symbols,
					  .binaries = o->meta,
					  .inlines = o->inlines,
					  .lines = o->lines};
	int err;

	if (!p)
		return -ENOMEM;
	s->priv = p;
	pthread_mutex_init(&p->lock, NULL);
	err = btb_open(&p->file, s->file);
	err = err ? err : btb_load(&p->file, (int)o->run - 1);
	btb_loss_report(&p->file.loss, s->path);
	diag_flush();
	err = err ? err : add_schemas(s);
	err = err ? err : add_streams(s, p);
	if (err)
		return err;
	if (p->file.loss.lost_words + p->file.loss.skipped_words)
		source_damage(s, 0, 8 * (p->file.loss.lost_words + p->file.loss.skipped_words),
			      "%" PRIu64 " words lost in %" PRIu64 " sections",
			      p->file.loss.lost_words, p->file.loss.cut_sections);
	if (p->file.loss.lost_words)
		source_state_loss(s, LOSS_ALL, LOSS_LINE, UINT64_MAX, LOSS_EXACT);
	p->names = btb_names_open(&p->file.btb, s->path, &names);
	s->unit = CLOCK_NS;
	s->long_bytes = 8;
	return p->names ? 0 : -ENOMEM;
}

static void btb_source_close(struct source *s)
{
	struct btb_priv *p = s->priv;

	if (!p)
		return;
	for (size_t i = 0; p->streams && i < s->nr_streams; i++)
		free(p->streams[i].entries);
	free(p->streams);
	btb_names_close(p->names);
	btb_close(&p->file);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int btb_cursor_init(struct cursor *c)
{
	struct btb_cursor *k = (struct btb_cursor *)c;

	k->at = 0;
	k->walked = 0;
	k->stack_due = false;
	return 0;
}

static void btb_seek(struct cursor *c, uint64_t block)
{
	struct btb_cursor *k = (struct btb_cursor *)c;

	k->at = block * BLOCK_ENTRIES;
	k->stack_due = false;
	c->next = (struct position){block, 0};
}

static uint64_t attr_of(const uint64_t *w, int at)
{
	return at < 0 ? 0 : w[at];
}

/* Words of the record after the common fields; how many bytes it has in all. */
static uint32_t fill(const struct btb *b, const uint64_t *w, uint64_t *r, uint32_t *id)
{
	const struct btb_layout *l = &b->layout;

	switch (w[0]) {
	case WIRE_BTB_STACK:
		*id = ID_STACK;
		r[1] = attr_of(w, l->task);
		r[2] = attr_of(w, l->step);
		r[3] = attr_of(w, l->depth);
		r[4] = w[3];
		return 40;
	case WIRE_BTB_MAPPING: {
		uint64_t room = (w[1] - l->nr[1]) * 8;

		*id = ID_MAPPING;
		r[1] = attr_of(w, l->map_task);
		r[2] = attr_of(w, l->map_base);
		r[3] = attr_of(w, l->map_flags) & 1;
		memset(r + 4, 0, 64);
		memcpy(r + 4, w + l->nr[1], room < 63 ? room : 63);
		return 96;
	}
	case WIRE_BTB_INFO:
		*id = ID_INFO;
		r[1] = w[4];
		r[2] = w[1] > 5 ? w[5] : 0;
		return 24;
	case WIRE_BTB_CONTROL: {
		int flags = -1;

		for (uint32_t i = 0; i < l->nr[3]; i++)
			if (!strcmp(l->name[3][i], "flags"))
				flags = (int)i;
		*id = ID_CONTROL;
		r[1] = attr_of(w, flags);
		return 16;
	}
	default: {
		uint64_t bins = (w[1] - l->nr[4]) / 2;

		*id = ID_STATS;
		r[1] = r[2] = 0;
		for (uint64_t i = 0; i < bins; i++) {
			r[1] += w[l->nr[4] + i];
			r[2] += w[l->nr[4] + bins + i];
		}
		return 24;
	}
	}
}

static uint32_t fill_frames(const struct btb *b, const struct btb_entry *e, uint64_t *r)
{
	size_t n = btb_stack_frames(b, e);

	if (n > FRAMES_MAX)
		n = FRAMES_MAX;
	r[1] = n;
	for (size_t i = 0; i < n; i++)
		r[2 + i] = btb_stack_frame(b, e, i);
	return (uint32_t)(16 + 8 * n);
}

static bool btb_next(struct cursor *c, struct event *out)
{
	struct btb_cursor *k = (struct btb_cursor *)c;
	struct btb_priv *p = c->source->priv;
	const struct btb *b = &p->file.btb;
	const struct btb_stream *v = &p->streams[c->stream];
	const struct btb_entry *e;
	const uint64_t *w;
	struct wire_common *common = (struct wire_common *)k->record;
	uint32_t id = WIRE_ID_KERNEL_STACK, bytes;

	if (k->at >= v->nr)
		return false;
	e = v->entries[k->at];
	w = btb_entry_words(b, e);
	bytes = k->stack_due ? fill_frames(b, e, k->record) : fill(b, w, k->record, &id);
	*common = (struct wire_common){
		.type = (uint16_t)id,
		.pid = w[0] == WIRE_BTB_STACK ? (int32_t)attr_of(w, b->layout.task) : 0};
	*out = (struct event){
		.time = w[2],
		.data = (const uint8_t *)k->record,
		.size = bytes,
		.stream = c->stream,
		.cpu = c->cpu,
		.pid = common->pid,
		.type = id,
		.offset = e->at * 8,
		.at = c->next,
	};
	c->next.skip++;
	if (w[0] == WIRE_BTB_STACK && !k->stack_due) {
		k->stack_due = true;
		return true;
	}
	k->stack_due = false;
	btb_walked(b, e->at, &k->walked);
	k->at++;
	if (k->at % BLOCK_ENTRIES == 0)
		c->next = (struct position){k->at / BLOCK_ENTRIES, 0};
	return true;
}

static uint64_t btb_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	const struct btb_priv *p = s->priv;
	const struct btb_stream *v = &p->streams[stream];
	size_t at = block * BLOCK_ENTRIES;

	return at < v->nr ? v->entries[at]->time : UINT64_MAX;
}

/* An address alone does not say whose it is: the first task that knows it names it. */
static bool btb_symbol(void *arg, uint64_t addr, struct symbol *out)
{
	struct btb_priv *p = arg;
	bool found;

	pthread_mutex_lock(&p->lock);
	found = btb_names_symbol(p->names, addr, out);
	pthread_mutex_unlock(&p->lock);
	return found;
}

/* The entry that an event was made of: those of a stream are in the order of time, then of the buffer. */
static size_t entry_of(const struct btb_stream *v, const struct event *e)
{
	size_t low = 0, high = v->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct btb_entry *k = v->entries[mid];

		if (k->time < e->time || (k->time == e->time && k->at * 8 < e->offset))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * A sample stands for the time since its CPU was last looked at: the end of the sample before it on the same CPU, or for the
 * first one of a CPU the end of what started the run; 1 if nothing says when that was.
 */
static uint64_t btb_stack_time(struct source *s, const struct event *e)
{
	const struct btb_priv *p = s->priv;
	const struct btb_stream *v = &p->streams[e->stream];
	uint64_t from = v->started;

	for (size_t i = entry_of(v, e); i-- > 0;) {
		const uint64_t *w = btb_entry_words(&p->file.btb, v->entries[i]);

		if (w[0] == WIRE_BTB_STACK) {
			from = w[2] + w[3];
			break;
		}
	}
	return from == UINT64_MAX || !from ? 1 : e->time > from ? e->time - from : 0;
}

static const struct source_label *btb_stack_label(struct source *s, const struct event *e,
						  uint64_t addr)
{
	struct btb_priv *p = s->priv;
	const uint64_t *w = p->file.btb.w + e->offset / 8;
	const struct source_label *l;

	pthread_mutex_lock(&p->lock);
	l = btb_names_label(p->names, attr_of(w, p->file.btb.layout.task), addr, e->time);
	pthread_mutex_unlock(&p->lock);
	return l;
}

static int btb_save_symbols(struct source *s, const char *dir)
{
	struct btb_priv *p = s->priv;

	return (int)btb_names_save(p->names, dir);
}

static void btb_source_names(struct source *s, enum source_names what)
{
	struct btb_priv *p = s->priv;
	const struct btb *b = &p->file.btb;

	if (what == SOURCE_SYMBOLS)
		symbols_ask(s->symbols, btb_symbol, p);
	if (what != SOURCE_TASKS)
		return;
	for (size_t i = 0; i < b->nr_entries && b->layout.map_task >= 0; i++) {
		const uint64_t *w = btb_entry_words(b, &b->entries[i]);
		const char *program;

		if (w[0] != WIRE_BTB_MAPPING)
			continue;
		program = btb_names_program(p->names, w[b->layout.map_task]);
		if (program)
			tasks_set_comm(s->tasks, (int32_t)w[b->layout.map_task], program,
				       strlen(program));
	}
}

static const struct source_own btb_own = {
	.forms = btb_forms,
	.stack_time = btb_stack_time,
	.stack_label = btb_stack_label,
	.save_symbols = btb_save_symbols,
};

const struct source_ops source_btb = {
	.name = "btb",
	.what = "L4Re/Fiasco backtracer captures: console log, sections or buffer",
	.takes = SOURCE_TAKES_TABLES | SOURCE_TAKES_META,
	.probe = btb_probe,
	.open = btb_source_open,
	.close = btb_source_close,
	.cursor_bytes = sizeof(struct btb_cursor),
	.cursor_init = btb_cursor_init,
	.seek = btb_seek,
	.next = btb_next,
	.block_time = btb_block_time,
	.names = btb_source_names,
	.own = &btb_own,
};
