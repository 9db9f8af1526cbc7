/* SPDX-License-Identifier: MIT */
/* struct.h -- stage 1: the record's layout, struct trace_event_raw_<class>. */
/* clang-format off */
#include "fathom/inside/stages/undef.h"

#define TP_printk(fmt, args...)
#define __field(type, item)		       type item;
#define __field_ext(type, item, hint)	       type item;
#define __field_struct(type, item)	       type item;
#define __field_struct_ext(type, item, hint)   type item;
#define __array(type, item, len)	       type item[len];
#define __field_as(type, text, item)	       type item; /* not in Linux: `text` is the format file's type */
#define __array_as(type, text, item, len)      type item[len];
#define __dynamic_array(type, item, len)       uint32_t __data_loc_##item;
#define __string(item, src)		       uint32_t __data_loc_##item;
#define __string_len(item, src, len)	       uint32_t __data_loc_##item;
#define __vstring(item, fmt, ap)	       uint32_t __data_loc_##item;
#define __bitmask(item, nr_bits)	       uint32_t __data_loc_##item;
#define __cpumask(item)			       uint32_t __data_loc_##item;
#define __sockaddr(item, len)		       uint32_t __data_loc_##item;
#define __rel_dynamic_array(type, item, len)   uint32_t __rel_loc_##item;
#define __rel_string(item, src)		       uint32_t __rel_loc_##item;
#define __rel_string_len(item, src, len)       uint32_t __rel_loc_##item;
#define __rel_bitmask(item, nr_bits)	       uint32_t __rel_loc_##item;
#define __rel_cpumask(item)		       uint32_t __rel_loc_##item;
#define __rel_sockaddr(item, len)	       uint32_t __rel_loc_##item;

/* A record lies at the ring's alignment, which may be less than the struct's own: access goes through fathom_raw_<class>. */
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print) \
	struct trace_event_raw_##call {                                \
		struct wire_common ent;                                \
		tstruct char __data[];                                 \
	};                                                             \
	typedef struct trace_event_raw_##call fathom_evraw_##call        \
		__attribute__((__aligned__(FATHOM_RING_ALIGN)));
