/* SPDX-License-Identifier: MIT */
/* far.h -- x86_64: from text that is more than 2 GiB away to the entries, a slot each. */
#ifndef FATHOM_ARCH_FAR_H
#define FATHOM_ARCH_FAR_H

#define FATHOM_FAR_SLOT 16

#define FATHOM_FAR_JUMP(entry) "jmp *" #entry "@GOTPCREL(%rip)\n.balign 16, 0xcc\n"
/* In the order of enum far_slot, site.c. */
#define FATHOM_FAR_ASM                              \
	FATHOM_FAR_JUMP(fathom_arch_entry_function) \
	FATHOM_FAR_JUMP(fathom_arch_entry_graph)    \
	FATHOM_FAR_JUMP(fathom_arch_entry_hijack)   \
	FATHOM_FAR_JUMP(fathom_arch_entry_any)      \
	FATHOM_FAR_JUMP(fathom_arch_exit_ret)       \
	FATHOM_FAR_JUMP(fathom_arch_exit_tail)

#endif
