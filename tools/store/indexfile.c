/* SPDX-License-Identifier: MIT */
/* indexfile.c -- FILE.fidx: save the tables, load them if they are whole and of this very trace. */
#include "store/indexfile.h"
#include "store/store.h"
#include "base/bytes.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t entry_bytes[INDEX_TABLES] = {
	sizeof(struct store_stream),  sizeof(struct store_step), sizeof(struct store_type),
	sizeof(struct store_posting), sizeof(struct store_pid),	 sizeof(struct loss),
};

#define SAMPLE_EDGE 65536u
#define SAMPLE_SPOT 4096u
#define SAMPLES	    14u

/* Both ends whole and some spots between: a trace that was rewritten has other times everywhere. */
static uint64_t sample(const struct source *s)
{
	uint64_t n = s->map_bytes, h = bytes_hash(1, &n, sizeof(n));

	if (n <= 2 * SAMPLE_EDGE + SAMPLES * SAMPLE_SPOT)
		return bytes_hash(h, s->map, n);
	h = bytes_hash(h, s->map, SAMPLE_EDGE);
	h = bytes_hash(h, s->map + n - SAMPLE_EDGE, SAMPLE_EDGE);
	for (uint64_t i = 1; i <= SAMPLES; i++)
		h = bytes_hash(h, s->map + n / (SAMPLES + 1) * i, SAMPLE_SPOT);
	return h;
}

int store_identity(const struct source *s, uint64_t *bytes, int64_t *mtime_ns, uint64_t *content)
{
	struct stat st;

	if (!s->map || stat(s->path, &st) || (uint64_t)st.st_size != s->map_bytes)
		return -ESTALE;
	*bytes = s->map_bytes;
	*mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	*content = sample(s);
	return 0;
}

static int describe(const struct source *s, struct index_header *h)
{
	memset(h, 0, sizeof(*h));
	if (store_identity(s, &h->trace_bytes, &h->trace_mtime_ns, &h->trace_sample))
		return -ESTALE;
	memcpy(h->magic, INDEX_MAGIC, 8);
	h->version = INDEX_VERSION;
	h->order = INDEX_ORDER;
	h->step_blocks = STORE_STEP;
	return 0;
}

/* ---- loading ---- */

static bool streams_valid(const struct store *st)
{
	uint64_t at = 0, events = 0;

	for (uint32_t i = 0; i < st->nr_streams; i++) {
		const struct store_stream *ss = &st->streams[i];
		uint64_t blocks = st->source->streams[i].nr_blocks;

		if (ss->first_step != at ||
		    ss->nr_steps != (blocks + STORE_STEP - 1) / STORE_STEP ||
		    ss->nr_steps > st->nr_steps - at)
			return false;
		for (uint64_t k = 1; k < ss->nr_steps; k++)
			if (st->steps[at + k].time < st->steps[at + k - 1].time ||
			    st->steps[at + k].before < st->steps[at + k - 1].before)
				return false;
		if (ss->nr_steps && st->steps[at + ss->nr_steps - 1].before > ss->nr_events)
			return false;
		at += ss->nr_steps;
		events += ss->nr_events;
	}
	return at == st->nr_steps && events == st->nr_events;
}

static bool types_valid(const struct store *st)
{
	for (uint64_t i = 0; i < st->nr_types; i++) {
		const struct store_type *t = &st->types[i];

		if ((i && t->id <= st->types[i - 1].id) || t->first_posting > st->nr_postings ||
		    t->nr_postings > st->nr_postings - t->first_posting || t->count > st->nr_events)
			return false;
	}
	for (uint64_t i = 0; i < st->nr_losses; i++)
		if (st->losses[i].stream >= st->nr_streams)
			return false;
	return true;
}

bool store_valid(const struct store *st)
{
	return st->nr_streams == st->source->nr_streams && streams_valid(st) && types_valid(st);
}

