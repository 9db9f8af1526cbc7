/* SPDX-License-Identifier: MIT */
/* instrument.c -- the tracers of a program whose text is not patched: -finstrument-functions. */
#include "fathom/instrument.h"
#include "fathom/tracer.h"
#include "fathom_port.h"
#include "harness.h"
#include "port.h"
#include "traced.h"

FATHOM_INSTRUMENT_FUNCTIONS

/* `name{` and `}` of the graph records, ` name` of function records. */
static const char *taken(void)
{
	static char text[8192];
	struct fathom_record r;
	size_t len = 0;

	text[0] = 0;
	while (fathom_ring_consume(fathom_ring_of(0), &r) && len < sizeof(text) - 64) {
		uintptr_t offset, size, func;
		const char *name;

		memcpy(&func, (const uint8_t *)r.data + 8, sizeof(func));
		name = port_symbol(func, &offset, &size);
		switch (*(const uint16_t *)r.data) {
		case WIRE_ID_FUNCTION: len += (size_t)sprintf(text + len, " %s", name); break;
		case WIRE_ID_FUNCGRAPH_ENTRY:
			len += (size_t)sprintf(text + len, "%s{", name);
			break;
		default: len += (size_t)sprintf(text + len, "}"); break;
		}
	}
	return text;
}

TEST(instrument_not_ready)
{
	CHECK_EQ(fathom_tracer_set("function"), -FATHOM_ENOSYS);
	CHECK_STR(fathom_tracer_current()->name, "nop");
	cyg_mid(1);
	CHECK_STR(taken(), "");
}

TEST(instrument_function)
{
	fathom_instrument_ready();
	CHECK_EQ(fathom_tracer_set("function"), 0);
	CHECK_EQ(cyg_mid(1), 6);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	cyg_mid(1);
	CHECK_STR(taken(), " cyg_mid cyg_leaf cyg_leaf");
}

TEST(instrument_graph)
{
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
	CHECK_EQ(cyg_mid(1), 6);
	CHECK_EQ(cyg_recurse(2), 2);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	CHECK_STR(taken(), "cyg_mid{cyg_leaf{}cyg_leaf{}}cyg_recurse{cyg_recurse{cyg_recurse{}}}");
}

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
