/* SPDX-License-Identifier: MIT */
/* writer.c -- trace.dat from any source: what goes into it, and version 6. */
#include "store/writer.h"
#include "wire/tracedat_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct writer_text fixed(const char *text)
{
	return (struct writer_text){.text = text, .bytes = strlen(text)};
}

/* ---- texts: those the trace carries, else made from its tables ---- */

static void task_line(int32_t pid, const char *comm, int32_t tgid, void *arg)
{
	(void)tgid;
	if (comm[0])
		fprintf(arg, "%d %s\n", pid, comm);
}

static void make_text(struct source *s, enum source_text which, FILE *f)
{
	struct symbol sym;

	source_want_names(s);
	if (which == SOURCE_CMDLINES)
		tasks_each(s->tasks, task_line, f);
	if (which != SOURCE_KALLSYMS)
		return;
	for (size_t i = 0; symbols_at(s->symbols, i, &sym); i++) {
		fprintf(f, "%016" PRIx64 " T %s", sym.start, sym.name);
		if (sym.module[0])
			fprintf(f, "\t[%s]", sym.module);
		fputc('\n', f);
	}
}

static int take_text(struct source *s, enum source_text which, struct writer_text *t)
{
	FILE *f;

	t->text = s->texts[which].text;
	t->bytes = s->texts[which].bytes;
	if (t->text)
		return 0;
	f = open_memstream(&t->owned, &t->bytes);
	if (!f)
		return -ENOMEM;
	make_text(s, which, f);
	if (fclose(f))
		return -ENOMEM;
	t->text = t->owned;
	return 0;
}

/* As the traced kernel's events/header_page would be. */
static int make_header_page(struct writer_meta *m)
{
	uint32_t word = m->s->long_bytes == 4 ? 4 : 8;
	int n = asprintf(&m->header_page.owned,
			 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			 "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
			 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
			 word, 8 + word, m->page_bytes - 8 - word);

	if (n < 0) {
		m->header_page.owned = NULL;
		return -ENOMEM;
	}
	m->header_page.text = m->header_page.owned;
	m->header_page.bytes = (size_t)n;
	return 0;
}

static int take_texts(struct writer_meta *m)
{
	struct source *s = m->s;

	if (make_header_page(m))
		return -ENOMEM;
	m->header_event = fixed(fathom_dat_header_event);
	source_want_texts(s);
	if (m->copied && s->texts[SOURCE_HEADER_PAGE].text) {
		m->header_page.text = s->texts[SOURCE_HEADER_PAGE].text;
		m->header_page.bytes = s->texts[SOURCE_HEADER_PAGE].bytes;
	}
	if (m->copied && s->texts[SOURCE_HEADER_EVENT].text)
		m->header_event =
			(struct writer_text){.text = s->texts[SOURCE_HEADER_EVENT].text,
					     .bytes = s->texts[SOURCE_HEADER_EVENT].bytes};
	if (take_text(s, SOURCE_KALLSYMS, &m->kallsyms) ||
	    take_text(s, SOURCE_PRINTK, &m->printk) || take_text(s, SOURCE_CMDLINES, &m->cmdlines))
		return -ENOMEM;
	return m->kallsyms.bytes > UINT32_MAX || m->printk.bytes > UINT32_MAX ? -EFBIG : 0;
}

/* ---- formats by system, streams by CPU ---- */

static bool is_ftrace(const struct schema *k)
{
	return !strcmp(k->system, "ftrace");
}

static int by_system(const void *a, const void *b)
{
	const struct schema *x = *(const struct schema *const *)a,
			    *y = *(const struct schema *const *)b;
	int c;

	if (is_ftrace(x) != is_ftrace(y))
		return is_ftrace(x) ? -1 : 1;
	c = strcmp(x->system, y->system);
	return c ? c : x->id < y->id ? -1 : x->id > y->id;
}

