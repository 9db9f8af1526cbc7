/* SPDX-License-Identifier: MIT */
/* tools_protos.c -- prototypes from BTF: kinds, names, places; and from BTF that is damaged at any byte; types without end in DWARF. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decode/names/protos.h"
#include "harness.h"

#define KIND(k, nr) ((uint32_t)(k) << 24 | (nr))

/* int f(t x, void *p, enum e e, struct s s, ...) */
static const char strings[] =
	"\0int\0e\0LOW\0HIGH\0t\0s\0f\0x\0p"; /* 1, 5, 7, 11, 16, 18, 20, 22, 24 */
static const uint32_t types[] = {
	1,
	KIND(1, 0),
	4,
	1u << 24 | 32, /* 1: int, signed */
	0,
	KIND(2, 0),
	0, /* 2: void * */
	5,
	KIND(6, 2) | 1u << 31,
	4,
	7,
	(uint32_t)-2,
	11,
	3, /* 3: enum e { LOW = -2, HIGH = 3 } */
	16,
	KIND(8, 0),
	1, /* 4: typedef int t */
	18,
	KIND(4, 0),
	16, /* 5: struct s of 16 bytes */
	20,
	KIND(12, 1),
	7, /* 6: f */
	0,
	KIND(13, 5),
	1,
	22,
	4,
	24,
	2,
	5,
	3,
	18,
	5,
	0,
	0, /* 7: its prototype, the last: what follows it is not its own */
};

static uint8_t btf[24 + sizeof(types) + sizeof(strings)];

static void make(void)
{
	const uint32_t head[6] = {0x0001eb9f, 24, 0, sizeof(types), sizeof(types), sizeof(strings)};

	memcpy(btf, head, sizeof(head));
	memcpy(btf + 24, types, sizeof(types));
	memcpy(btf + 24 + sizeof(types), strings, sizeof(strings));
}

TEST(btf_prototype)
{
	struct protos *t = protos_new();
	const struct proto *p;

	make();
	CHECK_EQ(protos_add_btf(t, btf, sizeof(btf), 8), 0);
	p = protos_find(t, "f", 0x1000);
	CHECK(p != NULL);
	if (!p)
		return;
	CHECK_EQ(p->nr, 4); /* what comes after them has no type */
	CHECK_EQ(p->ret.kind, PROTO_INT);
	CHECK(p->ret.is_signed && p->ret.bytes == 4 && p->is_btf);
	CHECK_STR(p->param[0].name, "x");
	CHECK_EQ(p->param[0].type.kind, PROTO_INT);
	CHECK_EQ(p->param[1].type.kind, PROTO_POINTER);
	CHECK_EQ(p->param[2].type.nr_values, 2);
	CHECK_EQ(p->param[2].type.values[0].value, -2);
	CHECK_STR(p->param[2].type.values[1].name, "HIGH");
	CHECK_EQ(p->param[3].type.kind, PROTO_RECORD);
	CHECK_EQ(p->param[3].first, 3);
	CHECK_EQ(p->param[3].words, 2);
	CHECK(protos_find(t, "f", 0x1000) == p);
	CHECK(protos_find(t, "g", 0x2000) == NULL);
	protos_free(t);
}

/* Each byte replaced by what turns lengths, kinds and references over; the bytes lie in memory of their own, for the sanitizer. */
TEST(btf_damaged)
{
	static const uint8_t wrong[] = {0, 1, 2, 6, 8, 13, 19, 0x7f, 0x80, 0xff};
	unsigned found = 0, refused = 0;

	make();
	for (size_t at = 0; at < sizeof(btf); at++) {
		for (size_t k = 0; k < sizeof(wrong); k++) {
			struct protos *t = protos_new();
			uint8_t *copy = malloc(sizeof(btf));

			memcpy(copy, btf, sizeof(btf));
			copy[at] = wrong[k];
			if (protos_add_btf(t, copy, sizeof(btf), 8))
				refused++;
			else
				found += protos_find(t, "f", 1) != NULL;
			protos_free(t);
			free(copy);
		}
	}
	CHECK(found > 100 && refused > 100);
	for (size_t n = 0; n < sizeof(btf); n++) {
		struct protos *t = protos_new();
		uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, btf, n);
		CHECK(protos_add_btf(t, copy, n, 8) != 0);
		protos_free(t);
		free(copy);
	}
}

