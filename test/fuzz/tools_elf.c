/* SPDX-License-Identifier: MIT */
/* tools_elf.c -- fuzz target: an ELF file: its symbols, its build-id, its DWARF. */
#include "lib/fuzz_file.h"

#include "decode/names/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct symbols *t = symbols_new();
	char path[40], id[BUILD_ID_TEXT];
	const char *names[8], *file;
	struct elf_dwarf *d;
	struct symbol s;
	int line;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (elf_is(path)) {
		elf_add_symbols(t, path, "");
		elf_build_id(path, id);
		d = elf_dwarf_open(path);
		for (size_t i = 0; d && symbols_at(t, i, &s) && i < 50; i++) {
			elf_dwarf_inlined(d, s.start, names, 8);
			elf_dwarf_line(d, s.start, &file, &line);
			free(elf_demangle(s.name));
		}
		elf_dwarf_close(d);
	}
	symbols_free(t);
	close(fd);
	return 0;
}
