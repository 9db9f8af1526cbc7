/* SPDX-License-Identifier: MIT */
/* graphtext.h -- inside tools/decode: one line of the text of function_graph. */
#ifndef DECODE_GRAPHTEXT_H
#define DECODE_GRAPHTEXT_H

#include "decode/text/textlog.h"

/*
 *    14.757020 |   0)    bash-56     |  d..1. | ! 335.896 us  |      vfs_read() {
 *      time       cpu      task         flags     duration       call
 *
 * Every column but the call is optional; irqsoff and its kind print `11774 us` for the time.
 */
struct graph_line {
	enum {
		GRAPH_OTHER,
		GRAPH_ENTRY,   /* vfs_read() { */
		GRAPH_LEAF,    /* vfs_read(); */
		GRAPH_EXIT,    /* } or: } / * vfs_read * / */
		GRAPH_COMMENT, /* an event: its name and info are in `event` */
		GRAPH_SWITCH,  /* bash-56 => sh-57: `before` and `event` have the tasks */
		GRAPH_LOST,
	} kind;
	bool has_time, has_cpu, has_task, has_duration;
	uint32_t depth;
	uint64_t duration_ns;
	struct words name;	/* of the function; an exit may not name it */
	struct text_line event; /* cpu, time, task, flags; of a comment also name and info */
	struct text_line before;
};

#define GRAPH_DEPTH_MAX 128u

void graph_parse_line(const char *p, const char *end, struct graph_line *out);

#endif
