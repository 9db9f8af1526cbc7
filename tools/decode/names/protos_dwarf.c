/* SPDX-License-Identifier: MIT */
/* protos_dwarf.c -- prototypes from the DWARF of a program, and the registers its arguments come in. */
#include "decode/names/protos_int.h"
#include "base/strmap.h"
#include "base/vec.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

/*
 * Where an argument lies at the function's entry is what its DWARF says, if that names a register: this is right for every
 * calling convention, and for clones that a compiler made of a function. Code that was not optimized names a place on the
 * stack, where it is only later; then the convention of the CPU is followed.
 */

struct dwarf_func {
	uint64_t low;
	Dwarf_Off die;
	uint32_t name;	/* in names */
	uint32_t after; /* 1 + the next one of the same name, 0: the last */
};

struct dwarf_protos {
	int fd;
	Dwarf *dw;
	GElf_Ehdr head;
	bool indexed;
	struct strmap names;
	uint32_t *first; /* of a name: 1 + the number of the function added last */
	struct dwarf_func *func;
	size_t nr;
	uint64_t shift; /* of the function that was found last */
};

struct dwarf_protos *dwarf_protos_open(const char *path)
{
	struct dwarf_protos *d = calloc(1, sizeof(*d));
	Elf *elf;

	if (!d) {
		errno = ENOMEM;
		return NULL;
	}
	d->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (d->fd < 0) {
		int err = errno;

		free(d);
		errno = err;
		return NULL;
	}
	d->dw = dwarf_begin(d->fd, DWARF_C_READ);
	elf = d->dw ? dwarf_getelf(d->dw) : NULL;
	if (!elf || !gelf_getehdr(elf, &d->head)) {
		dwarf_protos_close(d);
		errno = ENOENT;
		return NULL;
	}
	return d;
}

void dwarf_protos_close(struct dwarf_protos *d)
{
	if (!d)
		return;
	if (d->dw)
		dwarf_end(d->dw);
	close(d->fd);
	strmap_free(&d->names);
	free(d->first);
	free(d->func);
	free(d);
}

/* ---- functions by name ---- */

/* The linkage name tells overloads apart; plain C has only the name. */
static const char *func_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a))
		name = dwarf_formstring(&a);
	return name ? name : dwarf_diename(die);
}

/* Clones are foo.constprop.0 to the linker, and foo to DWARF. */
static uint32_t plain_bytes(const char *name)
{
	return (uint32_t)strcspn(name, ".");
}

static int add_func(Dwarf_Die *die, void *arg)
{
	struct dwarf_protos *d = arg;
	const char *name = func_name(die);
	uint32_t n, had = d->names.nr;
	Dwarf_Addr low;

	if (!name || dwarf_lowpc(die, &low))
		return DWARF_CB_OK;
	n = strmap_add(&d->names, name, plain_bytes(name));
	if (n == STRMAP_NONE || !VEC_MORE(d->func, d->nr) || (n == had && !VEC_MORE(d->first, n)))
		return DWARF_CB_ABORT;
	if (n == had)
		d->first[n] = 0;
	d->func[d->nr] = (struct dwarf_func){low, dwarf_dieoffset(die), n, d->first[n]};
	d->first[n] = (uint32_t)++d->nr;
	return DWARF_CB_OK;
}

static void index_functions(struct dwarf_protos *d)
{
	Dwarf_Off at = 0, next;
	size_t head;

	d->indexed = true;
	d->names = (struct strmap){.copies = true};
	while (!dwarf_nextcu(d->dw, at, &next, &head, NULL, NULL, NULL)) {
		Dwarf_Die cu;

		if (dwarf_offdie(d->dw, at + head, &cu))
			dwarf_getfuncs(&cu, add_func, d, 0);
		at = next;
	}
}

/*
 * A program may lie elsewhere in memory than in its file, by whole pages. A function may begin for DWARF after the NOPs that it
 * begins with for the linker.
 */
#define PAGE_BITS 0xfffull
#define NOPS_MAX  64u

static uint64_t shift_of(uint64_t low, uint64_t addr)
{
	return (addr - low + PAGE_BITS) & ~PAGE_BITS;
}

static const struct dwarf_func *find_func(struct dwarf_protos *d, const char *name, uint64_t addr)
{
	uint32_t n = strmap_find(&d->names, name, plain_bytes(name));
	const struct dwarf_func *found = NULL, *f;

	for (uint32_t i = n == STRMAP_NONE ? 0 : d->first[n]; i; i = f->after) {
		f = &d->func[i - 1];
		if (f->low + shift_of(f->low, addr) - addr > NOPS_MAX)
			continue;
		if (!shift_of(f->low, addr) || shift_of(f->low, addr) == d->shift)
			return f;
		if (found)
			return NULL; /* which of them nobody knows */
		found = f;
	}
	return found;
}

