/* SPDX-License-Identifier: MIT */
/* boot.c -- tracing from the kernel's command line: fathom_boot(). */
#include "wire/cold.h"
#include "wire/div.h"
#include "control/control.h"
#include "control/str.h"
#include "fathom/fs.h"
#include "fathom/trace.h"

/*
 * Each option is a file of the tree, and its value what would be written there. They take effect in the order of this table,
 * wherever they stand: a tracer starts with its filters, and events go into a buffer of the right size and clock.
 */
enum boot_kind {
	BOOT_VALUE, /* one value */
	BOOT_LIST,  /* words between commas, each written alone */
	BOOT_SIZE,  /* bytes, with K, M or G; the file wants KiB */
	BOOT_FLAG,  /* the bare name writes 1 */
	BOOT_INSTANCE,
};

static const struct boot_option {
	const char *name, *path;
	enum boot_kind kind;
} boot_options[] = {
	{"trace_clock", "trace_clock", BOOT_VALUE},
	{"trace_buf_size", "buffer_size_kb", BOOT_SIZE},
	{"trace_options", "trace_options", BOOT_LIST},
	{"trace_instance", "instances", BOOT_INSTANCE},
	{"ftrace_filter", "set_ftrace_filter", BOOT_LIST},
	{"ftrace_notrace", "set_ftrace_notrace", BOOT_LIST},
	{"ftrace_graph_filter", "set_graph_function", BOOT_LIST},
	{"ftrace_graph_notrace", "set_graph_notrace", BOOT_LIST},
	{"tp_printk", "tracepoint_printk", BOOT_FLAG},
	{"trace_event", "set_event", BOOT_LIST},
	{"ftrace", "current_tracer", BOOT_VALUE},
};

#define BOOT_PATH (FATHOM_NAME_MAX + 32)

/* A piece of the command line. */
struct boot_text {
	const char *at;
	size_t len;
};

static int boot_write(const char *path, struct boot_text value, uint32_t flags)
{
	struct fathom_node node;
	struct fathom_file f;
	char line[sizeof(f.token)];
	int err = fathom_fs_lookup(path, &node);

	if (value.len >= sizeof(line))
		return -FATHOM_E2BIG;
	if (!err)
		err = fathom_fs_open(&f, &node, FATHOM_O_WRONLY | flags);
	if (err)
		return err;
	__builtin_memcpy(line, value.at, value.len);
	line[value.len] = '\n'; /* it ends a word */
	err = fathom_fs_write(&f, line, value.len + 1);
	fathom_fs_close(&f);
	return err < 0 ? err : 0;
}

/* The text up to the next of `ends`, which is taken away with it. */
static struct boot_text boot_cut(struct boot_text *rest, char end)
{
	size_t n = ctl_find(rest->at, rest->len, end);
	struct boot_text word = {rest->at, n};

	n += n < rest->len;
	rest->at += n;
	rest->len -= n;
	return word;
}

static int boot_list(const char *path, struct boot_text list)
{
	int last = 0;

	while (list.len) {
		struct boot_text word = boot_cut(&list, ',');
		int err = word.len ? boot_write(path, word, FATHOM_O_APPEND) : 0;

		last = err ? err : last;
	}
	return last;
}

/* 8M: 8192 */
static int boot_size(const char *path, struct boot_text value)
{
	static const char units[] = "KMG";
	struct fathom_text t;
	char digits[24];
	uint64_t v;
	size_t unit = value.len ? ctl_find(units, 3, value.at[value.len - 1] & ~0x20) : 3;
	int err = fathom_ctl_number(value.at, value.len - (unit < 3), 10, &v);

	if (err || v > UINT64_MAX >> 30)
		return err ? err : -FATHOM_ERANGE;
	v = unit < 3 ? wire_shl(v, 10 * (uint32_t)unit) : v >> 10;
	fathom_text_init(&t, digits, sizeof(digits));
	fathom_text_u64(&t, v, 0, ' ');
	return boot_write(path, (struct boot_text){digits, t.len}, FATHOM_O_TRUNC);
}

/* NAME[^traceoff][,EVENT...] */
static int boot_instance(struct boot_text value)
{
	struct boot_text name = boot_cut(&value, ','), flags = name;
	struct fathom_node dir;
	struct fathom_text t;
	char path[BOOT_PATH];
	size_t base;
	int err = fathom_fs_lookup("instances", &dir);

	name = boot_cut(&flags, '^');
	if (!err)
		err = fathom_fs_mkdir(&dir, name.at, name.len);
	if (err == -FATHOM_EEXIST) /* boot_map, or one that was given before */
		err = 0;
	if (err)
		return err;
	fathom_text_init(&t, path, sizeof(path) - 1);
	fathom_text_str(&t, "instances/");
	fathom_text_bytes(&t, name.at, name.len);
	base = t.len;
	fathom_text_str(&t, "/tracing_on");
	path[t.len] = '\0';
	if (ctl_is(flags.at, flags.len, "traceoff"))
		err = boot_write(path, (struct boot_text){"0", 1}, FATHOM_O_TRUNC);
	else if (flags.len)
		err = -FATHOM_EINVAL;
	t.len = base;
	fathom_text_str(&t, "/set_event");
	path[t.len] = '\0';
	return err ? err : boot_list(path, value);
}

static int boot_apply(const struct boot_option *o, struct boot_text value)
{
	switch (o->kind) {
	case BOOT_LIST: return boot_list(o->path, value);
	case BOOT_SIZE: return boot_size(o->path, value);
	case BOOT_INSTANCE: return boot_instance(value);
	case BOOT_FLAG: return boot_write(o->path, (struct boot_text){"1", 1}, FATHOM_O_TRUNC);
	default: return boot_write(o->path, value, FATHOM_O_TRUNC);
	}
}

static void boot_complain(struct boot_text word, int err)
{
	char line[128];
	struct fathom_text t;

	if (!fathom_core.config.sink)
		return;
	fathom_text_init(&t, line, sizeof(line));
	fathom_text_str(&t, "fathom: error ");
	fathom_text_u64(&t, (uint64_t)-err, 0, ' ');
	fathom_text_str(&t, ": ");
	fathom_text_bytes(&t, word.at, word.len < 80 ? word.len : 80);
	fathom_text_char(&t, '\n');
	fathom_core.config.sink(fathom_core.config.sink_arg, line, t.len);
}

/* The next word; blanks between quotation marks are its own: trace_event="sched irq". */
static struct boot_text boot_word(const char **at)
{
	struct boot_text word;
	int quoted = 0;

	while (ctl_space(**at))
		++*at;
	word.at = *at;
	for (; **at && (quoted || !ctl_space(**at)); ++*at)
		quoted ^= **at == '"';
	word.len = (size_t)(*at - word.at);
	return word;
}

static int boot_option(const struct boot_option *o, const char *line)
{
	struct boot_text word;
	int failed = 0;

	for (word = boot_word(&line); word.len; word = boot_word(&line)) {
		struct boot_text value = word, name = boot_cut(&value, '=');
		int err;

		if (!ctl_is(name.at, name.len, o->name) ||
		    (name.len == word.len) != (o->kind == BOOT_FLAG))
			continue;
		if (value.len > 1 && *value.at == '"' && value.at[value.len - 1] == '"')
			value = (struct boot_text){value.at + 1, value.len - 2};
		err = boot_apply(o, value);
		if (err)
			boot_complain(word, err);
		failed += err != 0;
	}
	return failed;
}

int fathom_boot(const char *line)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(boot_options) / sizeof(boot_options[0]); i++)
		failed += boot_option(&boot_options[i], line);
	return failed;
}
