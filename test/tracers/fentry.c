/* SPDX-License-Identifier: MIT */
/* fentry.c -- the tracers of a program whose text cannot be written: -pg -mfentry and a flag test, with gcc's table or without. */
#define READY fathom_instrument_ready_fentry
#include "unpatched.h"
#include "top.h"

FATHOM_INSTRUMENT_FENTRY;

static int has_table(void)
{
	return fathom_function_count() != 0;
}

TEST(longjmp)
{
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(cyg_catcher(3), 11);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	taken();
}

/* With gcc's table functions can be chosen, and counted. */
TEST(sets_and_profile)
{
	static char page[4096];
	struct fathom_text t;
	static uint32_t order[256];

	if (!has_table()) {
		CHECK(top_set_write(FATHOM_SET_FILTER, "cyg_leaf", 8) < 0);
		CHECK_EQ(fathom_profile_set(1), -FATHOM_ENOSYS);
		return;
	}
	CHECK_EQ(top_set_write(FATHOM_SET_FILTER, "cyg_leaf", 8), 0);
	CHECK_EQ(fathom_tracer_set("function"), 0);
	cyg_mid(1);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	CHECK_STR(taken(), " cyg_leaf cyg_leaf");
	top_set_clear(FATHOM_SET_FILTER);
	CHECK_EQ(fathom_profile_set(1), 0);
	cyg_mid(1);
	CHECK_EQ(fathom_profile_set(0), 0);
	fathom_text_init(&t, page, sizeof(page));
	CHECK(fathom_function_count() <= sizeof(order) / sizeof(order[0]));
	CHECK_EQ(fathom_profile_order(0, order), 2);
	for (int i = 0; i < 2; i++)
		fathom_profile_line(0, order[i], &t);
	CHECK(strstr(fathom_text_cstr(&t), "  cyg_leaf                                 2 ") !=
	      NULL);
	CHECK_EQ(fathom_instrument_on, 0);
}

int main(int argc, char **argv)
{
	port_read_only = 1;
	if (port_init(1))
		return 1;
	fathom_port_cpu();
	return test_main(argc, argv);
}