static int sort_schemas(struct writer_meta *m)
{
	struct source *s = m->s;

	m->schemas = calloc(s->nr_schemas + 1, sizeof(struct schema *));
	if (!m->schemas)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_schemas; i++)
		m->schemas[m->nr_schemas++] = &s->schemas[i];
	qsort(m->schemas, m->nr_schemas, sizeof(struct schema *), by_system);
	for (size_t i = 0; i < m->nr_schemas; i++) {
		m->nr_ftrace += is_ftrace(m->schemas[i]);
		if (!is_ftrace(m->schemas[i]) &&
		    (i == m->nr_ftrace ||
		     strcmp(m->schemas[i]->system, m->schemas[i - 1]->system) != 0))
			m->nr_systems++;
	}
	return 0;
}

/* A CPU number may occur once per buffer; where streams share one they are numbered by their place. */
static bool numbers_clash(const struct source *s, const struct trace_buffer *b)
{
	for (uint32_t i = 0; i < b->nr_streams; i++)
		for (uint32_t k = 0; k < i; k++)
			if (s->streams[b->first_stream + i].cpu ==
			    s->streams[b->first_stream + k].cpu)
				return true;
	return false;
}

#define CPUS_MAX 65536u

static uint32_t number_of(const struct source *s, const struct trace_buffer *b, uint32_t i,
			  bool clash)
{
	return clash ? i : s->streams[b->first_stream + i].cpu;
}

static int place_streams(struct writer_meta *m)
{
	struct source *s = m->s;

	m->nr_cpus = s->info.nr_cpus < CPUS_MAX ? s->info.nr_cpus : 1;
	for (size_t k = 0; k < s->nr_buffers; k++) {
		const struct trace_buffer *b = &s->buffers[k];
		bool clash = numbers_clash(s, b);

		for (uint32_t i = 0; i < b->nr_streams; i++)
			if (number_of(s, b, i, clash) >= m->nr_cpus)
				m->nr_cpus = number_of(s, b, i, clash) + 1;
	}
	if (m->nr_cpus > CPUS_MAX)
		return -EFBIG;
	m->buffers = calloc(s->nr_buffers + 1, sizeof(*m->buffers));
	for (size_t k = 0; m->buffers && k < s->nr_buffers; k++) {
		const struct trace_buffer *b = &s->buffers[k];
		struct writer_buffer *w = &m->buffers[m->nr_buffers++];
		bool clash = numbers_clash(s, b);

		w->name = b->name;
		w->clock = b->clock[0] ? b->clock : s->unit == CLOCK_NS ? "local" : "counter";
		w->streams = malloc(m->nr_cpus * sizeof(*w->streams));
		if (!w->streams)
			return -ENOMEM;
		memset(w->streams, 0xff, m->nr_cpus * sizeof(*w->streams));
		for (uint32_t i = 0; i < b->nr_streams; i++)
			w->streams[number_of(s, b, i, clash)] = b->first_stream + i;
	}
	return m->buffers ? 0 : -ENOMEM;
}

bool writer_keeps(const struct writer_meta *m, uint16_t id)
{
	switch (id) {
	case FATHOM_DAT_DATE:
	case FATHOM_DAT_OFFSET:
	case FATHOM_DAT_TIME_SHIFT:
	case FATHOM_DAT_TSC2NSEC: return m->copied;
	case FATHOM_DAT_BUFFER:
	case FATHOM_DAT_CLOCK:
	case FATHOM_DAT_CPUCOUNT: return false;
	default: return true;
	}
}

struct counted_pages {
	struct writer_meta *m;
	int (*put)(void *, const void *, uint32_t);
	void *arg;
};

static int put_counted(void *arg, const void *page, uint32_t bytes)
{
	struct counted_pages *c = arg;

	if (++c->m->pages % 256 == 0 && c->m->o->progress)
		c->m->o->progress(c->m->o->arg, "writing", c->m->pages, c->m->all_pages);
	return c->put(c->arg, page, bytes);
}

