/* SPDX-License-Identifier: MIT */
/* tracedat.h -- the reader of trace.dat, inside: what its files share. */
#ifndef DECODE_TRACEDAT_H
#define DECODE_TRACEDAT_H

#include "base/bytes.h"
#include "base/idmap.h"
#include "decode/ring/ringpages.h"

/* Options of both versions; see `man trace-cmd.dat.v7`. */
enum tracedat_option {
	OPT_DONE = 0,
	OPT_DATE = 1,
	OPT_CPUSTAT = 2,
	OPT_BUFFER = 3,
	OPT_TRACECLOCK = 4,
	OPT_UNAME = 5,
	OPT_HOOK = 6,
	OPT_OFFSET = 7,
	OPT_CPUCOUNT = 8,
	OPT_VERSION = 9,
	OPT_PROCMAPS = 10,
	OPT_TRACEID = 11,
	OPT_TIME_SHIFT = 12,
	OPT_GUEST = 13,
	OPT_TSC2NSEC = 14,
	/* Version 7: where a section lies. Sections have the same numbers. */
	OPT_STRINGS = 15,
	OPT_HEADER_INFO = 16,
	OPT_FTRACE_EVENTS = 17,
	OPT_EVENT_FORMATS = 18,
	OPT_KALLSYMS = 19,
	OPT_PRINTK = 20,
	OPT_CMDLINES = 21,
	OPT_BUFFER_TEXT = 22,
	OPT_BTF = 23,	  /* of the kernel, since trace-cmd 3.4 */
	OPT_END = 0xfa01, /* Fathom's: how the recording ended */
};

/* Text of the file, or where it must be decompressed from when it is wanted. */
struct blob {
	const char *text;
	uint64_t bytes;
	uint64_t section; /* version 7: offset of the section, read on first use */
};

#define TRACEDAT_BUFFERS_MAX 4096u
#define TRACEDAT_CPUS_MAX    65536u
/* All metadata of a file, unpacked: kallsyms is some 10 MB, the formats some 5 MB. What claims to be more is damage. */
#define TRACEDAT_META_MAX    (256u << 20)

/* A buffer of version 6, named by an option and read after all options are. */
struct pending_buffer {
	uint64_t offset;
	const char *name;
};

struct tracedat {
	struct ring_set ring; /* first: see ringpages.h */
	uint32_t page_bytes;
	struct blob kallsyms, printk, cmdlines, btf;
	struct blob header_page, header_event;
	struct pending_buffer *pending;
	size_t nr_pending;
	void **owned; /* decompressed sections */
	size_t nr_owned;
	uint64_t unpacked;	    /* bytes in them, all in all */
	struct idmap seen;	    /* version 7: sections that an option led to */
	void *claims;		    /* ranges of the file that are pages of a CPU: ranges.c */
	uint64_t searched;	    /* bytes looked through for lost chunks */
	size_t walked;		    /* of the headers of chunks: file_map_walked() */
	struct tracedat_walk *walk; /* of a recording that grows: where it stands; else NULL */
	char *clock;
	uint64_t header_end; /* version 6: the first byte after the header, for verify */
};

/* tracedat_meta.c: the parts both versions have, in a reader that stands at them. `base` is added to places in messages. */
int tracedat_header_info(struct source *s, struct reader *r, uint64_t base);
int tracedat_ftrace_formats(struct source *s, struct reader *r, uint64_t base);
int tracedat_event_formats(struct source *s, struct reader *r, uint64_t base);

/* tracedat_options.c: one option; those that differ by version are left to the caller (false). */
bool tracedat_option(struct source *s, uint16_t id, const uint8_t *data, uint32_t bytes,
		     uint64_t offset);
/* The name in brackets of "local [global] ...", or the whole; to be freed. */
char *tracedat_clock_name(const char *text, size_t bytes);
bool tracedat_clock_is_ns(const char *name);

int tracedat_open_v6(struct source *s, struct reader *r);
int tracedat_open_v7(struct source *s, struct reader *r);
/* recording.c: the records after the clock, which ends at `from`. */
int tracedat_open_recording(struct source *s, uint64_t from, uint32_t cpus);
int tracedat_grow(struct source *s);
/* Version 7: the bytes of a section, decompressed if need be; false with the damage noted. */
bool tracedat_section(struct source *s, uint64_t offset, uint16_t id, struct reader *out);

#define TRACEDAT_SECTION_HEADER	    16u
#define TRACEDAT_SECTION_COMPRESSED 1u
/* Version 7: a section of options, the place of the next in *next (0: it is the last); a section that has no events. */
int tracedat_option_section(struct source *s, uint64_t offset, uint64_t *next);
void tracedat_meta_section(struct source *s, uint16_t id, uint64_t offset);
/* tracedat_chunks.c: a stream of compressed chunks. */
int tracedat_add_chunks(struct source *s, uint32_t cpu, uint64_t offset, uint64_t bytes,
			uint32_t page_bytes);
/* tracedat_salvage.c: read what the options do not lead to, in the sections that begin at `from`. */
int tracedat_salvage(struct source *s, uint64_t from);
/* Is this the first time that something leads to the section? Each is read once. */
bool tracedat_first_seen(struct tracedat *t, uint64_t section);

/* ranges.c: where the file says that the pages of a CPU lie. */
struct cpu_range {
	uint32_t cpu;
	uint64_t offset, bytes;
};
/* The ranges of one buffer: what is claimed twice is cut or emptied, and noted as damage. 0 or -ENOMEM. */
int tracedat_settle_ranges(struct source *s, struct cpu_range *v, size_t nr);
void tracedat_claims_free(struct tracedat *t);

/* A stream of uncompressed pages; what lies outside the file is damage. */
int tracedat_add_pages(struct source *s, uint32_t cpu, uint64_t offset, uint64_t bytes,
		       uint32_t page_bytes);
/* The ring_stream of the stream added last, zeroed; NULL when out of memory. */
struct ring_stream *tracedat_new_stream(struct source *s, uint32_t cpu);

#endif
