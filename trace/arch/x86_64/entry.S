/* SPDX-License-Identifier: MIT */
/* entry.S -- x86_64: from a patched site into C and back, with every register as it was. */

/*
 * The C side is compiled for general registers only (-mgeneral-regs-only): vector and x87 state needs no saving, and the
 * stack may have any 8-byte alignment, as gcc leaves it for callees it knows (-fipa-stack-alignment).
 *
 * At a function's entry all arguments are live: rdi rsi rdx rcx r8 r9, rax (variadic calls), r10 (static chain), and
 * r11 because a caller that knows the function (-fipa-ra) may rely on it. At a `ret` only rax and rdx are. In front of
 * a tail call's `jmp` the arguments are live again.
 *
 * Stack at an entry, from the top: address behind the site, return address of the function (the slot).
 */

#define SITE_BYTES 5

	.macro save_but_r11
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	.endm

	.macro restore_but_r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	.endm

#define SAVED_BUT_R11 64

	.macro save_arguments
	save_but_r11
	pushq	%r11
	.endm

	.macro restore_arguments
	popq	%r11
	restore_but_r11
	.endm

#define SAVED_ARGUMENTS 72

	.macro entry name, target, save, restore, saved
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	\save
	movq	\saved(%rsp), %rdi
	leaq	\saved + 8(%rsp), %rsi
	subq	$SITE_BYTES, %rdi
	call	\target
	\restore
	ret
	.size	\name, . - \name
	.endm

/* Functions with return sites were compiled with -pg, which rules -fipa-ra out. */
	.text
	entry	fathom_arch_entry_graph_saved, fathom_graph_enter, save_but_r11, restore_but_r11, SAVED_BUT_R11
	entry	fathom_arch_entry_hijack, fathom_graph_enter_hijack, save_arguments, restore_arguments, SAVED_ARGUMENTS

	.globl	fathom_arch_entry_function
	.type	fathom_arch_entry_function, @function
	.balign	16
fathom_arch_entry_function:
	save_arguments
	movq	SAVED_ARGUMENTS(%rsp), %rdi
	movq	SAVED_ARGUMENTS + 8(%rsp), %rsi
	subq	$SITE_BYTES, %rdi
	call	fathom_function_enter
	restore_arguments
	ret
	.size	fathom_arch_entry_function, . - fathom_arch_entry_function

/*
 * The general entry. Commands may run here (a dump, a snapshot) that end in the C library's memcpy in a process; there,
 * the stack is aligned and the vector registers that carry arguments are kept. A kernel has none to keep.
 */
	.globl	fathom_arch_entry_any
	.type	fathom_arch_entry_any, @function
	.balign	16
fathom_arch_entry_any:
	save_arguments
	movq	SAVED_ARGUMENTS(%rsp), %rdi
	leaq	SAVED_ARGUMENTS + 8(%rsp), %rsi
	movq	%rbp, %rdx
	subq	$SITE_BYTES, %rdi
	pushq	%rbx
	movq	%rsp, %rbx
	andq	$-16, %rsp
#ifdef __SSE2__
	subq	$128, %rsp
	movaps	%xmm0, 0(%rsp)
	movaps	%xmm1, 16(%rsp)
	movaps	%xmm2, 32(%rsp)
	movaps	%xmm3, 48(%rsp)
	movaps	%xmm4, 64(%rsp)
	movaps	%xmm5, 80(%rsp)
	movaps	%xmm6, 96(%rsp)
	movaps	%xmm7, 112(%rsp)
#endif
	call	fathom_function_any
#ifdef __SSE2__
	movaps	0(%rsp), %xmm0
	movaps	16(%rsp), %xmm1
	movaps	32(%rsp), %xmm2
	movaps	48(%rsp), %xmm3
	movaps	64(%rsp), %xmm4
	movaps	80(%rsp), %xmm5
	movaps	96(%rsp), %xmm6
	movaps	112(%rsp), %xmm7
