/* SPDX-License-Identifier: MIT */
/* names.c -- names for the frames of a backtrace buffer: tasks, the binaries mapped into them, their symbols. */
#include "decode/btb/names.h"
#include "base/vec.h"
#include "decode/btb/names_int.h"
#include "decode/names/elf.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_MAX_ 256
#define SYMT_MAX  (256u << 20)

static struct btb_binary *binary_of(struct btb_names *n, const char *name)
{
	struct btb_binary *b;

	for (size_t i = 0; i < n->nr_binaries; i++)
		if (!strcmp(n->binaries[i]->name, name))
			return n->binaries[i];
	b = VEC_MORE(n->binaries, n->nr_binaries) ? calloc(1, sizeof(*b)) : NULL;
	if (!b)
		return NULL;
	b->name = strdup(name);
	return n->binaries[n->nr_binaries++] = b;
}

/* `NAME: PATH` lines. The path may be relative to the list. */
static void read_list(struct btb_names *n, const char *path, bool asked)
{
	FILE *f = fopen(path, "r");
	char line[4096];
	unsigned nr = 0;

	if (!f) {
		if (asked)
			diag_error("%s: %s", path, strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':'), *p;
		struct btb_binary *b;

		nr++;
		line[strcspn(line, "\r\n")] = 0;
		if (!line[0])
			continue;
		if (!colon || colon == line) {
			diag_warn("%s: line %u: expected NAME: PATH, found '%.60s'", path, nr,
				  line);
			continue;
		}
		*colon = 0;
		p = colon + 1 + strspn(colon + 1, " \t");
		p[strcspn(p, " \t")] = 0;
		b = binary_of(n, line);
		if (b && *p && strcmp(p, "none")) {
			free(b->path);
			b->path = strdup(p);
		}
	}
	fclose(f);
}

/* A bundle says which build it is of; if the binary is available too, the two must match. */
static void check_build(const struct btb_binary *b, const char *path, const char *id)
{
	char now[BUILD_ID_TEXT];

	if (b->path && elf_build_id(b->path, now) && strcmp(now, id))
		diag_warn("%s is from build %.12s, %s is from build %.12s: names may be wrong",
			  path, id, b->path, now);
}

