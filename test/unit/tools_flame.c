/* SPDX-License-Identifier: MIT */
/* tools_flame.c -- the tree behind a flame graph: sums, names, and what it leaves out when only a picture is wanted. */
#include "harness.h"
#include "view/flame.h"

static const struct flame_node *child_named(const struct flame *f, uint32_t parent,
					    const char *name)
{
	for (uint32_t c = f->node[parent].child; c; c = f->node[c].sibling)
		if (f->name[f->node[c].name].bytes == strlen(name) &&
		    !memcmp(f->name[f->node[c].name].text, name, strlen(name)))
			return &f->node[c];
	return NULL;
}

TEST(lines_are_summed)
{
	static const char text[] =
		"a;b 1\na;b;c 2\na 4\n\n# no stack\nx y;z 8\na;b 16\nbad line\r\na;bb 32\r\n";
	struct flame *f = flame_new();
	const struct flame_node *a;

	CHECK_EQ(flame_add_folded(f, text, sizeof(text) - 1, "test", false, false), 1);
	flame_finish(f, 0);
	CHECK_EQ(f->node[0].total, 63);
	a = child_named(f, 0, "a");
	CHECK(a && a->total == 55 && a->self == 4);
	CHECK(child_named(f, 0, "x y") != NULL);
	CHECK(a && child_named(f, (uint32_t)(a - f->node), "b")->total == 19);
	CHECK(a && child_named(f, (uint32_t)(a - f->node), "bb")->total == 32);
	flame_free(f);
}

TEST(reversed_lines_begin_at_the_leaf)
{
	static const char text[] = "a;b;c 2\nd;c 3\n";
	struct flame *f = flame_new();

	flame_add_folded(f, text, sizeof(text) - 1, "test", true, false);
	flame_finish(f, 0);
	CHECK(child_named(f, 0, "c") && child_named(f, 0, "c")->total == 5);
	CHECK(!child_named(f, 0, "a"));
	flame_free(f);
}

/* Three million frames that each are nothing, and one that is half of all. */
TEST(a_picture_keeps_what_can_be_seen)
{
	enum {
		LEAVES = 3000000
	};
	static char names[LEAVES][8];
	struct flame *f = flame_new();
	const struct flame_node *wide;

	f->seen_only = true;
	for (uint32_t i = 0; i < LEAVES; i++) {
		struct flame_frame v[2] = {{"narrow", 6, FLAME_USER}, {names[i], 7, FLAME_USER}};
		struct flame_frame w = {"wide", 4, FLAME_KERNEL};

		snprintf(names[i], 8, "%07u", i);
		flame_add(f, v, 2, 1, 1, false);
		flame_add(f, &w, 1, 1, 1, false);
	}
	flame_finish(f, 0);
	CHECK(f->nr < 2100000);
	CHECK_EQ(f->nr - 1 + f->pruned, LEAVES + 2);
	CHECK_EQ(f->node[0].total, 2 * LEAVES);
	wide = child_named(f, 0, "wide");
	CHECK(wide && wide->total == LEAVES);
	CHECK(child_named(f, 0, "narrow") && child_named(f, 0, "narrow")->total == LEAVES);
	flame_free(f);
}

TEST_MAIN
