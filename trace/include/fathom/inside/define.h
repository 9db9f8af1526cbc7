/* SPDX-License-Identifier: MIT */
/* define.h -- the registry's entries, and TRACE_DEFINE: one list is the arguments, the record, the format and the text. */
/* clang-format off */
/* GNU's variadic macros and Linux's `;` behind TRACE_EVENT() are no business of a pedantic includer. */
#pragma GCC system_header
#ifndef FATHOM_DEFINE_H
#define FATHOM_DEFINE_H

#include "fathom/inside/print.h"

/* Pointers, not structs: x86-64 gcc pads structs in a section, and the table would have holes. */
#define FATHOM_REGISTER(event)                                                               \
	static struct fathom_event *const fathom_evptr_##event                                 \
		__attribute__((__section__("fathom_events"), __used__, FATHOM_RETAIN)) = &event;
#define FATHOM_ENUM(text, number) FATHOM_ENUM1(FATHOM_CAT(fathom_evenum_, __COUNTER__), text, number)
#define FATHOM_ENUM1(id, text, number) FATHOM_ENUM2(id, text, number)
#define FATHOM_ENUM2(id, text, number)                                                       \
	static const struct fathom_enum id = {.system = FATHOM_STR(TRACE_SYSTEM),                  \
					.name = text,                                        \
					.value = (int64_t)(number)};                         \
	static const struct fathom_enum *const id##_ptr                                      \
		__attribute__((__section__("fathom_enums"), __used__, FATHOM_RETAIN)) = &id;
#define FATHOM_CAT1(a, b) a##b
#define FATHOM_CAT(a, b)  FATHOM_CAT1(a, b)

/*
 *	TRACE_DEFINE(sched, frame_alloc, "frame=%lu cpu=%u", (U64, frame), (U32, cpu))
 *
 * declares trace_frame_alloc(uint64_t frame, uint32_t cpu); in the one file that says `#define CREATE_TRACE_POINTS`
 * before, it defines the event too. It may stand in a C file or in a header with a plain guard; define_trace.h is not
 * needed. Types: U8 U16 U32 U64 S8 S16 S32 S64 PTR STR (a string, copied). Up to ten fields. A number takes
 * any integer form of the print format: it is 64 bits wide there on every machine.
 */
