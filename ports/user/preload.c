/* SPDX-License-Identifier: MIT */
/* preload.c -- libfathom.so in a program that knows nothing of it: its traced functions are found in its files, and _exit() saves. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fathom/object.h"
#include "port.h"

/* ---- an object's sections, which only its file tells ---- */

struct sections {
	uintptr_t base;
	const uint8_t *file;
	size_t bytes;
	const Elf64_Shdr *head;
	uint32_t nr;
	const char *names;
	size_t names_bytes;
};

static const void *inside(const struct sections *s, uint64_t offset, uint64_t bytes)
{
	return offset <= s->bytes && bytes <= s->bytes - offset ? s->file + offset : NULL;
}

static int sections_read(struct sections *s)
{
	const Elf64_Ehdr *e = inside(s, 0, sizeof(*e));
	const Elf64_Shdr *names;

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	s->head = inside(s, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s->head));
	if (!s->head || e->e_shstrndx >= e->e_shnum)
		return 0;
	s->nr = e->e_shnum;
	names = &s->head[e->e_shstrndx];
	s->names = inside(s, names->sh_offset, names->sh_size);
	s->names_bytes = names->sh_size;
	return s->names && s->names_bytes && !s->names[s->names_bytes - 1];
}

static int sections_open(struct sections *s, const char *path, uintptr_t base)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *file = MAP_FAILED;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && st.st_size > 0)
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return 0;
	*s = (struct sections){.base = base, .file = file, .bytes = (size_t)st.st_size};
	if (sections_read(s))
		return 1;
	munmap(file, s->bytes);
	return 0;
}

static const Elf64_Shdr *section(const struct sections *s, const char *name)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->head[i].sh_name < s->names_bytes &&
		    !strcmp(s->names + s->head[i].sh_name, name))
			return &s->head[i];
	return NULL;
}

/* ---- functions with entry NOPs ---- */

#ifdef __x86_64__
#define DECLARE(entry) void entry(void);
#define ADDRESS(entry) (uintptr_t) entry,
FATHOM_FAR_LIST(DECLARE)

#define FAR_BYTES 4096
#define REACH	  (1ull << 30) /* of the 2 GiB that a call reaches, so that the whole text does */

/* Jumps to the tracers' entries in a page that the text can call. 0: there is no room near it. */
static uintptr_t far_jumps(uintptr_t from, uintptr_t to)
{
	static const uintptr_t entry[] = {FATHOM_FAR_LIST(ADDRESS)};
	static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *(%rip): what follows */
	uint8_t *page = MAP_FAILED;

	for (uint64_t away = 1u << 16; away < REACH && page == MAP_FAILED; away *= 2)
		for (int above = 0; above < 2 && page == MAP_FAILED; above++)
			page = mmap((void *)((above ? to + away : from - away) & ~4095ull),
				    FAR_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED)
		return 0;
	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++) {
		memcpy(page + i * FATHOM_FAR_SLOT, jump, sizeof(jump));
		memcpy(page + i * FATHOM_FAR_SLOT + sizeof(jump), &entry[i], sizeof(entry[i]));
	}
	return mprotect(page, FAR_BYTES, PROT_READ | PROT_EXEC) ? 0 : (uintptr_t)page;
}
#else
/* The far jumps of these are made by the linker only: FATHOM_USER_LIBRARY. */
static uintptr_t far_jumps(uintptr_t from, uintptr_t to)
{
	(void)from;
	(void)to;
	return 0;
}
#endif

/* Functions compiled with -fpatchable-function-entry or -mrecord-mcount; their tables are relocated by now. */
static void take_functions(const struct sections *s, const struct user_text *text, const char *name)
{
	const Elf64_Shdr *entries = section(s, "__patchable_function_entries");
	struct fathom_module *m;

	if (!entries)
		entries = section(s, "__mcount_loc");
	if (!entries || !(entries->sh_flags & SHF_ALLOC))
		return;
	m = calloc(1, sizeof(*m)); /* the library's for ever */
	if (!m)
		return;
	*m = (struct fathom_module){.name = strdup(name),
				    .from = text->from,
				    .to = text->to,
				    .entries = (void *)(s->base + entries->sh_addr),
				    .entries_end =
					    (void *)(s->base + entries->sh_addr + entries->sh_size),
				    .far = far_jumps(text->from, text->to)};
	user_preload_functions += (uint32_t)(entries->sh_size / sizeof(void *));
	if (!m->far || fathom_module_add(m))
		user_say(name, ": its functions cannot be traced", "");
}

/* ---- the start ---- */

static int needs_library(const struct sections *s)
{
	const Elf64_Shdr *names = section(s, ".dynstr");
	const char *text = names ? inside(s, names->sh_offset, names->sh_size) : NULL;

	return text && memmem(text, names->sh_size, "libfathom.so", sizeof("libfathom.so") - 1);
}

/* What was made for the library brings its own: join.o, or in a program a whole copy, which traces it. */
static int take_object(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	const int is_program = !info->dlpi_name[0];
	const char *path = is_program ? "/proc/self/exe" : info->dlpi_name;
	const char *slash = strrchr(path, '/');
	struct user_text text = user_text_of(info);
	struct sections s;

	(void)bytes;
	(void)unused;
	if (!sections_open(&s, path, info->dlpi_addr))
		return 0;
	if (!section(&s, "fathom_events"))
		take_functions(&s, &text,
			       is_program ? program_invocation_short_name
			       : slash	  ? slash + 1
					  : path);
	else if (is_program && !needs_library(&s))
		user_elsewhere = 1;
	munmap((void *)s.file, s.bytes);
	return user_elsewhere;
}

/* Before at_start() of user.c. Without record= nothing is looked for: a program that links the library is as it always was. */
__attribute__((constructor(101))) static void before_start(void)
{
	const char *options = secure_getenv("FATHOM_TRACE");

	if (options && strstr(options, "record="))
		dl_iterate_phdr(take_object, NULL);
}

/* ---- the end ---- */

void _exit(int status)
{
	user_exiting();
	for (;;)
		syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}
