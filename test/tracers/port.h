/* SPDX-License-Identifier: MIT */
/* port.h -- sets the library up in the test's own process: its text is made writable, symbols from the ELF file. */
#ifndef TEST_TRACERS_PORT_H
#define TEST_TRACERS_PORT_H

#include <elf.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "fathom/inside/errno.h"
#include "fathom/inside/patch.h"
#include "fathom/trace.h"
#ifdef PORT_HOLDS_LOCK
#include "fathom/inside/core.h"
#endif

static const Elf64_Sym *port_sym;
static size_t port_nr_sym;
static const char *port_str;
static __attribute__((unused)) int port_strangers;

static inline void port_load_symbols(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	const char *image;
	const Elf64_Ehdr *eh;
	const Elf64_Shdr *sh;

	if (fd < 0 || fstat(fd, &st))
		exit(2);
	image = mmap(0, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	eh = (const void *)image;
	sh = (const void *)(image + eh->e_shoff);
	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type != SHT_SYMTAB)
			continue;
		port_sym = (const void *)(image + sh[i].sh_offset);
		port_nr_sym = sh[i].sh_size / sizeof(*port_sym);
		port_str = image + sh[sh[i].sh_link].sh_offset;
	}
}

/* The programs are linked without PIE, so symbol values are addresses. */
static inline const char *port_symbol(uintptr_t at, uintptr_t *offset, uintptr_t *size)
{
	for (size_t i = 0; i < port_nr_sym; i++) {
		const Elf64_Sym *s = &port_sym[i];

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || at < s->st_value ||
		    at >= s->st_value + s->st_size)
			continue;
		*offset = at - s->st_value;
		*size = s->st_size;
		return port_str + s->st_name;
	}
	return 0;
}

/* Text stays writable once it was written: what is tested here is what is written. */
static inline void *port_text_map(void *at, size_t bytes)
{
	uintptr_t from = (uintptr_t)at & ~(uintptr_t)4095;
	uintptr_t to = ((uintptr_t)at + bytes + 4095) & ~(uintptr_t)4095;

	return mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) ? NULL : at;
}

static inline void port_sync(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static inline void port_trap(int sig, siginfo_t *info, void *context)
{
#ifdef __x86_64__
	ucontext_t *uc = context;
	uintptr_t ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	if (!fathom_arch_breakpoint(&ip))
		port_strangers++;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
#endif
	(void)sig, (void)info, (void)context;
}

static __attribute__((unused)) void (*port_on_fatal)(const char *why);

static inline void port_fatal(const char *why)
{
	if (port_on_fatal)
		port_on_fatal(why);
	fprintf(stderr, "%s", why);
	abort();
}

/*
 * Some tests reach below the public functions, which take the lock. Where the library checks that (FATHOM_DEBUG), the thread that
 * begins holds it all the time: it may take it again.
 */
#ifdef PORT_HOLDS_LOCK
static pthread_mutex_t port_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void port_lock(void *arg)
{
	pthread_mutex_lock(arg);
}

static void port_unlock(void *arg)
{
	pthread_mutex_unlock(arg);
}

static inline int port_init_locked(struct fathom_config *config)
{
	int err;

	config->lock = port_lock;
	config->unlock = port_unlock;
	config->lock_arg = &port_mutex;
	err = fathom_init(config);
	fathom_lock();
	return err;
}
#else
static inline int port_init_locked(struct fathom_config *config)
{
	return fathom_init(config);
}
#endif

#define PORT_BYTES (64u << 20)
static __attribute__((unused)) int port_read_only; /* text cannot be written */
static uint64_t port_clock_hz;			   /* 0: the clock is taken for nanoseconds */

static inline int port_init_pages(uint32_t nr_cpus, uint32_t pages)
{
	static void *memory;
	struct sigaction sa = {.sa_sigaction = port_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct fathom_config config = {
		.memory_bytes = PORT_BYTES,
		.nr_cpus = nr_cpus,
		.pages_per_cpu = pages,
		.clock_hz = port_clock_hz,
		.text_map = port_text_map,
		.fatal = port_fatal,
		.sync = port_sync,
		.symbol = port_symbol,
	};

	if (!memory) {
		memory = mmap(0, PORT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		port_load_symbols();
		sigfillset(
			&sa.sa_mask); /* a handler on top of it could run into a breakpoint too */
		sigaction(SIGTRAP, &sa, 0);
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	}
	config.memory = memory;
	if (port_read_only)
		config.text_map = 0;
	return port_init_locked(&config);
}

static inline int port_init(uint32_t nr_cpus)
{
	return port_init_pages(nr_cpus, 1024);
}

#endif