/* Names come from the capture, and tables lie in folders by name: no part of one may lead out of its folder. */
static bool stays_inside(const char *name)
{
	if (*name == '/')
		return false;
	for (const char *p = name; *p; p += strcspn(p, "/"), p += *p == '/')
		if (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/'))
			return false;
	return true;
}

/* `NAME \t start \t end \t mangled name`, 16 hex digits each, the end exclusive. False: the line is none. */
static bool symt_line(struct symbols *t, const char *line)
{
	const char *p = strchr(line, '\t');
	uint64_t start, end;
	char *q;

	if (!p || (start = strtoull(p + 1, &q, 16), *q != '\t') ||
	    (end = strtoull(q + 1, &q, 16), *q != '\t') || end < start)
		return false;
	symbols_add(t, start, end - start, q + 1, strlen(q + 1), "", 0);
	return true;
}

void btb_symt_add(struct symbols *t, const char *path, char *text, char id[BUILD_ID_TEXT])
{
	unsigned nr = 0;
	char *next;

	*id = 0;
	for (char *line = text; *line; line = next) {
		size_t n = strcspn(line, "\n");

		nr++;
		next = line + n + (line[n] == '\n');
		line[n - (n && line[n - 1] == '\r')] = 0;
		if (!strncmp(line, "# build-id ", 11))
			snprintf(id, BUILD_ID_TEXT, "%s", line + 11);
		if (line[0] && line[0] != '#' && !symt_line(t, line))
			diag_at(path, (uint64_t)(line - text),
				"line %u: expected NAME, start, end and symbol with tabs between",
				nr);
	}
	diag_flush();
}

/* The table NAME.symt of a binary. False: there is none. */
static bool read_symt(struct btb_names *n, struct btb_binary *b)
{
	char id[BUILD_ID_TEXT], *path = NULL, *text = NULL;
	size_t bytes;

	if (!n->tables || !stays_inside(b->name) ||
	    asprintf(&path, "%s/%s.symt", n->tables, b->name) < 0)
		return false;
	text = file_load(path, SYMT_MAX, &bytes);
	if (text) {
		btb_symt_add(b->symbols, path, text, id);
		if (*id)
			check_build(b, path, id);
	}
	free(text);
	free(path);
	return text != NULL;
}

void btb_binary_load(struct btb_names *n, struct btb_binary *b)
{
	if (b->tried)
		return;
	b->tried = true;
	b->symbols = symbols_new();
	if (!b->symbols || read_symt(n, b))
		return;
	if (b->path)
		elf_add_symbols(b->symbols, b->path, "");
}

struct btb_task *btb_task_of(struct btb_names *n, uint64_t id, bool make)
{
	uintptr_t number = (uintptr_t)idmap_find(&n->by_id, id);
	void **slot;

	if (number)
		return &n->tasks[number - 1];
	if (!make || !VEC_ROOM(n->tasks, n->nr_tasks, n->cap_tasks) ||
	    !(slot = idmap_at(&n->by_id, id)))
		return NULL;
	*slot = (void *)(uintptr_t)(n->nr_tasks + 1);
	n->tasks[n->nr_tasks] = (struct btb_task){.id = id};
	return &n->tasks[n->nr_tasks++];
}

static void add_mapping(struct btb_task *t, struct btb_binary *b, uint64_t base, uint64_t from)
{
	for (size_t i = 0; i < t->nr; i++) {
		if (t->maps[i].binary != b)
			continue;
		if (t->maps[i].base == base && t->maps[i].until == UINT64_MAX)
			return; /* reported twice: nothing new */
		t->moves = true;
	}
	if (!VEC_ROOM(t->maps, t->nr, t->cap))
		return;
	t->maps[t->nr++] = (struct btb_mapping){b, base, from, UINT64_MAX};
}

static void unmap(struct btb_task *t, struct btb_binary *b, uint64_t base, uint64_t time)
{
	for (size_t i = 0; i < t->nr; i++) {
		if (t->maps[i].binary == b && t->maps[i].base == base &&
		    t->maps[i].until == UINT64_MAX) {
			t->maps[i].until = time;
			t->moves = true;
		}
	}
}

/* The path name after the attributes; without a folder it lies in rom/. */
static void mapping_name(const struct btb *b, const uint64_t *w, char out[NAME_MAX_])
{
	const char *text = (const char *)(w + b->layout.nr[1]);
	size_t bytes = (w[1] - b->layout.nr[1]) * 8, len = strnlen(text, bytes);
	bool bare = !memchr(text, '/', len);

	snprintf(out, NAME_MAX_, "%s%.*s", bare ? "rom/" : "", (int)(len < 200 ? len : 200), text);
}

static void collect(struct btb_names *n, const struct btb *b)
{
	struct btb_binary *kernel = binary_of(n, BTB_KERNEL);
	struct btb_task *one = btb_task_of(n, 1, true);

	if (one)
		add_mapping(one, kernel, 0, 0);
	if (b->layout.map_base < 0 || b->layout.map_task < 0)
		return;
	for (size_t i = 0, walked = 0; i < b->nr_entries; i++) {
		const uint64_t *w = btb_entry_words(b, &b->entries[i]);
		char name[NAME_MAX_];
		struct btb_binary *bin;
		struct btb_task *t;

		btb_walked(b, b->entries[i].at, &walked);
		if (w[0] != WIRE_BTB_MAPPING)
			continue;
		mapping_name(b, w, name);
		bin = binary_of(n, name);
		t = btb_task_of(n, w[b->layout.map_task], true);
		if (!bin || !t)
			continue;
		if (b->layout.map_flags >= 0 && (w[b->layout.map_flags] & 1)) {
			unmap(t, bin, w[b->layout.map_base], w[2]);
			continue;
		}
		add_mapping(t, bin, w[b->layout.map_base], w[2]);
		add_mapping(t, kernel, 0, 0);
	}
}

/* What `NAME.traced` has beside it: the folder NAME/ of tables, and binaries.list. */
static void defaults(struct btb_names *n, const char *capture)
{
	char path[4096];
	const char *slash = strrchr(capture, '/');
	size_t dir = slash ? (size_t)(slash - capture) + 1 : 0;
	const char *dot = strrchr(capture + dir, '.');
	struct stat st;

	if (!n->o.tables && dot) {
		snprintf(path, sizeof(path), "%.*s", (int)(dot - capture), capture);
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			n->tables = strdup(path);
	}
	if (n->o.binaries) {
		read_list(n, n->o.binaries, true);
		return;
	}
	snprintf(path, sizeof(path), "%.*sbinaries.list", (int)dir, capture);
	read_list(n, path, false);
}

struct btb_names *btb_names_open(const struct btb *b, const char *capture,
				 const struct btb_names_options *o)
{
	struct btb_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->o = *o;
	if (o->tables)
		n->tables = strdup(o->tables);
	defaults(n, capture);
	collect(n, b);
	return n;
}

void btb_names_close(struct btb_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->nr_binaries; i++) {
		struct btb_binary *b = n->binaries[i];

		symbols_free(b->symbols);
		elf_dwarf_close(b->dwarf);
		free(b->name);
		free(b->path);
		free(b);
	}
	for (size_t i = 0; i < n->nr_tasks; i++) {
		free(n->tasks[i].maps);
		idmap_free(&n->tasks[i].labels);
		free(n->tasks[i].text);
	}
	for (size_t i = 0; i < n->nr_labels; i++)
		free(n->labels[i]);
	free(n->labels);
	free(n->binaries);
	free(n->tasks);
	idmap_free(&n->by_id);
	free(n->tables);
	free(n);
}

