/* SPDX-License-Identifier: MIT */
/* tree.c -- the tables: which file is in which directory, with Linux's modes; and the README. */
#include "control/control.h"
#include "control/files.h"
#include "functions/tracer.h"

static const char *const readme_text[] = {
	"tracing mini-HOWTO:\n\n"
	"# echo 0 > tracing_on : stop recording, keep what there is\n"
	"# echo 1 > tracing_on : record again\n\n"
	" Files:\n"
	"  trace\t\t\t- what was recorded; `echo > trace` clears it\n"
	"  trace_pipe\t\t- the same, but what is read is gone; waits for more\n"
	"  trace_marker\t\t- text written here becomes a record\n"
	"  trace_marker_raw\t- binary data; the first 4 bytes are an id\n"
	"  current_tracer\t- the tracer that runs; available_tracers lists them\n"
	"  trace_options, options/ - how things are shown and recorded\n"
	"  trace_clock\t\t- the clock of the records\n"
	"  timestamp_mode\t- how times are stored\n"
	"  buffer_size_kb\t- size per CPU, within the memory given at start\n"
	"  buffer_total_size_kb\t- the sum\n"
	"  free_buffer\t\t- closing it shrinks the buffer to the least\n"
	"  tracing_cpumask\t- CPUs that record, in hex\n"
	"  snapshot\t\t- a second buffer: 1 takes, 0 frees, 2 clears\n"
	"  instances\t\t- mkdir makes a buffer of its own with its own events\n"
	"  error_log\t\t- why the last commands failed\n",
	"  per_cpu/cpuN/\t\t- trace, trace_pipe, trace_pipe_raw, trace_pipe_packed, stats, "
	"snapshot of one CPU\n"
	"  saved_cmdlines, saved_tgids - tasks seen in the trace\n"
	"  printk_formats\t- formats of trace_printk(), for decoders\n"
	"  set_ftrace_filter\t- functions to trace; `!` takes away, `>>` adds\n"
	"\t     accepts: func_full_name or glob-matching-pattern, or\n"
	"\t\t\t  <function>:<command>[:<count>] with traceon, traceoff,\n"
	"\t\t\t  enable_event:<system>:<event>, disable_event:<system>:<event>,\n"
	"\t\t\t  stacktrace, snapshot, dump, cpudump\n"
	"  set_ftrace_notrace\t- functions not to trace\n"
	"  set_ftrace_pid, set_ftrace_notrace_pid - tasks to trace, or not\n"
	"  set_graph_function, set_graph_notrace, max_graph_depth - of function_graph\n"
	"  function_profile_enabled, trace_stat/ - hits and time per function\n"
	"  stack_trace, stack_max_size, stack_trace_filter - the deepest stack,\n"
	"\t\t\t  looked for while stack_tracer_enabled is 1\n"
	"  tracing_thresh, tracing_max_latency - limits of the latency tracers, in us\n",
	"  events/\n"
	"   set_event\t\t- events by <system>:<event>; `!` takes away\n"
	"   tracepoint_printk\t- 1: events go to the console too\n"
	"   set_event_pid, set_event_notrace_pid - tasks whose events count, or not\n"
	"   enable\t\t- 0 or 1, for all, a system or one event\n"
	"   filter\t\t- expression over the fields: == != < <= > >= & ~ && || ! ( );\n"
	"\t\t\t  CPU & CPUS{0-3,5}, <field>.function == <name>\n"
	"   show_event_filters, show_event_triggers - of all events\n"
	"   format, id\t\t- the record's layout and number\n"
	"   trigger\t\t- <trigger>[:count][ if <filter>]\n"
	"\t\t\t  traceon traceoff snapshot stacktrace\n"
	"\t\t\t  enable_event:<system>:<event> disable_event:<system>:<event>\n"
	"\t\t\t  enable_hist:<system>:<event> disable_hist:<system>:<event>\n"
	"\t\t\t  hist:keys=<field1[,field2,...]>\n"
	"\t\t\t    [:values=<field1[,field2,...]>][:sort=<field1[,field2]>][:size=#entries]\n"
	"\t\t\t    [:pause][:continue][:clear][:name=histname]\n"
	"\t\t\t    [:<var1>=<field|var_ref|numeric_literal>[+-*/...]] [if <filter>]; values may be "
	"$var1\n"
	"\t\t\t    [:onmax(var).action][:onchange(var).action]: when $var1 grows or changes under "
	"a\n"
	"\t\t\t    key; actions are save(field,...) and snapshot()\n"
	"\t\t\t  modifiers: .hex .sym .sym-offset .execname .syscall .log2 .buckets=size .usecs\n"
	"   hist\t\t\t- the histograms of the event\n",
	/* only with config.dynamic */
	"\t\t\t  hist handlers and actions across events:\n"
	"\t\t\t    :onmatch(system.event).action: for each event whose variables are there\n"
	"\t\t\t    action is trace(<synthetic_event>,param list) or "
	"<synthetic_event>(param list);\n"
	"\t\t\t    onmax() and onchange() take them too\n"
	"  synthetic_events\t- events made by such actions; `!name` takes one away\n"
	"\t  example: echo 'myevent u64 lat; char name[]' >> synthetic_events\n"
	"  dynamic_events\t- these and all below: a line each, with\n"
	"\t  s:[synthetic/]<event> <field> [<field>]\n"
	"\t  p[:[<group>/][<event>]] <place> [<args>]\t(kprobe_events too)\n"
	"\t  r[maxactive][:[<group>/][<event>]] <place> [<args>]\t(kprobe_events too)\n"
	"\t  e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>]\n"
	"\t  -:[<group>/][<event>] takes it away\n"
	"\t    place: [<module>:]<symbol>[+<offset>]|<memaddr>, of a function: the offset is 0\n"
	"\t    place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>\n"
	"\t    args: <name>=fetcharg[:type]\n"
	"\t fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>],\n"
	"\t           $stack<index>, $stack, $retval, $comm, $arg<N>,\n"
	"\t           +|-[u]<offset>(<fetcharg>), \\imm-value, \\\"imm-string\"\n"
	"\t           (e: $<field> of the attached event)\n"
	"\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, string, symbol, ustring,\n"
	"\t           b<bit-width>@<bit-offset>/<container-size>, <type>[<array-size>]\n"
	"\t  Create/append/remove: one event may have probes at several places\n"
	"  kprobe_profile\t- hits of each probe, and those that were missed\n",
};