/* Tables after the header, if they are in the file; where they end. */
static bool place_tables(struct store *st, const struct index_header *h, const uint8_t *map,
			 size_t bytes, uint64_t *end)
{
	const void *at[INDEX_TABLES];
	uint64_t offset = sizeof(*h);

	for (unsigned i = 0; i < INDEX_TABLES; i++) {
		if (h->nr[i] > (bytes - offset) / entry_bytes[i])
			return false;
		at[i] = map + offset;
		offset += h->nr[i] * entry_bytes[i];
	}
	*end = offset;
	st->streams = at[INDEX_STREAMS];
	st->steps = at[INDEX_STEPS];
	st->types = at[INDEX_TYPES];
	st->postings = at[INDEX_POSTINGS];
	st->pids = at[INDEX_PIDS];
	st->losses = at[INDEX_LOSSES];
	st->nr_streams = (uint32_t)h->nr[INDEX_STREAMS];
	st->nr_steps = h->nr[INDEX_STEPS];
	st->nr_types = h->nr[INDEX_TYPES];
	st->nr_postings = h->nr[INDEX_POSTINGS];
	st->nr_pids = h->nr[INDEX_PIDS];
	st->nr_losses = h->nr[INDEX_LOSSES];
	st->nr_events = h->nr_events;
	st->first_time = h->first_time;
	st->last_time = h->last_time;
	return true;
}

static uint64_t aligned(uint64_t at)
{
	return (at + INDEX_ALIGN - 1) & ~(uint64_t)(INDEX_ALIGN - 1);
}

/* The file ends with the tables, or with the symbols that the header mentions. */
static bool ends_right(const struct index_header *h, uint64_t tables_end, uint64_t bytes)
{
	if (!h->nr_symbols)
		return tables_end == bytes;
	return tables_end <= bytes && h->symbol_bytes <= bytes && h->string_bytes <= bytes &&
	       aligned(tables_end) + h->symbol_bytes + h->string_bytes == bytes;
}

static bool whole(struct store *st, const uint8_t *map, size_t bytes, struct index_header *h,
		  uint64_t *end)
{
	struct index_header want;

	if (bytes < sizeof(*h) || describe(st->source, &want))
		return false;
	memcpy(h, map, sizeof(*h));
	/* Everything up to the sample says which trace and which layout. */
	if (memcmp(h, &want, offsetof(struct index_header, nr_events)) != 0)
		return false;
	if (h->head_check != bytes_hash(2, h, offsetof(struct index_header, head_check)) ||
	    !place_tables(st, h, map, bytes, end) || !ends_right(h, *end, bytes) ||
	    h->check != bytes_hash(3, map + sizeof(*h), *end - sizeof(*h)))
		return false;
	return store_valid(st);
}

/* Lend the kept symbols to the source, which then need not read its own. Not doing so is never an error. */
static void lend_symbols(struct store *st, int fd, const struct index_header *h, uint64_t end)
{
	size_t bytes = h->symbol_bytes + h->string_bytes;
	struct source *s = st->source;
	struct symbols_packed p;
	uint8_t *map;

	if (!h->nr_symbols || s->have_symbols || h->symbol_bytes % h->nr_symbols)
		return;
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)aligned(end));
	if (map == MAP_FAILED)
		return;
	p = (struct symbols_packed){map, h->nr_symbols, h->symbol_bytes / h->nr_symbols,
				    (char *)map + h->symbol_bytes, h->string_bytes};
	if (bytes_hash(4, map, bytes) == h->symbols_check &&
	    !symbols_borrow(s->symbols, &p, map, bytes))
		s->have_symbols = true;
	else
		munmap(map, bytes);
}

static void forget(struct store *st)
{
	struct source *s = st->source;
	struct store_options o = st->options;

	memset(st, 0, sizeof(*st));
	st->source = s;
	st->options = o;
}

int store_load(struct store *st, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct index_header h;
	struct stat sb;
	uint64_t end;
	void *map;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &sb) || !S_ISREG(sb.st_mode) || !sb.st_size) {
		close(fd);
		return -EINVAL;
	}
	map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED) {
		close(fd);
		return -errno;
	}
	if (!whole(st, map, (size_t)sb.st_size, &h, &end)) {
		munmap(map, (size_t)sb.st_size);
		close(fd);
		forget(st);
		return -ESTALE;
	}
	lend_symbols(st, fd, &h, end);
	close(fd);
	st->map = map;
	st->map_bytes = (size_t)sb.st_size;
	return 0;
}

