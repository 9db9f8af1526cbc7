/* SPDX-License-Identifier: MIT */
/* merge.c -- fathom merge: two traces on one time line, as a trace.dat. */
#include "base/diag.h"
#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "store/join.h"
#include "store/writer.h"

#include <inttypes.h>

static const char *output, *offset_text, *at_text, *buffer;
static const char *as_b, *symbols_b, *meta_b;
static struct option_choice version = {.names = "7 or 6"};
static uint64_t hz_a, hz_b;
static bool align, force;

static const struct option_spec own[] = {
	{"output", 'o', "FILE", "the trace.dat to write; default: merged.dat", OPTION_STRING,
	 &output, NULL},
	{"clock-a", 0, "HZ", "ticks per second of A, if it counts ticks", OPTION_NUMBER, &hz_a,
	 NULL},
	{"clock-b", 0, "HZ", "ticks per second of B, if it counts ticks", OPTION_NUMBER, &hz_b,
	 NULL},
	{"offset", 0, "NS", "nanoseconds to add to the times of B; may be negative", OPTION_STRING,
	 &offset_text, NULL},
	{"at", 0, "TA=TB", "the time TA of A, in nanoseconds, is TB of B", OPTION_STRING, &at_text,
	 NULL},
	{"align", 0, NULL, "both begin at the same time", OPTION_FLAG, &align, NULL},
	{"as-b", 0, "FORMAT", "read B as this format", OPTION_STRING, &as_b, NULL},
	{"symbols-b", 0, "FILE", "symbols of B", OPTION_STRING, &symbols_b, NULL},
	{"meta-b", 0, "FILE", "the file that describes B, if it is not beside it", OPTION_STRING,
	 &meta_b, NULL},
	{"into-buffer", 0, "NAME", "B into a buffer of this name, not onto further CPUs",
	 OPTION_STRING, &buffer, NULL},
	{"file-version", 0, "V", "of the trace.dat: 6 or 7 (default: 7)", OPTION_CHOICE, &version,
	 NULL},
	{"force", 'f', NULL, "overwrite FILE if it exists", OPTION_FLAG, &force, NULL},
	{0},
};

static const struct command_spec spec = {
	.name = "merge",
	.args = "A B",
	.about = "Two traces on one time line: a hypervisor's and its guest's, a kernel's and a "
		 "device's.\n"
		 "The CPUs of B follow those of A; the times of B become times of A by the "
		 "relation given.",
	.more = "examples:\n"
		"  fathom merge trace.dat ftrace.bin --clock-b 1000000000 --offset -1500\n"
		"  fathom merge trace.dat tracedata --as-b sel4-tii --clock-b 2000000000 --at "
		"500=120",
	.own = own,
	.shared = OPTIONS_SOURCE,
	.min_args = 2,
	.max_args = 2,
};

static int write_out(struct source *s, const char *path)
{
	const struct scan_choice all = SCAN_ALL;
	struct writer_options w = {
		.version = version.at ? 6 : 7, .compression = COMPRESS_ZSTD, .choice = &all};
	uint64_t too_large = 0;
	struct output out;
	int err = output_open(&out, path, !force);

	if (!err)
		err = output_close(&out, writer_tracedat(s, &w, out.f, &too_large));
	if (too_large)
		diag_warn("%" PRIu64 " events are larger than a page and were skipped", too_large);
	return output_error(path, err) ? EXIT_FAIL : EXIT_OK;
}

static int join(struct options *o)
{
	struct join_options j = {.buffer = buffer};
	const struct source_options ob = {.as = as_b, .symbols = symbols_b, .meta = meta_b};
	struct source *a = NULL, *b = NULL, *s;
	struct join_relation r = {
		.hz = {hz_a, hz_b}, .offset = offset_text, .at = at_text, .align = align};
	int rc;

	if (!join_relate(&r, &j.clock))
		return EXIT_USAGE;
	if (source_open(o->args[0], &o->source, &a))
		return EXIT_FAIL;
	if (source_open(o->args[1], &ob, &b) || !join_has_clock(a, hz_a, "--clock-a") ||
	    !join_has_clock(b, hz_b, "--clock-b")) {
		source_close(a);
		source_close(b);
		return EXIT_FAIL;
	}
	s = join_open(a, b, &j);
	if (!s)
		return EXIT_FAIL;
	rc = write_out(s, output ? output : "merged.dat");
	source_close(s);
	return rc;
}

int cmd_merge(int argc, char **argv)
{
	struct options o;
	int rc = options_parse(&spec, argc, argv, &o);

	if (rc == OPTIONS_GO) {
		rc = join(&o);
		options_close(&o);
	}
	return rc;
}
