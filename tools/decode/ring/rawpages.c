/* SPDX-License-Identifier: MIT */
/* rawpages.c -- ring pages as trace_pipe_raw gives them: one file per CPU, what describes them in files beside. */
#include "base/diag.h"
#include "base/vec.h"
#include "base/file.h"
#include "decode/formatdir.h"
#include "decode/ring/ringpages.h"
#include "decode/tracedat/tracedat.h"
#include "base/bytes.h"
#include "wire/ringpage.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIDE_FILE_MAX (256u << 20)
#define RAW_FILE_MAX  (1u << 30) /* gunzipped; plain files are mapped */
#define RAW_CPU_MAX   4096

/* A file of pages: mapped, or loaded when it is compressed. */
struct raw_file {
	const void *bytes;
	size_t size;
	bool mapped;
	uint32_t cpu;
};

struct rawpages {
	struct ring_set ring; /* first: see ringpages.h */
	struct raw_file *files;
	size_t nr_files;
	char *dir;
	char *shared; /* what captures of one kernel have in common lies beside them: 00_static */
	const struct source_options *o; /* while opening */
};

/* The N of "cpuN.raw", "cpuN.raw.gz", "cpuN.NAME.raw", "NAME.cpuN"; -1 if the name is none of these. */
static int cpu_of(const char *name)
{
	const char *p = strstr(name, "cpu");
	char *end;
	long n;

	if (!p || p[3] < '0' || p[3] > '9')
		return -1;
	n = strtol(p + 3, &end, 10);
	if (n < 0 || n > RAW_CPU_MAX)
		return -1;
	if (!*end && p != name)
		return (int)n;
	return *end == '.' && (strstr(end, ".raw") == end) ? (int)n : -1;
}

static bool dir_has_pages(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *de;
	bool found = false;

	while (d && !found && (de = readdir(d)))
		found = cpu_of(de->d_name) >= 0 || !strcmp(de->d_name, "per_cpu");
	if (d)
		closedir(d);
	return found;
}

/* Pages are a weak magic: a commit word that fits, and a record header that is possible. */
static bool looks_like_page(const uint8_t *p, size_t bytes)
{
	uint64_t commit;
	uint32_t used;

	if (bytes < WIRE_PAGE_BYTES)
		return false;
	commit = get_u64(p + 8, false);
	used = (uint32_t)(commit & WIRE_COMMIT_SIZE);
	return !(commit >> 32) && used <= WIRE_PAGE_DATA && used % 4 == 0 && used >= 8;
}

static int rawpages_probe(const struct source_probe *p)
{
	const char *suffix = source_suffix(p->path), *base = basename(p->path);

	if (p->directory)
		return dir_has_pages(p->path) ? 60 : 0;
	if (!strcmp(suffix, "raw") || !strcmp(base, "trace_pipe_raw") || cpu_of(base) >= 0)
		return looks_like_page(p->head, p->head_bytes) ? 60 : 20;
	return 0;
}

static void rawpages_close(struct source *s)
{
	struct rawpages *t = s->priv;

	if (!t)
		return;
	for (size_t i = 0; i < t->nr_files; i++) {
		if (!t->files[i].mapped)
			free((void *)t->files[i].bytes);
		else if (t->files[i].bytes)
			munmap((void *)t->files[i].bytes, t->files[i].size);
	}
	free(t->files);
	ring_set_free(&t->ring);
	free(t->dir);
	free(t->shared);
	free(t);
}

static int add_file(struct source *s, const char *path, uint32_t cpu)
{
	struct rawpages *t = s->priv;
	struct raw_file *n;
	int err = 0;

	if (!VEC_MORE(t->files, t->nr_files))
		return -ENOMEM;
	n = &t->files[t->nr_files];
	*n = (struct raw_file){.cpu = cpu};
	if (!strcmp(source_suffix(path), "gz")) {
		n->bytes = file_load(path, RAW_FILE_MAX, &n->size);
	} else {
		n->bytes = file_map(path, &n->size);
		n->mapped = true;
	}
	if (!n->bytes && errno != ENODATA) /* a CPU may have no pages */
		err = -errno;
	if (err)
		diag_error("%s: %s", path, strerror(-err));
	else
		t->nr_files++;
	return err;
}

