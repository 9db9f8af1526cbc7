/* SPDX-License-Identifier: MIT */
/* args.h -- what functions were called with and what they returned: the words of a record, by names and types. */
#ifndef VIEW_ARGS_H
#define VIEW_ARGS_H

#include "base/json.h"
#include "query/out.h"
#include "view/lookup.h"

/* The fields of records of functions, calls and returns that not all kernels have; NULL: this one has not. */
struct args_fields {
	const struct format_field *args, *retaddr, *retval;
	bool graph;
	uint32_t
		behind; /* a return's value, if the option came on after its format was read; 0: not there */
	uint32_t need; /* a record of fewer bytes has none of them */
};
void args_fields(struct args_fields *a, const struct format *f);

#define ARGS_WORDS_MAX 32u

/* What a record has of them. */
struct args {
	uint64_t word[ARGS_WORDS_MAX];
	uint32_t nr;
	bool has_from, has_value;
	uint64_t from, value;
};
void args_read(const struct args_fields *a, const struct expr_env *env, const uint8_t *data,
	       uint32_t size, struct args *out);

/* "x=-1, name=0x4012a0": without parentheses. */
void args_text(struct lookup *l, uint64_t func, const struct args *a, struct out *o);
/* The value that the function returned, by its type; if that is not known, as Linux guesses: an error or a number. */
void args_value(struct lookup *l, uint64_t func, uint64_t value, struct out *o);
/* Whether it is known to return nothing, or nothing in that register. */
bool args_is_void(struct lookup *l, uint64_t func);
/* As a member of a JSON object: "call": {"args": {...}, "from": ..., "returned": ...}, of these what the record has. */
void args_json(struct lookup *l, uint64_t func, const struct args *a, struct json *j);

#endif
