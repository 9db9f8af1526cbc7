/* SPDX-License-Identifier: MIT */
/* fields.h -- stage 5: fathom_setup_<class>(): the table of fields that the format file and filters read. */
/* clang-format off */
#include "fathom/inside/stages/undef.h"

#define TP_printk(fmt, args...)
#define FATHOM_SIGNED(type) (((type)(-1)) < (type)1)
/* The table is local to a function so that one name, fathom_rec, can mean this class's record. */
#define FATHOM_FIELD(text, item, member, nr_bytes, sign, how)                             \
	{.type = text,                                                                    \
	 .name = #item,                                                                   \
	 .offset = offsetof(fathom_rec, member),                                          \
	 .size = nr_bytes,                                                                \
	 .is_signed = sign,                                                               \
	 .hint = how},

#define __field_ext(_type, item, hint) \
	FATHOM_FIELD(#_type, item, item, sizeof(_type), FATHOM_SIGNED(_type), hint)
#define __field(type, item) __field_ext(type, item, FATHOM_FIELD_OTHER)
#define __field_struct_ext(_type, item, hint) FATHOM_FIELD(#_type, item, item, sizeof(_type), 0, hint)
#define __field_struct(type, item)	      __field_struct_ext(type, item, FATHOM_FIELD_OTHER)
#define __array(_type, item, len)                                                      \
	FATHOM_FIELD(#_type "[" FATHOM_STR(len) "]", item, item, sizeof(_type[len]), \
		     FATHOM_SIGNED(_type), FATHOM_FIELD_OTHER)
#define __field_as(_type, text, item) \
	FATHOM_FIELD(text, item, item, sizeof(_type), FATHOM_SIGNED(_type), FATHOM_FIELD_OTHER)
#define __array_as(_type, text, item, len)                                                 \
	FATHOM_FIELD(text "[" FATHOM_STR(len) "]", item, item, sizeof(_type[len]), \
		     FATHOM_SIGNED(_type), FATHOM_FIELD_OTHER)
#define __dynamic_array(_type, item, len)                                   \
	FATHOM_FIELD("__data_loc " #_type "[]", item, __data_loc_##item, 4, \
		     FATHOM_SIGNED(_type), FATHOM_FIELD_OTHER)
#define __string(item, src)	     __dynamic_array(char, item, -1)
#define __string_len(item, src, len) __dynamic_array(char, item, -1)
#define __vstring(item, fmt, ap)     __dynamic_array(char, item, -1)
#define __bitmask(item, nr_bits)     __dynamic_array(unsigned long, item, -1)
#define __cpumask(item)                                                                      \
	FATHOM_FIELD("__data_loc cpumask_t[]", item, __data_loc_##item, 4, 0, FATHOM_FIELD_OTHER)
#define __sockaddr(item, len) __dynamic_array(uint8_t, item, len)
#define __rel_dynamic_array(_type, item, len)                             \
	FATHOM_FIELD("__rel_loc " #_type "[]", item, __rel_loc_##item, 4, \
		     FATHOM_SIGNED(_type), FATHOM_FIELD_OTHER)
#define __rel_string(item, src)		 __rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len) __rel_dynamic_array(char, item, -1)
#define __rel_bitmask(item, nr_bits)	 __rel_dynamic_array(unsigned long, item, -1)
#define __rel_cpumask(item)                                                                \
	FATHOM_FIELD("__rel_loc cpumask_t[]", item, __rel_loc_##item, 4, 0, FATHOM_FIELD_OTHER)
#define __rel_sockaddr(item, len) __rel_dynamic_array(uint8_t, item, len)

#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)                      \
	static FATHOM_NOTRACE __attribute__((__unused__)) void fathom_evsetup_##call(struct fathom_event *ev)    \
	{                                                                                   \
		typedef struct trace_event_raw_##call fathom_rec;                           \
		static const struct fathom_field fields[] = {tstruct{.name = NULL}};        \
                                                                                            \
		(void)sizeof(fathom_rec);                                                   \
		ev->fields = fields;                                                        \
		ev->nr_fields = sizeof(fields) / sizeof(fields[0]) - 1;                     \
	}
