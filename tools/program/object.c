/* SPDX-License-Identifier: MIT */
/* object.c -- objects of `clang -target bpf` as programs: sections are attach points, variables of .maps and maps are maps. */
#include "program/object.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EM_BPF_ 247 /* <elf.h> may not know it */

struct elf {
	struct generator *c;
	const uint8_t *data;
	size_t bytes;
	const Elf64_Shdr *sections;
	uint32_t nr_sections;
	const char *names;
	const Elf64_Sym *symbols;
	size_t nr_symbols;
	const char *strings;
	uint32_t btf;		   /* section; 0: none */
	uint32_t *map_of;	   /* by symbol: 1 + number of its map */
	uint32_t *function_of;	   /* by symbol: 1 + number */
	uint32_t *global_of;	   /* by section: 1 + its number in o.globals */
	struct bpf_insn **code_of; /* by section: a copy that is relocated */
	struct object o;
};

bool object_error(struct ast *t, const char *fmt, ...)
{
	va_list ap;

	if (t->failed)
		return false;
	t->failed = true;
	fflush(stdout);
	fprintf(stderr, "%s: ERROR: ", t->file);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return false;
}

bool object_is(const char *text, size_t bytes)
{
	return bytes >= sizeof(Elf64_Ehdr) && !memcmp(text, ELFMAG, SELFMAG);
}

/* ---- the file ---- */

static const void *part(const struct elf *e, uint64_t off, uint64_t bytes)
{
	return off > e->bytes || bytes > e->bytes - off ? NULL : e->data + off;
}

static const void *content(const struct elf *e, uint32_t section)
{
	const Elf64_Shdr *s = &e->sections[section];

	return s->sh_type == SHT_NOBITS ? NULL : part(e, s->sh_offset, s->sh_size);
}

/* A table of strings, which ends in NUL; NULL: it does not. */
static const char *strings_of(const struct elf *e, uint32_t section)
{
	const char *s = section < e->nr_sections ? content(e, section) : NULL;

	return s && e->sections[section].sh_size && !s[e->sections[section].sh_size - 1] ? s : NULL;
}

static const char *section_name(const struct elf *e, uint32_t section)
{
	const Elf64_Shdr *names =
		&e->sections[((const Elf64_Ehdr *)(const void *)e->data)->e_shstrndx];
	uint32_t at = e->sections[section].sh_name;

	return at < names->sh_size ? e->names + at : "";
}

static const char *symbol_name(const struct elf *e, const Elf64_Sym *s, uint32_t strings)
{
	return s->st_name < e->sections[strings].sh_size ? e->strings + s->st_name : "";
}

static uint32_t symtab(const struct elf *e)
{
	uint32_t i = 1;

	while (i < e->nr_sections && e->sections[i].sh_type != SHT_SYMTAB)
		i++;
	return i < e->nr_sections ? i : 0;
}

static bool open_elf(struct elf *e)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)e->data;
	uint32_t i;

	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_machine != EM_BPF_ || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
	    h->e_shstrndx >= h->e_shnum)
		return object_error(e->c->ast,
				    "not an object of clang -target bpf (little endian)");
	e->nr_sections = h->e_shnum;
	e->sections = part(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof(*e->sections));
	e->names = e->sections ? strings_of(e, h->e_shstrndx) : NULL;
	i = e->names ? symtab(e) : 0;
	e->symbols = i ? content(e, i) : NULL;
	e->strings = i ? strings_of(e, e->sections[i].sh_link) : NULL;
	if (!e->symbols || !e->strings || e->sections[i].sh_offset % 8)
		return object_error(e->c->ast, "the object is damaged, or has no symbols");
	e->nr_symbols = e->sections[i].sh_size / sizeof(*e->symbols);
	for (i = 1; i < e->nr_sections; i++)
		if (!strcmp(section_name(e, i), ".BTF") && content(e, i) &&
		    !(e->sections[i].sh_offset % 4))
			e->btf = i;
	return true;
}

/* ---- maps ---- */

static const struct {
	uint32_t linux_type;
	enum bpf_map_kind kind;
} kinds[] = {
	{1, BPF_MAP_HASH}, {2, BPF_MAP_ARRAY}, {5, BPF_MAP_PERCPU_HASH},  {6, BPF_MAP_PERCPU_ARRAY},
	{9, BPF_MAP_HASH}, {27, BPF_MAP_RING}, {10, BPF_MAP_PERCPU_HASH},
};