static int readme_show(struct fathom_file *f, struct fathom_text *t)
{
	uint32_t pieces = sizeof(readme_text) / sizeof(readme_text[0]);

	fathom_text_str(t, readme_text[f->piece]);
	return f->piece + 1 < pieces - !fathom_core.config.dynamic;
}

static const struct ctl_file_ops readme_ops = {.show = readme_show};

#define FN CTL_IF_FUNCTION

const struct fathom_fs_entry fathom_ctl_root_files[] = {
	{"README", 0440, CTL_TOP_ONLY, &readme_ops, 0},
	{"available_events", 0440, CTL_TOP_ONLY, &fathom_ctl_available_events, 0},
	{"available_filter_functions", 0440, CTL_TOP_ONLY | FN, &fathom_ctl_available_functions, 0},
	{"available_filter_functions_addrs", 0440, CTL_TOP_ONLY | FN,
	 &fathom_ctl_function_addresses, 0},
	{"available_tracers", 0440, 0, &fathom_ctl_available_tracers, 0},
	{"buffer_percent", 0640, 0, &fathom_ctl_number_file, CTL_NUMBER_PERCENT},
	{"buffer_size_kb", 0640, 0, &fathom_ctl_buffer_size, 0},
	{"buffer_subbuf_size_kb", 0640, 0, &fathom_ctl_subbuf_size, 0},
	{"buffer_total_size_kb", 0440, 0, &fathom_ctl_buffer_total, 0},
	{"current_tracer", 0640, 0, &fathom_ctl_current_tracer, 0},
	{"dynamic_events", 0640, CTL_TOP_ONLY | CTL_IF_DYNAMIC, 0, CTL_DYNAMIC_ALL},
	{"dyn_ftrace_total_info", 0440, CTL_TOP_ONLY | FN, &fathom_ctl_function_info, 0},
	{"enabled_functions", 0440, CTL_TOP_ONLY | FN, &fathom_ctl_enabled_functions, 0},
	{"error_log", 0640, 0, &fathom_ctl_error_log, 0},
	{"free_buffer", 0200, 0, &fathom_ctl_free_buffer, 0},
	{"function_profile_enabled", 0640, CTL_TOP_ONLY | CTL_IF_PROFILE, &fathom_ctl_number_file,
	 CTL_NUMBER_PROFILE},
	{"kallsyms", 0440, CTL_TOP_ONLY, &fathom_ctl_kallsyms, 0},
	{"kprobe_events", 0640, CTL_TOP_ONLY | CTL_IF_DYNAMIC | FN, 0, CTL_DYNAMIC_KPROBE},
	{"kprobe_profile", 0440, CTL_TOP_ONLY | CTL_IF_DYNAMIC | FN, 0, CTL_DYNAMIC_PROFILE},
	{"last_boot_info", 0440, CTL_IF_SURVIVES, &fathom_ctl_last_boot_info, 0},
	{"max_graph_depth", 0640, CTL_TOP_ONLY | FN, &fathom_ctl_number_file,
	 CTL_NUMBER_GRAPH_DEPTH},
	{"printk_formats", 0440, CTL_TOP_ONLY, &fathom_ctl_printk_formats, 0},
	{"saved_cmdlines", 0440, CTL_TOP_ONLY, &fathom_ctl_saved_cmdlines, 0},
	{"saved_cmdlines_size", 0640, CTL_TOP_ONLY, &fathom_ctl_number_file, CTL_NUMBER_CMDLINES},
	{"saved_tgids", 0440, CTL_TOP_ONLY, &fathom_ctl_saved_tgids, 0},
	{"set_event", 0640, 0, &fathom_ctl_set_event, 0},
	{"set_event_notrace_pid", 0640, 0, &fathom_ctl_event_pids, CTL_EVENT_NOTRACE_PIDS},
	{"set_event_pid", 0640, 0, &fathom_ctl_event_pids, CTL_EVENT_PIDS},
	{"set_ftrace_filter", 0640, FN, &fathom_ctl_function_set, FATHOM_SET_FILTER},
	{"set_ftrace_notrace", 0640, FN, &fathom_ctl_function_set, FATHOM_SET_NOTRACE},
	{"set_ftrace_notrace_pid", 0640, FN, &fathom_ctl_function_pids, FATHOM_PIDS_NOTRACE},
	{"set_ftrace_pid", 0640, FN, &fathom_ctl_function_pids, FATHOM_PIDS_TRACE},
	{"set_graph_function", 0640, CTL_TOP_ONLY | FN, &fathom_ctl_function_set, FATHOM_SET_GRAPH},
	{"set_graph_notrace", 0640, CTL_TOP_ONLY | FN, &fathom_ctl_function_set,
	 FATHOM_SET_GRAPH_NOTRACE},
	{"show_event_filters", 0440, 0, &fathom_ctl_event_filters, 0},
	{"show_event_triggers", 0440, 0, &fathom_ctl_event_triggers, 0},
	{"snapshot", 0640, 0, &fathom_ctl_snapshot, 0},
	{"stack_max_size", 0640, CTL_TOP_ONLY | FN, &fathom_ctl_number_file, CTL_NUMBER_STACK_MAX},
	{"stack_trace", 0440, CTL_TOP_ONLY | FN, &fathom_ctl_stack_trace, 0},
	{"stack_trace_filter", 0640, CTL_TOP_ONLY | FN, &fathom_ctl_function_set, FATHOM_SET_STACK},
	{"stack_tracer_enabled", 0640, CTL_TOP_ONLY | FN, &fathom_ctl_number_file,
	 CTL_NUMBER_STACK_ON},
	{"synthetic_events", 0640, CTL_TOP_ONLY | CTL_IF_DYNAMIC, 0, CTL_DYNAMIC_SYNTH},
	{"timestamp_mode", 0440, 0, &fathom_ctl_timestamp_mode, 0},
	{"touched_functions", 0440, CTL_TOP_ONLY | FN, &fathom_ctl_enabled_functions, 1},
	{"trace", 0640, 0, &fathom_ctl_trace, 0},
	{"trace_clock", 0640, 0, &fathom_ctl_trace_clock, 0},
	{"trace_marker", 0220, 0, &fathom_ctl_marker, 0},
	{"trace_marker_raw", 0220, 0, &fathom_ctl_marker_raw, 0},
	{"trace_options", 0640, 0, &fathom_ctl_trace_options, 0},
	{"trace_pipe", 0440, 0, &fathom_ctl_trace_pipe, 0},
	{"tracer_stats", 0440, CTL_TOP_ONLY | CTL_IF_FUNCTION, &fathom_ctl_tracer_stats, 0},
	{"tracing_cpumask", 0640, 0, &fathom_ctl_cpumask, 0},
	{"tracepoint_printk", 0640, CTL_TOP_ONLY, &fathom_ctl_number_file, CTL_NUMBER_PRINTK},
	{"tracing_max_latency", 0640, 0, &fathom_ctl_number_file, CTL_NUMBER_MAX_LATENCY},
	{"tracing_on", 0640, 0, &fathom_ctl_tracing_on, 0},
	{"tracing_thresh", 0640, CTL_TOP_ONLY, &fathom_ctl_number_file, CTL_NUMBER_THRESH},
	{0, 0, 0, 0, 0},
};

