/* SPDX-License-Identifier: MIT */
/* files.h -- the files' operations, by the C file that has them; tree.c puts them into directories. */
#ifndef CONTROL_FILES_H
#define CONTROL_FILES_H

#include "control/tree.h"

/* error_log.c */
extern const struct ctl_file_ops fathom_ctl_error_log;

/* file_main.c: switches of the tracer */
extern const struct ctl_file_ops fathom_ctl_last_boot_info;
extern const struct ctl_file_ops fathom_ctl_tracing_on, fathom_ctl_current_tracer,
	fathom_ctl_available_tracers, fathom_ctl_timestamp_mode, fathom_ctl_number_file;
enum ctl_number_file {
	CTL_NUMBER_THRESH,
	CTL_NUMBER_MAX_LATENCY,
	CTL_NUMBER_GRAPH_DEPTH,
	CTL_NUMBER_PERCENT,
	CTL_NUMBER_CMDLINES,
	CTL_NUMBER_STACK_MAX,
	CTL_NUMBER_STACK_ON,
	CTL_NUMBER_PROFILE,
	CTL_NUMBER_PRINTK,
};

/* file_clock.c */
extern const struct ctl_file_ops fathom_ctl_trace_clock;

/* file_buffer.c: sizes, masks, statistics */
extern const struct ctl_file_ops fathom_ctl_buffer_size, fathom_ctl_cpu_buffer_size,
	fathom_ctl_buffer_total, fathom_ctl_subbuf_size, fathom_ctl_cpumask, fathom_ctl_free_buffer,
	fathom_ctl_stats;

/* file_trace.c, file_raw.c: what was recorded */
extern const struct ctl_file_ops fathom_ctl_trace, fathom_ctl_trace_pipe, fathom_ctl_snapshot,
	fathom_ctl_raw, fathom_ctl_packed, fathom_ctl_snapshot_raw;

/* file_marker.c */
extern const struct ctl_file_ops fathom_ctl_marker, fathom_ctl_marker_raw;

/* file_tasks.c: names, printk formats */
extern const struct ctl_file_ops fathom_ctl_saved_cmdlines, fathom_ctl_saved_tgids,
	fathom_ctl_printk_formats;

/* file_event.c: events/ */
extern const struct ctl_file_ops fathom_ctl_event_on, fathom_ctl_event_filter,
	fathom_ctl_system_filter, fathom_ctl_event_format, fathom_ctl_event_id,
	fathom_ctl_header_page, fathom_ctl_header_event, fathom_ctl_available_events,
	fathom_ctl_set_event, fathom_ctl_event_filters;
/* `system:event` and blanks, up to where lists of events go on. */
void fathom_ctl_event_column(struct fathom_text *t, uint32_t event);
enum ctl_event_scope {
	CTL_SCOPE_ALL,
	CTL_SCOPE_SYSTEM,
	CTL_SCOPE_EVENT
};

/* file_pids.c */
extern const struct ctl_file_ops fathom_ctl_event_pids, fathom_ctl_function_pids;

/* file_trigger.c */
extern const struct ctl_file_ops fathom_ctl_event_trigger, fathom_ctl_event_triggers,
	fathom_ctl_event_hist;

/* file_function.c */
extern const struct ctl_file_ops fathom_ctl_function_set, fathom_ctl_available_functions,
	fathom_ctl_kallsyms, fathom_ctl_enabled_functions, fathom_ctl_function_info,
	fathom_ctl_stack_trace, fathom_ctl_tracer_stats, fathom_ctl_function_addresses;

/* options.c */
extern const struct ctl_file_ops fathom_ctl_trace_options, fathom_ctl_option_ops;

/* Shared by files that take one number: the value, or an errno value. Linux reads at most 63 characters of it. */
int fathom_ctl_write_number(const char *buf, size_t bytes, uint64_t *value);
/*
 * The next word of a list file, collected in f->token over as many writes as it takes. *used is how much of the write
 * belongs to it. 1: a word is complete, 0: more has to come, -EINVAL: it is too long.
 */
int fathom_ctl_write_word(struct fathom_file *f, char *word, size_t room, const char *buf,
			  size_t bytes, size_t *used);
/* Is it opened to write, and truncated? */
int fathom_ctl_truncates(const struct fathom_file *f);

#endif
