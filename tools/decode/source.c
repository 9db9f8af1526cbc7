/* SPDX-License-Identifier: MIT */
/* source.c -- opening a trace of any format: map the file, ask every format, keep the tables all formats share. */
#include "decode/slim.h"
#include "decode/source.h"
#include "base/vec.h"
#include "base/diag.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE(name) extern const struct source_ops source_##name;
#include "decode/sources.h"
#undef SOURCE

static const struct source_ops *const formats[] = {
#define SOURCE(name) &source_##name,
#include "decode/sources.h"
#undef SOURCE
	NULL,
};

#define PROBE_BYTES (64u << 10)
#define GROWS_TO    (1ull << 40) /* a recording of up to this many bytes can be followed */

const char *source_suffix(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	return dot ? dot + 1 : "";
}

/* ---- the file ---- */

static int complain(const struct source_options *o, int err, const char *path, const char *what)
{
	if (!o || !o->quiet)
		diag_error("%s: %s", path, what);
	return -err;
}

/* Of "-" and /dev/stdin: the file that was redirected, so that its index is found beside it. */
static char *real_name(const char *path)
{
	bool alias = !strcmp(path, "-") || !strncmp(path, "/dev/", 5);
	char *name = alias ? realpath(*path == '-' ? "/dev/stdin" : path, NULL) : NULL;

	return name ? name : strdup(path);
}

/* What comes through a pipe is read to its end; the answer is a file that holds it. */
static int keep_stream(struct source *s, int pipe, struct stat *st)
{
	s->spool = file_spool(pipe);
	if (s->spool < 0 || fstat(s->spool, st)) {
		diag_error("%s: cannot keep the stream in $TMPDIR or /var/tmp: %s", s->path,
			   strerror(errno));
		return -errno;
	}
	free(s->file);
	if (asprintf(&s->file, "/proc/self/fd/%d", s->spool) < 0) {
		s->file = NULL;
		return -ENOMEM;
	}
	return fcntl(s->spool, F_DUPFD_CLOEXEC, 0);
}

/* A descriptor, or a negative errno with the message printed. */
static int open_file(struct source *s, const struct source_options *o, struct stat *st)
{
	int fd = file_open(s->path), kept;

	if (fd < 0 || fstat(fd, st) < 0) {
		int err = complain(o, errno, s->path, strerror(errno));

		if (fd >= 0)
			close(fd);
		return err;
	}
	if (!S_ISFIFO(st->st_mode) && !S_ISSOCK(st->st_mode))
		return fd;
	kept = keep_stream(s, fd, st);
	close(fd);
	return kept;
}

static int map_file(struct source *s, const struct source_options *o)
{
	struct stat st;
	int fd = open_file(s, o, &st), err = 0;
	void *p;

	if (fd < 0)
		return fd;
	if (S_ISDIR(st.st_mode)) {
		/* probed without a map */
	} else if (!S_ISREG(st.st_mode)) {
		err = complain(o, EINVAL, s->path,
			       isatty(fd) ? "a terminal, not a trace" : "a device, not a trace");
	} else if (!st.st_size) {
		err = complain(o, ENODATA, s->path, "the file is empty");
	} else {
		s->map_room = o->grows ? GROWS_TO : 0;
		p = mmap(NULL, s->map_room ? s->map_room : (size_t)st.st_size, PROT_READ,
			 o->grows ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			err = complain(o, errno, s->path, strerror(errno));
		} else {
			s->map = p;
			s->map_bytes = o->grows ? o->grows : (uint64_t)st.st_size;
		}
	}
	close(fd);
	return err;
}

static const struct source_ops *pick(const struct source_probe *p, const char *as, int *sure)
{
	const struct source_ops *best = NULL;
	int best_score = 0;

	/* A format that is sure ends the search: others may look far into the file. */
	for (size_t i = 0; formats[i] && best_score < 100; i++) {
		int score;

		if (as) {
			if (strcmp(as, formats[i]->name))
				continue;
			*sure = 100;
			return formats[i];
		}
		score = formats[i]->probe(p);
		if (score > best_score) {
			best_score = score;
			best = formats[i];
		}
	}
	*sure = best_score;
	return best;
}

static const struct source_ops *format_of(const struct source *s, const struct source_options *o,
					  struct source_probe *p, int *sure)
{
	*p = (struct source_probe){.path = s->path,
				   .head = s->map,
				   .head_bytes =
					   s->map_bytes < PROBE_BYTES ? s->map_bytes : PROBE_BYTES,
				   .bytes = s->map_bytes,
				   .directory = !s->map};
	return pick(p, o->as, sure);
}

