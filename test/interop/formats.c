/* SPDX-License-Identifier: MIT */
/* formats.c -- linked with the kernel's own event headers: each event's format file against the one Linux printed. */
#include <stdio.h>
#include <string.h>
#include "fathom/inside/event.h"
#include "fathom/trace.h"

/* What the headers' code refers to. */
struct task_struct *current;
unsigned long jiffies;

static char memory[128 * 1024] __attribute__((aligned(4096)));

/* Both texts without their ID line; 1 if equal. */
static int same(char *a, char *b)
{
	char *texts[] = {a, b};

	for (int i = 0; i < 2; i++) {
		char *id = strstr(texts[i], "\nID: "), *end = id ? strchr(id + 1, '\n') : NULL;

		if (end)
			memmove(id, end, strlen(end) + 1);
	}
	return !strcmp(a, b);
}

int main(int argc, char **argv)
{
	struct fathom_config config = {
		.memory = memory, .memory_bytes = sizeof(memory), .nr_cpus = 1};
	int bad = 0, compared = 0;

	if (argc != 2 || fathom_init(&config))
		return 2;
	for (uint32_t i = 0; i < fathom_event_count(); i++) {
		const struct fathom_event *ev = fathom_event_at(i);
		char path[512], want[16384], got[16384];
		struct fathom_text t;
		size_t n;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s-%s.format", argv[1], ev->system, ev->name);
		f = fopen(path, "r");
		if (!f || !strcmp(ev->system, "ftrace"))
			continue;
		n = fread(want, 1, sizeof(want) - 1, f);
		want[n] = 0;
		fclose(f);
		fathom_text_init(&t, got, sizeof(got));
		fathom_event_format(ev, &t);
		fathom_text_cstr(&t);
		compared++;
		if (same(got, want)) {
			printf("ok kernels_own_%s\n", ev->name);
		} else {
			printf("not ok kernels_own_%s: format differs\n[%s]\n[%s]\n", ev->name, got,
			       want);
			bad = 1;
		}
	}
	return bad || compared < 10;
}
