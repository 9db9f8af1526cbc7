/* SPDX-License-Identifier: MIT */
/* sel4_fixed.c -- a seL4 stream as fixed 16-byte records, with lists of the rare types and a description beside it. */
#include "store/sel4_fixed.h"
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

struct writer {
	int fd;
	int err;
	size_t nr;
	const uint64_t *addr; /* by function index, all 32768 of them */
	struct wire_sel4_record *batch;
};

static void flush(struct writer *w)
{
	if (!w->err)
		w->err = file_write(w->fd, w->batch, w->nr * sizeof(*w->batch));
	w->nr = 0;
}

/* A run of functions: two stores each. The first half of a record is type, vmid, arg16 and arg32 in one number. */
static void functions(struct writer *w, const uint16_t *at, size_t n, uint32_t vmid)
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

struct walk {
	struct writer *w;
	const struct sel4_trace *t;
	uint64_t next; /* word behind what was written */
	uint32_t vmid;
};

static void special(void *arg, const struct sel4_special *s)
{
	struct walk *k = arg;

	functions(k->w, k->t->words + k->next, (size_t)(s->word - k->next), k->vmid);
	if (s->vmid >= 0)
		k->vmid = (uint32_t)s->vmid;
	k->w->batch[k->w->nr++] = fixed(s->type, s->w, s->nr_words, k->vmid);
	if (k->w->nr == BATCH)
		flush(k->w);
	k->next = s->word + s->nr_words;
}

/* Blocks as the index cut them; behind a gap the words of a cut event come first. */
static int walk_blocks(const struct sel4_trace *t, struct writer *w, uint32_t *at)
{
	const struct sel4_index *ix = t->index;
	struct walk k = {.w = w, .t = t};
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
		sel4_bulk_block(&b, t->words + b.word, (size_t)(end - b.word), true);
		functions(w, t->words + k.next, (size_t)(end - k.next), k.vmid);
		k.next = end;
	}
	flush(w);
	return w->err;
}

static int write_records(const struct sel4_trace *t, const char *path)
{
	uint64_t *addr = calloc(32768, sizeof(*addr));
	uint32_t *at = malloc((SEL4_BLOCK_WORDS + SEL4_AHEAD) * sizeof(*at));
	struct writer w = {.addr = addr, .batch = malloc(BATCH * sizeof(*w.batch))};
	int err = -ENOMEM;

	w.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (w.fd < 0)
		err = -errno;
	if (w.fd >= 0 && addr && at && w.batch) {
		for (uint32_t id = 0; t->dict && id < WIRE_SEL4_FUNC_MAX; id++)
			addr[WIRE_SEL4_FUNC_FIRST + id] = t->dict->addr[id];
		err = walk_blocks(t, &w, at);
	}
	if (w.fd >= 0 && close(w.fd) && !err)
		err = -errno;
	free(addr);
	free(at);
	free(w.batch);
	return err;
}

static void write_types(const struct sel4_index *ix, FILE *f)
{
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
}

static void write_meta(const struct sel4_index *ix, FILE *f)
{
	const struct sel4_index_head *h = ix->head;
	const char *comma = "";

	fprintf(f,
		"{\n  \"format\": \"fathom-sel4-records\",\n  \"version\": 1,\n"
		"  \"record_bytes\": 16,\n  \"record_count\": %" PRIu64
		",\n  \"entry_count\": %" PRIu64 ",\n",
		h->nr_events, h->nr_words);
	if (h->first_vmid_event == SEL4_NO_EVENT)
		fputs("  \"first_vmid_event\": null,\n", f);
	else
		fprintf(f, "  \"first_vmid_event\": %" PRIu64 ",\n", h->first_vmid_event);
	fputs("  \"types\": {", f);
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		fprintf(f, "%s\n    \"%s\": {\"number\": %" PRIu32 ", \"count\": %" PRIu64 "}",
			comma, sel4_type_name(t), t, h->count[t]);
		comma = ",";
	}
	fputs("\n  }\n}\n", f);
}

static int write_beside(const struct sel4_index *ix, const char *path, const char *suffix,
			void (*write)(const struct sel4_index *ix, FILE *f))
{
	char *name = sel4_path(path, suffix);
	struct output out;
	int err = name ? output_open(&out, name, false) : -ENOMEM;

	if (!err) {
		write(ix, out.f);
		err = output_close(&out, 0);
	}
	free(name);
	return err;
}

int sel4_fixed_write(const struct sel4_trace *t, const char *path)
{
	int err = write_records(t, path);

	if (!err)
		err = write_beside(t->index, path, ".types", write_types);
	if (!err)
		err = write_beside(t->index, path, ".meta", write_meta);
	return err;
}
