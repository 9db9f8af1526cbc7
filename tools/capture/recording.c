/* SPDX-License-Identifier: MIT */
/* recording.c -- the file of a recording: there from the start, whole at any moment, a plain trace.dat at the end. */
#include "capture/recording.h"
#include "base/diag.h"
#include "base/file.h"
#include "decode/source.h"
#include "store/writer.h"
#include "wire/recording.h"
#include "wire/tracedat_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD	      sizeof(struct wire_recording_head)
/* The room for the end: names, a message, the counters of each CPU, and the pages that no longer fitted. */
#define RESERVE_BASE  32768u
#define RESERVE_CPU   512u
#define RESERVE_PAGES RECORDING_SPLICE_PAGES

/* ---- the head ---- */

static int sink(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : errno ? -errno : -EIO;
}

static uint32_t formats_of(const struct capture *c, const char *system)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->nr_formats; i++)
		n += !strcmp(c->formats[i].system, system);
	return n;
}

static void write_formats(struct fathom_dat *d, const struct capture *c, const char *system)
{
	for (size_t i = 0; i < c->nr_formats; i++)
		if (!strcmp(c->formats[i].system, system))
			fathom_dat_format(d, c->formats[i].text, strlen(c->formats[i].text));
}

static bool first_of_system(const struct capture *c, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(c->formats[i].system, c->formats[at].system))
			return false;
	return strcmp(c->formats[at].system, "ftrace") != 0;
}

static void write_systems(struct fathom_dat *d, const struct capture *c)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->nr_formats; i++)
		n += first_of_system(c, i);
	fathom_dat_systems(d, n);
	for (size_t i = 0; i < c->nr_formats; i++) {
		if (!first_of_system(c, i))
			continue;
		const char *system = c->formats[i].system;

		fathom_dat_system(d, system, formats_of(c, system));
		write_formats(d, c, system);
	}
}

static void write_options(struct fathom_dat *d, const struct capture *c)
{
	if (c->release[0])
		fathom_dat_option(d, FATHOM_DAT_UNAME, c->release,
				  (uint32_t)strlen(c->release) + 1);
	if (c->ns_mult) {
		uint32_t tsc[4] = {c->ns_mult, c->ns_shift, 0, 0};

		for (int i = 0; i < 4 && c->big; i++)
			tsc[i] = __builtin_bswap32(tsc[i]);
		fathom_dat_option(d, FATHOM_DAT_TSC2NSEC, tsc, sizeof(tsc));
	}
}

static int write_head(const struct capture *c, FILE *f, uint64_t *end)
{
	struct fathom_dat d;

	errno = 0;
	fathom_dat_begin(&d, sink, f, c->page_bytes, c->big, (int)c->long_bytes);
	fathom_dat_header(&d, (const char *)c->header_page.data, c->header_page.len, NULL, 0);
	fathom_dat_ftrace(&d, formats_of(c, "ftrace"));
	write_formats(&d, c, "ftrace");
	write_systems(&d, c);
	fathom_dat_kallsyms(&d, (const char *)c->kallsyms.data, c->kallsyms.len);
	fathom_dat_printk(&d, (const char *)c->printks.data, c->printks.len);
	fathom_dat_cmdlines(&d, (const char *)c->cmdlines.data, c->cmdlines.len);
	fathom_dat_cpus(&d, c->nr_cpus);
	write_options(&d, c);
	/* With TSC2NSEC the ticks of any clock are what trace_clock calls local. */
	fathom_dat_recording(&d, c->clock[0] ? c->clock : "local");
	*end = d.at;
	return d.err ? d.err : fflush(f) ? -errno : 0;
}

/* ---- records ---- */

static struct wire_recording_head head(const struct recording *r, uint32_t kind, uint32_t arg,
				       size_t bytes)
{
	struct wire_recording_head h = {WIRE_RECORDING_MAGIC, kind, arg, (uint32_t)bytes};

	if (r->big)
		h = (struct wire_recording_head){__builtin_bswap32(h.magic),
						 __builtin_bswap32(h.kind),
						 __builtin_bswap32(h.arg),
						 __builtin_bswap32(h.bytes)};
	return h;
}

