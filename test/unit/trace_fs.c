/* SPDX-License-Identifier: MIT */
/* trace_fs.c -- the control tree: what Linux 6.1 answered to good and bad values, replayed; and what files do. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "harness.h"
#include "tree.h"
#define CREATE_TRACE_POINTS
#include "fathom/events/irq.h"
#include "fathom/events/kmem.h"
#include "fathom/events/sched.h"
#include "fathom/fs.h"
#include "fathom/trace.h"

static char memory[8 << 20] __attribute__((aligned(4096)));

static int task_name(int32_t pid, char buf[16])
{
	if (pid < 1 || pid > 2000)
		return -1;
	snprintf(buf, 16, "task-%d", pid);
	return 0;
}

/* Both CPUs are this thread. */
static void sync_one(void)
{
}

static void start(void)
{
	struct fathom_config config = {.memory = memory,
				       .memory_bytes = sizeof(memory),
				       .nr_cpus = 2,
				       .pages_per_cpu = 354,
				       .task_name = task_name,
				       .sync = sync_one};

	fathom_exit();
	CHECK_EQ(fathom_init(&config), 0);
}

static int put(const char *path, const char *value)
{
	return fathom_set(path, value);
}

/* Undo what the record's lines write in C's way: \n only. */
static size_t unescape(char *s)
{
	size_t n = 0;

	for (char *p = s; *p; p++) {
		if (p[0] == '\\' && p[1] == 'n') {
			s[n++] = '\n';
			p++;
		} else {
			s[n++] = *p;
		}
	}
	s[n] = '\0';
	return n;
}

static int errno_of(const char *name)
{
	static const struct {
		const char *name;
		int value;
	} table[] = {{"EINVAL", EINVAL}, {"ENOMEM", ENOMEM}, {"EOVERFLOW", EOVERFLOW},
		     {"ENOENT", ENOENT}, {"EACCES", EACCES}, {"EEXIST", EEXIST},
		     {"EBUSY", EBUSY},	 {"EAGAIN", EAGAIN}, {"EISDIR", EISDIR}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strncmp(name, table[i].name, strlen(table[i].name)))
			return table[i].value;
	return 0;
}

/* Files that need function sites, which this program has none of, or that Fathom does not have at all. */
static int left_out(const char *file)
{
	static const char *const names[] = {"set_ftrace_",
					    "set_graph_",
					    "max_graph_depth",
					    "kprobe",
					    "uprobe",
					    "synthetic",
					    "dynamic_events",
					    "stack_trace",
					    "available_filter_functions",
					    "enabled_functions",
					    "options/funcgraph",
					    "options/func_stack_trace"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(file, names[i], strlen(names[i])))
			return 1;
	return 0;
}

/* Lines where Fathom has fewer clocks or tracers than that kernel. */
static int differs(const char *line)
{
	return strstr(line, "\"perf") || strstr(line, "\"function");
}

static char last_file[128];

static void replay_write(const char *line, const char *op, const char *file)
{
	uint32_t flags = FATHOM_O_WRONLY | (op[0] == 'w' ? FATHOM_O_TRUNC : 0);
	const char *quote = strchr(line, '"'), *end = strstr(line, " -> ");
	static char value[8192];
	struct fathom_node node;
	struct fathom_file f;
	size_t n;
	int ret, want, got;

	if (!strcmp(op, "big")) {
		n = strtoul(line + 47, NULL, 10);
		memset(value, 'x', n);
		flags |= FATHOM_O_TRUNC;
	} else {
		n = (size_t)(end - quote - 2);
		memcpy(value, quote + 1, n);
		value[n] = '\0';
		n = unescape(value);
	}
	end += 4;
	ret = fathom_fs_lookup(file, &node);
	if (!ret)
		ret = fathom_fs_open(&f, &node, flags);
	if (!strncmp(end, "open: ", 6)) {
		CHECK(ret == -errno_of(end + 6) || ret == -ENOENT);
		return;
	}
	if (ret) {
		printf("  %s: open %d\n", line, ret);
		test_failures++;
		return;
	}
	want = strstr(end, "/") ? atoi(end + 7) : -errno_of(end + 7);
	got = fathom_fs_write(&f, value, n);
	fathom_fs_close(&f);
	if (got != want) {
		printf("  %s: got %d\n", line, got);
		test_failures++;
	}
}

