/* SPDX-License-Identifier: MIT */
/* sample_events.h -- events that use every field macro and print helper once. */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sample

#if !defined(TEST_SAMPLE_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define TEST_SAMPLE_EVENTS_H

#include "fathom/tracepoint.h"

#ifndef TEST_SAMPLE_ONCE
#define TEST_SAMPLE_ONCE
enum sample_kind { SAMPLE_NONE, SAMPLE_RED = 5, SAMPLE_BLUE = -3 };
#define SAMPLE_LEN 4
enum { SAMPLE_ENUM_LEN = 3 };
struct sample_point { int32_t x, y; };
extern int sample_reg_calls, sample_reg_answer;
int sample_reg(void);
void sample_unreg(void);
#endif

TRACE_DEFINE_ENUM(SAMPLE_RED);
TRACE_DEFINE_ENUM(SAMPLE_BLUE);
TRACE_DEFINE_ENUM(SAMPLE_ENUM_LEN);
TRACE_DEFINE_SIZEOF(int);

TRACE_EVENT(sample_fields,
	TP_PROTO(int a, const char *text, const uint16_t *list, int count, struct sample_point at),
	TP_ARGS(a, text, list, count, at),
	TP_STRUCT__entry(
		__field(	uint8_t,		byte			)
		__field_ext(	unsigned long,		where,	FATHOM_FIELD_FUNCTION)
		__field_struct(	struct sample_point,	at			)
		__array(	int,			fixed,	SAMPLE_LEN	)
		__array(	char,			few,	SAMPLE_ENUM_LEN	)
		__string(	text,			text			)
		__dynamic_array(uint16_t,		list,	count		)
		__rel_string(	rel,			text			)
		__bitmask(	mask,			70			)
	),
	TP_fast_assign(
		unsigned long bits[2] = { 0x5, 0x20 };

		__entry->byte = (uint8_t)a;
		__entry->where = 0x1000;
		__entry->at = at;
		for (int i = 0; i < SAMPLE_LEN; i++)
			__entry->fixed[i] = a + i;
		for (int i = 0; i < SAMPLE_ENUM_LEN; i++)
			__entry->few[i] = (char)('a' + i);
		__assign_str(text, text);
		for (int i = 0; i < count; i++)
			((uint16_t *)__get_dynamic_array(list))[i] = list[i];
		__assign_rel_str(rel, text);
		__assign_bitmask(mask, bits, 70);
	),
	TP_printk("byte=%u at=%d,%d fixed=%s text=%s list=%s len=%d rel=%s mask=%s hex=%s str=%s",
		  __entry->byte, __entry->at.x, __entry->at.y,
		  __print_array(__entry->fixed, SAMPLE_LEN, sizeof(int)),
		  __get_str(text),
		  __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / 2, 2),
		  __get_dynamic_array_len(list), __get_rel_str(rel), __get_bitmask(mask),
		  __print_hex(__entry->few, SAMPLE_ENUM_LEN), __print_hex_str(__entry->few, SAMPLE_ENUM_LEN))
);

TRACE_EVENT(sample_symbols,
	TP_PROTO(int kind, unsigned long flags),
	TP_ARGS(kind, flags),
	TP_STRUCT__entry(
		__field(int, kind)
		__field(unsigned long, flags)
	),
	TP_fast_assign(
		__entry->kind = kind;
		__entry->flags = flags;
	),
	TP_printk("kind=%s flags=%s SAMPLE_RED",
		  __print_symbolic(__entry->kind, { SAMPLE_RED, "red" }, { SAMPLE_BLUE, "SAMPLE_BLUE" }),
		  __print_flags(__entry->flags, "|", { 1, "A" }, { 2, "B" }, { 12, "CD" }))
);

TRACE_EVENT_CONDITION(sample_even,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_CONDITION(n % 2 == 0),
	TP_STRUCT__entry(__field(int, n)),
	TP_fast_assign(__entry->n = n;),
	TP_printk("n=%d", __entry->n)
);

TRACE_EVENT_FN(sample_fn,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_STRUCT__entry(__field(int, n)),
	TP_fast_assign(__entry->n = n;),
	TP_printk("n=%d", __entry->n),
	sample_reg, sample_unreg
);

DECLARE_EVENT_CLASS(sample_class,
	TP_PROTO(uint64_t a, uint64_t b),
	TP_ARGS(a, b),
	TP_STRUCT__entry(
		__field_as(uint64_t, "u64", a)
		__field_as(uint64_t, "u64", b)
	),
	TP_fast_assign(
		__entry->a = a;
		__entry->b = b;
	),
	TP_printk("a=%llu b=%llu", (unsigned long long)__entry->a, (unsigned long long)__entry->b)
);
DEFINE_EVENT(sample_class, sample_one, TP_PROTO(uint64_t a, uint64_t b), TP_ARGS(a, b));
DEFINE_EVENT_PRINT(sample_class, sample_two, TP_PROTO(uint64_t x, uint64_t y), TP_ARGS(x, y),
	TP_printk("sum=%llu", (unsigned long long)(__entry->a + __entry->b)));

TRACE_EVENT(sample_blob,
	TP_PROTO(uint32_t bytes),
	TP_ARGS(bytes),
	TP_STRUCT__entry(__dynamic_array(uint8_t, blob, bytes)),
	TP_fast_assign(),
	TP_printk("bytes=%d", __get_dynamic_array_len(blob))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH test/unit
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sample_events
#include "fathom/define_trace.h"