static bool map_describe(struct elf *e, const Elf64_Sym *s, const char *name, struct map_raw *raw)
{
	const uint8_t *def = content(e, s->st_shndx);

	raw->is = true;
	if (!strcmp(section_name(e, s->st_shndx), ".maps"))
		return e->btf &&
		       object_btf_map(content(e, e->btf), e->sections[e->btf].sh_size, name, raw);
	if (!def || s->st_value > e->sections[s->st_shndx].sh_size ||
	    e->sections[s->st_shndx].sh_size - s->st_value < 16)
		return false;
	memcpy(&raw->linux_type, def + s->st_value, 4); /* struct bpf_map_def */
	memcpy(&raw->key_bytes, def + s->st_value + 4, 4);
	memcpy(&raw->value_bytes, def + s->st_value + 8, 4);
	memcpy(&raw->entries, def + s->st_value + 12, 4);
	return true;
}

/* As results are shown: text, or numbers of up to eight bytes. */
static void map_types(struct elf *e, struct map_spec *m)
{
	const struct map_raw *r = &m->raw;
	uint32_t percpu = r->kind == BPF_MAP_PERCPU_HASH || r->kind == BPF_MAP_PERCPU_ARRAY;
	uint32_t words = (r->key_bytes + 7) / 8, i;

	if (r->kind == BPF_MAP_RING)
		return;
	if (r->key_is_text)
		m->keys[m->nr_keys++] = type_string(words * 8);
	else
		for (i = 0; i < words; i++)
			m->keys[m->nr_keys++] = type_int(8, false);
	if (percpu)
		m->keys[m->nr_keys++] = type_int(8, false);
	m->key_bytes = (words + percpu) * 8;
	m->value_bytes = (r->value_bytes + 7) & ~7u;
	m->value = type_int(8, false);
	if (m->value_bytes > 8) {
		m->value = (struct type){
			.kind = VALUE_TUPLE, .bytes = m->value_bytes, .nr = m->value_bytes / 8};
		m->value.of = arena_take(&e->c->ast->arena, m->value.nr * sizeof(*m->value.of));
		for (i = 0; i < m->value.nr; i++)
			m->value.of[i] = type_int(8, false);
	}
	m->keys_known = m->is_read = true;
}

static bool add_map(struct elf *e, const Elf64_Sym *s, const char *name)
{
	struct map_spec *m = &e->c->maps[e->c->nr_maps];
	char *shown = arena_take(&e->c->ast->arena, strlen(name) + 2);
	size_t i;

	if (e->c->nr_maps == 32)
		return object_error(e->c->ast, "more than 32 maps");
	*m = (struct map_spec){0};
	snprintf(shown, strlen(name) + 2, "@%s", name);
	m->name = shown;
	if (!map_describe(e, s, name, &m->raw))
		return object_error(
			e->c->ast, "map %s is not described: compile with -g, or use SEC(\"maps\")",
			name);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds) && kinds[i].linux_type != m->raw.linux_type;
	     i++)
		;
	if (i == sizeof(kinds) / sizeof(*kinds))
		return object_error(e->c->ast, "map %s: type %u is not known here", name,
				    m->raw.linux_type);
	m->raw.kind = kinds[i].kind;
	if (m->raw.kind != BPF_MAP_RING &&
	    (!m->raw.key_bytes || !m->raw.value_bytes || !m->raw.entries ||
	     m->raw.value_bytes > 4096 ||
	     m->raw.key_bytes > (m->raw.key_is_text ? 256u : 8u * (KEYS_MAX - 1))))
		return object_error(e->c->ast, "map %s: its sizes are not given, or too large",
				    name);
	map_types(e, m);
	e->map_of[s - e->symbols] = ++e->c->nr_maps;
	return true;
}

/* ---- code ---- */

static bool is_code(const struct elf *e, uint32_t section)
{
	const Elf64_Shdr *s = section < e->nr_sections ? &e->sections[section] : NULL;

	return s && section && s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR &&
	       s->sh_size && content(e, section);
}

