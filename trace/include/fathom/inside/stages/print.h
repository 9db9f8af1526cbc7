/* SPDX-License-Identifier: MIT */
/* print.h -- stage 4: fathom_print_<class>(): the record as text, from TP_printk. */
/* clang-format off */
#include "fathom/inside/stages/undef.h"

#define __entry			field /* Linux's name */
#define TP_printk(fmt, args...) fathom_text_printf(fathom_p->out, fmt, ##args)

#define FATHOM_LOC(item) ((void *)((char *)__entry + (__entry->__data_loc_##item & 0xffff)))
#define FATHOM_RLOC(item)                                                                     \
	((void *)((char *)&__entry->__rel_loc_##item + sizeof(uint32_t) +                     \
		  (__entry->__rel_loc_##item & 0xffff)))
#define __get_dynamic_array(item)	  FATHOM_LOC(item)
#define __get_dynamic_array_len(item)	  (__entry->__data_loc_##item >> 16 & 0xffff)
#define __get_str(item)			  ((char *)FATHOM_LOC(item))
#define __get_rel_dynamic_array(item)	  FATHOM_RLOC(item)
#define __get_rel_dynamic_array_len(item) (__entry->__rel_loc_##item >> 16 & 0xffff)
#define __get_rel_str(item)		  ((char *)FATHOM_RLOC(item))
#define __get_bitmask(item) \
	fathom_print_bitmask(p, FATHOM_LOC(item), __get_dynamic_array_len(item))
#define __get_cpumask(item) __get_bitmask(item)
#define __get_rel_bitmask(item) \
	fathom_print_bitmask(p, FATHOM_RLOC(item), __get_rel_dynamic_array_len(item))
#define __get_rel_cpumask(item)	 __get_rel_bitmask(item)
#define __get_sockaddr(item)	 FATHOM_LOC(item)
#define __get_rel_sockaddr(item) FATHOM_RLOC(item)
#define __get_buf(len)		 fathom_print_room(p, len)

#define FATHOM_TABLE(values...) \
	static const struct fathom_symbol fathom_symbols[] = {values, {0, NULL}}
#define __print_flags(flags, delim, values...)                                             \
	({                                                                                 \
		FATHOM_TABLE(values);                                                      \
		fathom_print_flags(p, delim, (unsigned long)(flags), fathom_symbols);      \
	})
#define __print_flags_u64(flags, delim, values...)                                         \
	({                                                                                 \
		FATHOM_TABLE(values);                                                      \
		fathom_print_flags(p, delim, (uint64_t)(flags), fathom_symbols);           \
	})
#define __print_symbolic(value, values...)                                                 \
	({                                                                                 \
		FATHOM_TABLE(values);                                                      \
		fathom_print_symbolic(p, (unsigned long)(value), fathom_symbols);          \
	})
#define __print_symbolic_u64(value, values...)                                             \
	({                                                                                 \
		FATHOM_TABLE(values);                                                      \
		fathom_print_symbolic(p, (uint64_t)(value), fathom_symbols);               \
	})
#define __print_hex(buf, len)	  fathom_print_hex(p, buf, (size_t)(len), 1)
#define __print_hex_str(buf, len) fathom_print_hex(p, buf, (size_t)(len), 0)
#define __print_array(array, count, el_size) \
	fathom_print_array(p, array, (size_t)(count), (size_t)(el_size))
#define __print_dynamic_array(item, el_size)                                                     \
	fathom_print_array(p, FATHOM_LOC(item), __get_dynamic_array_len(item) / (el_size), el_size)
#define __print_hex_dump(prefix, prefix_type, row, group, buf, len, ascii) \
	fathom_print_hex(p, buf, (size_t)(len), 1)
#define __print_ns_to_secs(value) fathom_ns_secs((uint64_t)(value), NULL)
#define __print_ns_without_secs(value)                             \
	({                                                         \
		uint32_t fathom_rest;                              \
		fathom_ns_secs((uint64_t)(value), &fathom_rest);   \
		fathom_rest;                                       \
	})

#define FATHOM_PRINT(call, class, print)                                             \
	static FATHOM_NOTRACE __attribute__((__unused__)) void fathom_evprint_##call(struct fathom_print *fathom_p) \
	{                                                                             \
		fathom_evraw_##class *__entry __attribute__((__unused__)) =    \
			(void *)fathom_p->record;                                     \
		struct fathom_text *p __attribute__((__unused__)) = fathom_p->tmp;        \
		/* Linux's output functions have it, and spmi.h prints it. */         \
		int ret __attribute__((__unused__)) = 1;                              \
                                                                                      \
		print;                                                                \
	}
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print) \
	FATHOM_PRINT(call, call, PARAMS(print))
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print) \
	FATHOM_PRINT(name, template, PARAMS(print))
