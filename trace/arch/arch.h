/* SPDX-License-Identifier: MIT */
/* arch.h -- what each architecture gives the function tracers: sites that can be switched, and where they lead. */
#ifndef FATHOM_ARCH_H
#define FATHOM_ARCH_H

#include <stddef.h>
#include <stdint.h>
#include "fathom/inside/patch.h"
#include "fathom/port_default.h"

/*
 * Whether sites lead to functions/hot.c where they can: C that is compiled to leave the registers of a traced function alone,
 * which the compiler can promise only while it calls nothing. Not in fathom.c, where it would hold for the whole library.
 */
#if FATHOM_PORT_LEAF && FATHOM_FUNCTIONS && !FATHOM_SAVE_FP && !defined(FATHOM_ONE_FILE) && \
	defined(__OPTIMIZE__) && !defined(__clang__) &&                                     \
	(defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64))
#define FATHOM_ARCH_HOT 1
#else
#define FATHOM_ARCH_HOT 0
#endif

/*
 * Where a site leads. All but EXIT stand at the entry of a function. FUNCTION, GRAPH and HIJACK go to C functions that
 * do one thing to every call they see; ANY looks the function up and does what its users want.
 */
enum fathom_entry {
	FATHOM_ENTRY_OFF,
	FATHOM_ENTRY_FUNCTION, /* fathom_function_enter(ip, parent_ip) */
	FATHOM_ENTRY_GRAPH,    /* fathom_graph_enter(ip, slot): the function has return sites */
	FATHOM_ENTRY_HIJACK,   /* fathom_graph_enter_hijack(ip, slot): it has none */
	FATHOM_ENTRY_ANY,      /* fathom_function_any(ip, slot, frame pointer) */
	FATHOM_ENTRY_EXIT,     /* fathom_graph_leave(slot), at a return site */
};

/*
 * The site of a function whose entry is in the compiler's table. What must stand beside it for good, at *where, so that
 * the site itself is one instruction; its length, 0 if nothing.
 */
uintptr_t fathom_arch_site_at(uintptr_t entry);
size_t fathom_arch_site_fixed(uintptr_t at, uint8_t out[FATHOM_PATCH_BYTES_MAX], uintptr_t *where);
/* Length of the NOP at `at`, and of the landing pad that a function may begin with; 0 if there is none. */
size_t fathom_arch_nop_bytes(uintptr_t at);
size_t fathom_arch_pad_bytes(uintptr_t at);
/* Whether the bytes at `at` are something a compiler leaves for us. Others are dropped from the table. */
int fathom_arch_site_ok(uintptr_t at);
/* The code that makes the site lead to `entry`; its length, 0 if the entry is out of reach. */
size_t fathom_arch_site_code(uintptr_t at, enum fathom_entry entry,
			     uint8_t out[FATHOM_PATCH_BYTES_MAX]);
size_t fathom_arch_site_bytes(void);
/* Where the module that `at` is in has its jumps (fathom/inside/far.h); 0: nowhere. probe/ knows it. */
uintptr_t fathom_module_far(uintptr_t at);

/* The code that sites at a function's entry lead to; not of OFF and EXIT. */
uintptr_t fathom_arch_entry_address(enum fathom_entry entry);
/*
 * Where hijacked returns arrive. On x86_64 those of calls that came by the NOPs in front of their function arrive elsewhere:
 * there the CPU's return predictor expects them (entry.S).
 */
#if FATHOM_ARCH_HOT
#define fathom_arch_return fathom_arch_hot_return
#elif defined(__riscv) && FATHOM_SAVE_FP
#define fathom_arch_return fathom_arch_return_fp
#endif
#ifdef __x86_64__
void fathom_arch_return_kept(void);
#else
#define fathom_arch_return_kept fathom_arch_return
#endif
void fathom_arch_return(void);
static inline uintptr_t fathom_arch_return_address(void)
{
	return (uintptr_t)fathom_arch_return;
}
static inline int fathom_arch_is_return(uintptr_t at)
{
	return at == (uintptr_t)fathom_arch_return || at == (uintptr_t)fathom_arch_return_kept;
}

/*
 * A traced function need not leave the stack aligned, and the library does not care. A sanitizer's runtime does: built for
 * one (clang says so by FATHOM_SANITIZED), what the entries call aligns it.
 */
#if defined(__x86_64__) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
			    defined(FATHOM_SANITIZED))
#define FATHOM_ARCH_CALLED __attribute__((force_align_arg_pointer))
#else
#define FATHOM_ARCH_CALLED
#endif

/* Where sites can call C themselves: graph.c has the function that they call. */
#ifdef __x86_64__
#include "arch/x86_64/direct.h"
#else
#define FATHOM_ARCH_DIRECT 0
#endif
#if FATHOM_ARCH_DIRECT
FATHOM_ARCH_SAVES
#endif
void fathom_arch_entry_graph(void);

/* What the entries call; probe/ defines them. `slot` is where the function's return address lies. */
FATHOM_ARCH_CALLED void fathom_function_enter(uintptr_t ip, uintptr_t parent_ip);
FATHOM_ARCH_CALLED void fathom_graph_enter(uintptr_t ip, uintptr_t *slot);
FATHOM_ARCH_CALLED void fathom_graph_enter_hijack(uintptr_t ip, uintptr_t *slot);
FATHOM_ARCH_CALLED void fathom_graph_enter_kept(uintptr_t ip, uintptr_t *slot);
void fathom_function_any(uintptr_t ip, uintptr_t *slot, uintptr_t fp); /* its entry aligns */
FATHOM_ARCH_CALLED void fathom_graph_leave(uintptr_t *slot);
FATHOM_ARCH_CALLED uintptr_t fathom_graph_return(uintptr_t *slot);

#endif