/*
 * f(a), whose argument is of a type that is told in parts: abbreviations 4 typedef, 5 array, 6 struct, 7 member; each after the
 * label that others name it by.
 */
static const char dwarf_head[] =
	".text; .globl f; .type f,@function; f: .byte 0; .Lfe: .size f, 1\n"
	".section .debug_abbrev,\"\",@progbits; .La:\n"
	".byte 1,0x11,1,3,8,0x11,1,0x12,7,0,0\n"
	".byte 2,0x2e,1,3,8,0x27,0x19,0x11,1,0x12,7,0,0\n"
	".byte 3,5,0,3,8,0x49,0x13,0,0\n"
	".byte 4,0x16,0,3,8,0x49,0x13,0,0\n"
	".byte 5,1,0,0x49,0x13,0,0\n"
	".byte 6,0x13,1,3,8,0xb,0xb,0,0\n"
	".byte 7,0xd,0,3,8,0x49,0x13,0,0\n"
	".byte 0\n"
	".section .debug_info,\"\",@progbits; .Lcu: .long .Le-.Ls; .Ls: .short 4; .long .La; .byte "
	"8\n"
	".byte 1; .string \"x.c\"; .quad f, 1\n"
	".byte 2; .string \"f\"; .quad f, 1; .byte 3; .string \"a\"; .long .Ltype-.Lcu; .byte 0\n";

/* The type ".Ltype:". How many parameters f has with it; -1: not known. */
static int dwarf_params(const char *type)
{
	char path[] = "/tmp/fathom_protos_XXXXXX", command[128];
	int fd = mkstemp(path), nr = -1;
	struct protos *t = protos_new();
	const struct proto *p;
	FILE *cc;

	snprintf(command, sizeof(command), "cc -shared -nostdlib -x assembler - -o %s", path);
	cc = popen(command, "w");
	CHECK(fd >= 0 && cc != NULL);
	fprintf(cc, "%s%s .byte 0; .Le:\n", dwarf_head, type);
	CHECK_EQ(pclose(cc), 0);
	CHECK_EQ(protos_add_file(t, path, 8), 0);
	/* A library may lie anywhere: by whole pages. */
	for (uint64_t at = 0; at < 0x1000 && nr < 0; at++) {
		p = protos_find(t, "f", 0x7000 + at);
		nr = p ? (int)p->nr : -1;
	}
	protos_free(t);
	close(fd);
	unlink(path);
	return nr;
}

/* Types that consist of themselves, or of very many: they end. */
TEST(dwarf_types_without_end)
{
	char wide[8192];
	size_t n = 0;

	CHECK_EQ(dwarf_params(".Ltype: .byte 6; .string \"s\"; .byte 8; .byte 0\n"), 1);
	CHECK_EQ(dwarf_params(".Ltype: .byte 4; .string \"t\"; .long .Lu-.Lcu\n"
			      ".Lu: .byte 4; .string \"u\"; .long .Ltype-.Lcu\n"),
		 1);
	CHECK_EQ(dwarf_params(".Ltype: .byte 6; .string \"s\"; .byte 8\n"
			      ".byte 7; .string \"m\"; .long .Lu-.Lcu; .byte 0\n"
			      ".Lu: .byte 5; .long .Lu-.Lcu\n"),
		 1);
	CHECK_EQ(dwarf_params(".Ltype: .byte 6; .string \"s\"; .byte 8\n"
			      ".byte 7; .string \"m\"; .long .Ltype-.Lcu; .byte 0\n"),
		 1);
	n += (size_t)snprintf(wide, sizeof(wide), ".Ltype: ");
	for (unsigned i = 0; i < 8; i++)
		n += (size_t)snprintf(wide + n, sizeof(wide) - n,
				      ".L%u: .byte 6; .string \"s\"; .byte 8; .rept 100\n"
				      ".byte 7; .string \"m\"; .long .L%u-.Lcu\n.endr; .byte 0\n",
				      i, i + 1);
	snprintf(wide + n, sizeof(wide) - n, ".L8: .byte 6; .string \"s\"; .byte 8; .byte 0\n");
	CHECK_EQ(dwarf_params(wide), 1);
}

TEST_MAIN
