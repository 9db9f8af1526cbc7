/* SPDX-License-Identifier: MIT */
/* tracedat_write.c -- write a trace.dat (version 6) through a callback: no heap, no seeking, no libc. */
#include "wire/tracedat_write.h"
#include "wire/recording.h"

void fathom_dat_header_page(struct fathom_text *t, uint32_t page_bytes)
{
	fathom_text_str(t, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			   "\tfield: char data;\toffset:16;\tsize:");
	fathom_text_u64(t, page_bytes - 16, 0, ' ');
	fathom_text_str(t, ";\tsigned:1;\n");
}

const char fathom_dat_header_event[] = "# compressed entry header\n"
				       "\ttype_len    :    5 bits\n"
				       "\ttime_delta  :   27 bits\n"
				       "\tarray       :   32 bits\n"
				       "\n"
				       "\tpadding     : type == 29\n"
				       "\ttime_extend : type == 30\n"
				       "\ttime_stamp : type == 31\n"
				       "\tdata max type_len  == 28\n";

static size_t dat_strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

void fathom_dat_bytes(struct fathom_dat *d, const void *bytes, size_t n)
{
	if (d->err || !n)
		return;
	d->err = d->write(d->arg, bytes, n);
	d->at += n;
}

/* A number of n bytes in the file's byte order. */
static void dat_number(struct fathom_dat *d, uint64_t v, uint32_t n)
{
	uint8_t b[8];

	for (uint32_t i = 0; i < n; i++)
		b[d->big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
	fathom_dat_bytes(d, b, n);
}

/* A text that may follow later. */
static void dat_text(struct fathom_dat *d, const char *text, size_t n, uint32_t size_bytes)
{
	dat_number(d, n, size_bytes);
	if (text)
		fathom_dat_bytes(d, text, n);
}

void fathom_dat_begin(struct fathom_dat *d, fathom_dat_sink write, void *arg, uint32_t page_bytes,
		      int big, int longs)
{
	d->write = write;
	d->arg = arg;
	d->at = 0;
	d->page_bytes = page_bytes;
	d->err = 0;
	d->big = big != 0;
	d->longs = (uint8_t)longs;
	d->opened = 0;
	fathom_dat_bytes(d, "\x17\x08\x44tracing6", 12);
	dat_number(d, d->big, 1);
	dat_number(d, d->longs, 1);
	dat_number(d, page_bytes, 4);
}

void fathom_dat_header(struct fathom_dat *d, const char *header_page, size_t page_text_bytes,
		       const char *header_event, size_t event_text_bytes)
{
	char own[256];
	struct fathom_text t;

	fathom_text_init(&t, own, sizeof(own));
	fathom_dat_header_page(&t, d->page_bytes);
	fathom_dat_bytes(d, "header_page", 12);
	dat_text(d, page_text_bytes ? header_page : own, page_text_bytes ? page_text_bytes : t.len,
		 8);
	fathom_dat_bytes(d, "header_event", 13);
	if (!event_text_bytes) {
		header_event = fathom_dat_header_event;
		event_text_bytes = dat_strlen(fathom_dat_header_event);
	}
	dat_text(d, header_event, event_text_bytes, 8);
}

void fathom_dat_ftrace(struct fathom_dat *d, uint32_t nr_formats)
{
	dat_number(d, nr_formats, 4);
}

void fathom_dat_systems(struct fathom_dat *d, uint32_t nr_systems)
{
	dat_number(d, nr_systems, 4);
}

void fathom_dat_system(struct fathom_dat *d, const char *name, uint32_t nr_formats)
{
	fathom_dat_bytes(d, name, dat_strlen(name) + 1);
	dat_number(d, nr_formats, 4);
}

void fathom_dat_format(struct fathom_dat *d, const char *text, size_t n)
{
	dat_text(d, text, n, 8);
}

void fathom_dat_kallsyms(struct fathom_dat *d, const char *text, size_t n)
{
	dat_text(d, text, n, 4);
}

void fathom_dat_printk(struct fathom_dat *d, const char *text, size_t n)
{
	dat_text(d, text, n, 4);
}

void fathom_dat_cmdlines(struct fathom_dat *d, const char *text, size_t n)
{
	dat_text(d, text, n, 8);
}

void fathom_dat_cpus(struct fathom_dat *d, uint32_t nr_cpus)
{
	dat_number(d, nr_cpus, 4);
}

static void dat_option_head(struct fathom_dat *d, uint32_t id, uint32_t n)
{
	if (!d->opened)
		fathom_dat_bytes(d, "options  ", 10);
	d->opened = 1;
	dat_number(d, id, 2);
	dat_number(d, n, 4);
}

void fathom_dat_option(struct fathom_dat *d, uint32_t id, const void *data, uint32_t n)
{
	dat_option_head(d, id, n);
	fathom_dat_bytes(d, data, n);
}

void fathom_dat_buffer(struct fathom_dat *d, uint64_t place, const char *name)
{
	uint32_t n = (uint32_t)dat_strlen(name) + 1;

	dat_option_head(d, FATHOM_DAT_BUFFER, 8 + n);
	dat_number(d, place, 8);
	fathom_dat_bytes(d, name, n);
}

static void dat_pad(struct fathom_dat *d, uint64_t n)
{
	static const uint8_t zeros[64];

	while (n && !d->err) {
		size_t part = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);

		fathom_dat_bytes(d, zeros, part);
		n -= part;
	}
}