static bool find_symbols(struct elf *e)
{
	uint32_t strings = e->sections[symtab(e)].sh_link;

	e->c->maps = arena_take(&e->c->ast->arena, 33 * sizeof(*e->c->maps));
	e->o.functions =
		arena_take(&e->c->ast->arena, (e->nr_symbols + 1) * sizeof(*e->o.functions));
	for (size_t i = 0; i < e->nr_symbols; i++) {
		const Elf64_Sym *s = &e->symbols[i];
		const char *name = symbol_name(e, s, strings);
		uint32_t type = ELF64_ST_TYPE(s->st_info), section = s->st_shndx;

		if (!section || section >= e->nr_sections)
			continue;
		if (type == STT_OBJECT &&
		    (!strcmp(section_name(e, section), ".maps") ||
		     !strcmp(section_name(e, section), "maps")) &&
		    !add_map(e, s, name))
			return false;
		if (type != STT_FUNC || !is_code(e, section))
			continue;
		if (!e->code_of[section]) {
			e->code_of[section] =
				arena_take(&e->c->ast->arena, e->sections[section].sh_size);
			memcpy(e->code_of[section], content(e, section),
			       e->sections[section].sh_size);
		}
		if (s->st_value % 8 || s->st_size % 8 || !s->st_size ||
		    s->st_value > e->sections[section].sh_size ||
		    s->st_size > e->sections[section].sh_size - s->st_value)
			return object_error(e->c->ast, "%s: the function lies outside its section",
					    name);
		e->o.functions[e->o.nr_functions] =
			(struct object_function){.name = name,
						 .section = section,
						 .code = e->code_of[section] + s->st_value / 8,
						 .nr = (uint32_t)(s->st_size / 8)};
		e->function_of[i] = ++e->o.nr_functions;
	}
	return true;
}

/* The function that begins at the instruction; its number, or -1. */
static int32_t function_at(const struct elf *e, uint32_t section, int64_t at)
{
	for (uint32_t i = 0; i < e->o.nr_functions; i++)
		if (e->o.functions[i].section == section &&
		    e->o.functions[i].code - e->code_of[section] == at)
			return (int32_t)i;
	return -1;
}

#define GLOBAL_BYTES 4096u

static bool is_data(const struct elf *e, uint32_t section)
{
	const Elf64_Shdr *s = section < e->nr_sections ? &e->sections[section] : NULL;
	const char *name = s && section ? section_name(e, section) : "";

	return *name && s->sh_flags & SHF_ALLOC && !(s->sh_flags & SHF_EXECINSTR) && s->sh_size &&
	       s->sh_size <= GLOBAL_BYTES && (s->sh_type == SHT_NOBITS || content(e, section)) &&
	       strcmp(name, ".maps") != 0 && strcmp(name, "maps") != 0;
}

/* The section as a map, and what it holds at the start, filled up to words. */
static bool add_global(struct elf *e, uint32_t section)
{
	const Elf64_Shdr *s = &e->sections[section];
	struct map_spec *m = &e->c->maps[e->c->nr_maps];
	const uint8_t *from = content(e, section);
	uint32_t n = e->o.nr_globals, bytes = ((uint32_t)s->sh_size + 7) & ~7u;
	uint8_t *copy = NULL;
	char *name = arena_take(&e->c->ast->arena, strlen(section_name(e, section)) + 2);

	if (e->c->nr_maps == 32 || n == OBJECT_GLOBALS)
		return object_error(e->c->ast, "more than 32 maps, or %u sections of variables",
				    OBJECT_GLOBALS);
	if (from) {
		copy = arena_take(&e->c->ast->arena, bytes);
		memset(copy, 0, bytes);
		memcpy(copy, from, s->sh_size);
	}
	sprintf(name, "@%s", section_name(e, section));
	*m = (struct map_spec){.name = name,
			       .raw = {.is = true,
				       .is_constant = !(s->sh_flags & SHF_WRITE),
				       .kind = BPF_MAP_ARRAY,
				       .key_bytes = 4,
				       .value_bytes = bytes,
				       .entries = 1}};
	map_types(e, m);
	e->o.globals[n].map = e->c->nr_maps++;
	e->o.globals[n].content = copy;
	e->o.globals[n].bytes = bytes;
	e->global_of[section] = ++e->o.nr_globals;
	return true;
}

