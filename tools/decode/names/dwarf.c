/* SPDX-License-Identifier: MIT */
/* dwarf.c -- inlined frames and source lines of an address, through libdw. */
#include "decode/names/elf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct elf_dwarf {
	int fd;
	Dwarf *dw;
};

struct elf_dwarf *elf_dwarf_open(const char *path)
{
	struct elf_dwarf *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->fd = open(path, O_RDONLY | O_CLOEXEC);
	d->dw = d->fd >= 0 ? dwarf_begin(d->fd, DWARF_C_READ) : NULL;
	if (!d->dw) {
		elf_dwarf_close(d);
		return NULL;
	}
	return d;
}

void elf_dwarf_close(struct elf_dwarf *d)
{
	if (!d)
		return;
	if (d->dw)
		dwarf_end(d->dw);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

/* The linkage name tells overloads apart; plain C has only the name. */
static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a))
		name = dwarf_formstring(&a);
	return name ? name : dwarf_diename(die);
}

size_t elf_dwarf_inlined(struct elf_dwarf *d, uint64_t addr, const char **names, size_t max)
{
	Dwarf_Die cu, *scopes = NULL;
	size_t n = 0;
	int nr;

	if (!dwarf_addrdie(d->dw, addr, &cu))
		return 0;
	nr = dwarf_getscopes(&cu, addr, &scopes);
	/* Innermost scope first: walk from the outside in. */
	for (int i = nr; i-- > 0 && n < max;) {
		const char *name;

		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		name = die_name(&scopes[i]);
		if (name)
			names[n++] = name;
	}
	if (nr > 0)
		free(scopes);
	return n;
}

bool elf_dwarf_line(struct elf_dwarf *d, uint64_t addr, const char **file, int *line)
{
	Dwarf_Die cu;
	Dwarf_Line *l;

	if (!dwarf_addrdie(d->dw, addr, &cu) || !(l = dwarf_getsrc_die(&cu, addr)))
		return false;
	*file = dwarf_linesrc(l, NULL, NULL);
	return *file && dwarf_lineno(l, line) == 0;
}