uint64_t fathom_dat_list_bytes(const char *clock, uint32_t nr_cpus)
{
	return 10 + 16ull * nr_cpus + 8 + dat_strlen(clock) + 2;
}

/* The clock after a list, where trace-cmd looks for it. */
static void dat_clock(struct fathom_dat *d, const char *clock)
{
	size_t n = dat_strlen(clock);

	dat_number(d, n + 2, 8);
	fathom_dat_bytes(d, "[", 1);
	fathom_dat_bytes(d, clock, n);
	fathom_dat_bytes(d, "]", 1);
}

/* Mark, place and size of each CPU's pages, clock, padding up to the first page. */
static void dat_list(struct fathom_dat *d, const char *clock, const uint64_t *cpu_bytes,
		     uint32_t nr_cpus)
{
	uint64_t mask = d->page_bytes - 1;
	uint64_t at = (d->at + fathom_dat_list_bytes(clock, nr_cpus) + mask) & ~mask;

	fathom_dat_bytes(d, "flyrecord", 10);
	for (uint32_t i = 0; i < nr_cpus; i++) {
		dat_number(d, at, 8);
		dat_number(d, cpu_bytes[i], 8);
		at += cpu_bytes[i];
	}
	dat_clock(d, clock);
	dat_pad(d, (0 - d->at) & mask);
}

/* The clock as an option, and the end of the options. */
static void dat_options_end(struct fathom_dat *d, const char *clock)
{
	size_t n = dat_strlen(clock);

	dat_option_head(d, FATHOM_DAT_CLOCK, (uint32_t)n + 3);
	fathom_dat_bytes(d, "[", 1);
	fathom_dat_bytes(d, clock, n);
	fathom_dat_bytes(d, "]", 2);
	dat_number(d, 0, 2);
}

void fathom_dat_data(struct fathom_dat *d, const char *clock, const uint64_t *cpu_bytes,
		     uint32_t nr_cpus)
{
	dat_options_end(d, clock);
	dat_list(d, clock, cpu_bytes, nr_cpus);
}

void fathom_dat_recording(struct fathom_dat *d, const char *clock)
{
	dat_options_end(d, clock);
	fathom_dat_bytes(d, WIRE_RECORDING_MARK, sizeof(WIRE_RECORDING_MARK));
	dat_clock(d, clock);
	dat_pad(d, (0 - d->at) & (WIRE_RECORDING_ALIGN - 1));
}

void fathom_dat_instance(struct fathom_dat *d, const char *clock, const uint64_t *cpu_bytes,
			 uint32_t nr_cpus)
{
	dat_list(d, clock, cpu_bytes, nr_cpus);
}
