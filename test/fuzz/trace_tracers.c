/* SPDX-License-Identifier: MIT */
/* trace_tracers.c -- fuzz target: a session at the tracers' files, while traced functions run. They must compute what they do. */
#define FUZZ_MEMORY (4 << 20) /* room for the table of functions, a snapshot and an instance */
#include "tracers/port.h"
#include "trace_setup.h"
#include "tracers/traced.h"

/*
 * A line is a step: its first character says what is done, then come a file and what is written.
 *
 *	>FILE TEXT  as a shell's `>`      +FILE TEXT  as `>>`      <FILE  read it all
 *	oFILE       open it and keep it   wTEXT       write there  r      read there     c  close it
 *	m           make the instance i   d           remove it    x      run the traced functions
 *
 * A byte above 127 stands for a file or a word that is known.
 */
static const char *const files[] = {"current_tracer",
				    "set_ftrace_filter",
				    "set_ftrace_notrace",
				    "set_graph_function",
				    "set_graph_notrace",
				    "set_ftrace_pid",
				    "set_ftrace_notrace_pid",
				    "max_graph_depth",
				    "function_profile_enabled",
				    "trace_stat/function0",
				    "stack_tracer_enabled",
				    "stack_trace",
				    "stack_max_size",
				    "stack_trace_filter",
				    "tracing_thresh",
				    "tracing_max_latency",
				    "tracing_on",
				    "trace",
				    "trace_pipe",
				    "trace_options",
				    "enabled_functions",
				    "available_filter_functions",
				    "snapshot",
				    "per_cpu/cpu0/trace_pipe_raw",
				    "per_cpu/cpu0/stats",
				    "buffer_size_kb",
				    "error_log",
				    "tracer_stats",
				    "trace_clock",
				    "events/sched/enable",
				    "options/func_stack_trace",
				    "options/func-no-repeats",
				    "options/display-graph",
				    "options/function-trace",
				    "options/latency-format",
				    "options/overwrite",
				    "instances/i/current_tracer",
				    "instances/i/set_ftrace_filter",
				    "instances/i/set_ftrace_notrace",
				    "instances/i/set_ftrace_pid",
				    "instances/i/trace",
				    "instances/i/options/func_stack_trace",
				    "instances/i/tracing_on",
				    "saved_cmdlines",
				    "free_buffer",
				    "trace_marker",
				    "dyn_ftrace_total_info",
				    "set_event"};