int writer_pages(struct writer_meta *m, const struct writer_buffer *b, uint32_t cpu,
		 int (*put)(void *arg, const void *page, uint32_t bytes), void *arg)
{
	struct counted_pages c = {m, put, arg};

	if (b->streams[cpu] == UINT32_MAX)
		return 0;
	return pages_each(m->s, b->streams[cpu], m->o->choice, put_counted, &c, m->too_large);
}

/* The losses that the source states go with its events. */
static int take_losses(struct writer_meta *m)
{
	const struct source *s = m->s;
	bool known = s->nr_stated > 0;
	uint32_t *cpus;

	for (size_t i = 0; i < s->nr_streams; i++)
		known |= s->streams[i].counted || s->streams[i].recorded_to;
	for (size_t i = 0; i < s->nr_extras; i++)
		if (s->extras[i].id == FATHOM_DAT_CPUSTAT)
			return 0;
	if (!known)
		return 0;
	cpus = calloc(s->nr_streams + 1, sizeof(*cpus));
	for (size_t k = 0; cpus && k < m->nr_buffers; k++)
		for (uint32_t cpu = 0; cpu < m->nr_cpus; cpu++)
			if (m->buffers[k].streams[cpu] != UINT32_MAX)
				cpus[m->buffers[k].streams[cpu]] = cpu;
	m->stats = cpus ? loss_write_stats(s, cpus) : NULL;
	free(cpus);
	return m->stats ? 0 : -ENOMEM;
}

/* ---- version 6 ---- */

static int count_page(void *arg, const void *page, uint32_t bytes)
{
	(void)page;
	*(uint64_t *)arg += bytes;
	return 0;
}

static int to_file(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -EIO;
}

static int to_nowhere(void *arg, const void *bytes, size_t n)
{
	(void)arg;
	(void)bytes;
	(void)n;
	return 0;
}

static int page_to_dat(void *arg, const void *page, uint32_t bytes)
{
	struct fathom_dat *d = arg;

	fathom_dat_bytes(d, page, bytes);
	return d->err;
}

static void v6_formats(struct fathom_dat *d, const struct writer_meta *m)
{
	const struct schema **k = m->schemas;

	fathom_dat_ftrace(d, (uint32_t)m->nr_ftrace);
	for (size_t i = 0; i < m->nr_ftrace; i++)
		fathom_dat_format(d, k[i]->text, k[i]->text_bytes);
	fathom_dat_systems(d, m->nr_systems);
	for (size_t i = m->nr_ftrace; i < m->nr_schemas;) {
		size_t n = i;

		while (n < m->nr_schemas && !strcmp(k[n]->system, k[i]->system))
			n++;
		fathom_dat_system(d, k[i]->system, (uint32_t)(n - i));
		for (; i < n; i++)
			fathom_dat_format(d, k[i]->text, k[i]->text_bytes);
	}
}

/* Everything before the pages of the main buffer; `places` are those of the instances' lists. */
static void v6_head(struct fathom_dat *d, struct writer_meta *m, fathom_dat_sink sink, FILE *out,
		    const uint64_t *bytes, const uint64_t *places)
{
	struct source *s = m->s;

	fathom_dat_begin(d, sink, out, m->page_bytes, s->big_endian, (int)s->long_bytes);
	fathom_dat_header(d, m->header_page.text, m->header_page.bytes, m->header_event.text,
			  m->header_event.bytes);
	v6_formats(d, m);
	fathom_dat_kallsyms(d, m->kallsyms.text, m->kallsyms.bytes);
	fathom_dat_printk(d, m->printk.text, m->printk.bytes);
	fathom_dat_cmdlines(d, m->cmdlines.text, m->cmdlines.bytes);
	fathom_dat_cpus(d, m->nr_cpus);
	for (size_t i = 0; i < s->nr_extras; i++)
		if (writer_keeps(m, s->extras[i].id))
			fathom_dat_option(d, s->extras[i].id, s->extras[i].data,
					  s->extras[i].bytes);
	if (m->stats)
		fathom_dat_option(d, FATHOM_DAT_CPUSTAT, m->stats, (uint32_t)strlen(m->stats) + 1);
	for (size_t i = 1; i < m->nr_buffers; i++)
		fathom_dat_buffer(d, places[i], m->buffers[i].name);
	fathom_dat_data(d, m->buffers[0].clock, bytes, m->nr_cpus);
}

