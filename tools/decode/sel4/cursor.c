/* SPDX-License-Identifier: MIT */
/* cursor.c -- walk a seL4 stream event by event, from any block, event number or event of a type. */
#include "decode/sel4/sel4.h"
#include "decode/sel4/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A block is a checkpoint of the index: its state is known, so a cursor may begin there. Open calls are followed only
 * from where the cursor began, and not across a kernel entry or exit: when a return's call was, of which that is all that
 * was seen, is not known, and its calltime is 0.
 */
#define HEAD_WORDS \
	65536u /* of one entry, before it is written; beyond, its time is not looked for */

void sel4_cursor_seek(struct cursor *c, uint64_t block)
{
	struct sel4_cursor *k = (struct sel4_cursor *)c;
	const struct sel4_trace *t = k->trace;

	k->posting = NULL;
	k->c.next = (struct position){.block = block};
	k->calls = (struct sel4_calls){.tcb = SEL4_NO_TCB};
	k->nr_stacks = 0;
	k->gap_word = UINT64_MAX;
	if (block >= t->index->head->checkpoints.nr) {
		k->word = t->nr_words;
		return;
	}
	sel4_index_state(t->index, block, &k->state);
	k->word = t->index->checkpoints[block].word;
	k->head_end = 0;
	k->pid = sel4_pid(t, k->state.tcb);
}

int sel4_cursor_init(struct cursor *c)
{
	struct sel4_cursor *k = (struct sel4_cursor *)c;
	struct sel4 *p = c->source->priv;

	k->trace = &p->traces[c->stream];
	sel4_cursor_seek(c, 0);
	return 0;
}

void sel4_cursor_fini(struct cursor *c)
{
	struct sel4_cursor *k = (struct sel4_cursor *)c;

	free(k->at);
	free(k->stacks);
}

/* The event at the cursor's word: its type and length. Words before a gap end there. */
static uint32_t step(struct sel4_cursor *k, uint32_t *type)
{
	const struct sel4_trace *t = k->trace;
	uint64_t limit = t->input.nr_gaps ? sel4_input_limit(&t->input, k->word) : t->nr_words;
	size_t n = (size_t)(limit - k->word);

	if (t->input.nr_gaps && sel4_input_is_gap(&t->input, k->word)) {
		uint32_t skip = sel4_resync(t->words + k->word, n < 65536 ? n : 65536, t->dict);

		*type = WIRE_SEL4_CUT;
		if (skip && k->gap_word != k->word) {
			k->gap_word = k->word;
			return skip;
		}
	}
	return sel4_step(t->words + k->word, n, true, t->dict, type);
}

static void function(struct sel4_cursor *k, struct sel4_event *e, uint64_t now)
{
	uint32_t id = e->w[0] >> 1;

	e->func = sel4_dict_addr(k->trace->dict, id);
	if (!e->func)
		e->func = id;
	if (e->type == WIRE_SEL4_FUNC_ENTER) {
		e->depth = k->state.depth > 0 ? (int32_t)k->state.depth : 0;
		k->state.depth++;
		if (k->calls.nr < SEL4_CALLS_MAX)
			k->calls.time[k->calls.nr] = now;
		k->calls.nr++;
		return;
	}
	k->state.depth--;
	e->depth = k->state.depth > 0 ? (int32_t)k->state.depth : 0;
	e->calltime = 0;
	if (k->calls.nr && --k->calls.nr < SEL4_CALLS_MAX)
		e->calltime = k->calls.time[k->calls.nr];
	e->rettime = now;
}

/* Put the calls of the thread that leaves away and take those of the one that comes out again. */
static void switch_stack(struct sel4_cursor *k, uint64_t from, uint64_t to)
{
	struct sel4_calls *put = NULL, *get = NULL;

	if (!k->stacks)
		k->stacks = malloc(SEL4_STACKS_MAX * sizeof(*k->stacks));
	if (!k->stacks)
		return;
	for (size_t i = 0; i < k->nr_stacks; i++) {
		put = k->stacks[i].tcb == from ? &k->stacks[i] : put;
		get = k->stacks[i].tcb == to ? &k->stacks[i] : get;
	}
	if (!put && k->nr_stacks < SEL4_STACKS_MAX)
		put = &k->stacks[k->nr_stacks++];
	k->calls.tcb = from;
	k->calls.depth = k->state.depth;
	if (put)
		*put = k->calls;
	k->calls = get && get != put ? *get : (struct sel4_calls){.tcb = to};
	k->state.depth = k->calls.depth;
}

/*
 * The kernel runs before it writes its entry: functions between an exit and the next entry belong to that one, and have its
 * time (or that of the first stamp on the way there), not the time of the exit before. Anything else between them keeps its
 * time, so functions before it keep theirs: times do not step back. Looked up once for all such functions in a row.
 */