#define TRACE_DEFINE FATHOM_TRACE_DEFINE
#define FATHOM_TRACE_DEFINE(system, name, fmt, ...)   \
	FATHOM_SHORT_DECLARE(name, ##__VA_ARGS__)     \
	FATHOM_CAT(FATHOM_SHORT_, CREATE_TRACE_POINTS)(#system, #name, name, fmt, ##__VA_ARGS__)
#define FATHOM_SHORT_CREATE_TRACE_POINTS(system, text, name, fmt, ...) /* not here: declared only */
#define FATHOM_SHORT_1 FATHOM_SHORT_

/*
 * Per type: kind, C type, its name in the format file, its sign. A kernel may have macros called U32, NUM or SIZE: types go
 * down to FATHOM_K_##type unexpanded (always behind ##), and no other name here is a word of its own.
 */
#define FATHOM_K_U8 _NUM, uint8_t, "u8", 0
#define FATHOM_K_U16 _NUM, uint16_t, "u16", 0
#define FATHOM_K_U32 _NUM, uint32_t, "u32", 0
#define FATHOM_K_U64 _NUM, uint64_t, "u64", 0
#define FATHOM_K_S8 _NUM, int8_t, "s8", 1
#define FATHOM_K_S16 _NUM, int16_t, "s16", 1
#define FATHOM_K_S32 _NUM, int32_t, "s32", 1
#define FATHOM_K_S64 _NUM, int64_t, "s64", 1
#define FATHOM_K_PTR _PTR, const void *, "const void *", 0
#define FATHOM_K_STR _STR, const char *, "__data_loc char[]", FATHOM_CHAR_SIGNED
#define FATHOM_CHAR_SIGNED ((char)-1 < 0)
#define FATHOM_OP(op, kind_etc, name) FATHOM_OP1(op, kind_etc, name)
#define FATHOM_OP1(op, kind, ctype, text, sign, name) op##kind(ctype, text, sign, name)

/* What each use of the list makes of one (TYPE, name). */
#define FATHOM_SHORT_PROTO(type, name) FATHOM_OP(FATHOM_PROTO, FATHOM_K_##type, name)
#define FATHOM_PROTO_NUM(ctype, text, sign, name) , ctype name
#define FATHOM_PROTO_PTR FATHOM_PROTO_NUM
#define FATHOM_PROTO_STR FATHOM_PROTO_NUM
#define FATHOM_SHORT_ARG(type, name) , name
#define FATHOM_SHORT_MEMBER(type, name) FATHOM_OP(FATHOM_MEMBER, FATHOM_K_##type, name)
#define FATHOM_MEMBER_NUM(ctype, text, sign, name) ctype name;
#define FATHOM_MEMBER_PTR FATHOM_MEMBER_NUM
#define FATHOM_MEMBER_STR(ctype, text, sign, name) uint32_t __data_loc_##name;
#define FATHOM_SHORT_SIZE(type, name) FATHOM_OP(FATHOM_SIZE, FATHOM_K_##type, name)
#define FATHOM_SIZE_NUM(ctype, text, sign, name)
#define FATHOM_SIZE_PTR FATHOM_SIZE_NUM
#define FATHOM_SIZE_STR(ctype, text, sign, name)                                             \
	uint32_t fathom_len_##name = fathom_piece_bytes(fathom_strlen(fathom_string(name)) + 1); \
	fathom_bytes += fathom_len_##name;
#define FATHOM_SHORT_ASSIGN(type, name) FATHOM_OP(FATHOM_ASSIGN, FATHOM_K_##type, name)
#define FATHOM_ASSIGN_NUM(ctype, text, sign, name) fathom_rec->name = name;
#define FATHOM_ASSIGN_PTR FATHOM_ASSIGN_NUM
#define FATHOM_ASSIGN_STR(ctype, text, sign, name)                                           \
	fathom_rec->__data_loc_##name = fathom_at | fathom_len_##name << 16;                 \
	fathom_assign_str((char *)fathom_rec + fathom_at, fathom_string(name), fathom_len_##name); \
	fathom_at += fathom_len_##name;
#define FATHOM_SHORT_FIELD(type, name) FATHOM_OP(FATHOM_FIELD, FATHOM_K_##type, name)
#define FATHOM_FIELD_NUM(ctype, text, sign, id) \
	{text, #id, offsetof(fathom_rec, id), sizeof(ctype), sign, FATHOM_FIELD_OTHER},
#define FATHOM_FIELD_PTR FATHOM_FIELD_NUM
#define FATHOM_FIELD_STR(ctype, text, sign, id) \
	{text, #id, offsetof(fathom_rec, __data_loc_##id), 4, sign, FATHOM_FIELD_OTHER},
#define FATHOM_SHORT_WORD(type, name) FATHOM_OP(FATHOM_WORD, FATHOM_K_##type, name)
#define FATHOM_WORD_NUM(ctype, text, sign, name) \
	(sign) ? (uint64_t)(int64_t)fathom_rec->name : (uint64_t)fathom_rec->name,
#define FATHOM_WORD_PTR(ctype, text, sign, name) (uintptr_t)fathom_rec->name,
#define FATHOM_WORD_STR(ctype, text, sign, name) \
	(uintptr_t)((const char *)fathom_rec + (fathom_rec->__data_loc_##name & 0xffff)),
#define FATHOM_SHORT_TEXT(type, name) FATHOM_OP(FATHOM_TEXT, FATHOM_K_##type, name)
#define FATHOM_TEXT_NUM(ctype, text, sign, name) ", REC->" #name
#define FATHOM_TEXT_PTR FATHOM_TEXT_NUM
#define FATHOM_TEXT_STR(ctype, text, sign, name) ", __get_str(" #name ")"

/* Do fathom_emit_words1() and its kin take it? Then it is a word. */
#define FATHOM_SHORT_SHARES(type, name) FATHOM_OP(FATHOM_SHARES, FATHOM_K_##type, name)
#define FATHOM_SHARES_NUM(ctype, text, sign, name) sizeof(ctype) == 4 &&
#define FATHOM_SHARES_PTR FATHOM_SHARES_NUM
#define FATHOM_SHARES_STR(ctype, text, sign, name) 0 &&
#define FATHOM_SHORT_SHARED(type, name) (uint32_t)(uintptr_t)name,

/* f a f b ...: up to ten. */
/* `e` is empty: a macro that has nothing but `...` keeps the comma in ISO C. */
#define FATHOM_COUNT(e, ...)  FATHOM_COUNT1(0, ##__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define FATHOM_COUNT1(z, a, b, c, d, e, f, g, h, i, j, n, ...) n
#define FATHOM_EACH(f, ...) \
	FATHOM_CAT(FATHOM_EACH, FATHOM_COUNT(, ##__VA_ARGS__))(f, , ##__VA_ARGS__)
#define FATHOM_EACH0(f, e)
#define FATHOM_EACH1(f, e, a) f a##e /* `e` is empty: the ## keeps the type as it was written */
#define FATHOM_EACH2(f, e, a, ...) f a##e FATHOM_EACH1(f, e, ##__VA_ARGS__)
#define FATHOM_EACH3(f, e, a, ...) f a##e FATHOM_EACH2(f, e, ##__VA_ARGS__)
#define FATHOM_EACH4(f, e, a, ...) f a##e FATHOM_EACH3(f, e, ##__VA_ARGS__)
#define FATHOM_EACH5(f, e, a, ...) f a##e FATHOM_EACH4(f, e, ##__VA_ARGS__)
#define FATHOM_EACH6(f, e, a, ...) f a##e FATHOM_EACH5(f, e, ##__VA_ARGS__)
#define FATHOM_EACH7(f, e, a, ...) f a##e FATHOM_EACH6(f, e, ##__VA_ARGS__)
#define FATHOM_EACH8(f, e, a, ...) f a##e FATHOM_EACH7(f, e, ##__VA_ARGS__)
#define FATHOM_EACH9(f, e, a, ...) f a##e FATHOM_EACH8(f, e, ##__VA_ARGS__)
#define FATHOM_EACH10(f, e, a, ...) f a##e FATHOM_EACH9(f, e, ##__VA_ARGS__)
/* The list as parameters and as arguments: without the comma it begins with; no parameters are `void`. */
#define FATHOM_TAIL(...)	 FATHOM_TAIL1(__VA_ARGS__)
#define FATHOM_TAIL1(first, ...) __VA_ARGS__
#define FATHOM_SHORT_PARAMS(e, ...) \
	FATHOM_CAT(FATHOM_PARAMS, FATHOM_COUNT(, ##__VA_ARGS__))(e, ##__VA_ARGS__)
#define FATHOM_PARAMS0(e) void
#define FATHOM_PARAMS1(e, ...) FATHOM_TAIL(~FATHOM_EACH(FATHOM_SHORT_PROTO, ##__VA_ARGS__))
#define FATHOM_PARAMS2	     FATHOM_PARAMS1
#define FATHOM_PARAMS3	     FATHOM_PARAMS1
#define FATHOM_PARAMS4	     FATHOM_PARAMS1
#define FATHOM_PARAMS5	     FATHOM_PARAMS1
#define FATHOM_PARAMS6	     FATHOM_PARAMS1
#define FATHOM_PARAMS7	     FATHOM_PARAMS1
#define FATHOM_PARAMS8	     FATHOM_PARAMS1
#define FATHOM_PARAMS9	     FATHOM_PARAMS1
#define FATHOM_PARAMS10	     FATHOM_PARAMS1
#define FATHOM_SHORT_ARGS(e, ...) FATHOM_TAIL(~FATHOM_EACH(FATHOM_SHORT_ARG, ##__VA_ARGS__))
#define FATHOM_SHORT_HOOK(e, ...) \
	void (*)(void *FATHOM_EACH(FATHOM_SHORT_PROTO, ##__VA_ARGS__))

#define FATHOM_SHORT_DECLARE(event, ...)                                                          \
	extern struct fathom_event fathom_ev_##event FATHOM_HIDDEN;                            \
	void fathom_evprobe_##event(FATHOM_SHORT_PARAMS(, ##__VA_ARGS__)) FATHOM_HIDDEN;                \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) void fathom_evcall_##event(                           \
		FATHOM_SHORT_PARAMS(, ##__VA_ARGS__))                                                 \
	{                                                                                         \
		fathom_evprobe_##event(FATHOM_SHORT_ARGS(, ##__VA_ARGS__));                             \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__, __always_inline__)) void (trace_##event)(                \
		FATHOM_SHORT_PARAMS(, ##__VA_ARGS__))                                                 \
	{                                                                                         \
		if (FATHOM_EVENT_IS_ON(event))                                                    \
			fathom_evprobe_##event(FATHOM_SHORT_ARGS(, ##__VA_ARGS__));                     \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__, __always_inline__)) int trace_##event##_enabled(void)    \
	{                                                                                         \
		return FATHOM_EVENT_IS_ON(event);                                                 \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) int register_trace_##event(                         \
		void (*probe)(void *fathom_data FATHOM_EACH(FATHOM_SHORT_PROTO, ##__VA_ARGS__)),  \
		void *data)                                                                       \
	{                                                                                         \
		return fathom_event_hook(&fathom_ev_##event, (void (*)(void))probe, data);     \
	}                                                                                         \
	static inline FATHOM_NOTRACE __attribute__((__unused__)) int unregister_trace_##event(                       \
		void (*probe)(void *fathom_data FATHOM_EACH(FATHOM_SHORT_PROTO, ##__VA_ARGS__)),  \
		void *data)                                                                       \
	{                                                                                         \
		return fathom_event_unhook(&fathom_ev_##event, (void (*)(void))probe, data);   \
	}

#define FATHOM_SHORT_(sys, label, event, fmt, ...)                                                     \
	struct fathom_evshort_##event {                                                             \
		struct wire_common ent;                                                           \
		FATHOM_EACH(FATHOM_SHORT_MEMBER, ##__VA_ARGS__)                                   \
		char __data[];                                                                    \
	};                                                                                        \
	typedef struct fathom_evshort_##event fathom_evraw_##event                                    \
		__attribute__((__aligned__(FATHOM_RING_ALIGN)));                                      \
	static FATHOM_NOTRACE void fathom_evsetup_##event(struct fathom_event *ev)                                 \
	{                                                                                         \
		typedef struct fathom_evshort_##event fathom_rec;                                   \
		enum { nr = FATHOM_COUNT(, ##__VA_ARGS__) };                                      \
		static const struct fathom_field fields[nr ? nr : 1] = {                          \
			FATHOM_EACH(FATHOM_SHORT_FIELD, ##__VA_ARGS__)};                          \
                                                                                                  \
		(void)sizeof(fathom_rec);                                                         \
		ev->fields = fields;                                                              \
		ev->nr_fields = nr;                                                               \
	}                                                                                         \
	static FATHOM_NOTRACE __attribute__((__unused__)) void fathom_evprint_##event(struct fathom_print *p)                                  \
	{                                                                                         \
		const fathom_evraw_##event *fathom_rec __attribute__((__unused__)) =         \
			p->record;                                                                \
		const uint64_t words[] = {FATHOM_EACH(FATHOM_SHORT_WORD, ##__VA_ARGS__) 0};       \
                                                                                                  \
		fathom_text_words(p->out, fmt, words, FATHOM_COUNT(, ##__VA_ARGS__));                 \
	}                                                                                         \
	struct fathom_event fathom_ev_##event = {                                              \
		.system = sys,                                                                    \
		.name = label,                                                                    \
		.print_fmt = "\"" fmt "\"" FATHOM_EACH(FATHOM_SHORT_TEXT, ##__VA_ARGS__),         \
		.setup = fathom_evsetup_##event,                                                    \
		.print = FATHOM_EVENT_TEXT ? fathom_evprint_##event : NULL};                                                   \
	FATHOM_REGISTER(fathom_ev_##event)                                                     \
	static FATHOM_NOTRACE __attribute__((__noinline__, __cold__, __unused__)) void fathom_evslow_##event(		\
		FATHOM_SHORT_PARAMS(, ##__VA_ARGS__))						\
	{											\
		uint32_t fathom_bytes = sizeof(struct fathom_evshort_##event);			\
		uint32_t fathom_at __attribute__((__unused__)) =					\
			offsetof(struct fathom_evshort_##event, __data);			\
		fathom_evraw_##event *fathom_rec;						\
		struct fathom_emit fathom_e;							\
												\
		FATHOM_HOOKS(event, FATHOM_SHORT_HOOK(, ##__VA_ARGS__),				\
			     FATHOM_EACH(FATHOM_SHORT_ARG, ##__VA_ARGS__))			\
		FATHOM_EACH(FATHOM_SHORT_SIZE, ##__VA_ARGS__)					\
		fathom_rec = fathom_emit_cold(&fathom_ev_##event, fathom_bytes, &fathom_e);	\
		if (!fathom_rec)								\
			return;									\
		FATHOM_EACH(FATHOM_SHORT_ASSIGN, ##__VA_ARGS__)					\
		fathom_emit_cold_end(&fathom_ev_##event, &fathom_e);				\
	}											\
	FATHOM_NOTRACE __attribute__((__noinline__)) void fathom_evprobe_##event(FATHOM_SHORT_PARAMS(, ##__VA_ARGS__))	\
	{											\
		uint32_t fathom_bytes = sizeof(struct fathom_evshort_##event);			\
		uint32_t fathom_at __attribute__((__unused__)) =					\
			offsetof(struct fathom_evshort_##event, __data);			\
		fathom_evraw_##event *fathom_rec;						\
		struct fathom_try fathom_t;							\
												\
		if (FATHOM_ATTACH && FATHOM_UNLIKELY(fathom_event_state(&fathom_ev_##event) !=	\
						     FATHOM_EVENT_ON))				\
			goto fathom_slow;							\
		if (FATHOM_EACH(FATHOM_SHORT_SHARES, ##__VA_ARGS__)				\
		    FATHOM_COUNT(, ##__VA_ARGS__) - 1u < FATHOM_EMIT_WORDS) {			\
			const uint32_t fathom_w[] = {						\
				FATHOM_EACH(FATHOM_SHORT_SHARED, ##__VA_ARGS__) 0, 0, 0};	\
												\
			fathom_emit_words(fathom_w, FATHOM_COUNT(, ##__VA_ARGS__),		\
					  &fathom_ev_##event);					\
			return;									\
		}										\
		FATHOM_EACH(FATHOM_SHORT_SIZE, ##__VA_ARGS__)					\
		fathom_rec = fathom_emit_try(&fathom_ev_##event, fathom_bytes, &fathom_t);	\
		if (FATHOM_UNLIKELY(!fathom_rec))						\
			goto fathom_slow;							\
		FATHOM_EACH(FATHOM_SHORT_ASSIGN, ##__VA_ARGS__)					\
		fathom_emit_try_end(&fathom_t, fathom_bytes);					\
		return;										\
	fathom_slow:										\
		fathom_evslow_##event(FATHOM_SHORT_ARGS(, ##__VA_ARGS__));				\
	}

/*
 * Functions attached by register_trace_<event>(). The rest begins with a comma. The acquire pairs with the release in
 * fathom_event_hook(); a node that was removed keeps its fn until every walk that may have seen it has left.
 */
#define FATHOM_HOOKS(event, type, ...)                                                     \
	if (FATHOM_ATTACH && fathom_event_state(&fathom_ev_##event) & FATHOM_EVENT_HOOK) { \
		uint32_t fathom_in = fathom_hooks_enter();                                 \
		for (struct fathom_hook *fathom_h =                                        \
			     __atomic_load_n(&fathom_ev_##event.hooks, __ATOMIC_ACQUIRE); \
		     fathom_h;                                                             \
		     fathom_h = __atomic_load_n(&fathom_h->next, __ATOMIC_ACQUIRE))        \
			((type)fathom_h->fn)(fathom_h->data __VA_ARGS__);                  \
		fathom_hooks_leave(fathom_in);                                             \
	}

#endif
