/* SPDX-License-Identifier: MIT */
/* fixed_write.c -- a seL4 stream as fixed 16-byte records, with lists of the rare types and a description beside it. */
#include "decode/sel4/fixed_write.h"
#include "decode/sel4/record.h"
#include "base/file.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Records made before they are written: they stay in the second-level cache. */
#define BATCH 8192u

struct fixed_writer {
	int fd;
	int err;
	size_t nr;
	const uint64_t *addr; /* by function index, all 32768 of them */
	struct wire_sel4_record *batch;
};

static void flush(struct fixed_writer *w)
{
	if (!w->err)
		w->err = file_write(w->fd, w->batch, w->nr * sizeof(*w->batch));
	w->nr = 0;
}

/* A run of functions: two stores each. The first half of a record is type, vmid, arg16 and arg32 in one number. */
static void functions(struct fixed_writer *w, const uint16_t *at, size_t n, uint32_t vmid)
{
	while (n) {
		size_t room = BATCH - w->nr, now = n < room ? n : room;
		uint64_t *out = (uint64_t *)(w->batch + w->nr);

		for (size_t i = 0; i < now; i++) {
			uint32_t v = at[i], id = v >> 1;

			out[2 * i] = (~v & 1u) | vmid << 8 | id << 16;
			out[2 * i + 1] = w->addr[id];
		}
		w->nr += now;
		at += now;
		n -= now;
		if (w->nr == BATCH)
			flush(w);
	}
}

static struct wire_sel4_record fixed(uint32_t type, const uint16_t *w, uint32_t nr_words,
				     uint32_t vmid)
{
	struct wire_sel4_record r = {.type = (uint8_t)type, .vmid = (uint8_t)vmid};

	switch (type) {
	case WIRE_SEL4_SYSCALL:
	case WIRE_SEL4_INTERRUPT: r.arg16 = w[1]; break;
	case WIRE_SEL4_KERNEL_EXIT: r.value = wire_sel4_get32(w + 1); break;
	case WIRE_SEL4_SAFE_PTE:
	case WIRE_SEL4_VSPACE:
	case WIRE_SEL4_THREAD: r.value = wire_sel4_get48(w + 1); break;
	case WIRE_SEL4_RETYPE:
	case WIRE_SEL4_INIT_PT:
	case WIRE_SEL4_CREATE_OBJ:
		r.value = wire_sel4_get48(w + 1);
		r.arg16 = w[4];
		break;
	case WIRE_SEL4_PT_MAP:
		r.value = wire_sel4_get48(w + 1) | (uint64_t)w[7] << 48;
		r.arg32 = wire_sel4_get32(w + 4);
		r.arg16 = w[6];
		break;
	case WIRE_SEL4_KERNEL_ENTRY:
		r.arg16 = w[1];
		r.value = wire_sel4_entry_unpack(w + 1).tag;
		break;
	case WIRE_SEL4_VM_FAULT:
	case WIRE_SEL4_TRACEPOINT:
	case WIRE_SEL4_TIMESTAMP:
		r.arg16 = w[1];
		r.value = wire_sel4_get48(w + 2);
		break;
	case WIRE_SEL4_USER_FAULT:
		r.arg16 = w[1];
		r.value = wire_sel4_get32(w + 2);
		break;
	case WIRE_SEL4_UNKNOWN:
	case WIRE_SEL4_CUT:
		r.arg16 = w[0];
		r.value = nr_words;
		break;
	default: break;
	}
	return r;
}

struct fixed_walk {
	struct fixed_writer *w;
	const struct sel4_trace *t;
	uint64_t next; /* word after what was written */
	uint32_t vmid;
};

static void special(void *arg, const struct sel4_special *s)
{
	struct fixed_walk *k = arg;

	functions(k->w, k->t->words + k->next, (size_t)(s->word - k->next), k->vmid);
	if (s->vmid >= 0)
		k->vmid = (uint32_t)s->vmid;
	k->w->batch[k->w->nr++] = fixed(s->type, s->w, s->nr_words, k->vmid);
	if (k->w->nr == BATCH)
		flush(k->w);
	k->next = s->word + s->nr_words;
}

