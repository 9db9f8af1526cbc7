/* SPDX-License-Identifier: MIT */
/* tools_protos.c -- prototypes from BTF: kinds, names, places; and from BTF that is damaged at any byte. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

TEST_MAIN
