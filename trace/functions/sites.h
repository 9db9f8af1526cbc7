/* SPDX-License-Identifier: MIT */
/* sites.h -- the table of function sites, and who wants which of them. */
#ifndef PROBE_SITES_H
#define PROBE_SITES_H

#include <stddef.h>
#include <stdint.h>
#include "arch/arch.h"
#include "functions/tracer.h"
#include "functions/listeners.h"

/* Who wants a function's entry (and its returns). A site that nobody wants is a NOP. */
enum site_user {
	SITE_FUNCTION = 1, /* the function tracer, or a latency tracer's function-trace */
	SITE_GRAPH = 2,
	SITE_PROBE = 4, /* a `fn:command` */
	SITE_STACK = 8,
	SITE_PROFILE = 16,
	SITE_LISTENER = 32, /* the function tracer of an instance */
	SITE_PROGRAM = 64,  /* fathom_watch */
	SITE_PROGRAM_RETURN = 128,
};
/* These need to see the function return. */
#define SITE_RETURNS (SITE_GRAPH | SITE_PROFILE | SITE_PROGRAM_RETURN)

enum site_flag {
	SITE_HAS_RETURNS = 1, /* it has return sites; else its return address is replaced */
	SITE_GONE = 2,	      /* its memory was given away: fathom_function_forget() */
	SITE_TOUCHED = 4,     /* it has, or had, a user */
};

struct site {
	uintptr_t at;
	uint8_t users;	/* enum site_user: read by fathom_function_any() on any CPU */
	uint8_t wanted; /* what users will be: S4 */
	uint8_t entry;	/* enum fathom_entry that is in the text now */
	uint8_t flags;
	uint32_t off_since; /* of the calls: its return sites were off when this number began */
};

/* The functions by the hash of their name, for names that come by the thousand. */
struct named_site {
	uintptr_t hash;
	uint32_t site;
};

struct return_site {
	uintptr_t at;
	uint32_t owner; /* index of the function it belongs to */
	uint8_t on;
};

/*
 * The functions of the program, or of a module that came later: site[first .. first + nr), and their returns. Modules
 * come and go while other CPUs look functions up.
 */
struct site_part {
	uintptr_t from, to; /* its text; `to` 0: free */
	uint32_t first, nr;
	uint32_t first_ret, nr_rets;
	uint32_t born; /* the epoch it came with */
};

/*
 * S1. Within a part site[] and ret[] ascend by address; named[] ascends by hash. part[0] is the program's and stays. A site
 *     that is in no part, or whose text went, has SITE_GONE.
 * S2. users is set before the text leads to fathom_function_any() and cleared after the text has left it.
 * S3. A part is found by others from the release store of `to` on. What they read of one that changes meanwhile is no
 *     address outside of site[], and no function but the one they ask for.
 * S4. A user that wants returns is among the users when the return sites are on: text that leads to fathom_function_any()
 *     for somebody else would have calls followed whose returns nobody sees.
 */
struct fathom_functions {
	struct site *site;
	struct named_site *named;
	uint32_t nr_sites; /* up to the last one in use */
	uint32_t nr_named;
	uint32_t room_sites; /* fixed: what all that is counted in functions is made for */
	struct return_site *ret;
	uint32_t room_rets;
	struct site_part part[1 + FATHOM_MODULES_MAX];
	uint32_t nr_parts; /* up to the last one in use */
	uint32_t epoch;	   /* counts modules that came or went */
	uint32_t dropped;
	int why_none;	  /* functions cannot be traced: what the tracers that need them return */
	uint32_t refused; /* functions of modules for which there was no room */
	uint8_t ready;
	uint8_t changing; /* sites are being patched: read by returns on any CPU */
	uint8_t patched;  /* sites are text that is written; else they are looked up at each call */
	struct function_set set[FATHOM_SET_NR]; /* the top's */
	/* Which of two entries a site with only that user gets: set by the tracers, see fathom_sites_update(). */
	uint8_t function_slow;
	uint8_t graph_slow;
};
extern struct fathom_functions fathom_functions;

/* The site whose entry is `ip`, or -1. Any context. */
int fathom_site_find(uintptr_t ip);
uint32_t fathom_site_hash(const char *name, size_t bytes);
/* The first of named[] whose hash is not below; nr_named if there is none. */
uint32_t fathom_site_first_named(uint32_t hash);
/* A function of the library: its inline ones get sites too where a traced file keeps a copy. */
int fathom_name_is_own(const char *name);

/* Members of `set`, with "empty means all" for those where Linux has it so. */
int fathom_set_has(enum fathom_function_set set, uint32_t index);

/*
 * Give the users `mask` of every site anew (`want` answers for one), and patch what differs. 0 or the patcher's error:
 * users and text still agree then.
 */
int fathom_sites_update(uint8_t mask, uint8_t (*want)(uint32_t index));
/* The text follows users and flags of the sites, which have changed. */
int fathom_sites_patch(void);
/* Best NOPs everywhere in the part, and what stands beside them, while no other CPU runs that code yet. */
int fathom_sites_normalise(const struct site_part *p);

/*
 * Build the table and make NOPs of the sites: fathom_init() calls it. No CPU and no preempted task may stand inside a site
 * (gcc's five single NOPs, the two words of aarch64). Without sites, why_none is -ENOSYS (text cannot be written, or there are
 * none), -ENOMEM or the patcher's error.
 */
void fathom_sites_init(void);
void fathom_sites_exit(void);
/* fathom_function_forget(), for who holds the lock. */
void fathom_sites_forget(uintptr_t from, uintptr_t to);

/*
 * The functions of a module that has a table of its own: found, and NOPs now. 0, -ENOSPC: there is no room for them (they
 * are counted), or the patcher's error. Nobody runs the module's code yet.
 */
int fathom_sites_add(const struct fathom_module *m);
/* Its text was forgotten; so are its sites. */
void fathom_sites_remove(const struct fathom_module *m);
/* The part of the function, NULL if it has none. */
const struct site_part *fathom_part_of(uint32_t index);
int fathom_site_is_gone(uint32_t index);
/* What is kept of functions that are gone: sets.c, probes.c, profile.c. */
void fathom_sets_forget(void);
void fathom_probe_forget(void);
void fathom_profile_forget(void);
/* A copy of a set, made at `*epoch` of modules, is made right for what came and went since. */
void fathom_set_renew(uint32_t *copy, uint32_t *epoch);

/* ---- site_table.c ---- */

/* What the compiler left: addresses of sites. */
struct site_table {
	const uint8_t *from, *to;
};
struct site_tables {
	struct site_table entries, more_entries, returns;
};
uint32_t fathom_table_entries(const struct site_table *t);
/* Fill a part whose text, first site and first return are known: room and zeroes are there. */
void fathom_part_fill(struct site_part *p, const struct site_tables *t);
/* The functions that config.symbol names in [at, to); `out` NULL: only their number. Then fathom_part_finish(). */
uint32_t fathom_sites_by_symbol(uintptr_t at, uintptr_t to, struct site *out);
void fathom_part_finish(struct site_part *p, uint32_t nr);
void fathom_part_unname(const struct site_part *p);
/* sites.c: its text was given away before there was a table. */
int fathom_site_forgotten(uintptr_t at);

#endif
