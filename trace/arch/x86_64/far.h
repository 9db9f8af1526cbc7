/* SPDX-License-Identifier: MIT */
/* far.h -- x86_64: from text that is more than 2 GiB away to the entries, a slot each. */
#ifndef FATHOM_ARCH_FAR_H
#define FATHOM_ARCH_FAR_H

#define FATHOM_FAR_SLOT 16

#define FATHOM_FAR_JUMP(entry) "jmp *" #entry "@GOTPCREL(%rip)\n.balign 16, 0xcc\n"
/* In the order of enum far_slot, site.c. */
#define FATHOM_FAR_LIST(X)            \
	X(fathom_arch_entry_function) \
	X(fathom_arch_entry_graph)    \
	X(fathom_arch_entry_hijack)   \
	X(fathom_arch_entry_any)      \
	X(fathom_arch_exit_ret)       \
	X(fathom_arch_exit_tail)
#define FATHOM_FAR_ASM FATHOM_FAR_LIST(FATHOM_FAR_JUMP)

#endif
