/* SPDX-License-Identifier: MIT */
/* offsets.h -- stage 2: struct fathom_offsets_<class>, where a record's dynamic parts lie and where they come from. */
/* clang-format off */
#include "fathom/inside/stages/undef.h"

#define TP_printk(fmt, args...)
#define __field(type, item)
#define __field_ext(type, item, hint)
#define __field_struct(type, item)
#define __field_struct_ext(type, item, hint)
#define __array(type, item, len)
#define __field_as(type, text, item)
#define __array_as(type, text, item, len)
#define __dynamic_array(type, item, len) \
	uint32_t item;                   \
	const void *item##_src;
#define __string(item, src)		     __dynamic_array(char, item, -1)
#define __string_len(item, src, len)	     __dynamic_array(char, item, -1)
#define __vstring(item, fmt, ap)	     __dynamic_array(char, item, -1)
#define __bitmask(item, nr_bits)	     __dynamic_array(char, item, -1)
#define __cpumask(item)			     __dynamic_array(char, item, -1)
#define __sockaddr(item, len)		     __dynamic_array(char, item, -1)
#define __rel_dynamic_array(type, item, len) __dynamic_array(char, item, -1)
#define __rel_string(item, src)		     __dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len)     __dynamic_array(char, item, -1)
#define __rel_bitmask(item, nr_bits)	     __dynamic_array(char, item, -1)
#define __rel_cpumask(item)		     __dynamic_array(char, item, -1)
#define __rel_sockaddr(item, len)	     __dynamic_array(char, item, -1)

#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print) \
	struct fathom_evoffsets_##call {                                 \
		tstruct uint8_t fathom_none;                           \
	};