static uint64_t head_time(struct sel4_cursor *k, uint64_t now)
{
	struct sel4_cursor ahead;
	bool stamped = false;

	if (k->word < k->head_end)
		return k->head_known ? k->head_time : now;
	ahead = *k;
	k->head_known = false;
	while (ahead.word < k->trace->nr_words && ahead.word - k->word < HEAD_WORDS) {
		uint32_t type, words = step(&ahead, &type);

		if (type == WIRE_SEL4_TIMESTAMP && !stamped) {
			sel4_state_special(&ahead.state, type, k->trace->words + ahead.word);
			k->head_end = ahead.word;
			stamped = true;
		} else if (type > WIRE_SEL4_FUNC_EXIT && type != WIRE_SEL4_TIMESTAMP) {
			k->head_known = type == WIRE_SEL4_KERNEL_ENTRY;
			break;
		}
		ahead.word += words;
	}
	if (!stamped)
		k->head_end = ahead.word;
	k->head_time = sel4_time(k->trace, &ahead.state, k->state.event);
	return k->head_known ? k->head_time : now;
}

static void emit(struct sel4_cursor *k, const struct sel4_event *v, uint64_t word, uint64_t now,
		 struct event *e)
{
	e->size = sel4_record(v, k->record);
	e->data = k->record;
	e->time = now;
	e->stream = k->c.stream;
	e->cpu = k->c.cpu;
	e->pid = v->pid;
	e->type = sel4_id(v->type);
	e->lost = 0;
	e->offset = word * 2;
	e->at = k->c.next;
}

/* The block of an event; lists are read in order, so it is mostly the one of the event before. */
static uint64_t block_of(struct sel4_cursor *k, uint64_t event)
{
	const struct sel4_index *ix = k->trace->index;
	uint64_t block = k->c.next.block, nr = ix->head->checkpoints.nr;

	if (block < nr && ix->checkpoints[block].event <= event &&
	    (block + 1 == nr || event < ix->checkpoints[block + 1].event))
		return block;
	return sel4_index_block(ix, event);
}

/* The event of a list: everything about it is in the index, the stream is not touched. */
static bool next_posting(struct sel4_cursor *k, struct event *e)
{
	uint16_t words[1 + WIRE_SEL4_WORDS_MAX];
	struct sel4_event v = {.type = k->posting_type, .w = words};
	const struct sel4_posting *p = k->posting;
	uint64_t time = p->event;

	v.nr_words = wire_sel4_words(v.type);
	words[0] = v.type == WIRE_SEL4_VMID ? (uint16_t)(p->vmid << 1)
					    : (uint16_t)wire_sel4_marker(v.type);
	memcpy(words + 1, p->operand, (v.nr_words - 1) * sizeof(*words));
	v.number = p->event;
	v.vmid = p->vmid;
	k->c.next.block = block_of(k, p->event);
	k->c.next.skip = p->event - k->trace->index->checkpoints[k->c.next.block].event;
	if (k->trace->stamped) {
		sel4_index_state(k->trace->index, k->c.next.block, &k->state);
		time = sel4_time(k->trace, &k->state, p->event);
	}
	emit(k, &v, p->word, time, e);
	k->posting = NULL;
	k->word = k->trace->nr_words; /* going on takes a seek: e->at says where */
	return true;
}

bool sel4_cursor_next(struct cursor *c, struct event *e)
{
	struct sel4_cursor *k = (struct sel4_cursor *)c;
	const struct sel4_trace *t = k->trace;
	struct sel4_event v = {0};
	uint64_t now, word = k->word;

	if (k->posting)
		return next_posting(k, e);
	if (word >= t->nr_words)
		return false;
	if (k->c.next.block + 1 < t->index->head->checkpoints.nr &&
	    word >= t->index->checkpoints[k->c.next.block + 1].word)
		k->c.next = (struct position){.block = k->c.next.block + 1};
	v.nr_words = step(k, &v.type);
	v.w = t->words + word;
	v.number = k->state.event++;
	if (v.type > WIRE_SEL4_FUNC_EXIT) {
		if (v.type == WIRE_SEL4_KERNEL_ENTRY || v.type == WIRE_SEL4_KERNEL_EXIT)
			k->calls.nr = 0;
		if (v.type == WIRE_SEL4_THREAD && t->task_stacks)
			switch_stack(k, k->state.tcb, wire_sel4_get48(v.w + 1));
		sel4_state_special(&k->state, v.type, v.w);
		if (v.type == WIRE_SEL4_THREAD)
			k->pid = sel4_pid(t, k->state.tcb);
	}
	now = sel4_time(t, &k->state, v.number);
	if (v.type <= WIRE_SEL4_FUNC_EXIT && t->stamped && !k->state.entry_known &&
	    t->index->head->count[WIRE_SEL4_KERNEL_ENTRY])
		now = head_time(k, now);
	if (v.type <= WIRE_SEL4_FUNC_EXIT)
		function(k, &v, now);
	v.vmid = k->state.vmid;
	v.pid = k->pid;
	emit(k, &v, word, now, e);
	k->word += v.nr_words;
	k->c.next.skip++;
	/* Words missing before an event: how many events they held is not known. */
	if (t->input.nr_gaps && sel4_input_is_gap(&t->input, word))
		e->lost = LOST_UNKNOWN;
	return true;
}

