/* SPDX-License-Identifier: MIT */
/* event.h -- what the library knows of one event: the descriptor that TRACE_EVENT and TRACE_DEFINE both make. */
#ifndef FATHOM_EVENT_H
#define FATHOM_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include "wire/record.h"
#include "wire/text.h"

enum fathom_field_kind {
	FATHOM_FIELD_PLAIN,  /* an integer or a struct, told by size */
	FATHOM_FIELD_STRING, /* char array or __data_loc char[] */
	FATHOM_FIELD_ARRAY,
	FATHOM_FIELD_DYNAMIC, /* __data_loc: u32, low 16 bits offset, high 16 bits length */
	FATHOM_FIELD_POINTER,
};

struct fathom_field {
	const char *type; /* as the format file prints it: "char", "__data_loc char[]", "pid_t" */
	const char *name; /* with "[16]" for an array */
	uint16_t offset;
	uint16_t size;
	uint8_t is_signed;
	uint8_t kind;
};

struct fathom_filter;  /* control/filter.c */
struct fathom_trigger; /* control/trigger.c */

struct fathom_event {
	const char *system;
	const char *name;
	const char *print_fmt; /* as the format file prints it */
	const struct fathom_field *fields;
	uint16_t nr_fields;
	uint16_t id;	/* given at registration */
	uint32_t state; /* FATHOM_EVENT_ON | SOFT: written by control, read relaxed by the probe */
	void (*print)(struct fathom_text *out, const void *record, uint32_t bytes);
	int (*reg)(void); /* TRACE_EVENT_FN */
	void (*unreg)(void);
	struct fathom_filter *filter;
	struct fathom_trigger *triggers;
};

enum fathom_event_state {
	FATHOM_EVENT_ON = 1,	  /* records */
	FATHOM_EVENT_TRIGGER = 2, /* has triggers: the probe runs though it may not record */
	FATHOM_EVENT_FILTER = 4,
};

/* The registry: a linker section of pointers, collected at fathom_init(). */
uint32_t fathom_event_count(void);
struct fathom_event *fathom_event_at(uint32_t index);
struct fathom_event *fathom_event_find(const char *system, const char *name);
struct fathom_event *fathom_event_by_id(uint16_t id);

/* Enable by "system:event", "system:*", "*:event", "event" or "*". Number of events matched, or -EINVAL. */
int fathom_event_enable(const char *pattern, int on);

/* The text of the event's `format` file, as Linux prints it. */
void fathom_event_format(const struct fathom_event *ev, struct fathom_text *out);

#endif
