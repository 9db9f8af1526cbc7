/* SPDX-License-Identifier: MIT */
/* write.c -- a capture as trace.dat, and the kernel's symbols as the kallsyms text in it. */
#include "capture/capture.h"
#include "base/diag.h"
#include "wire/ringpage.h"
#include "wire/tracedat_write.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int sink(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -EIO;
}

static uint32_t formats_of(const struct capture *c, const char *system)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->nr_formats; i++)
		n += !strcmp(c->formats[i].system, system);
	return n;
}

static void write_formats(struct fathom_dat *d, const struct capture *c, const char *system)
{
	for (size_t i = 0; i < c->nr_formats; i++)
		if (!strcmp(c->formats[i].system, system))
			fathom_dat_format(d, c->formats[i].text, strlen(c->formats[i].text));
}

static bool first_of_system(const struct capture *c, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(c->formats[i].system, c->formats[at].system))
			return false;
	return strcmp(c->formats[at].system, "ftrace") != 0;
}

static void write_systems(struct fathom_dat *d, const struct capture *c)
{
	uint32_t n = 0;

	for (size_t i = 0; i < c->nr_formats; i++)
		n += first_of_system(c, i);
	fathom_dat_systems(d, n);
	for (size_t i = 0; i < c->nr_formats; i++) {
		if (!first_of_system(c, i))
			continue;
		const char *system = c->formats[i].system;

		fathom_dat_system(d, system, formats_of(c, system));
		write_formats(d, c, system);
	}
}

/* What Linux's per_cpu/cpuN/stats says, as trace-cmd keeps it. */
static void write_stats(struct fathom_dat *d, const struct capture *c)
{
	for (uint32_t cpu = 0; cpu < c->nr_cpus; cpu++) {
		const struct wire_stats *s = &c->stats[cpu];
		char text[512];
		int n = snprintf(text, sizeof(text),
				 "CPU: %u\nentries: %llu\noverrun: %llu\ncommit overrun: %llu\n"
				 "dropped events: %llu\nread events: %llu\ntoo big: %llu\n",
				 cpu, (unsigned long long)s->entries,
				 (unsigned long long)s->overwritten, (unsigned long long)s->nested,
				 (unsigned long long)s->full, (unsigned long long)s->read,
				 (unsigned long long)s->too_big);

		if (cpu + 1 == c->nr_cpus && c->calls_lost)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      "CPU: *\ncalls not followed: %llu\n",
				      (unsigned long long)c->calls_lost);
		fathom_dat_option(d, FATHOM_DAT_CPUSTAT, text, (uint32_t)n + 1);
	}
}

static void write_options(struct fathom_dat *d, const struct capture *c)
{
	write_stats(d, c);
	fathom_dat_option(d, FATHOM_DAT_UNAME, c->release, (uint32_t)strlen(c->release) + 1);
	if (c->ns_mult) {
		struct {
			uint32_t mult, shift;
			uint64_t offset;
		} tsc = {c->ns_mult, c->ns_shift, 0};

		fathom_dat_option(d, FATHOM_DAT_TSC2NSEC, &tsc, sizeof(tsc));
	}
}

static void write_all(struct fathom_dat *d, const struct capture *c)
{
	uint64_t bytes[CAPTURE_CPUS_MAX];

	fathom_dat_header(d, fathom_dat_header_page, strlen(fathom_dat_header_page),
			  fathom_dat_header_event, strlen(fathom_dat_header_event));
	fathom_dat_ftrace(d, formats_of(c, "ftrace"));
	write_formats(d, c, "ftrace");
	write_systems(d, c);
	fathom_dat_kallsyms(d, (const char *)c->kallsyms.data, c->kallsyms.len);
	fathom_dat_printk(d, (const char *)c->printks.data, c->printks.len);
	fathom_dat_cmdlines(d, (const char *)c->cmdlines.data, c->cmdlines.len);
	fathom_dat_cpus(d, c->nr_cpus);
	write_options(d, c);
	for (uint32_t i = 0; i < c->nr_cpus; i++)
		bytes[i] = c->pages[i].len;
	/* With TSC2NSEC the ticks of any clock are what trace_clock calls local. */
	fathom_dat_data(d, c->clock[0] ? c->clock : "local", bytes, c->nr_cpus);
	for (uint32_t i = 0; i < c->nr_cpus; i++)
		fathom_dat_bytes(d, c->pages[i].data, c->pages[i].len);
}

int capture_write(struct capture *c, const char *path)
{
	struct fathom_dat d;
	struct output out;
	int err = output_open(&out, path, false);

	if (!err) {
		fathom_dat_begin(&d, sink, out.f, WIRE_PAGE_BYTES, 0, 8);
		write_all(&d, c);
		err = output_close(&out, d.err);
	}
	return output_error(path, err) ? -1 : 0;
}

struct symbol {
	uint64_t at;
	const char *name;
	char type;
};

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* The functions and labels of one symbol table, sorted, as `address t name`. */
static void add_symbols(struct capture *c, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0, kept = 0;
	struct symbol *s = data ? calloc(n ? n : 1, sizeof(*s)) : NULL;

	for (size_t i = 0; s && i < n; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    sym.st_shndx >= SHN_LORESERVE)
			continue;
		Elf_Scn *in = elf_getscn(elf, sym.st_shndx);
		GElf_Shdr to;
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);

		if (!name || !*name || !in || !gelf_getshdr(in, &to) ||
		    !(to.sh_flags & SHF_EXECINSTR))
			continue;
		s[kept++] = (struct symbol){sym.st_value, name,
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