uint64_t sel4_block_time(struct source *s, uint32_t stream, uint64_t block)
{
	const struct sel4_trace *t = &((struct sel4 *)s->priv)->traces[stream];
	struct sel4_state st;

	sel4_index_state(t->index, block, &st);
	return sel4_time(t, &st, st.event);
}

/* Step over events without making records. */
static void skip_to(struct sel4_cursor *k, uint64_t event)
{
	while (k->state.event < event && k->word < k->trace->nr_words) {
		const uint16_t *w = k->trace->words + k->word;
		uint32_t type, words = step(k, &type);

		if (type > WIRE_SEL4_FUNC_EXIT)
			sel4_state_special(&k->state, type, w);
		else
			k->state.depth += type == WIRE_SEL4_FUNC_ENTER ? 1 : -1;
		k->word += words;
		k->state.event++;
		k->c.next.skip++;
	}
	k->pid = sel4_pid(k->trace, k->state.tcb);
}

int sel4_seek_number(struct source *s, struct cursor **cursors, uint64_t n)
{
	struct sel4_cursor *k = (struct sel4_cursor *)cursors[0];

	if (s->nr_streams != 1)
		return -ENOTSUP;
	if (n >= k->trace->index->head->nr_events)
		return -ENOENT;
	sel4_cursor_seek(cursors[0], sel4_index_block(k->trace->index, n));
	skip_to(k, n);
	return 0;
}

int sel4_seek_type(struct source *s, struct cursor **cursors, uint32_t id, uint64_t n)
{
	struct sel4_cursor *k = (struct sel4_cursor *)cursors[0];
	const struct sel4_index_head *h = k->trace->index->head;
	uint32_t type = sel4_type_of_id(id);

	if (type == WIRE_SEL4_NR_TYPES || n >= h->count[type])
		return -ENOENT;
	if (s->nr_streams != 1 || !h->list[type].offset || type == WIRE_SEL4_UNKNOWN ||
	    type == WIRE_SEL4_CUT)
		return -ENOTSUP;
	k->posting = sel4_index_posting(k->trace->index, type, n);
	k->posting_type = type;
	return k->posting ? 0 : -ENOENT;
}

/* ---- counting a block ---- */

struct scan_job {
	const struct sel4_trace *trace;
	struct tally *out;
	int32_t pid;
	uint64_t since; /* event from which on it ran */
};

static void scan_found(void *arg, const struct sel4_special *sp)
{
	struct scan_job *j = arg;

	if (sp->type != WIRE_SEL4_THREAD)
		return;
	if (sp->event > j->since && j->out->pids)
		pid_counts_add(j->out->pids, j->pid, sp->event - j->since);
	j->since = sp->event;
	j->pid = sel4_pid(j->trace, wire_sel4_get48(sp->w + 1));
}

/* Words of a gap's first, cut event, accounted for as the index does. */
static uint32_t scan_gap(struct sel4_cursor *k, struct tally *out, uint64_t first)
{
	uint32_t skip;

	if (!k->trace->input.nr_gaps || !sel4_input_is_gap(&k->trace->input, first))
		return 0;
	skip = sel4_resync(k->trace->words + first,
			   (size_t)(sel4_input_limit(&k->trace->input, first) - first),
			   k->trace->dict);
	if (skip) {
		out->by_type[sel4_id(WIRE_SEL4_CUT)]++;
		k->state.event++;
	}
	return skip;
}

void sel4_cursor_tally(struct cursor *c, uint64_t block, struct tally *out)
{
	struct sel4_cursor *k = (struct sel4_cursor *)c;
	const struct sel4_trace *t = k->trace;
	const struct sel4_checkpoint *at = &t->index->checkpoints[block];
	uint64_t end = block + 1 < t->index->head->checkpoints.nr ? at[1].word : t->nr_words;
	struct scan_job j = {.trace = t, .out = out};
	struct sel4_bulk b = {
		.scan = sel4_scan_best(), .dict = t->dict, .found = scan_found, .arg = &j};
	uint64_t first, time;

	if (!k->at)
		k->at = malloc(sel4_block_room(t->nr_words) * sizeof(*k->at));
	if (!k->at || end < at->word || end - at->word > SEL4_BLOCK_WORDS + SEL4_AHEAD)
		return;
	sel4_cursor_seek(c, block);
	first = k->state.event;
	time = sel4_time(t, &k->state, first);
	j.pid = k->pid;
	j.since = first;
	b.at = k->at;
	b.word = at->word + scan_gap(k, out, at->word);
	b.ahead = sel4_input_ahead(&t->input, at->word, end);
	b.state = k->state;
	sel4_bulk_block(&b, t->words + b.word, (size_t)(end - b.word), true);
	if (out->pids)
		pid_counts_add(out->pids, j.pid, b.state.event - j.since);
	for (uint32_t type = 0; type < WIRE_SEL4_NR_TYPES; type++)
		out->by_type[sel4_id(type)] += b.count[type];
	tally_first(out, time);
	out->nr_events += b.state.event - first;
	out->last_time = out->max_time = sel4_time(t, &b.state, b.state.event - 1);
	k->word = t->nr_words;
}