static void replay_read(const char *line, const char *file, uint32_t flags)
{
	const char *end = strstr(line, " -> ") + 4;
	struct fathom_node node;
	struct fathom_file f;
	char buf[4096];
	int ret = fathom_fs_lookup(file, &node);

	if (!ret)
		ret = fathom_fs_open(&f, &node, flags);
	if (!ret) {
		ret = fathom_fs_read(&f, buf, sizeof(buf));
		fathom_fs_close(&f);
	}
	if (ret != -errno_of(strchr(end, ' ') + 1)) {
		printf("  %s: got %d\n", line, ret);
		test_failures++;
	}
}

/* `   now: 1 2 `: what the file reads as, its newlines as blanks. */
static void replay_now(const char *line)
{
	const char *want = strstr(line, "now: ") + 5;
	static char got[1 << 20];
	size_t n;

	if (strstr(line, "total:") || !strncmp(last_file, "saved_cmdlines", 14))
		return; /* sizes are the machine's */
	snprintf(got, sizeof(got), "%s", get(last_file));
	for (n = 0; got[n]; n++)
		if (got[n] == '\n')
			got[n] = ' ';
	while (n && got[n - 1] == ' ')
		got[--n] = '\0';
	n = strlen(want);
	while (n && (want[n - 1] == ' ' || want[n - 1] == '\n'))
		n--;
	if (strlen(got) != n || memcmp(got, want, n) != 0) {
		printf("  %s: want [%.*s], got [%s]\n", last_file, (int)n, want, got);
		test_failures++;
	}
}

TEST(errno_table)
{
	FILE *in = fopen("test/data/tracefs/errno.txt", "r");
	char line[512], op[16], file[128];
	int lines = 0;

	start();
	CHECK(in != NULL);
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "# poll"))
			break; /* the rest is of system calls: test/control/answers.py */
		if (!strncmp(line, "   now:", 7)) {
			if (!left_out(last_file))
				replay_now(line);
			continue;
		}
		if (!strstr(line, " -> ") || sscanf(line, "%15s %127s", op, file) != 2)
			continue;
		snprintf(last_file, sizeof(last_file), "%s", file);
		if (left_out(file) || differs(line))
			continue;
		lines++;
		if (!strcmp(op, "r") || !strcmp(op, "rn"))
			replay_read(line, file, op[1] ? FATHOM_O_NONBLOCK : 0);
		else if (!strcmp(op, "w") || !strcmp(op, "wn") || !strcmp(op, "a") ||
			 !strcmp(op, "W") || !strcmp(op, "big"))
			replay_write(line, op, file);
	}
	if (in)
		fclose(in);
	printf("  %d lines\n", lines);
	CHECK(lines > 120);
}

TEST(switches)
{
	start();
	CHECK_STR(get("tracing_on"), "1\n");
	CHECK_EQ(put("tracing_on", "0"), 0);
	CHECK_STR(get("tracing_on"), "0\n");
	CHECK_EQ(put("tracing_on", "1"), 0);
	CHECK_STR(get("current_tracer"), "nop\n");
	CHECK(!strstr(get("available_tracers"), "function")); /* nothing here has sites */
	CHECK_EQ(put("current_tracer", "function"), -EINVAL);
	CHECK_EQ(put("options/func_stack_trace", "1"), -ENOENT);
	CHECK_STR(get("trace_clock"), "[local] global uptime perf\n");
	CHECK_EQ(put("nosuch", "1"), -ENOENT);
	CHECK_EQ(put("events/nosuch/enable", "1"), -ENOENT);
	CHECK_STR(get("events/enable"), "0\n");
	CHECK_EQ(put("events/sched/sched_switch/enable", "1"), 0);
	CHECK_STR(get("events/enable"), "X\n");
	CHECK_STR(get("events/sched/enable"), "X\n");
	CHECK_STR(get("set_event"), "sched:sched_switch\n");
	CHECK_EQ(put("events/enable", "0"), 0);
	CHECK_EQ(put("set_event", "nosuch"), -EINVAL); /* without a blank behind it, too */
	CHECK_EQ(put("set_event", "sched:nosuch\n"), -EINVAL);
	CHECK_EQ(put("set_event", "sched:sched_switch"), 0);
	CHECK_STR(get("set_event"), "sched:sched_switch\n");
	CHECK_EQ(put("set_event", ""), 0);
	CHECK_STR(get("set_event"), "");
}