/* The address of a variable: of a section, the place in it stands in the instruction. */
static bool relocate_global(struct elf *e, struct bpf_insn *i, const Elf64_Sym *s)
{
	uint64_t at = s->st_value + (uint64_t)(int64_t)i->imm;

	if (!e->global_of[s->st_shndx] && !add_global(e, s->st_shndx))
		return false;
	if (at >= e->sections[s->st_shndx].sh_size)
		return object_error(e->c->ast, "a variable lies outside its section");
	i[0].regs = BPF_REGS(BPF_DST(i), BPF_PSEUDO_GLOBAL);
	i[0].imm = (int32_t)e->global_of[s->st_shndx] - 1;
	i[1].imm = (int32_t)at;
	return true;
}

static bool relocate(struct elf *e, uint32_t section, const Elf64_Rel *r)
{
	uint64_t symbol = ELF64_R_SYM(r->r_info);
	const Elf64_Sym *s = symbol < e->nr_symbols ? &e->symbols[symbol] : NULL;
	struct bpf_insn *i;
	int32_t to;

	if (r->r_offset % 8 || r->r_offset >= e->sections[section].sh_size || !s)
		return object_error(e->c->ast, "a relocation is damaged");
	i = e->code_of[section] + r->r_offset / 8;
	if (i->code == BPF_LD_IMM64 && e->map_of[symbol]) {
		i->regs = BPF_REGS(BPF_DST(i), BPF_PSEUDO_MAP);
		i->imm = (int32_t)e->map_of[symbol] - 1;
		return true;
	}
	if (i->code == BPF_LD_IMM64 && r->r_offset + 8 < e->sections[section].sh_size &&
	    is_data(e, s->st_shndx))
		return relocate_global(e, i, s);
	if (i->code == (BPF_JMP | BPF_CALL) && BPF_SRC(i) == BPF_PSEUDO_CALL &&
	    s->st_shndx < e->nr_sections && is_code(e, s->st_shndx)) {
		/* Of a section: the place in it stands in the instruction, less one. */
		to = e->function_of[symbol] ? (int32_t)e->function_of[symbol] - 1
					    : function_at(e, s->st_shndx, (int64_t)i->imm + 1);
		i->imm = to;
		i->off = 1; /* it is the number of a function by now */
		return to >= 0 || object_error(e->c->ast, "a call leads to no function");
	}
	return object_error(e->c->ast,
			    "%s: functions and variables that are not in the object, and more "
			    "than 4096 bytes of variables, are not known here",
			    section_name(e, s->st_shndx < e->nr_sections ? s->st_shndx : 0));
}

static bool relocate_all(struct elf *e)
{
	for (uint32_t n = 1; n < e->nr_sections; n++) {
		const Elf64_Shdr *s = &e->sections[n];
		const Elf64_Rel *r = s->sh_type == SHT_REL ? content(e, n) : NULL;

		if (!r || s->sh_info >= e->nr_sections || !e->code_of[s->sh_info] ||
		    s->sh_offset % 8)
			continue;
		for (size_t i = 0; i < s->sh_size / sizeof(*r); i++)
			if (!relocate(e, s->sh_info, &r[i]))
				return false;
	}
	/* Calls inside one section have no relocation: the distance is in the instruction. */
	for (uint32_t f = 0; f < e->o.nr_functions; f++) {
		const struct object_function *o = &e->o.functions[f];
		struct bpf_insn *code = e->code_of[o->section];
		uint32_t first = (uint32_t)(o->code - code);

		for (uint32_t i = first; i < first + o->nr; i++) {
			if (code[i].code != (BPF_JMP | BPF_CALL) ||
			    BPF_SRC(&code[i]) != BPF_PSEUDO_CALL)
				continue;
			if (!code[i].off)
				code[i].imm =
					function_at(e, o->section, (int64_t)i + 1 + code[i].imm);
			code[i].off = 1;
			if (code[i].imm < 0)
				return object_error(e->c->ast, "%s: a call leads to no function",
						    o->name);
		}
	}
	return true;
}

/* ---- probes ---- */