/* ---- saving ---- */

static bool put(FILE *f, const void *bytes, size_t n)
{
	return !n || fwrite(bytes, n, 1, f) == 1;
}

void indexfile_seal(void *file, size_t bytes)
{
	struct index_header *h = file;
	uint64_t kept = 0, end = sizeof(*h);

	if (h->nr_symbols && h->symbol_bytes <= bytes && h->string_bytes <= bytes - h->symbol_bytes)
		kept = h->symbol_bytes + h->string_bytes;
	for (unsigned i = 0; i < INDEX_TABLES && end <= bytes; i++)
		end = h->nr[i] > (bytes - end) / entry_bytes[i] ? bytes + 1
								: end + h->nr[i] * entry_bytes[i];
	if (end > bytes)
		end = bytes;
	h->check = bytes_hash(3, (uint8_t *)file + sizeof(*h), end - sizeof(*h));
	h->symbols_check = kept ? bytes_hash(4, (uint8_t *)file + bytes - kept, kept) : 0;
	h->head_check = bytes_hash(2, h, offsetof(struct index_header, head_check));
}

/* The hash runs over the tables as one piece, and they are in several: so it is made from the written file. */
static int seal_file(FILE *f)
{
	size_t bytes;
	void *map;

	if (fflush(f))
		return -errno;
	bytes = (size_t)ftell(f);
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	if (map == MAP_FAILED)
		return -errno;
	indexfile_seal(map, bytes);
	return munmap(map, bytes) ? -errno : 0;
}

/* Reading the symbols of a kernel takes longer than finding an event: keep them, unless they would be most of the file. */
static void pack_symbols(const struct store *st, struct symbols_packed *p, struct index_header *h)
{
	struct source *s = st->source;
	uint64_t events = 0;

	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < s->nr_streams; i++)
		events += s->streams[i].bytes;
	if (events < STORE_SAVE_BYTES)
		return;
	source_want_names(s);
	if (!symbols_count(s->symbols) || symbols_pack(s->symbols, p))
		return;
	if (p->nr * p->entry_bytes + p->pool_bytes > events / INDEX_SYMBOLS_RATIO)
		return;
	h->nr_symbols = p->nr;
	h->symbol_bytes = p->nr * p->entry_bytes;
	h->string_bytes = p->pool_bytes;
}

static int write_tables(FILE *f, const struct store *st, struct index_header *h)
{
	const void *tables[INDEX_TABLES] = {st->streams,  st->steps, st->types,
					    st->postings, st->pids,  st->losses};
	struct symbols_packed p;
	bool ok;

	pack_symbols(st, &p, h);
	ok = put(f, h, sizeof(*h));
	for (unsigned i = 0; i < INDEX_TABLES; i++)
		ok = ok && put(f, tables[i], h->nr[i] * entry_bytes[i]);
	if (ok && h->nr_symbols)
		ok = !fseek(f, (long)aligned((uint64_t)ftell(f)), SEEK_SET) &&
		     put(f, p.entries, h->symbol_bytes) && put(f, p.pool, h->string_bytes);
	free(p.entries);
	free(p.pool);
	return ok ? seal_file(f) : -EIO;
}

/* A new file takes the old one's place at once: a reader sees either. */
int store_save(const struct store *st, const char *path)
{
	struct index_header h;
	struct output out;
	int err = describe(st->source, &h);

	if (!err)
		err = output_open(&out, path, false);
	if (err)
		return err;
	h.nr_events = st->nr_events;
	h.first_time = st->first_time;
	h.last_time = st->last_time;
	h.nr[INDEX_STREAMS] = st->nr_streams;
	h.nr[INDEX_STEPS] = st->nr_steps;
	h.nr[INDEX_TYPES] = st->nr_types;
	h.nr[INDEX_POSTINGS] = st->nr_postings;
	h.nr[INDEX_PIDS] = st->nr_pids;
	h.nr[INDEX_LOSSES] = st->nr_losses;
	return output_close(&out, write_tables(out.f, st, &h));
}
