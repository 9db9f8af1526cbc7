/* SPDX-License-Identifier: MIT */
/* filter_run.c -- fields of a record by name, and the filter's code run on a record. */
#include "control/filter_int.h"
#include "control/control.h"
#include "control/str.h"
#include "fathom/inside/errno.h"
#include "wire/copy.h"
#include "wire/div.h"

void fathom_ctl_comm(int32_t pid, char *buf)
{
	static const char unknown[] = "<...>", idle[] = "<idle>";
	const struct fathom_config *c = &fathom_core.config;

	buf[0] = '\0';
	if (!pid)
		__builtin_memcpy(buf, idle, sizeof(idle));
	else if (!c->task_name || c->task_name(pid, buf) < 0 || !buf[0])
		__builtin_memcpy(buf, unknown, sizeof(unknown));
	buf[15] = '\0';
}

static const struct fathom_operand operand_common[] = {
	{FATHOM_OPERAND_NUMBER, 0, 0, 2, "common_type"},
	{FATHOM_OPERAND_NUMBER, 0, 2, 1, "common_flags"},
	{FATHOM_OPERAND_NUMBER, 0, 3, 1, "common_preempt_count"},
	{FATHOM_OPERAND_NUMBER, 1, 4, 4, "common_pid"},
};

static const struct fathom_operand operand_generic[] = {
	{FATHOM_OPERAND_CPU, 0, 0, 4, "CPU"},
	{FATHOM_OPERAND_CPU, 0, 0, 4, "cpu"},
	{FATHOM_OPERAND_COMM, 0, 0, 16, "COMM"},
	{FATHOM_OPERAND_COMM, 0, 0, 16, "comm"},
};

static uint8_t operand_kind(const struct fathom_field *f)
{
	switch (fathom_field_kind(f)) {
	case FATHOM_FIELD_STRING: return FATHOM_OPERAND_CHARS;
	case FATHOM_FIELD_DYN_STRING: return FATHOM_OPERAND_DYNAMIC;
	case FATHOM_FIELD_REL_STRING: return FATHOM_OPERAND_RELATIVE;
	default:
		if (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8)
			return FATHOM_OPERAND_NUMBER;
		return FATHOM_OPERAND_ARRAY;
	}
}

int fathom_operand_find(const struct fathom_event *ev, const char *name, size_t n,
			struct fathom_operand *out)
{
	for (unsigned int k = 0; k < ev->nr_fields; k++) {
		const struct fathom_field *f = &ev->fields[k];

		if (ctl_is(name, n, f->name)) {
			*out = (struct fathom_operand){operand_kind(f), f->is_signed, f->offset,
						       f->size, f->name};
			return 0;
		}
	}
	for (unsigned int k = 0; k < 4; k++) {
		if (ctl_is(name, n, operand_generic[k].name)) {
			*out = operand_generic[k];
			return 0;
		}
		if (ctl_is(name, n, operand_common[k].name)) {
			*out = operand_common[k];
			return 0;
		}
	}
	return -FATHOM_ENOENT;
}

uint64_t fathom_operand_number(const struct fathom_operand *op, const void *record, uint32_t bytes)
{
	const uint8_t *at = (const uint8_t *)record + op->offset;
	uint32_t shift = 64 - op->size * 8u;
	uint64_t v = 0;

	if (op->size > 8 || !op->size || (uint32_t)op->offset + op->size > bytes)
		return 0;
	if (op->size == 8) {
		__builtin_memcpy(&v, at, 8);
		return v;
	}
	if (op->size == 4) {
		uint32_t w;

		__builtin_memcpy(&w, at, 4);
		v = w;
	} else if (op->size == 2) {
		uint16_t w;

		__builtin_memcpy(&w, at, 2);
		v = w;
	} else {
		v = *at;
	}
	return op->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

const char *fathom_operand_text(const struct fathom_operand *op, const void *record, uint32_t bytes,
				uint32_t *len)
{
	uint32_t at = op->offset, room = op->size, word, n = 0;
	const char *s;

	*len = 0;
	if (at > bytes || room > bytes - at)
		return "";
	if (op->kind == FATHOM_OPERAND_DYNAMIC || op->kind == FATHOM_OPERAND_RELATIVE) {
		if (room < 4)
			return "";
		__builtin_memcpy(&word, (const uint8_t *)record + at, 4);
		at = (word & 0xffff) + (op->kind == FATHOM_OPERAND_RELATIVE ? at + 4 : 0);
		room = word >> 16;
		if (at > bytes || room > bytes - at)
			return "";
	}
	s = (const char *)record + at;
	while (n < room && s[n])
		n++;
	*len = n;
	return s;
}

static int filter_text_term(const struct fathom_filter *f, const struct filter_code *ins,
			    const void *record, uint32_t bytes)
{
	const char *want = f->text + ins->value_at, *s;
	char comm[16];
	uint32_t len;
	int same;

	if (ins->left.kind == FATHOM_OPERAND_COMM) {
		struct wire_common common = {0, 0, 0, 0};

		if (bytes >= sizeof(common))
			__builtin_memcpy(&common, record, sizeof(common));
		fathom_ctl_comm(common.pid, comm);
		s = comm;
		len = (uint32_t)ctl_len(comm);
	} else {
		s = fathom_operand_text(&ins->left, record, bytes, &len);
	}
	if (ins->op == FILTER_GLOB)
		return fathom_glob(want, ins->value_len, s, len);
	same = len == ins->value_len && wire_same(s, want, len);
	return same == (ins->op == FILTER_STR_EQ);
}

static int filter_number_term(const struct filter_code *ins, uint64_t v)
{
	uint64_t want = ins->value;
	int less;

	/* Narrow fields compare in their own width: prev_pid == -1 and a u32 that holds 0xffffffff. */
	if (ins->left.size < 8 && !ins->left.is_signed && ins->left.kind == FATHOM_OPERAND_NUMBER)
		want &= ((uint64_t)1 << ins->left.size * 8) - 1;
	less = ins->left.is_signed ? (int64_t)v < (int64_t)want : v < want;
	switch (ins->op) {
	case FILTER_EQ: return v == want;
	case FILTER_NE: return v != want;
	case FILTER_LT: return less;
	case FILTER_LE: return less || v == want;
	case FILTER_GT: return !less && v != want;
	case FILTER_GE: return !less;
	case FILTER_CPUS:
	case FILTER_CPUS_NOT:
		return (v < 64 && wire_shr(ins->value, (uint32_t)v) & 1) ==
		       (ins->op == FILTER_CPUS);
	case FILTER_RANGE:
	case FILTER_RANGE_NOT: return (v - ins->value < ins->value_at) == (ins->op == FILTER_RANGE);
	default: return (v & want) != 0;
	}
}

int fathom_filter_match(const struct fathom_filter *f, const void *record, uint32_t bytes,
			uint32_t cpu)
{
	uint32_t pc = 0;
	int truth = 1;

	while (pc < f->nr_code) {
		const struct filter_code *ins = &f->code[pc++];

		if (ins->op == FILTER_NOT)
			truth = !truth;
		else if (ins->op == FILTER_JUMP_FALSE || ins->op == FILTER_JUMP_TRUE)
			pc = truth == (ins->op == FILTER_JUMP_TRUE) ? ins->target : pc;
		else if (ins->op >= FILTER_GLOB)
			truth = filter_text_term(f, ins, record, bytes);
		else if (ins->left.kind == FATHOM_OPERAND_CPU)
			truth = filter_number_term(ins, cpu);
		else
			truth = filter_number_term(ins, fathom_operand_number(&ins->left, record,
									      bytes));
	}
	return truth;
}