static double number_behind(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	return at ? strtod(at + strlen(what), NULL) : -1;
}

/* Of what is there: not of what was cleared before. */
TEST(oldest_event)
{
	double first;

	start();
	CHECK_EQ(put("trace_marker", "old"), 0);
	CHECK_EQ(put("trace", ""), 0);
	usleep(20000);
	CHECK_EQ(put("trace_marker", "new"), 0);
	first = number_behind(get("trace"), "[000] .....");
	CHECK(first > 0);
	first -= number_behind(get("per_cpu/cpu0/stats"), "oldest event ts:");
	CHECK(first > -0.000002 && first < 0.000002);
	CHECK_EQ(put("trace", ""), 0);
	CHECK(strstr(get("per_cpu/cpu0/stats"), "oldest event ts:     0.000000\n") != NULL);
}

static int put_bytes(const char *path, const char *bytes, size_t n)
{
	struct fathom_node node;
	struct fathom_file f;
	int ret = fathom_fs_lookup(path, &node);

	if (!ret)
		ret = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_TRUNC);
	if (ret)
		return ret;
	ret = fathom_fs_write(&f, bytes, n);
	fathom_fs_close(&f);
	return ret;
}

/* write(fd, "1", sizeof("1")): what Linux reads is a string, and the NUL its end. */
TEST(nul_ends_a_value)
{
	start();
	CHECK_EQ(put_bytes("tracing_on", "0", 2), 2);
	CHECK_STR(get("tracing_on"), "0\n");
	CHECK_EQ(put_bytes("tracing_on", "1\0garbage", 9), 9);
	CHECK_STR(get("tracing_on"), "1\n");
	CHECK_EQ(put_bytes("tracing_on", "", 1), -EINVAL);
	CHECK_EQ(put_bytes("options/sym-addr", "1", 2), 2);
	CHECK_EQ(put_bytes("trace_options", "nosym-addr", 11), 11);
	CHECK_STR(get("options/sym-addr"), "0\n");
	CHECK_EQ(put_bytes("trace_clock", "global", 7), 7);
	CHECK_EQ(put_bytes("events/sched/sched_switch/filter", "prev_pid > 3", 13), 13);
	CHECK_STR(get("events/sched/sched_switch/filter"), "prev_pid > 3\n");
	CHECK_EQ(put_bytes("events/sched/sched_switch/trigger", "traceoff", 9), 9);
	CHECK_EQ(put_bytes("events/sched/sched_switch/trigger", "!traceoff", 10), 10);
	CHECK_EQ(put_bytes("set_event", "sched:sched_switch", 19), 19);
	CHECK_STR(get("set_event"), "sched:sched_switch\n");
	CHECK_EQ(put_bytes("trace_marker", "a\0b", 3), 3);
}

/* More tasks than names are kept: each has its name in the trace, from its first line on. */
TEST(many_tasks)
{
	struct fathom_node node;
	const char *text;

	start();
	CHECK_EQ(fathom_fs_lookup("trace_marker", &node), 0);
	for (int32_t pid = 1; pid <= 2000; pid++) {
		struct fathom_file f;

		CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_WRONLY), 0);
		f.pid = pid;
		CHECK_EQ(fathom_fs_write(&f, "here", 4), 4);
		fathom_fs_close(&f);
	}
	text = get("trace");
	CHECK(strstr(text, " task-2000-2000 "));
	CHECK(!strstr(text, "<...>"));
}

/* A process has only the pages that were touched: the tree takes what the rings left, and uses little of it. */
TEST(memory_that_is_not_used_is_not_touched)
{
	struct fathom_node node;
	size_t touched = 0;

	memset(memory, 0xa5, sizeof(memory));
	start();
	CHECK_EQ(fathom_fs_lookup("trace", &node), 0);
	for (size_t page = 0; page < sizeof(memory); page += 4096)
		for (size_t i = 0; i < 4096; i++)
			if (memory[page + i] != (char)0xa5) {
				touched++;
				break;
			}
	CHECK(touched < 64); /* of 2048 */
}

TEST_MAIN