/* The program that unpacks it, if it looks packed. */
static const char *unpacker(const struct source_probe *p)
{
	static const struct {
		const char *magic, *program;
	} known[] = {{"\x1f\x8b\x08", "gzip"},
		     {"\x28\xb5\x2f\xfd", "zstd"},
		     {"\xfd"
		      "7zXZ",
		      "xz"},
		     {"BZh", "bzip2"}};

	for (size_t i = 0; p->head && i < sizeof(known) / sizeof(known[0]); i++)
		if (p->head_bytes > 6 && !memcmp(p->head, known[i].magic, strlen(known[i].magic)))
			return known[i].program;
	return NULL;
}

static int unknown_format(const struct source_options *o, const struct source_probe *p)
{
	const char *path = p->path, *packed = unpacker(p);
	bool directory = p->directory;

	if (o && o->quiet)
		return -EINVAL;
	if (packed && !o->as) {
		diag_error("%s: it is compressed; `%s -dc %s | fathom report -` reads it", path,
			   packed, path);
		return -EINVAL;
	}
	if (o && o->as)
		diag_error("'%s' is not a trace format; known formats are:", o->as);
	else if (directory)
		diag_error("%s: a directory without ring pages (cpu0.raw ...)", path);
	else
		diag_error("%s: not a trace of a known format; known formats are:", path);
	if (!directory || o->as)
		for (size_t i = 0; formats[i]; i++)
			fprintf(stderr, "        %-12s %s\n", formats[i]->name, formats[i]->what);
	return -EINVAL;
}

