/* SPDX-License-Identifier: MIT */
/* known.c -- a process that traces its own calls of the demo kernel's known functions: OUT TRACER OPTION..., for arguments.py. */
#include <stdio.h>
#include "../../demo/kernel/known.h"
#include "fathom/fs.h"
#include "fathom_user.h"

static int set(const char *file, const char *value)
{
	int err = fathom_set(file, value);

	if (err)
		fprintf(stderr, "%s: %s: error %d\n", file, value, -err);
	return err;
}

int main(int argc, char **argv)
{
	static char text[65536];
	char line[256];
	int err;
	long n;

	if (argc < 3)
		return 2;
	snprintf(line, sizeof(line), "tracer=nop,quiet,cpus=2,buffer_kb=256,out=%s", argv[1]);
	err = fathom_user_start(line) || set("set_ftrace_filter", "known_*");
	for (int i = 3; i < argc && !err; i++) {
		snprintf(line, sizeof(line), "options/%s", argv[i]);
		err = set(line, "1");
	}
	err = err || set("current_tracer", argv[2]);
	if (err)
		return 1;
	known_calls();
	set("tracing_on", "0");
	n = fathom_get("trace", text, sizeof(text));
	fwrite(text, 1, n > 0 ? (size_t)n : 0, stdout);
	fathom_user_stop();
	return 0;
}