bool btb_names_symbol(struct btb_names *n, uint64_t ip, struct symbol *out)
{
	for (size_t i = 0; i < n->nr_tasks; i++) {
		struct btb_task *t = &n->tasks[i];

		for (size_t k = 0; k < t->nr; k++) {
			struct btb_mapping *m = &t->maps[k];

			btb_binary_load(n, m->binary);
			if (m->binary->symbols &&
			    symbols_find(m->binary->symbols, ip - m->base, ALIAS_FIRST, out) &&
			    out->offset < out->size) {
				out->start = ip - out->offset;
				return true;
			}
		}
	}
	return false;
}

const char *btb_names_task(struct btb_names *n, uint64_t task)
{
	struct btb_task *t = btb_task_of(n, task, false);
	size_t bytes;
	FILE *f;

	if (!t)
		t = btb_task_of(n, task, true);
	if (!t)
		return "";
	if (t->text)
		return t->text;
	f = open_memstream(&t->text, &bytes);
	if (!f)
		return "";
	if (!t->nr)
		fprintf(f, "<task %" PRIu64 " has no binaries>", task);
	for (size_t i = 0; i < t->nr; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= t->maps[k].binary == t->maps[i].binary;
		if (!again)
			fprintf(f, "%s%s", i ? ", " : "", t->maps[i].binary->name);
	}
	fclose(f);
	return t->text;
}

const char *btb_names_program(struct btb_names *n, uint64_t task)
{
	struct btb_task *t = btb_task_of(n, task, false);
	const char *slash;

	if (!t || !t->nr)
		return NULL;
	slash = strrchr(t->maps[0].binary->name, '/');
	return slash ? slash + 1 : t->maps[0].binary->name;
}

/* `rom/hello` -> dir/rom/hello.symt, its folder made; to be freed. NULL, and it is said why. */
static char *table_path(const char *dir, const char *name)
{
	char *path;

	if (!stays_inside(name)) {
		diag_error("%s: not saved: the name leads out of %s", name, dir);
		return NULL;
	}
	if (asprintf(&path, "%s/%s.symt", dir, name) < 0)
		return NULL;
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		if (mkdir(path, 0777) && errno != EEXIST)
			diag_error("%s: %s", path, strerror(errno));
		*p = '/';
	}
	return path;
}

static int save_table(const struct btb_binary *b, const char *path)
{
	char id[BUILD_ID_TEXT];
	struct output out;
	struct symbol s;
	int err = output_open(&out, path, false);

	if (err)
		return output_error(path, err);
	if (b->path && elf_build_id(b->path, id))
		fprintf(out.f, "# build-id %s\n", id);
	for (size_t k = 0; symbols_at(b->symbols, k, &s); k++)
		fprintf(out.f, "%s\t%016" PRIx64 "\t%016" PRIx64 "\t%s\n", b->name, s.start,
			s.start + s.size, s.name);
	return output_error(path, output_close(&out, 0));
}

size_t btb_names_save(struct btb_names *n, const char *dir)
{
	size_t saved = 0;

	for (size_t i = 0; i < n->nr_binaries; i++) {
		struct btb_binary *b = n->binaries[i];
		char *path;

		btb_binary_load(n, b);
		if (!b->symbols || !symbols_count(b->symbols)) {
			diag_warn("%s: no symbols: neither a table nor the binary was found; name "
				  "them with --symbols or --binaries",
				  b->name);
			continue;
		}
		path = table_path(dir, b->name);
		saved += path && !save_table(b, path);
		free(path);
	}
	return saved;
}