/* ---- types ---- */

static int64_t number_of(Dwarf_Attribute *a, bool is_signed)
{
	Dwarf_Sword s = 0;
	Dwarf_Word u = 0;

	if (is_signed)
		return dwarf_formsdata(a, &s) ? 0 : s;
	return dwarf_formudata(a, &u) ? 0 : (int64_t)u;
}

static void enum_values(Dwarf_Die *type, struct proto_type *out)
{
	struct proto_value *v = NULL;
	uint32_t nr = 0;
	Dwarf_Die child;

	if (dwarf_child(type, &child))
		return;
	do {
		Dwarf_Attribute a;
		Dwarf_Sword s;

		if (dwarf_tag(&child) != DW_TAG_enumerator ||
		    !dwarf_attr(&child, DW_AT_const_value, &a) || !VEC_MORE(v, nr))
			continue;
		if (!dwarf_formsdata(&a, &s) && s < 0 && dwarf_whatform(&a) == DW_FORM_sdata)
			out->is_signed = true;
		v[nr++] = (struct proto_value){number_of(&a, dwarf_whatform(&a) == DW_FORM_sdata),
					       dwarf_diename(&child)};
	} while (!dwarf_siblingof(&child, &child));
	out->values = v;
	out->nr_values = nr;
}

static uint32_t encoding_of(Dwarf_Die *type)
{
	Dwarf_Attribute a;
	Dwarf_Word u;

	return dwarf_attr(type, DW_AT_encoding, &a) && !dwarf_formudata(&a, &u) ? (uint32_t)u : 0;
}

static void base_type(Dwarf_Die *type, struct proto_type *out)
{
	const char *name = dwarf_diename(type);

	switch (encoding_of(type)) {
	case DW_ATE_boolean: out->kind = PROTO_BOOL; break;
	case DW_ATE_float:
	case DW_ATE_complex_float: out->kind = PROTO_FLOAT; break;
	case DW_ATE_signed_char: out->is_signed = true; __attribute__((fallthrough));
	case DW_ATE_unsigned_char:
		out->kind = name && !strcmp(name, "char") ? PROTO_CHAR : PROTO_INT;
		break;
	case DW_ATE_signed: out->is_signed = true; __attribute__((fallthrough));
	default: out->kind = PROTO_INT; break;
	}
}

/* The type that an attribute of `die` names, without typedefs and qualifiers. False: void. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute a;
	Dwarf_Die raw;

	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, &raw) &&
	       !dwarf_peel_type(&raw, out);
}

static bool points_to_text(Dwarf_Die *pointer)
{
	Dwarf_Die to;
	const char *name;

	if (!type_of(pointer, &to) || dwarf_tag(&to) != DW_TAG_base_type)
		return false;
	name = dwarf_diename(&to);
	return name && !strcmp(name, "char");
}

/* Types in types, and members in all, that are looked at: DWARF may have types that consist of themselves. */
#define TYPE_DEPTH_MAX	 8u
#define TYPE_MEMBERS_MAX 1000u