/* Remove the part of a record that did not fit: the file ends after a complete one. */
static int gave_up(struct recording *r, int err)
{
	r->err = err;
	(void)!ftruncate(r->fd, (off_t)r->at);
	return err;
}

/* Write a head and its data, in one call if the system allows. */
static int put(struct recording *r, const struct wire_recording_head *h, const void *data,
	       size_t bytes)
{
	static const uint8_t zeros[8];
	size_t pad = (0 - bytes) & 7, all = HEAD + bytes + pad, done = 0;

	if (r->err)
		return r->err;
	while (done < all) {
		struct iovec part[3] = {{(void *)h, HEAD},
					{(void *)data, bytes},
					{(void *)zeros, pad}},
			     *v = part;
		size_t skip = done;
		ssize_t n;

		while (skip >= v->iov_len) {
			skip -= v->iov_len;
			v++;
		}
		v->iov_base = (char *)v->iov_base + skip;
		v->iov_len -= skip;
		n = pwritev(r->fd, v, (int)(part + 3 - v), (off_t)(r->at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return gave_up(r, n < 0 ? -errno : -EIO);
		done += (size_t)n;
	}
	r->at += all;
	return 0;
}

static void add_record(const struct recording *r, struct bytes *b, uint32_t kind, uint32_t arg,
		       const void *data, size_t bytes)
{
	struct wire_recording_head h = head(r, kind, arg, bytes);

	bytes_add(b, &h, sizeof(h));
	bytes_add(b, data, bytes);
	bytes_add(b, "\0\0\0\0\0\0\0", (0 - bytes) & 7);
}

int recording_pages(struct recording *r, uint32_t cpu, const void *pages, size_t bytes)
{
	struct wire_recording_head h = head(r, WIRE_RECORDING_PAGES, cpu, bytes);
	int before = r->err, err = put(r, &h, pages, bytes);

	if (!err)
		r->nr_pages += bytes / r->page_bytes;
	else if (!before)
		add_record(r, &r->unsaved, WIRE_RECORDING_LAST_PAGES, cpu, pages, bytes);
	return err;
}

int recording_page(struct recording *r, uint32_t cpu, const void *page, size_t bytes)
{
	uint8_t *whole;
	int err;

	if (bytes == r->page_bytes)
		return recording_pages(r, cpu, page, bytes);
	whole = bytes < r->page_bytes ? calloc(1, r->page_bytes) : NULL;
	if (!whole)
		return bytes < r->page_bytes ? -ENOMEM : -EPROTO;
	memcpy(whole, page, bytes);
	err = recording_pages(r, cpu, whole, r->page_bytes);
	free(whole);
	return err;
}

/* The file took `done` bytes of what was in the pipe, and no more: all bytes are kept for the reserve. */
static int unsaved_pipe(struct recording *r, uint32_t cpu, int pipe, size_t bytes, size_t done,
			int err)
{
	uint8_t *pages = malloc(bytes);
	size_t have = 0;
	ssize_t n = 1;

	while (pages && have < done && n > 0) {
		n = pread(r->fd, pages + have, done - have, (off_t)(r->at + HEAD + have));
		have += n > 0 ? (size_t)n : 0;
	}
	while (pages && have < bytes && n > 0) {
		n = read(pipe, pages + have, bytes - have);
		have += n > 0 ? (size_t)n : 0;
	}
	if (pages)
		add_record(r, &r->unsaved, WIRE_RECORDING_LAST_PAGES, cpu, pages,
			   have - have % r->page_bytes);
	free(pages);
	return gave_up(r, err);
}

int recording_splice(struct recording *r, uint32_t cpu, int pipe, size_t bytes)
{
	struct wire_recording_head h = head(r, WIRE_RECORDING_PAGES, cpu, bytes);
	off_t at = (off_t)(r->at + HEAD);
	size_t done = 0;

	if (r->err)
		return r->err;
	errno = EIO;
	if (pwrite(r->fd, &h, HEAD, (off_t)r->at) != (ssize_t)HEAD)
		return unsaved_pipe(r, cpu, pipe, bytes, 0, -errno);
	while (done < bytes) {
		ssize_t n = splice(pipe, NULL, r->fd, &at, bytes - done, SPLICE_F_MOVE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return unsaved_pipe(r, cpu, pipe, bytes, done, n < 0 ? -errno : -EIO);
		done += (size_t)n;
	}
	r->at += HEAD + bytes;
	r->nr_pages += bytes / r->page_bytes;
	return 0;
}

/* ---- begin ---- */

int recording_open(struct recording *r, const char *path)
{
	struct stat st;
	int err = 0;

	*r = (struct recording){
		.path = path ? path : "the recording", .fd = -1, .is_kept = path != NULL};
	r->is_file = path && strcmp(path, "-") != 0 && (stat(path, &st) || S_ISREG(st.st_mode));
	if (r->is_file) {
		err = output_open(&r->out, path, false);
	} else {
		int fd = file_nameless();

		if (fd < 0 || !(r->out.f = fdopen(fd, "w+b")))
			err = -errno;
	}
	if (err)
		return output_error(r->path, err);
	r->fd = fileno(r->out.f);
	return 0;
}

int recording_begin(struct recording *r, const struct capture *c)
{
	struct wire_recording_head h;
	uint8_t *room;
	int err;

	rewind(r->out.f); /* the byte order may become known only with the first page */
	err = ftruncate(r->fd, 0) ? -errno : write_head(c, r->out.f, &r->at);
	r->big = c->big;
	r->page_bytes = c->page_bytes;
	r->reserve = r->at;
	r->reserve_bytes = RESERVE_BASE + RESERVE_CPU * c->nr_cpus + RESERVE_PAGES * c->page_bytes;
	room = calloc(1, r->reserve_bytes);
	h = head(r, WIRE_RECORDING_VOID, 0, r->reserve_bytes - HEAD);
	if (!err)
		err = room ? put(r, &h, room, r->reserve_bytes - HEAD) : -ENOMEM;
	free(room);
	if (!err && r->is_file)
		err = output_place(&r->out);
	r->begun = !err;
	return output_error(r->path, err);
}

const char *recording_file(const struct recording *r, char buf[32])
{
	snprintf(buf, 32, "/proc/self/fd/%d", r->fd);
	return buf;
}

/* ---- end ---- */

/* What Linux's per_cpu/cpuN/stats says, as trace-cmd keeps it. */
static void add_stats(const struct recording *r, const struct capture *c, struct bytes *b)
{
	for (uint32_t cpu = 0; cpu < c->nr_cpus; cpu++) {
		const struct wire_stats *s = &c->cpus[cpu].stats;
		struct bytes text = {0};

		if (!c->cpus[cpu].counted)
			continue;
		bytes_text(&text, "CPU: %u\n", cpu);
		if (c->cpus[cpu].stats_text)
			bytes_add(&text, c->cpus[cpu].stats_text, strlen(c->cpus[cpu].stats_text));
		else
			bytes_text(&text,
				   "entries: %llu\noverrun: %llu\ncommit overrun: %llu\n"
				   "dropped events: %llu\nread events: %llu\ntoo big: %llu\n",
				   (unsigned long long)s->entries,
				   (unsigned long long)s->overwritten,
				   (unsigned long long)s->nested, (unsigned long long)s->full,
				   (unsigned long long)s->read, (unsigned long long)s->too_big);
		if (c->cpus[cpu].taken)
			bytes_text(&text, "taken by another reader: %llu\n",
				   (unsigned long long)c->cpus[cpu].taken);
		if (c->cpus[cpu].cleared_unknown)
			bytes_text(&text, "cleared while recording: ?\n");
		else if (c->cpus[cpu].cleared)
			bytes_text(&text, "cleared while recording: %llu\n",
				   (unsigned long long)c->cpus[cpu].cleared);
		if (cpu + 1 == c->nr_cpus && c->calls_lost)
			bytes_text(&text, "CPU: *\ncalls not followed: %llu\n",
				   (unsigned long long)c->calls_lost);
		bytes_add(&text, "", 1);
		add_record(r, b, WIRE_RECORDING_OPTION, FATHOM_DAT_CPUSTAT, text.data, text.len);
		bytes_free(&text);
	}
}

/* As much of the end as fits into the room that was kept for it. The rest of the room stays void. */
static int use_reserve(struct recording *r, const struct bytes *end, size_t fits)
{
	uint8_t *room = calloc(1, r->reserve_bytes);
	struct wire_recording_head h;
	int err = -ENOMEM;

	if (!room)
		return err;
	if (end->len + HEAD <= r->reserve_bytes)
		fits = end->len;
	if (fits + HEAD <= r->reserve_bytes) {
		memcpy(room, end->data, fits);
		h = head(r, WIRE_RECORDING_VOID, 0, r->reserve_bytes - fits - HEAD);
		memcpy(room + fits, &h, HEAD);
		err = pwrite(r->fd, room, r->reserve_bytes, (off_t)r->reserve) ==
				      (ssize_t)r->reserve_bytes
			      ? 0
			      : -errno;
	}
	free(room);
	return err;
}

int recording_end(struct recording *r, const struct capture *c)
{
	struct bytes b = {0};
	uint64_t done = 0;
	size_t needed;
	int err = 0;

	add_record(r, &b, WIRE_RECORDING_OPTION, FATHOM_DAT_END, c->ended, strlen(c->ended) + 1);
	add_stats(r, c, &b);
	bytes_add(&b, r->unsaved.data, r->unsaved.len);
	needed = b.len;
	add_record(r, &b, WIRE_RECORDING_CMDLINES, 0, c->cmdlines.data, c->cmdlines.len);
	add_record(r, &b, WIRE_RECORDING_PRINTK, 0, c->printks.data, c->printks.len);
	while (!b.failed && !r->err && !err && done < b.len) {
		ssize_t n = pwrite(r->fd, b.data + done, b.len - done, (off_t)(r->at + done));

		if (n > 0)
			done += (uint64_t)n;
		else if (!n || errno != EINTR)
			err = n < 0 ? -errno : -EIO;
	}
	if (r->err || err) {
		(void)!ftruncate(r->fd, (off_t)r->at);
		if (use_reserve(r, &b, needed))
			diag_warn("%s: cannot note in the file how the recording ended", r->path);
	} else {
		r->at += done;
	}
	if (b.failed)
		err = -ENOMEM;
	bytes_free(&b);
	bytes_free(&r->unsaved);
	if (err && !r->err)
		r->err = err;
	return r->err;
}

/* Replace the recording by a trace.dat. */
static int settle(struct recording *r)
{
	struct scan_choice all = SCAN_ALL;
	struct writer_options o = {.version = 6, .choice = &all};
	struct source *s = NULL;
	struct output out;
	uint64_t too_large;
	char buf[32];
	int err = source_open(recording_file(r, buf), NULL, &s);

	if (err)
		return err;
	err = output_open(&out, r->path, false);
	if (!err) {
		err = writer_tracedat(s, &o, out.f, &too_large);
		err = output_close(&out, err);
	}
	source_close(s);
	return err;
}

int recording_close(struct recording *r)
{
	int err = 0;

	if (r->fd < 0)
		return 0;
	if (r->begun) {
		err = r->err || !r->is_kept ? 0 : settle(r);
		if (err)
			diag_warn("%s: remains in the form of a recording, which fathom can read "
				  "and trace-cmd cannot: %s",
				  r->path, strerror(-err));
		err = r->is_file ? 0 : err;
		if (r->err)
			err = output_error(r->path, r->err);
	}
	if (r->is_file)
		output_close(&r->out, r->begun ? 0 : -ECANCELED);
	else
		fclose(r->out.f);
	r->fd = -1;
	return err;
}