#endif
	movq	%rbx, %rsp
	popq	%rbx
	restore_arguments
	ret
	.size	fathom_arch_entry_any, . - fathom_arch_entry_any

/* What those call that sites call themselves (direct.h): they count on every register. */
	.macro	saving name, target
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	save_arguments
	call	\target
	restore_arguments
	ret
	.size	\name, . - \name
	.endm

	saving	fathom_arch_publish, fathom_ring_publish

	.globl	fathom_arch_enter_general
	.type	fathom_arch_enter_general, @function
	.balign	16
fathom_arch_enter_general:
	save_arguments
	xorl	%edx, %edx
	call	fathom_graph_enter_general
	restore_arguments
	ret
	.size	fathom_arch_enter_general, . - fathom_arch_enter_general

/* In front of `ret`: the slot lies right behind our own return address. */
	.globl	fathom_arch_exit_ret
	.type	fathom_arch_exit_ret, @function
	.balign	16
fathom_arch_exit_ret:
	pushq	%rax
	pushq	%rdx
	leaq	24(%rsp), %rdi
	call	fathom_graph_leave
	popq	%rdx
	popq	%rax
	ret
	.size	fathom_arch_exit_ret, . - fathom_arch_exit_ret

/* In front of a tail call. */
	.globl	fathom_arch_exit_tail
	.type	fathom_arch_exit_tail, @function
	.balign	16
fathom_arch_exit_tail:
	save_arguments
	leaq	SAVED_ARGUMENTS + 8(%rsp), %rdi
	call	fathom_graph_leave
	restore_arguments
	ret
	.size	fathom_arch_exit_tail, . - fathom_arch_exit_tail

/*
 * A function whose return address was replaced arrives here by its own `ret`: the slot is right above the stack. It is
 * left by jmp, not by a second ret: the return predictor has already used up this call's entry, and a ret would spend
 * (and miss) the caller's too. r11 is what that costs; the others are kept although the function has returned, for
 * callers compiled with -fipa-ra. (Compile with -fno-ipa-ra all the same: such a caller may count on r11 too.)
 */
	.globl	fathom_arch_return
	.type	fathom_arch_return, @function
	.balign	16
fathom_arch_return:
	subq	$8, %rsp
	save_but_r11
	leaq	SAVED_BUT_R11(%rsp), %rdi
	call	fathom_graph_return
	movq	%rax, %r11
	restore_but_r11
	addq	$8, %rsp
	jmp	*%r11
	.size	fathom_arch_return, . - fathom_arch_return

/*
 * From the NOPs in front of a function without return sites (-fpatchable-function-entry=17,12), to which its site jumps: r11 is
 * the address after the site, and the stack is the function's. The return address is replaced by one that stands after a
 * call which is made here for that alone: so the function's `ret` is predicted to come here, and ours, after it, to go to its
 * caller. If the call was not followed nothing was replaced, and nothing is called.
 */
	.globl	fathom_arch_entry_prefix
	.type	fathom_arch_entry_prefix, @function
	.balign	16
fathom_arch_entry_prefix:
	pushq	%r11
	save_but_r11
	leaq	-SITE_BYTES(%r11), %rdi
	leaq	SAVED_BUT_R11 + 8(%rsp), %rsi
	call	fathom_graph_enter_kept
	restore_but_r11
	leaq	fathom_arch_return_kept(%rip), %r11
	cmpq	%r11, 8(%rsp)
	popq	%r11
	jne	2f
	call	1f
	.globl	fathom_arch_return_kept
fathom_arch_return_kept:
	subq	$8, %rsp
	save_but_r11
	leaq	SAVED_BUT_R11(%rsp), %rdi
	call	fathom_graph_return
	movq	%rax, SAVED_BUT_R11(%rsp)
	restore_but_r11
	ret
1:	leaq	8(%rsp), %rsp
2:	jmp	*%r11
	.size	fathom_arch_entry_prefix, . - fathom_arch_entry_prefix

	.section .note.GNU-stack, "", @progbits
