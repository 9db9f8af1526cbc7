/* SPDX-License-Identifier: MIT */
/* poke.c -- lets the library write the process's text: pages are made writable for a moment, all threads see the new text. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "fathom/trace.h"
#include "port.h"

static struct sigaction poke_old_trap;

/*
 * Sites come by address, a hundred to a page, and two system calls for each would take seconds where functions are many. So
 * a page stays writable until the next one is written to, or to user_sync(), which ends each step of the patcher.
 */
static uintptr_t poke_from, poke_to;
static int poke_syncs; /* user_sync() ends each step */

static int poke_close(void)
{
	uintptr_t from = poke_from, bytes = poke_to - poke_from;

	poke_from = poke_to = 0;
	return bytes && mprotect((void *)from, bytes, PROT_READ | PROT_EXEC) ? -errno : 0;
}

static int poke_open(uintptr_t at, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = at & ~(page - 1);
	uintptr_t to = (at + bytes + page - 1) & ~(page - 1);
	int err;

	if (from >= poke_from && to <= poke_to)
		return 0;
	err = poke_close();
	if (err)
		return err;
	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -errno;
	poke_from = from;
	poke_to = to;
	return 0;
}

void *user_text_map(void *at, size_t bytes)
{
	return poke_open((uintptr_t)at, bytes) ? NULL : at;
}

void user_text_unmap(void *at, size_t bytes)
{
	(void)at, (void)bytes;
	if (!poke_syncs)
		poke_close();
}

/* riscv64: the system call behind clear_cache makes every hart that runs this process fetch again, whatever the range. */
void user_sync(void)
{
	poke_close();
#ifdef __riscv
	__builtin___clear_cache((char *)user_sync, (char *)user_sync + 4);
#else
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
#endif
}

/* A thread that ran into a site while it was changed goes on where fathom_arch_breakpoint() says. */
static void poke_trap(int sig, siginfo_t *info, void *context)
{
#ifdef __x86_64__
	ucontext_t *uc = context;
	uintptr_t ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	if (fathom_arch_breakpoint(&ip)) {
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
		return;
	}
#endif
	if (poke_old_trap.sa_flags & SA_SIGINFO) {
		poke_old_trap.sa_sigaction(sig, info, context);
	} else if (poke_old_trap.sa_handler != SIG_DFL && poke_old_trap.sa_handler != SIG_IGN) {
		poke_old_trap.sa_handler(sig);
	} else {
		sigaction(SIGTRAP, &poke_old_trap, NULL);
		raise(SIGTRAP);
	}
}

int user_poke_start(void)
{
	struct sigaction sa = {.sa_sigaction = poke_trap,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

#ifdef __riscv
	(void)sa;
	return poke_syncs = 1;
#endif
	poke_syncs = 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		return 0;
	sigfillset(
		&sa.sa_mask); /* a handler on top of ours could run into a breakpoint too, and none may come then */
	poke_syncs = sigaction(SIGTRAP, &sa, &poke_old_trap) == 0;
	return poke_syncs;
}