static uint64_t sum(const uint64_t *v, uint32_t n)
{
	uint64_t total = 0;

	while (n--)
		total += v[n];
	return total;
}

/* Where each instance's list begins: after the pages of the one before it. */
static void v6_places(struct writer_meta *m, uint64_t at, const uint64_t *bytes, uint64_t *places)
{
	uint64_t mask = m->page_bytes - 1;

	for (size_t i = 0; i < m->nr_buffers; i++) {
		if (i) {
			places[i] = at;
			at = (at + fathom_dat_list_bytes(m->buffers[i].clock, m->nr_cpus) + mask) &
			     ~mask;
		}
		at += sum(bytes + i * m->nr_cpus, m->nr_cpus);
	}
}

int writer_v6(struct writer_meta *m, FILE *out)
{
	uint64_t *bytes = calloc((size_t)m->nr_cpus * m->nr_buffers + 1, sizeof(*bytes));
	uint64_t *places = calloc(m->nr_buffers + 1, sizeof(*places)), ignored = 0;
	uint64_t *counter = m->too_large;
	struct fathom_dat d;
	int err = bytes && places ? 0 : -ENOMEM;

	/* Sizes come before bytes: a first pass counts. */
	m->too_large = &ignored;
	for (size_t i = 0; !err && i < m->nr_buffers; i++)
		for (uint32_t c = 0; !err && c < m->nr_cpus; c++)
			err = writer_pages(m, &m->buffers[i], c, count_page,
					   &bytes[i * m->nr_cpus + c]);
	m->too_large = counter;
	if (!err) {
		v6_head(&d, m, to_nowhere, out, bytes, places);
		v6_places(m, d.at, bytes, places);
		v6_head(&d, m, to_file, out, bytes, places);
	}
	for (size_t i = 0; !err && i < m->nr_buffers; i++) {
		if (i)
			fathom_dat_instance(&d, m->buffers[i].clock, bytes + i * m->nr_cpus,
					    m->nr_cpus);
		for (uint32_t c = 0; !err && c < m->nr_cpus; c++)
			err = writer_pages(m, &m->buffers[i], c, page_to_dat, &d);
		err = err ? err : d.err;
	}
	free(bytes);
	free(places);
	return err;
}

/* ---- */

int writer_tracedat(struct source *s, const struct writer_options *o, FILE *out,
		    uint64_t *too_large)
{
	struct writer_meta m = {.s = s, .o = o, .too_large = too_large};
	int err;

	*too_large = 0;
	for (size_t i = 0; i < s->nr_streams; i++) /* version 6 is counted before it is written */
		m.all_pages += s->streams[i].nr_blocks * (o->version == 6 ? 2 : 1);
	m.copied = pages_copied(s, o->choice);
	m.page_bytes = pages_size(s, o->choice);
	err = take_texts(&m);
	if (!err)
		err = sort_schemas(&m);
	if (!err)
		err = place_streams(&m);
	if (!err)
		err = take_losses(&m);
	if (!err && !m.nr_buffers)
		err = -ENODATA;
	if (!err)
		err = o->version == 6 ? writer_v6(&m, out) : writer_v7(&m, out);
	for (size_t i = 0; i < m.nr_buffers; i++)
		free(m.buffers[i].streams);
	free(m.buffers);
	free(m.schemas);
	free(m.header_page.owned);
	free(m.kallsyms.owned);
	free(m.printk.owned);
	free(m.cmdlines.owned);
	free(m.stats);
	return err;
}