const struct fathom_fs_entry fathom_ctl_events_files[] = {
	{"enable", 0640, 0, &fathom_ctl_event_on, CTL_SCOPE_ALL},
	{"header_event", 0440, 0, &fathom_ctl_header_event, 0},
	{"header_page", 0440, 0, &fathom_ctl_header_page, 0},
	{0, 0, 0, 0, 0},
};

const struct fathom_fs_entry fathom_ctl_system_files[] = {
	{"enable", 0640, CTL_NOT_INTERNAL, &fathom_ctl_event_on, CTL_SCOPE_SYSTEM},
	{"filter", 0640, CTL_NOT_INTERNAL, &fathom_ctl_system_filter, 0},
	{0, 0, 0, 0, 0},
};

const struct fathom_fs_entry fathom_ctl_event_files[] = {
	{"enable", 0640, CTL_NOT_INTERNAL, &fathom_ctl_event_on, CTL_SCOPE_EVENT},
	{"filter", 0640, CTL_NOT_INTERNAL, &fathom_ctl_event_filter, 0},
	{"format", 0440, 0, &fathom_ctl_event_format, 0},
	{"hist", 0440, 0, &fathom_ctl_event_hist, 0},
	{"id", 0440, 0, &fathom_ctl_event_id, 0},
	{"trigger", 0640, CTL_NOT_INTERNAL | CTL_PRINT_ONLY, &fathom_ctl_event_trigger, 0},
	{0, 0, 0, 0, 0},
};

const struct fathom_fs_entry fathom_ctl_cpu_files[] = {
	{"buffer_size_kb", 0640, 0, &fathom_ctl_cpu_buffer_size, 0},
	{"snapshot", 0640, 0, &fathom_ctl_snapshot, 0},
	{"snapshot_raw", 0440, 0, &fathom_ctl_snapshot_raw, 0},
	{"stats", 0440, 0, &fathom_ctl_stats, 0},
	{"trace", 0640, 0, &fathom_ctl_trace, 0},
	{"trace_pipe", 0440, 0, &fathom_ctl_trace_pipe, 0},
	{"trace_pipe_packed", 0440, 0, &fathom_ctl_packed, 0},
	{"trace_pipe_raw", 0440, 0, &fathom_ctl_raw, 0},
	{0, 0, 0, 0, 0},
};
