/* SPDX-License-Identifier: MIT */
/* sites.h -- the table of function sites, and who wants which of them. */
#ifndef PROBE_SITES_H
#define PROBE_SITES_H

#include <stddef.h>
#include <stdint.h>
#include "arch/arch.h"
#include "fathom/tracer.h"
#include "probe/listeners.h"

/* Who wants a function's entry (and its returns). A site that nobody wants is a NOP. */
enum site_user {
	SITE_FUNCTION = 1, /* the function tracer, or a latency tracer's function-trace */
	SITE_GRAPH = 2,
	SITE_PROBE = 4, /* a `fn:command` */
	SITE_STACK = 8,
	SITE_PROFILE = 16,
	SITE_LISTENER = 32, /* the function tracer of an instance */
};
#define SITE_RETURNS (SITE_GRAPH | SITE_PROFILE) /* these need to see the function return */

enum site_flag {
	SITE_HAS_RETURNS = 1, /* it has return sites; else its return address is replaced */
	SITE_GONE = 2,	      /* its memory was given away: fathom_function_forget() */
};

struct site {
	uintptr_t at;
	uint8_t users; /* enum site_user: read by fathom_function_any() on any CPU */
	uint8_t entry; /* enum fathom_entry that is in the text now */
	uint8_t flags;
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
 * S1. site[] and ret[] ascend by address, named[] by hash; nr_* never change after init.
 * S2. users is set before the text leads to fathom_function_any() and cleared after the text has left it.
 */
struct fathom_functions {
	struct site *site;
	struct named_site *named; /* as many */
	uint32_t nr_sites;
	struct return_site *ret;
	uint32_t nr_rets;
	uint32_t dropped;
	uint8_t ready;
	uint8_t patched; /* sites are text that is written; else they are looked up at each call */
	struct function_set set[FATHOM_SET_NR]; /* the top's */
	/* Which of two entries a site with only that user gets: set by the tracers, see fathom_sites_update(). */
	uint8_t function_slow;
	uint8_t graph_slow;
};
extern struct fathom_functions fathom_functions;

/* The site whose entry is `ip`, or -1. Any context. */
int fathom_site_find(uintptr_t ip);
uint32_t fathom_site_hash(const char *name, size_t bytes);
/* The first of named[] whose hash is not below; nr_sites if there is none. */
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
/* Best NOPs everywhere, and what stands beside them, while no other CPU runs traced code yet. */
int fathom_sites_normalise(void);

/*
 * Build the table: once, from what fathom_init() left of its memory. 0, -ENOSYS (text cannot be written, or there are no
 * sites), -ENOMEM. Context: task; no CPU may stand inside a site (gcc's five single NOPs), so early.
 */
int fathom_sites_init(void);
void fathom_sites_exit(void);

#endif