static int by_cpu(const void *a, const void *b)
{
	const struct raw_file *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int add_dir(struct source *s, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *de;
	struct rawpages *t = s->priv;

	while (d && (de = readdir(d))) {
		int cpu = cpu_of(de->d_name);
		char *file = cpu >= 0 ? file_join(path, de->d_name) : NULL;

		if (file)
			add_file(s, file, (uint32_t)cpu);
		free(file);
	}
	if (d)
		closedir(d);
	for (int cpu = 0; !t->nr_files && cpu < RAW_CPU_MAX; cpu++) {
		char *file;

		if (asprintf(&file, "%s/per_cpu/cpu%d/trace_pipe_raw", path, cpu) < 0)
			return -ENOMEM;
		if (access(file, R_OK)) {
			free(file);
			break;
		}
		add_file(s, file, (uint32_t)cpu);
		free(file);
	}
	if (!t->nr_files) {
		diag_error("%s: no ring pages (cpu0.raw ...) could be read from the directory",
			   path);
		return -EINVAL;
	}
	qsort(t->files, t->nr_files, sizeof(*t->files), by_cpu);
	return 0;
}

static void set_from(struct rawpages *t, const char *name, char **to)
{
	size_t n;
	char *text = file_load_in(t->dir, name, SIDE_FILE_MAX, &n);

	if (!text)
		return;
	while (n && text[n - 1] == '\n')
		text[--n] = 0;
	free(*to);
	*to = text;
}

static int formats_in(struct source *s, const char *dir)
{
	static const char *const names[] = {"events", "events.tar.gz", "all_formats.tar.gz",
					    "formats.tar.gz", "formats"};
	struct rawpages *t = s->priv;
	int n = 0;

	for (size_t i = 0; n <= 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = file_join(dir, names[i]);

		n = path ? formatdir_load(s, path, &t->ring.page) : 0;
		free(path);
	}
	return n;
}

/* Formats: where the option says, else beside the pages, else in the folder that several captures share. */
static void load_formats(struct source *s)
{
	struct rawpages *t = s->priv;
	int n = 0;

	if (t->o->formats) {
		n = formatdir_load(s, t->o->formats, &t->ring.page);
		if (n < 0)
			diag_warn("%s: no format files: %s", t->o->formats, strerror(-n));
	}
	if (n <= 0)
		n = formats_in(s, t->dir);
	if (n <= 0 && t->shared)
		n = formats_in(s, t->shared);
	if (n <= 0)
		diag_warn("%s: no format files beside the pages: give their directory with "
			  "--formats; event names are not known",
			  s->path);
}

static char *side_clock(struct rawpages *t)
{
	static const char *const names[] = {"trace_clock", "tracer_clock", "clock"};
	size_t n;

	for (size_t i = 0; i < 3; i++) {
		char *text = file_load_in(t->dir, names[i], SIDE_FILE_MAX, &n), *name = NULL;

		if (text && strchr(text, '['))
			name = tracedat_clock_name(strchr(text, '['), strlen(strchr(text, '[')));
		free(text);
		if (name)
			return name;
	}
	return strdup("");
}

static void side_stats(struct source *s)
{
	struct rawpages *t = s->priv;

	for (size_t i = 0; i < t->nr_files; i++) {
		char name[40], *text, *all;
		size_t n;

		snprintf(name, sizeof(name), "cpu%u.stats", t->files[i].cpu);
		text = file_load_in(t->dir, name, SIDE_FILE_MAX, &n);
		if (text &&
		    asprintf(&all, "%sCPU: %u\n%s", s->info.cpustat, t->files[i].cpu, text) >= 0) {
			free(s->info.cpustat);
			s->info.cpustat = all;
		}
		free(text);
	}
}

static int add_streams(struct source *s)
{
	struct rawpages *t = s->priv;
	uint32_t page_bytes = t->ring.page.data_offset + t->ring.page.data_size;
	char *clock = side_clock(t);
	struct trace_buffer *b = source_add_buffer(s, "", clock ? clock : "");

	free(clock);
	t->ring.streams = calloc(t->nr_files, sizeof(*t->ring.streams));
	if (!b || !t->ring.streams)
		return -ENOMEM;
	b->page_bytes = page_bytes;
	s->unit = tracedat_clock_is_ns(b->clock) ? CLOCK_NS : CLOCK_TICKS;
	t->ring.nr_streams = t->nr_files;
	for (size_t i = 0; i < t->nr_files; i++) {
		struct stream *st = source_add_stream(s, t->files[i].cpu);

		if (!st)
			return -ENOMEM;
		t->ring.streams[i] = (struct ring_stream){.pages = t->files[i].bytes,
							  .bytes = t->files[i].size,
							  .page_bytes = page_bytes};
		st->bytes = t->files[i].size;
		st->nr_blocks = (st->bytes + page_bytes - 1) / page_bytes;
		if (st->cpu >= s->info.nr_cpus)
			s->info.nr_cpus = st->cpu + 1;
	}
	return 0;
}

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int rawpages_open(struct source *s, const struct source_options *o)
{
	struct rawpages *t = calloc(1, sizeof(*t));
	struct format_page page = {0, 8, 8, 8, 16, WIRE_PAGE_DATA};
	bool single = s->map != NULL;
	int cpu, err;

	s->priv = t;
	if (!t)
		return -ENOMEM;
	t->o = o;
	t->ring.page = page;
	t->dir = single ? dir_of(s->path) : strdup(s->path);
	t->shared = t->dir ? file_join(t->dir, "../00_static") : NULL;
	cpu = cpu_of(basename(s->path));
	err = single ? add_file(s, s->file, cpu < 0 ? 0 : (uint32_t)cpu) : add_dir(s, s->path);
	if (err)
		return err;
	load_formats(s);
	s->long_bytes = t->ring.page.commit_size;
	ring_find_common(s, &t->ring);
	set_from(t, "trace_options", &s->info.options);
	set_from(t, "current_tracer", &s->info.tracer);
	if (!*s->info.tracer) /* a file of both: the tracer, then the clocks */
		set_from(t, "tracer_clock", &s->info.tracer);
	s->info.tracer[strcspn(s->info.tracer, "\n")] = 0;
	side_stats(s);
	t->o = NULL;
	return add_streams(s);
}

static void rawpages_tasks(struct source *s)
{
	struct rawpages *t = s->priv;
	size_t n;
	char *text = file_load_in(t->dir, "saved_cmdlines", SIDE_FILE_MAX, &n);

	if (text && !s->given_cmdlines)
		tasks_add_cmdlines(s->tasks, text, n);
	free(text);
	text = file_load_in(t->dir, "saved_tgids", SIDE_FILE_MAX, &n);
	if (text)
		tasks_add_tgids(s->tasks, text, n);
	free(text);
	text = file_load_in(t->dir, "printk_formats", SIDE_FILE_MAX, &n);
	if (text)
		printks_add_text(s->printks, text, n);
	free(text);
}

static void rawpages_symbols(struct source *s)
{
	struct rawpages *t = s->priv;
	size_t n;
	char *text = file_load_in(t->dir, "kallsyms", SIDE_FILE_MAX, &n);

	if (!text && t->shared)
		text = file_load_in(t->shared, "kallsyms", SIDE_FILE_MAX, &n);
	if (text)
		symbols_add_kallsyms(s->symbols, text, n);
	free(text);
}

static void rawpages_names(struct source *s, enum source_names what)
{
	if (what == SOURCE_TASKS)
		rawpages_tasks(s);
	else if (what == SOURCE_SYMBOLS)
		rawpages_symbols(s);
}

const struct source_ops source_rawpages = {
	.name = "raw",
	.what = "ring pages (trace_pipe_raw): a file cpuN.raw or a directory of them",
	.takes = SOURCE_TAKES_SYMBOLS | SOURCE_TAKES_CMDLINES | SOURCE_TAKES_FORMATS,
	.probe = rawpages_probe,
	.open = rawpages_open,
	.close = rawpages_close,
	RING_OPS,
	.names = rawpages_names,
};
