/* SPDX-License-Identifier: MIT */
/* instrument.c -- the tracers of a program whose text is not patched: -finstrument-functions. */
#define READY fathom_instrument_ready
#include "unpatched.h"

FATHOM_INSTRUMENT_FUNCTIONS

TEST(instrument_longjmp)
{
	struct fathom_tracer_stats a, b;

	fathom_tracer_stats(&a);
	fathom_tracer_set("function_graph");
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(cyg_catcher(3), 11);
	fathom_tracer_set("nop");
	fathom_tracer_stats(&b);
	CHECK_EQ(b.shadow_full - a.shadow_full, 0);
	CHECK_EQ(b.unwound - a.unwound, 4000);
	taken();
}

int main(int argc, char **argv)
{
	if (port_init(1))
		return 1;
	fathom_port_cpu();
	return test_main(argc, argv);
}
