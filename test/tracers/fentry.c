/* SPDX-License-Identifier: MIT */
/* fentry.c -- the tracers of a program whose text cannot be written: -pg -mfentry and a flag test, with gcc's table or without. */
#include "fathom/instrument.h"
#include "fathom/tracer.h"
#include "fathom_port.h"
#include "harness.h"
#include "port.h"
#include "traced.h"

FATHOM_INSTRUMENT_FENTRY;

/* `name{` and `}` of the graph records, ` name` of function records. */
static const char *taken(void)
{
	static char text[8192];
	struct fathom_record r;
	size_t len = 0;

	text[0] = 0;
	while (fathom_ring_consume(fathom_ring_of(0), &r) && len < sizeof(text) - 64) {
		uint16_t type = *(const uint16_t *)r.data;
		uintptr_t offset, size, func;
		const char *name;

		memcpy(&func, (const uint8_t *)r.data + 8, sizeof(func));
		name = port_symbol(func, &offset, &size);
		if (type == WIRE_ID_FUNCGRAPH_EXIT)
			name = "}";
		len += (size_t)sprintf(text + len, type == WIRE_ID_FUNCTION ? " %s" : "%s", name);
		if (type == WIRE_ID_FUNCGRAPH_ENTRY)
			text[len++] = '{', text[len] = 0;
	}
	return text;
}

static int has_table(void)
{
	return fathom_function_count() != 0;
}

TEST(not_ready)
{
	CHECK_EQ(fathom_tracer_set("function"), -FATHOM_ENOSYS);
	cyg_mid(1);
	CHECK_STR(taken(), "");
}

TEST(function)
{
	fathom_instrument_ready_fentry();
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
	for (int i = 0; i < 100; i++)
		CHECK_EQ(cyg_catcher(3), 11);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	CHECK(strstr(taken(),
		     "cyg_mid{cyg_leaf{}cyg_leaf{}}cyg_recurse{cyg_recurse{cyg_recurse{}}}"));
	taken();
}

/* With gcc's table functions can be chosen, and counted. */
TEST(sets_and_profile)
{
	static char page[4096];
	struct fathom_text t;
	int line = 0;

	if (!has_table()) {
		CHECK(fathom_function_set_write(FATHOM_SET_FILTER, "cyg_leaf", 8) < 0);
		CHECK_EQ(fathom_profile_set(1), -FATHOM_ENOSYS);
		return;
	}
	CHECK_EQ(fathom_function_set_write(FATHOM_SET_FILTER, "cyg_leaf", 8), 0);
	CHECK_EQ(fathom_tracer_set("function"), 0);
	cyg_mid(1);
	CHECK_EQ(fathom_tracer_set("nop"), 0);
	CHECK_STR(taken(), " cyg_leaf cyg_leaf");
	fathom_function_set_clear(FATHOM_SET_FILTER);
	CHECK_EQ(fathom_profile_set(1), 0);
	cyg_mid(1);
	CHECK_EQ(fathom_profile_set(0), 0);
	fathom_text_init(&t, page, sizeof(page));
	while (fathom_profile_line(0, (uint32_t)line, &t))
		line++;
	CHECK_EQ(line, 4);
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