/* Are there floating-point members, which go elsewhere? Of more than `left` members: perhaps. */
static bool has_floats(Dwarf_Die *type, unsigned depth, unsigned *left)
{
	Dwarf_Die child, of;

	if (depth > TYPE_DEPTH_MAX || dwarf_child(type, &child))
		return depth > TYPE_DEPTH_MAX;
	do {
		if (!*left)
			return true;
		--*left;
		if (dwarf_tag(&child) != DW_TAG_member || !type_of(&child, &of))
			continue;
		for (unsigned i = 0; i < TYPE_DEPTH_MAX && dwarf_tag(&of) == DW_TAG_array_type; i++)
			if (!type_of(&of, &of))
				break;
		if (dwarf_tag(&of) == DW_TAG_base_type) {
			struct proto_type t = {0};

			base_type(&of, &t);
			if (t.kind == PROTO_FLOAT)
				return true;
		} else if (has_floats(&of, depth + 1, left)) {
			return true;
		}
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

static void fill_type(Dwarf_Die *die, struct proto_type *out, bool *floats)
{
	unsigned members = TYPE_MEMBERS_MAX;
	Dwarf_Die type;
	int bytes;

	*out = (struct proto_type){.kind = PROTO_VOID, .name = ""};
	*floats = false;
	if (!type_of(die, &type))
		return;
	bytes = dwarf_bytesize(&type);
	out->bytes = bytes > 0 ? (uint32_t)bytes : 0;
	if (dwarf_diename(&type))
		out->name = dwarf_diename(&type);
	switch (dwarf_tag(&type)) {
	case DW_TAG_base_type:
		base_type(&type, out);
		*floats = out->kind == PROTO_FLOAT;
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		out->kind = points_to_text(&type) ? PROTO_STRING : PROTO_POINTER;
		out->bytes = out->bytes ? out->bytes : 8;
		out->name = "";
		break;
	case DW_TAG_enumeration_type:
		out->kind = PROTO_ENUM;
		enum_values(&type, out);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_class_type:
		out->kind = PROTO_RECORD;
		*floats = has_floats(&type, 0, &members);
		break;
	default: out->kind = PROTO_OTHER; break;
	}
}

/* ---- registers ---- */

/* Which word of a record (arch/<a>/regs.h) is a register of that number in DWARF; -1: none. */
static int word_of(const struct dwarf_protos *d, uint64_t reg)
{
	static const uint8_t x86[] = {5, 4, 1, 2, 8, 9};

	switch (d->head.e_machine) {
	case EM_X86_64:
		for (int i = 0; i < (int)sizeof(x86); i++)
			if (x86[i] == reg)
				return i;
		return -1;
	case EM_AARCH64: return reg < 8 ? (int)reg : -1;
	case EM_RISCV: return reg >= 10 && reg < 18 ? (int)reg - 10 : -1;
	default: return -1;
	}
}

/* The register that an operation names; UINT64_MAX: none. */
static uint64_t reg_of(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return op->atom - DW_OP_reg0;
	return op->atom == DW_OP_regx ? op->number : UINT64_MAX;
}

enum place {
	PLACE_UNKNOWN,
	PLACE_ELSEWHERE, /* a register that is not recorded, or nowhere: a constant */
	PLACE_WORDS,
};

/* Where DWARF says that the argument is at the entry. */
static enum place place_of(const struct dwarf_protos *d, Dwarf_Die *die, uint64_t entry,
			   struct proto_param *p)
{
	Dwarf_Attribute a;
	Dwarf_Op *op;
	size_t n;
	uint64_t reg;
	int word;

	if (dwarf_attr(die, DW_AT_const_value, &a))
		return PLACE_ELSEWHERE;
	if (!dwarf_attr(die, DW_AT_location, &a) ||
	    dwarf_getlocation_addr(&a, entry, &op, &n, 1) != 1 || !n)
		return PLACE_UNKNOWN;
	reg = reg_of(op);
	if (reg == UINT64_MAX)
		return PLACE_UNKNOWN;
	word = word_of(d, reg);
	if (word < 0)
		return PLACE_ELSEWHERE;
	p->first = (uint16_t)word;
	p->words = 1;
	/* reg, piece, reg, piece: in two, one after the other */
	if (n >= 4 && op[1].atom == DW_OP_piece && reg_of(&op[2]) != UINT64_MAX &&
	    word_of(d, reg_of(&op[2])) == word + 1)
		p->words = 2;
	return PLACE_WORDS;
}

struct convention {
	uint32_t words;	 /* that take arguments */
	bool hidden;	 /* a large value is returned at an address that is the first of them */
	bool by_address; /* a large argument is passed as its address */
	bool pairs;	 /* what has two words and their alignment begins at an even one */
	bool soft;	 /* floating-point values are passed like others */
};

static struct convention convention_of(const struct dwarf_protos *d)
{
	switch (d->head.e_machine) {
	case EM_X86_64: return (struct convention){.words = 6, .hidden = true};
	case EM_AARCH64: return (struct convention){.words = 8, .by_address = true, .pairs = true};
	case EM_RISCV:
		return (struct convention){.words = 8,
					   .hidden = true,
					   .by_address = true,
					   .soft = !(d->head.e_flags & EF_RISCV_FLOAT_ABI)};
	default: return (struct convention){0};
	}
}

/* Where the convention puts the next argument. */
static void place_next(const struct convention *c, struct proto_param *p, bool floats,
		       uint32_t *next)
{
	struct proto_type *t = &p->type;
	uint32_t n = t->bytes > 8 ? (t->bytes + 7) / 8 : 1;

	if (floats && !c->soft) {
		if (t->kind == PROTO_RECORD)
			*next = UINT32_MAX; /* partly in words: what follows is not known */
		return;
	}
	if (n > 2) {
		if (!c->by_address)
			return;
		t->kind = PROTO_POINTER;
		t->bytes = 8;
		n = 1;
	}
	if (n == 2 && c->pairs && t->kind == PROTO_INT && *next != UINT32_MAX)
		*next += *next & 1;
	if (*next >= c->words)
		return;
	if (*next + n > c->words) {
		if (c->pairs || c->by_address)
			*next = c->words;
		return;
	}
	p->first = (uint16_t)*next;
	p->words = (uint16_t)n;
	*next += n;
}

/* ---- prototypes ---- */

static uint32_t count_params(Dwarf_Die *func)
{
	Dwarf_Die child;
	uint32_t n = 0;

	if (dwarf_child(func, &child))
		return 0;
	do
		n += dwarf_tag(&child) == DW_TAG_formal_parameter;
	while (!dwarf_siblingof(&child, &child));
	return n;
}

static struct proto *make_proto(struct dwarf_protos *d, Dwarf_Die *func, uint64_t entry, bool clone)
{
	struct convention c = convention_of(d);
	uint32_t i = 0, next = 0;
	Dwarf_Die child;
	struct proto *p = proto_make(count_params(func));
	bool floats;

	if (!p)
		return NULL;
	fill_type(func, &p->ret, &floats);
	if (c.hidden && p->ret.kind == PROTO_RECORD && p->ret.bytes > 16)
		next = 1;
	if (dwarf_child(func, &child))
		return p;
	do {
		struct proto_param *a = &p->param[i];
		enum place place;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter || i == p->nr)
			continue;
		i++;
		a->name = dwarf_diename(&child) ? dwarf_diename(&child) : "";
		fill_type(&child, &a->type, &floats);
		place = place_of(d, &child, entry, a);
		/* A clone may have lost arguments, and then says so, or not. */
		if (clone)
			continue;
		if (place == PLACE_WORDS) {
			next = (uint32_t)a->first + a->words;
		} else {
			place_next(&c, a, floats, &next);
			if (place == PLACE_ELSEWHERE)
				a->words = 0;
		}
	} while (!dwarf_siblingof(&child, &child));
	return p;
}

/* Compiled with -g1 a function has neither arguments nor types, nor does it say that it takes none. */
static bool has_prototype(Dwarf_Die *func)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(func, DW_AT_prototyped, &a) ||
	       dwarf_attr_integrate(func, DW_AT_type, &a) ||
	       dwarf_attr_integrate(func, DW_AT_linkage_name, &a) || count_params(func);
}