/* Blocks as the index cut them; after a gap the words of a cut event come first. */
static int walk_blocks(const struct sel4_trace *t, struct fixed_writer *w, uint32_t *at)
{
	const struct sel4_index *ix = t->index;
	struct fixed_walk k = {.w = w, .t = t};
	struct sel4_bulk b = {
		.scan = sel4_scan_best(), .dict = t->dict, .found = special, .arg = &k, .at = at};

	sel4_state_init(&b.state);
	for (uint64_t i = 0; i < ix->head->checkpoints.nr && !w->err; i++) {
		uint64_t first = ix->checkpoints[i].word;
		uint64_t end = i + 1 < ix->head->checkpoints.nr ? ix->checkpoints[i + 1].word
								: t->nr_words;

		b.word = first;
		if (sel4_input_is_gap(&t->input, first)) {
			uint64_t run = sel4_input_limit(&t->input, first) - first;
			uint32_t skip = sel4_resync(t->words + first, (size_t)run, t->dict);
			struct sel4_special cut = {.word = first,
						   .w = t->words + first,
						   .type = WIRE_SEL4_CUT,
						   .nr_words = skip,
						   .vmid = -1};

			if (skip)
				special(&k, &cut);
			b.word += skip;
		}
		b.ahead = sel4_input_ahead(&t->input, first, end);
		sel4_bulk_block(&b, t->words + b.word, (size_t)(end - b.word), true);
		functions(w, t->words + k.next, (size_t)(end - k.next), k.vmid);
		k.next = end;
	}
	flush(w);
	return w->err;
}

static int write_records(const struct sel4_trace *t, FILE *f)
{
	uint64_t *addr = calloc(32768, sizeof(*addr));
	uint32_t *at = malloc(sel4_block_room(t->nr_words) * sizeof(*at));
	struct fixed_writer w = {
		.fd = fileno(f), .addr = addr, .batch = malloc(BATCH * sizeof(*w.batch))};
	int err = -ENOMEM;

	if (addr && at && w.batch) {
		for (uint32_t id = 0; t->dict && id < WIRE_SEL4_FUNC_MAX; id++)
			addr[WIRE_SEL4_FUNC_FIRST + id] = t->dict->addr[id];
		err = walk_blocks(t, &w, at);
	}
	free(addr);
	free(at);
	free(w.batch);
	return err;
}

static int write_types(const struct sel4_trace *trace, FILE *f)
{
	const struct sel4_index *ix = trace->index;
	struct sel4_types_head h = {.version = SEL4_TYPES_VERSION, .nr = WIRE_SEL4_NR_TYPES};
	uint64_t at = sizeof(h);

	memcpy(h.magic, SEL4_TYPES_MAGIC, 8);
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		h.entry[t].type = t;
		h.entry[t].count = ix->head->count[t];
		h.entry[t].listed = ix->head->list[t].offset != 0;
		h.entry[t].offset = h.entry[t].listed ? at : 0;
		at += h.entry[t].listed ? h.entry[t].count * 8 : 0;
	}
	fwrite(&h, sizeof(h), 1, f);
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		for (uint64_t i = 0; h.entry[t].listed && i < h.entry[t].count; i++)
			fwrite(&sel4_index_posting(ix, t, i)->event, 8, 1, f);
	}
	return 0;
}

/* What the records are, before the description of the stream they were made of. */
static int write_meta(const struct sel4_trace *t, FILE *f)
{
	const struct sel4_index_head *h = t->index->head;
	struct sel4_meta meta = t->meta;
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);
	int err = -ENOMEM;

	if (!to)
		return err;
	fprintf(to,
		"  \"format\": \"fathom-sel4-records\",\n  \"version\": 1,\n"
		"  \"record_bytes\": 16,\n  \"record_count\": %" PRIu64 ",\n",
		h->nr_events);
	if (h->first_vmid_event == SEL4_NO_EVENT)
		fputs("  \"first_vmid_event\": null,\n", to);
	else
		fprintf(to, "  \"first_vmid_event\": %" PRIu64 ",\n", h->first_vmid_event);
	fputs("  \"types\": {", to);
	for (uint32_t k = 0; k < WIRE_SEL4_NR_TYPES; k++)
		fprintf(to, "%s\n    \"%s\": {\"number\": %" PRIu32 ", \"count\": %" PRIu64 "}",
			k ? "," : "", sel4_type_name(k), k, h->count[k]);
	fputs("\n  },\n", to);
	meta.raw_bytes = t->nr_words * 2;
	if (!fclose(to))
		err = sel4_meta_write(&meta, text, f);
	free(text);
	return err;
}

/* One of the files; the first has no suffix of its own. */
static int write_one(const struct sel4_trace *t, const char *path, const char *suffix,
		     int (*write)(const struct sel4_trace *t, FILE *f))
{
	struct output out;
	char *name;
	int err;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return -ENOMEM;
	err = output_open(&out, name, false);
	if (!err)
		err = output_close(&out, write(t, out.f));
	free(name);
	return err;
}

int sel4_fixed_write(const struct sel4_trace *t, const char *path)
{
	int err = write_one(t, path, "", write_records);

	if (!err)
		err = write_one(t, path, ".types", write_types);
	if (!err)
		err = write_one(t, path, ".meta", write_meta);
	return err;
}
