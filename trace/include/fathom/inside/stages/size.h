/* SPDX-License-Identifier: MIT */
/* size.h -- stage 3: fathom_size_<class>(): the bytes behind the fixed part, and the offset of each piece. */
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

/* Lengths are cut to what 16 bits hold; a record of that size is refused by the ring anyway, and counted. */
#define FATHOM_PIECE(item, nr_bytes, base)                                            \
	fathom_bytes = fathom_piece_bytes(nr_bytes);                                  \
	fathom_offsets->item =                                                        \
		(uint32_t)(fathom_data + offsetof(__typeof__(*fathom_entry), __data) - (base)) | \
		fathom_bytes << 16;                                                   \
	fathom_data += fathom_bytes;
#define FATHOM_REL(item) (offsetof(__typeof__(*fathom_entry), __rel_loc_##item) + sizeof(uint32_t))

#define __dynamic_array(type, item, len) FATHOM_PIECE(item, (len) * sizeof(type), 0)
#define __string(item, src)                                                  \
	fathom_offsets->item##_src = fathom_string((const char *)(src));     \
	FATHOM_PIECE(item, fathom_strlen(fathom_offsets->item##_src) + 1, 0)
#define __string_len(item, src, len)                         \
	fathom_offsets->item##_src = (const char *)(src);    \
	FATHOM_PIECE(item, (len) + 1, 0)
#define __vstring(item, fmt, ap) FATHOM_PIECE(item, fathom_vlen(fmt, ap) + 1, 0)
#define __bitmask(item, nr_bits) FATHOM_PIECE(item, FATHOM_MASK_BYTES(nr_bits), 0)
#define __cpumask(item)		 FATHOM_PIECE(item, FATHOM_MASK_BYTES(FATHOM_LINUX_CPUS), 0)
#define __sockaddr(item, len)	 FATHOM_PIECE(item, len, 0)

#define __rel_dynamic_array(type, item, len) \
	FATHOM_PIECE(item, (len) * sizeof(type), FATHOM_REL(item))
#define __rel_string(item, src)                                              \
	fathom_offsets->item##_src = fathom_string((const char *)(src));     \
	FATHOM_PIECE(item, fathom_strlen(fathom_offsets->item##_src) + 1, FATHOM_REL(item))
#define __rel_string_len(item, src, len)                     \
	fathom_offsets->item##_src = (const char *)(src);    \
	FATHOM_PIECE(item, (len) + 1, FATHOM_REL(item))
#define __rel_bitmask(item, nr_bits) FATHOM_PIECE(item, FATHOM_MASK_BYTES(nr_bits), FATHOM_REL(item))
#define __rel_cpumask(item) \
	FATHOM_PIECE(item, FATHOM_MASK_BYTES(FATHOM_LINUX_CPUS), FATHOM_REL(item))
#define __rel_sockaddr(item, len) FATHOM_PIECE(item, len, FATHOM_REL(item))

#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)                             \
	static inline FATHOM_NOTRACE __attribute__((__unused__, __always_inline__)) uint32_t fathom_evsize_##call(          \
		struct fathom_evoffsets_##call *fathom_offsets, proto)                               \
	{                                                                                          \
		uint32_t fathom_data = 0;                                                          \
		uint32_t fathom_bytes __attribute__((__unused__));                                     \
		struct trace_event_raw_##call *fathom_entry __attribute__((__unused__));               \
                                                                                                   \
		(void)fathom_offsets;                                                              \
		tstruct return fathom_data;                                                        \
	}