/* "tracepoint/sched/sched_switch" as bpftrace writes it; NULL: the section is no attach point. */
static const char *attach_text(struct elf *e, const char *section)
{
	static const struct {
		const char *prefix, *kind;
	} prefixes[] = {
		{"tracepoint/", "tracepoint:"}, {"tp/", "tracepoint:"},
		{"kprobe/", "kprobe:"},		{"kretprobe/", "kretprobe:"},
		{"fentry/", "kprobe:"},		{"fexit/", "kretprobe:"},
		{"interval/", "interval:"},	{"perf_event", "profile:hz:99"},
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n = strlen(prefixes[i].prefix);
		char *text;

		if (strncmp(section, prefixes[i].prefix, n) != 0)
			continue;
		text = arena_take(&e->c->ast->arena, strlen(section) + 16);
		snprintf(text, strlen(section) + 16, "%s%s", prefixes[i].kind, section + n);
		for (char *s = text; *s; s++)
			*s = *s == '/' ? ':' : *s;
		return text;
	}
	return NULL;
}

static void add_clause(struct ast *t, const char *text)
{
	struct clause *c = &t->clauses[t->nr_clauses++];

	*c = (struct clause){.attaches = arena_take(&t->arena, sizeof(*c->attaches)),
			     .nr_attaches = 1};
	c->attaches[0] = (struct attach){text, {1, 1, 1}};
}

#define INITIAL UINT32_MAX

static bool has_initial(const struct object *o)
{
	for (uint32_t i = 0; i < o->nr_globals; i++)
		if (o->globals[i].content)
			return true;
	return false;
}

/* Each function of a section that is an attach point is a clause; clause i is of function of[i], or sets the variables. */
static bool make_clauses(struct elf *e, uint32_t *of)
{
	struct ast *t = e->c->ast;

	t->clauses = arena_take(&t->arena, (e->o.nr_functions + 1) * sizeof(*t->clauses));
	for (uint32_t f = 0; f < e->o.nr_functions; f++) {
		const char *text = attach_text(e, section_name(e, e->o.functions[f].section));

		if (!text)
			continue;
		of[t->nr_clauses] = f;
		add_clause(t, text);
	}
	if (t->nr_clauses && has_initial(&e->o)) {
		of[t->nr_clauses] = INITIAL;
		add_clause(t, "BEGIN");
	}
	return t->nr_clauses || object_error(t, "no section is an attach point, such as "
						"tracepoint/sched/sched_switch or kprobe/NAME");
}

static uint32_t record_bytes(const struct probe *p)
{
	uint32_t bytes = 0;

	/* An array of as many as there are, at the end, may have none: args[] of a call. */
	for (uint32_t i = 0; p->format && i < p->format->nr_fields; i++)
		if (p->format->fields[i].size &&
		    p->format->fields[i].offset + p->format->fields[i].size > bytes)
			bytes = p->format->fields[i].offset + p->format->fields[i].size;
	return bytes;
}

static bool make_probes(struct elf *e, const uint32_t *of)
{
	struct generator *c = e->c;

	c->ast->text = "";
	c->ast->bytes = 0;
	if (!match_probes(c))
		return false;
	for (uint32_t i = 0; i < c->nr_probes; i++) {
		struct probe *p = &c->probes[i];
		uint32_t f = of[p->clause - c->ast->clauses];

		p->code = f == INITIAL ? object_initial(&e->o, &p->nr_code)
				       : object_inline(&e->o, f, &p->nr_code);
		if (!p->code)
			return false;
		p->stack_bytes = BPF_STACK_BYTES;
		p->record_bytes = record_bytes(p);
	}
	c->orders = true;
	return true;
}

bool object_compile(struct generator *c)
{
	struct elf e = {.c = c,
			.data = (const uint8_t *)c->ast->text,
			.bytes = c->ast->bytes,
			.o = {.c = c, .ast = c->ast}};
	uint32_t *of;
	bool ok = open_elf(&e);

	if (!ok)
		return false;
	e.map_of = calloc(e.nr_symbols + 1, sizeof(*e.map_of));
	e.function_of = calloc(e.nr_symbols + 1, sizeof(*e.function_of));
	e.code_of = calloc(e.nr_sections + 1, sizeof(*e.code_of));
	e.global_of = calloc(e.nr_sections + 1, sizeof(*e.global_of));
	of = calloc(e.nr_symbols + 1, sizeof(*of));
	ok = e.map_of && e.function_of && e.code_of && e.global_of && of && find_symbols(&e) &&
	     relocate_all(&e) && make_clauses(&e, of) && make_probes(&e, of);
	free(e.map_of);
	free(e.function_of);
	free(e.code_of);
	free(e.global_of);
	free(of);
	return ok;
}
