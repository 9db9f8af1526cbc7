/* SPDX-License-Identifier: MIT */
/* symbols.c -- the symbols of a kernel's ELF file as the text of kallsyms. */
#include "capture/capture.h"
#include "base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct elf_symbol {
	uint64_t at;
	const char *name;
	char type;
};

static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* ARM and RISC-V mark where code and data begin: $x, $d.12, $xrv64i2p1. These are not names of functions. */
static bool is_mapping(const char *name)
{
	return name[0] == '$' && name[1] && strchr("xadt", name[1]) &&
	       (!name[2] || name[2] == '.' || (name[1] == 'x' && !strncmp(name + 2, "rv", 2)));
}

/* The functions and labels of one symbol table, sorted, as `address t name`. */
static void add_symbols(struct capture *c, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0, kept = 0;
	struct elf_symbol *s = data ? calloc(n ? n : 1, sizeof(*s)) : NULL;

	for (size_t i = 0; s && i < n; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    sym.st_shndx >= SHN_LORESERVE)
			continue;
		Elf_Scn *in = elf_getscn(elf, sym.st_shndx);
		GElf_Shdr to;
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);

		if (!name || !*name || is_mapping(name) || !in || !gelf_getshdr(in, &to) ||
		    !(to.sh_flags & SHF_EXECINSTR))
			continue;
		s[kept++] = (struct elf_symbol){sym.st_value, name,
						GELF_ST_BIND(sym.st_info) == STB_LOCAL ? 't' : 'T'};
	}
	if (kept)
		qsort(s, kept, sizeof(*s), by_address);
	for (size_t i = 0; i < kept; i++)
		bytes_text(&c->kallsyms, "%016llx %c %s\n", (unsigned long long)s[i].at, s[i].type,
			   s[i].name);
	free(s);
}

int capture_kallsyms(struct capture *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL)
								 : NULL;
	Elf_Scn *scn = NULL;

	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		diag_error("%s: %s", path, fd < 0 ? strerror(errno) : "not an ELF file");
	} else {
		while ((scn = elf_nextscn(elf, scn))) {
			GElf_Shdr sh;

			if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
				add_symbols(c, elf, scn, &sh);
		}
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
	return c->kallsyms.len ? 0 : -1;
}
