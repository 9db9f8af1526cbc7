/* SPDX-License-Identifier: MIT */
/* unpatched.h -- what holds for every program whose text is not patched; READY() tells the library that it calls. */
#include "fathom/instrument.h"
#include "functions/tracer.h"
#include "fathom_port.h"
#include "harness.h"
#include "port.h"
#include "traced.h"

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

TEST(not_ready)
{
	CHECK_EQ(fathom_tracer_set("function"), -FATHOM_ENOSYS);
	CHECK_STR(fathom_tracer_current()->name, "nop");
	cyg_mid(1);
	CHECK_STR(taken(), "");
}

TEST(function)
{
	READY();
	CHECK_EQ(fathom_tracer_set("function"), 0);
	CHECK_EQ(cyg_mid(1), 6);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	cyg_mid(1);
	CHECK_STR(taken(), " cyg_mid cyg_leaf cyg_leaf");
}

TEST(graph)
{
	CHECK_EQ(fathom_tracer_set("function_graph"), 0);
	CHECK_EQ(cyg_mid(1), 6);
	CHECK_EQ(cyg_recurse(2), 2);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	CHECK_STR(taken(), "cyg_mid{cyg_leaf{}cyg_leaf{}}cyg_recurse{cyg_recurse{cyg_recurse{}}}");
}
