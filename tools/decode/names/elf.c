/* SPDX-License-Identifier: MIT */
/* elf.c -- names from ELF files: symbols, build-id, C++ names made readable. */
#include "decode/names/elf.h"
#include "base/diag.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool elf_is(const char *path)
{
	unsigned char head[4] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, head, 4) == 4 && !memcmp(head, "\177ELF", 4);

	if (fd >= 0)
		close(fd);
	return is;
}

struct sym {
	uint64_t at, size;
	const char *name;
};

static int by_address(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Symbols of one table worth having; a section symbol, a file name or one that is not defined is not. */
static size_t collect(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct sym **out)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0, nr = 0;
	struct sym *v;

	if (!data || n > INT32_MAX)
		return 0;
	v = calloc(n ? n : 1, sizeof(*v));
	for (size_t i = 0; v && i < n; i++) {
		GElf_Sym s;
		const char *name;
		int type;

		if (!gelf_getsym(data, (int)i, &s) || s.st_shndx == SHN_UNDEF)
			continue;
		type = GELF_ST_TYPE(s.st_info);
		if (type == STT_SECTION || type == STT_FILE || type == STT_TLS)
			continue;
		if (!s.st_size && (s.st_shndx >= SHN_LORESERVE || type == STT_OBJECT))
			continue;
		name = elf_strptr(elf, sh->sh_link, s.st_name);
		if (!name || !*name || *name == '$')
			continue;
		v[nr++] = (struct sym){s.st_value, s.st_size, name};
	}
	*out = v;
	return nr;
}

/* One without a size reaches to the next address that has a symbol. */
static void give_sizes(struct sym *v, size_t n)
{
	uint64_t next = 0; /* the first address above those of v[i] */

	for (size_t i = n; i-- > 0;) {
		if (i + 1 < n && v[i + 1].at > v[i].at)
			next = v[i + 1].at;
		if (!v[i].size && next)
			v[i].size = next - v[i].at;
	}
}

static int add_table(struct symbols *t, Elf *elf, uint32_t want, const char *module, size_t *added)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		struct sym *v = NULL;
		size_t n;
		int err = 0;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != want)
			continue;
		n = collect(elf, scn, &sh, &v);
		if (n)
			qsort(v, n, sizeof(*v), by_address);
		give_sizes(v, n);
		for (size_t i = 0; i < n && !err; i++)
			err = symbols_add(t, v[i].at, v[i].size, v[i].name, strlen(v[i].name),
					  module, strlen(module));
		free(v);
		if (err)
			return err;
		*added += n;
	}
	return 0;
}

int elf_add_symbols(struct symbols *t, const char *path, const char *module)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	size_t added = 0;
	Elf *elf;

	if (fd < 0) {
		err = -errno;
		diag_error("%s: %s", path, strerror(-err));
		return err;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		diag_error("%s: not an ELF file, so it has no symbols", path);
		err = -EINVAL;
	} else {
		err = add_table(t, elf, SHT_SYMTAB, module, &added);
		if (!err && !added)
			err = add_table(t, elf, SHT_DYNSYM, module, &added);
		if (!err && !added)
			diag_warn("%s: has no symbols (is it stripped?)", path);
	}
	elf_end(elf);
	close(fd);
	return err;
}

bool elf_build_id(const char *path, char out[BUILD_ID_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found = false;
	Elf_Scn *scn = NULL;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && !found && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		GElf_Nhdr note;
		size_t at = 0, name, desc;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		while (!found && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
			    note.n_descsz > 32 || memcmp((char *)data->d_buf + name, "GNU", 4))
				continue;
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(out + 2 * i, 3, "%02x",
					 ((uint8_t *)data->d_buf)[desc + i]);
			found = note.n_descsz > 0;
		}
	}
	elf_end(elf);
	close(fd);
	return found;
}

/* libstdc++ has the demangler of the ABI; it is loaded only if a name asks for it, and done without if it is not there. */
char *elf_demangle(const char *name)
{
	typedef char *demangle_fn(const char *, char *, size_t *, int *);
	static demangle_fn *demangle;
	static bool tried;
	char *out = NULL;
	int status = 1;

	if (name[0] == '_' && name[1] == 'Z') {
		if (!tried) {
			void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

			tried = true;
			if (lib)
				*(void **)&demangle = dlsym(lib, "__cxa_demangle");
		}
		if (demangle)
			out = demangle(name, NULL, NULL, &status);
	}
	return out ? out : strdup(name);
}