static const char *const words[] = {"function",
				    "function_graph",
				    "irqsoff",
				    "preemptoff",
				    "preemptirqsoff",
				    "wakeup",
				    "wakeup_rt",
				    "wakeup_dl",
				    "nop",
				    "ret_*",
				    "hij_*",
				    "*leaf",
				    "*m?d*",
				    "ret_leaf",
				    "ret_recurse",
				    "hij_mid",
				    "hij_recurse",
				    "hij_catcher",
				    "!",
				    ":traceon",
				    ":traceoff",
				    ":stacktrace",
				    ":snapshot",
				    ":dump",
				    ":cpudump",
				    ":enable_event:sched:sched_switch",
				    ":disable_event:sched:*",
				    ":mod:",
				    ":3",
				    ":0",
				    "0",
				    "1",
				    "2",
				    "65",
				    "4000000000",
				    "-1",
				    "*",
				    "?",
				    "[a-h]*",
				    " ",
				    "funcgraph-irqs",
				    "funcgraph-tail",
				    "funcgraph-proc",
				    "funcgraph-abstime",
				    "funcgraph-overrun",
				    "sleep-time",
				    "graph-time",
				    "function-fork",
				    "record-tgid",
				    "sym-offset",
				    "sym-addr",
				    "verbose",
				    "raw",
				    "hex",
				    "bin",
				    "context-info",
				    "irq-info",
				    "stacktrace",
				    "no",
				    "\t",
				    "x86-tsc",
				    "local"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LINES	 400 /* of an input; more finds no more */

static const char *expand(uint8_t byte, int in_file)
{
	static char one[2];

	if (byte > 127)
		return in_file ? files[(byte - 128u) % COUNT(files)]
			       : words[(byte - 128u) % COUNT(words)];
	one[0] = (char)byte;
	return one;
}

/* The part of a line up to `end`, spelt out; how many bytes of the line that were. */
static size_t spell(const uint8_t *line, size_t n, int end, char *out, size_t room, size_t *len)
{
	size_t i;

	*len = 0;
	for (i = 0; i < n && line[i] != end; i++) {
		const char *s = expand(line[i], end == ' ');
		size_t k = s[0] ? strlen(s) : 1;

		if (*len + k >= room)
			break;
		memcpy(out + *len, s, k);
		*len += k;
	}
	out[*len] = 0;
	return i < n ? i + 1 : n;
}

static int look_up(const char *path, struct fathom_file *f, uint32_t flags)
{
	struct fathom_node node;
	int err = fathom_fs_lookup(path, &node);

	memset(f, 0, sizeof(*f));
	return err ? err : fathom_fs_open(f, &node, flags);
}

/* As a shell does: what a write() did not take is written again. */
static void write_on(struct fathom_file *f, const char *text, size_t len)
{
	for (int n; len; text += n, len -= (size_t)n) {
		n = fathom_fs_write(f, text, len);
		if (n <= 0)
			return;
		if ((size_t)n > len)
			abort();
	}
}

static void read_on(struct fathom_file *f)
{
	char buf[4096];

	for (int i = 0; i < 1000; i++) {
		int n = fathom_fs_read(f, buf, sizeof(buf));

		if (n <= 0)
			return;
		if ((size_t)n > sizeof(buf))
			abort();
	}
}

static void work(void)
{
	for (int i = 0; i < 2; i++) {
		if (ret_top(i) != hij_top(i) || ret_recurse(80) != 80 || hij_recurse(80) != 80)
			abort();
		if (ret_catcher(3) != hij_catcher(3) || ret_tail(i) != hij_tail(i) ||
		    ret_branchy(i - 1) != hij_branchy(i - 1))
			abort();
		fire();
	}
}

static void instance(int make)
{
	struct fathom_node node;

	if (fathom_fs_lookup(make ? "instances" : "instances/i", &node))
		return;
	if (make)
		fathom_fs_mkdir(&node, "i", 1);
	else
		fathom_fs_rmdir(&node);
}

struct kept {
	struct fathom_file file;
	int open;
};

static void kept_close(struct kept *kept)
{
	if (kept->open)
		fathom_fs_close(&kept->file);
	kept->open = 0;
}

static void step(const uint8_t *line, size_t n, struct kept *kept)
{
	struct fathom_file f;
	char path[200], text[12000];
	size_t at = 1, len = 0;
	int how = n ? line[0] : 0;

	path[0] = text[0] = 0;
	if (how && strchr("<>+o", how))
		at += spell(line + at, n - at, ' ', path, sizeof(path), &len);
	if (how && strchr(">+w", how))
		spell(line + at, n - at, -1, text, sizeof(text) - 1, &len);
	switch (how) {
	case '>':
	case '+':
		text[len++] = '\n';
		if (look_up(path, &f, FATHOM_O_WRONLY | (how == '>' ? FATHOM_O_TRUNC : 0)))
			break;
		write_on(&f, text, len);
		fathom_fs_close(&f);
		break;
	case '<':
		if (look_up(path, &f, FATHOM_O_RDONLY | FATHOM_O_NONBLOCK))
			break;
		read_on(&f);
		fathom_fs_close(&f);
		break;
	case 'o':
		kept_close(kept);
		kept->open = !look_up(path, &kept->file, FATHOM_O_RDWR | FATHOM_O_NONBLOCK);
		break;
	case 'w':
		if (kept->open)
			write_on(&kept->file, text, len);
		break;
	case 'r':
		if (kept->open)
			read_on(&kept->file);
		break;
	case 'c': kept_close(kept); break;
	case 'm':
	case 'd': instance(how == 'm'); break;
	default: work(); break;
	}
}

/* The traced functions alone: the program has thousands, and every line of a trace asks for some. */
static Elf64_Sym subjects[64];

static void subjects_load(void)
{
	size_t nr = 0;

	port_load_symbols();
	for (size_t i = 0; i < port_nr_sym && nr < COUNT(subjects); i++) {
		const char *name = port_str + port_sym[i].st_name;

		if (!strncmp(name, "ret_", 4) || !strncmp(name, "hij_", 4))
			subjects[nr++] = port_sym[i];
	}
	port_sym = subjects;
	port_nr_sym = nr;
}

static void start(void)
{
	static char memory[FUZZ_MEMORY] __attribute__((aligned(4096)));
	struct sigaction sa = {.sa_sigaction = port_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 1,
				       .pages_per_cpu = 16,
				       .text_map = port_text_map,
				       .sync = port_sync,
				       .symbol = port_symbol};

	if (!port_sym) {
		subjects_load();
		sigaction(SIGTRAP, &sa, NULL);
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	}
	if (fathom_init(&config))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kept kept = {.open = 0};
	size_t at = 0;

	start();
	for (int i = 0; i < LINES && at < size; i++) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t n = end ? (size_t)(end - data) - at : size - at;

		step(data + at, n, &kept);
		at += n + 1;
	}
	work();
	kept_close(&kept);
	fathom_exit();
	work(); /* as if nothing had ever been patched */
	return 0;
}
