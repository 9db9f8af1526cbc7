/* SPDX-License-Identifier: MIT */
/* probe.h -- stage 6: fathom_evrecord_<class>() and fathom_evcold_<class>(): reserve, assign, commit. */
/* clang-format off */
#include "fathom/inside/stages/undef.h"

#define TP_printk(fmt, args...)
#define __entry entry /* Linux's name; headers use it */
#define __field(type, item)
#define __field_ext(type, item, hint)
#define __field_struct(type, item)
#define __field_struct_ext(type, item, hint)
#define __array(type, item, len)
#define __field_as(type, text, item)
#define __array_as(type, text, item, len)
#define __dynamic_array(type, item, len)     __entry->__data_loc_##item = fathom_offsets.item;
#define __string(item, src)		     __dynamic_array(char, item, -1)
#define __string_len(item, src, len)	     __dynamic_array(char, item, -1)
#define __vstring(item, fmt, ap)	     __dynamic_array(char, item, -1)
#define __bitmask(item, nr_bits)	     __dynamic_array(char, item, -1)
#define __cpumask(item)			     __dynamic_array(char, item, -1)
#define __sockaddr(item, len)		     __dynamic_array(char, item, -1)
#define __rel_dynamic_array(type, item, len) __entry->__rel_loc_##item = fathom_offsets.item;
#define __rel_string(item, src)		     __rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len)     __rel_dynamic_array(char, item, -1)
#define __rel_bitmask(item, nr_bits)	     __rel_dynamic_array(char, item, -1)
#define __rel_cpumask(item)		     __rel_dynamic_array(char, item, -1)
#define __rel_sockaddr(item, len)	     __rel_dynamic_array(char, item, -1)

#define __get_dynamic_array(item)	  FATHOM_LOC(item)
#define __get_dynamic_array_len(item)	  (__entry->__data_loc_##item >> 16 & 0xffff)
#define __get_str(item)			  ((char *)FATHOM_LOC(item))
#define __get_bitmask(item)		  FATHOM_LOC(item)
#define __get_cpumask(item)		  FATHOM_LOC(item)
#define __get_sockaddr(item)		  FATHOM_LOC(item)
#define __get_rel_dynamic_array(item)	  FATHOM_RLOC(item)
#define __get_rel_dynamic_array_len(item) (__entry->__rel_loc_##item >> 16 & 0xffff)
#define __get_rel_str(item)		  ((char *)FATHOM_RLOC(item))
#define __get_rel_bitmask(item)		  FATHOM_RLOC(item)
#define __get_rel_cpumask(item)		  FATHOM_RLOC(item)
#define __get_rel_sockaddr(item)	  FATHOM_RLOC(item)

/* Linux before 6.10 names the source again, later ones do not: both are understood. */
#define FATHOM_SRC(item, src...) FATHOM_SRC1(item, ##src, fathom_offsets.item##_src)
#define FATHOM_SRC1(item, src, more...) fathom_string((const char *)(src))
#define __assign_str(item, src...)                                  \
	fathom_assign_str(__get_str(item), FATHOM_SRC(item, ##src), \
			  __get_dynamic_array_len(item));
#define __assign_str_len(item, src, len) \
	fathom_assign_str(__get_str(item), fathom_string((const char *)(src)), (uint32_t)(len) + 1);
#define __assign_vstr(item, fmt, ap) \
	fathom_assign_vstr(__get_str(item), __get_dynamic_array_len(item), fmt, ap)
#define __assign_bitmask(item, src, nr_bits) \
	wire_copy(FATHOM_LOC(item), src, FATHOM_MASK_BYTES(nr_bits))
#define __assign_cpumask(item, src) \
	wire_copy(FATHOM_LOC(item), src, __get_dynamic_array_len(item))
#define __assign_sockaddr(item, src, len) wire_copy(FATHOM_LOC(item), src, len)
#define __assign_rel_str(item, src...)                                  \
	fathom_assign_str(__get_rel_str(item), FATHOM_SRC(item, ##src), \
			  __get_rel_dynamic_array_len(item));
#define __assign_rel_str_len(item, src, len)                                       \
	fathom_assign_str(__get_rel_str(item), fathom_string((const char *)(src)), \
			  (uint32_t)(len) + 1);
#define __assign_rel_bitmask(item, src, nr_bits) \
	wire_copy(FATHOM_RLOC(item), src, FATHOM_MASK_BYTES(nr_bits))
#define __assign_rel_cpumask(item, src) \
	wire_copy(FATHOM_RLOC(item), src, __get_rel_dynamic_array_len(item))
#define __assign_rel_sockaddr(item, src, len) wire_copy(FATHOM_RLOC(item), src, len)
#define __perf_count(c) (c)
#define __perf_task(t)	(t)
#define __perf_addr(a)	(a)

/* The second is called when the event is on and nothing else: if that is not all, the first does it. */
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)                          \
	static FATHOM_NOTRACE __attribute__((__unused__, __noinline__, __cold__)) void fathom_evcold_##call(                \
		struct fathom_event *fathom_ev, proto)                                          \
	{                                                                                       \
		struct fathom_emit fathom_e;                                                    \
		struct fathom_evoffsets_##call fathom_offsets __attribute__((__unused__));          \
		fathom_evraw_##call *__entry;                                                   \
                                                                                                \
		__entry = fathom_emit_cold(                                                      \
			fathom_ev,                                                              \
			(uint32_t)sizeof(*__entry) + fathom_evsize_##call(&fathom_offsets, args), \
			&fathom_e);                                                             \
		if (!__entry)                                                                   \
			return;                                                                 \
		tstruct {assign;} fathom_emit_cold_end(fathom_ev, &fathom_e);                    \
	}                                                                                       \
	static FATHOM_NOTRACE __attribute__((__unused__)) void fathom_evrecord_##call(                             \
		struct fathom_event *fathom_ev, proto)                                          \
	{                                                                                       \
		struct fathom_evoffsets_##call fathom_offsets __attribute__((__unused__));          \
		fathom_evraw_##call *__entry;                                                   \
		uint32_t fathom_bytes = (uint32_t)sizeof(*__entry) +                            \
					fathom_evsize_##call(&fathom_offsets, args);            \
		struct fathom_try fathom_t;                                                     \
                                                                                                \
		__entry = fathom_emit_try(fathom_ev, fathom_bytes, &fathom_t);                  \
		if (FATHOM_UNLIKELY(!__entry)) {                                                \
			fathom_evcold_##call(fathom_ev, args);                                   \
			return;                                                                 \
		}                                                                               \
		tstruct {assign;} fathom_emit_try_end(&fathom_t, fathom_bytes);                 \
	}
