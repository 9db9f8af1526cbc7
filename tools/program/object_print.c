/* SPDX-License-Identifier: MIT */
/* object_print.c -- bpf_trace_printk of an object: the format is a constant of the object, so that only numbers are emitted. */
#include "program/object.h"

#include <string.h>

#define CONVERSIONS "diuxXc"

/* The instruction writes the register; a call writes those of its arguments. */
static bool writes(const struct bpf_insn *i, int reg)
{
	int class = BPF_CLASS(i->code);

	if (class == BPF_JMP || class == BPF_JMP32)
		return i->code == (BPF_JMP | BPF_CALL) && reg <= 5;
	return class != BPF_ST && class != BPF_STX && BPF_DST(i) == reg;
}

/* Does a jump lead to between `from` and `to`? Another instruction may have written the register then. */
static bool is_entered(const struct object_function *f, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < f->nr; i++) {
		int64_t target = (int64_t)i + 1 + f->code[i].off;

		if (object_is_jump(&f->code[i]) && target > from && target <= to)
			return true;
	}
	return false;
}

/* The load of an address that the register has at the call, through copies; NULL: it is something else. */
static const struct bpf_insn *load_of(const struct object_function *f, uint32_t call, int reg)
{
	for (uint32_t i = call; i-- > 0;) {
		const struct bpf_insn *n = &f->code[i];
		bool second = i && f->code[i - 1].code == BPF_LD_IMM64;

		if (second || !writes(n, reg))
			continue;
		if (n->code == BPF_LD_IMM64)
			return is_entered(f, i, call) ? NULL : n;
		if (n->code != (BPF_ALU64 | BPF_MOV | BPF_X) || n->off)
			return NULL;
		reg = BPF_SRC(n);
	}
	return NULL;
}

/* The text that the first argument points to; NULL: it is not a constant. */
static const char *format_of(const struct object *o, const struct object_function *f, uint32_t call)
{
	const struct bpf_insn *n = load_of(f, call, 1);
	uint32_t number = n ? (uint32_t)n->imm : 0, at = n ? (uint32_t)n[1].imm : 0;

	if (!n || BPF_SRC(n) != BPF_PSEUDO_GLOBAL || number >= o->nr_globals ||
	    !o->globals[number].content || at >= o->globals[number].bytes ||
	    !memchr(o->globals[number].content + at, 0, o->globals[number].bytes - at))
		return NULL;
	return (const char *)o->globals[number].content + at;
}

/* Numbers of four bytes, or with an l of eight. How many there are; -1: something else is printed. */
static int arguments(const char *format, struct type args[OBJECT_PRINTED])
{
	int nr = 0;

	while ((format = strchr(format, '%'))) {
		size_t longs;

		if (*++format == '%') {
			format++;
			continue;
		}
		format += strspn(format, "-+ #0123456789.");
		longs = strspn(format, "l");
		format += longs;
		if (nr == OBJECT_PRINTED || !*format || !strchr(CONVERSIONS, *format))
			return -1;
		args[nr++] = type_int(longs ? 8 : 4, *format == 'd' || *format == 'i');
	}
	return nr;
}

int object_print(struct object *o, const struct object_function *f, uint32_t call, uint32_t *action)
{
	const char *format = format_of(o, f, call);
	struct type *args = arena_take(&o->ast->arena, OBJECT_PRINTED * sizeof(*args));
	int nr = format ? arguments(format, args) : -1;
	struct action *a;
	char *line;

	if (nr < 0) {
		object_error(
			o->ast,
			"%s: bpf_trace_printk takes a constant format (static const char[], as in "
			"bpf_printk) with up to %d numbers",
			f->name, OBJECT_PRINTED);
		return -1;
	}
	line = arena_take(&o->ast->arena, strlen(format) + 2);
	strcpy(line, format);
	if (!*line || line[strlen(line) - 1] != '\n') /* Linux ends the line itself */
		strcat(line, "\n");
	*action = o->c->nr_actions;
	a = compiler_action(o->c, ACTION_PRINTF);
	a->format = line;
	a->args = args;
	a->nr_args = (uint32_t)nr;
	return nr;
}