struct proto *dwarf_proto(struct dwarf_protos *d, const char *name, uint64_t addr)
{
	const struct dwarf_func *f;
	struct proto *p;
	Dwarf_Die die;

	if (!d->indexed)
		index_functions(d);
	f = find_func(d, name, addr);
	if (!f || !dwarf_offdie(d->dw, f->die, &die) || !has_prototype(&die))
		return NULL;
	p = make_proto(d, &die, f->low, name[plain_bytes(name)] != 0);
	if (p)
		p->shift = d->shift = shift_of(f->low, addr);
	return p;
}

/* Linkers mark some of what is only read as writable; its name says better. */
static bool is_constant(Elf *elf, const GElf_Shdr *sh)
{
	size_t names;
	const char *name;

	if (sh->sh_type != SHT_PROGBITS || !(sh->sh_flags & SHF_ALLOC))
		return false;
	if (!(sh->sh_flags & SHF_WRITE))
		return true;
	name = elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, sh->sh_name);
	return name && !strncmp(name, ".rodata", 7);
}

const char *dwarf_protos_text(struct dwarf_protos *d, uint64_t addr, size_t max, size_t *len)
{
	Elf *elf = dwarf_getelf(d->dw);
	Elf_Scn *scn = NULL;

	addr -= d->shift;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		const char *s, *end;

		if (!gelf_getshdr(scn, &sh) || !is_constant(elf, &sh) || addr < sh.sh_addr ||
		    addr - sh.sh_addr >= sh.sh_size)
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf || addr - sh.sh_addr >= data->d_size)
			return NULL;
		s = (const char *)data->d_buf + (addr - sh.sh_addr);
		end = memchr(s, 0, data->d_size - (addr - sh.sh_addr));
		if (!end)
			return NULL;
		*len = (size_t)(end - s) < max ? (size_t)(end - s) : max;
		return s;
	}
	return NULL;
}