/* Of two with the same id, the one that was added first comes first. */
static int by_schema_id(const void *a, const void *b)
{
	const struct schema *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The first schema of an id wins. */
static int finish(struct source *s)
{
	if (s->nr_schemas)
		qsort(s->schemas, s->nr_schemas, sizeof(*s->schemas), by_schema_id);
	if (slim_open(s))
		return -ENOMEM;
	s->by_id = calloc(SOURCE_ID_FAST, sizeof(*s->by_id));
	if (!s->by_id)
		return -ENOMEM;
	for (size_t i = s->nr_schemas; i-- > 0;)
		if (s->schemas[i].id < SOURCE_ID_FAST)
			s->by_id[s->schemas[i].id] = &s->schemas[i];
	loss_read_stats(s, s->info.cpustat);
	return 0;
}

static char *empty(void)
{
	return strdup("");
}

static struct source *new_source(const char *path)
{
	struct source *s = calloc(1, sizeof(*s));
	pthread_mutexattr_t attr;

	if (!s)
		return NULL;
	s->path = real_name(path);
	s->file = real_name(path);
	s->spool = -1;
	s->lock = malloc(sizeof(pthread_mutex_t));
	s->info.uname = empty();
	s->info.version = empty();
	s->info.cpustat = empty();
	s->info.ended = empty();
	s->info.tracer = empty();
	s->info.options = empty();
	s->info.compression = empty();
	s->symbols = symbols_new();
	s->tasks = tasks_new();
	s->printks = printks_new();
	s->protos = protos_new();
	s->long_bytes = 8;
	if (!s->path || !s->file || !s->lock || !s->symbols || !s->tasks || !s->printks ||
	    !s->protos) {
		free(s->lock);
		s->lock = NULL;
		source_close(s);
		return NULL;
	}
	/* Loading names holds the lock, and may find damage, which takes it again. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(s->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return s;
}

struct source *source_new(const char *path, const struct source_ops *ops)
{
	struct source *s = new_source(path);

	if (s)
		s->ops = ops;
	return s;
}

int source_finish(struct source *s)
{
	return finish(s);
}

int source_open(const char *path, const struct source_options *o, struct source **out)
{
	struct source_options none = {0};
	struct source *s = new_source(path);
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	if (!o)
		o = &none;
	err = map_file(s, o);
	if (!err) {
		struct source_probe p;
		int sure;

		s->ops = format_of(s, o, &p, &sure);
		if (!s->ops)
			err = unknown_format(o, &p);
	}
	if (!err)
		err = sidefiles_check(s, o);
	if (!err)
		err = s->ops->open(s, o);
	if (!err)
		err = sidefiles_load(s, o);
	if (!err)
		err = finish(s);
	if (err) {
		source_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int source_grow(struct source *s, uint64_t bytes)
{
	if (!s->map_room || !s->ops->grow)
		return -EINVAL;
	if (bytes > s->map_room)
		return -EFBIG;
	if (bytes <= s->map_bytes)
		return 0;
	s->map_bytes = bytes;
	return s->ops->grow(s);
}

/* What the file at a path is taken for, without opening it as a trace. */
static const struct source_ops *look(const char *path, const struct source_options *o, int *sure)
{
	struct source_options quiet = *o;
	const struct source_ops *ops = NULL;
	struct source_probe p;
	struct source *s = file_is_stream(path) ? NULL : new_source(path);

	*sure = 0;
	quiet.quiet = true;
	if (s && !map_file(s, &quiet))
		ops = format_of(s, o, &p, sure);
	source_close(s);
	return ops;
}

int source_likely(const char *path, const struct source_options *o)
{
	int sure;

	look(path, o, &sure);
	return sure;
}

static const struct source_form *form_of(const struct source_ops *ops, const char *name)
{
	const struct source_form *f = ops && ops->own ? ops->own->forms : NULL;

	while (f && f->name && strcmp(f->name, name))
		f++;
	return f && f->name ? f : NULL;
}

const struct source_form *source_form(const struct source *s, const char *name)
{
	return form_of(s->ops, name);
}

const struct source_form *source_file_form(const char *path, const struct source_options *o,
					   const char *name)
{
	int sure;
	const struct source_form *f = form_of(look(path, o, &sure), name);

	return f && f->from_file ? f : NULL;
}

/* Several formats of one family share their list: it counts once. */
const struct source_form *source_form_at(size_t i)
{
	const struct source_form *before = NULL;

	for (size_t k = 0; formats[k]; k++) {
		const struct source_own *own = formats[k]->own;

		if (!own || !own->forms || own->forms == before)
			continue;
		before = own->forms;
		for (const struct source_form *f = before; f->name; f++)
			if (!i--)
				return f;
	}
	return NULL;
}

bool source_is_text(const struct source *s)
{
	bool text = false;

	for (size_t i = 0; i < s->nr_buffers; i++)
		text |= s->buffers[i].text != NULL;
	for (size_t i = 0; i < s->nr_streams; i++)
		text &= !s->streams[i].nr_blocks;
	return text;
}

static void free_tables(struct source *s)
{
	for (size_t i = 0; i < s->nr_schemas; i++) {
		struct schema *k = &s->schemas[i];

		format_free(k->format);
		free(k->system);
		free(k->name);
		if (k->owned)
			free((void *)k->text);
	}
	for (size_t i = 0; i < s->nr_buffers; i++) {
		free(s->buffers[i].name);
		free(s->buffers[i].clock);
	}
	free(s->schemas);
	free(s->buffers);
	free(s->streams);
	free(s->damage);
	free(s->extras);
	free(s->stated);
	free(s->by_id);
	slim_close(s);
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->ops && s->ops->close)
		s->ops->close(s);
	free_tables(s);
	symbols_free(s->symbols);
	tasks_free(s->tasks);
	printks_free(s->printks);
	protos_free(s->protos);
	free(s->info.uname);
	free(s->info.version);
	free(s->info.cpustat);
	free(s->info.ended);
	free(s->info.tracer);
	free(s->info.options);
	free(s->info.compression);
	if (s->map)
		munmap((void *)s->map, s->map_room ? s->map_room : s->map_bytes);
	if (s->lock)
		pthread_mutex_destroy(s->lock);
	free(s->lock);
	free(s->path);
	free(s->file);
	if (s->spool >= 0)
		close(s->spool);
	free(s);
}

/* ---- for formats ---- */

/* Room for one more, cleared. */
static void *room(void **list, size_t nr, size_t bytes)
{
	if (!vec_more(list, nr, bytes))
		return NULL;
	memset((char *)*list + nr * bytes, 0, bytes);
	return (char *)*list + nr * bytes;
}

struct trace_buffer *source_add_buffer(struct source *s, const char *name, const char *clock)
{
	void *list = s->buffers;
	struct trace_buffer *b = room(&list, s->nr_buffers, sizeof(*b));

	s->buffers = list;
	if (!b)
		return NULL;
	b->name = strdup(name);
	b->clock = strdup(clock);
	b->first_stream = (uint32_t)s->nr_streams;
	s->nr_buffers++;
	return b;
}

struct stream *source_add_stream(struct source *s, uint32_t cpu)
{
	void *list = s->streams;
	struct stream *t = room(&list, s->nr_streams, sizeof(*t));

	s->streams = list;
	if (!t || !s->nr_buffers)
		return NULL;
	t->cpu = cpu;
	t->buffer = (uint32_t)s->nr_buffers - 1;
	s->buffers[t->buffer].nr_streams++;
	s->nr_streams++;
	return t;
}

void source_add_extra(struct source *s, uint16_t id, const uint8_t *data, uint32_t bytes)
{
	void *list = s->extras;
	struct source_extra *e = room(&list, s->nr_extras, sizeof(*e));

	s->extras = list;
	if (!e)
		return;
	*e = (struct source_extra){id, bytes, data};
	s->nr_extras++;
}

void source_state_loss(struct source *s, uint32_t stream, enum loss_cause cause, uint64_t count,
		       enum loss_bound bound)
{
	void *list = s->stated;
	struct loss *l;

	if (!count)
		return;
	l = room(&list, s->nr_stated, sizeof(*l));
	s->stated = list;
	if (!l)
		return;
	*l = (struct loss){.stream = stream,
			   .cause = (uint16_t)cause,
			   .bound = (uint16_t)bound,
			   .to = UINT64_MAX,
			   .lost = count};
	s->nr_stated++;
}

void source_damage(struct source *s, uint64_t offset, uint64_t bytes, const char *fmt, ...)
{
	struct damage d = {.offset = offset, .bytes = bytes};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d.what, sizeof(d.what), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(s->lock);
	for (size_t i = 0; i < s->nr_damage; i++)
		if (s->damage[i].offset == offset && !strcmp(s->damage[i].what, d.what))
			goto out;
	s->damage_total++;
	s->damage_bytes += bytes;
	if (s->nr_damage < SOURCE_DAMAGE_MAX) {
		void *list = s->damage;
		struct damage *n = room(&list, s->nr_damage, sizeof(*n));

		s->damage = list;
		if (n) {
			*n = d;
			s->nr_damage++;
		}
	}
out:
	pthread_mutex_unlock(s->lock);
}

/* ---- cursors ---- */

struct cursor *cursor_open(struct source *s, uint32_t stream)
{
	struct cursor *c;

	if (stream >= s->nr_streams)
		return NULL;
	c = calloc(1, s->ops->cursor_bytes);
	if (!c)
		return NULL;
	c->source = s;
	c->stream = stream;
	c->cpu = s->streams[stream].cpu;
	if (s->ops->cursor_init && s->ops->cursor_init(c)) {
		free(c);
		return NULL;
	}
	return c;
}

void cursor_close(struct cursor *c)
{
	if (!c)
		return;
	if (c->source->ops->cursor_fini)
		c->source->ops->cursor_fini(c);
	free(c);
}

void cursor_seek(struct cursor *c, struct position at)
{
	struct event e;
	uint64_t end = c->source->streams[c->stream].nr_blocks;

	c->source->ops->seek(c, at.block < end ? at.block : end);
	for (uint64_t i = 0; i < at.skip && at.block < end; i++)
		if (!cursor_next(c, &e))
			return;
}

/* The first block whose time is t or later. */
static uint64_t block_from(struct source *s, uint32_t stream, uint64_t t)
{
	uint64_t lo = 0, hi = s->streams[stream].nr_blocks;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (s->ops->block_time(s, stream, mid) < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * The last block that begins before t; of blocks with the same time, as those that were compressed together, the first:
 * their events may begin later than it says. Block times that step back only make the walk longer or start it later.
 */
static uint64_t block_before(struct source *s, uint32_t stream, uint64_t t)
{
	uint64_t at = block_from(s, stream, t);

	return at ? block_from(s, stream, s->ops->block_time(s, stream, at - 1)) : 0;
}

void cursor_seek_time(struct cursor *c, uint64_t t)
{
	uint64_t block = block_before(c->source, c->stream, t);
	struct event e;

	c->source->ops->seek(c, block);
	while (cursor_next(c, &e)) {
		if (e.time >= t) {
			cursor_seek(c, e.at);
			return;
		}
	}
}

void tally_add(struct cursor *c, const struct event *e, struct tally *out)
{
	if (e->lost) {
		struct loss l = {.stream = c->stream,
				 .from = out->nr_events ? out->last_time : e->time,
				 .to = e->time,
				 .lost = e->lost};

		losses_add(out->losses, &l);
	}
	tally_first(out, e->time);
	if (!out->nr_events++)
		out->max_time = e->time;
	out->last_time = e->time;
	if (e->time > out->max_time)
		out->max_time = e->time;
	out->by_type[e->type < SOURCE_ID_FAST ? e->type : 0]++;
	if (out->pids)
		pid_counts_add(out->pids, e->pid, 1);
}

void cursor_tally(struct cursor *c, uint64_t block, struct tally *out)
{
	struct event e;

	if (c->source->ops->tally) {
		c->source->ops->tally(c, block, out);
		return;
	}
	c->source->ops->seek(c, block);
	while (c->next.block == block && cursor_next(c, &e) && e.at.block == block)
		tally_add(c, &e, out);
}
