/* SPDX-License-Identifier: MIT */
/* tools_names.c -- fuzz target: tables of names: kallsyms, saved_cmdlines, saved_tgids, printk_formats, NAME.symt. */
#include <stdlib.h>
#include <string.h>

#include "decode/btb/names_int.h"

static void symbols(const char *text, size_t n, bool table)
{
	struct symbols *t = symbols_new();
	char id[BUILD_ID_TEXT];
	char *copy = strndup(text, n);
	struct symbol s;

	if (table)
		btb_symt_add(t, "fuzz", copy, id);
	else
		symbols_add_kallsyms(t, text, n);
	for (uint64_t a = 1; a; a <<= 1)
		symbols_find(t, a, ALIAS_FIRST, &s);
	for (size_t i = 0; symbols_at(t, i, &s) && i < 100; i++)
		symbols_find(t, s.start + s.size, ALIAS_FIRST, &s);
	symbols_free(t);
	free(copy);
}

static void tasks(const char *text, size_t n, bool tgids)
{
	struct tasks *t = tasks_new();

	if (tgids)
		tasks_add_tgids(t, text, n);
	else
		tasks_add_cmdlines(t, text, n);
	for (int32_t pid = -2; pid < 100; pid++) {
		tasks_comm(t, pid);
		tasks_tgid(t, pid);
	}
	tasks_free(t);
}

static void printks(const char *text, size_t n)
{
	struct printks *t = printks_new();

	printks_add_text(t, text, n);
	for (uint64_t a = 1; a; a <<= 1)
		printks_find(t, a);
	printks_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size < 2)
		return 0;
	switch (data[0] % 5) {
	case 0: symbols(text, size - 1, false); break;
	case 1: symbols(text, size - 1, true); break;
	case 2: tasks(text, size - 1, false); break;
	case 3: tasks(text, size - 1, true); break;
	default: printks(text, size - 1); break;
	}
	return 0;
}
