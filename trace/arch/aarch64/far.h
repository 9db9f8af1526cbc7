/* SPDX-License-Identifier: MIT */
/* far.h -- aarch64: from text that is more than 128 MiB away to the entries, a slot each. */
#ifndef FATHOM_ARCH_FAR_H
#define FATHOM_ARCH_FAR_H

#define FATHOM_FAR_SLOT 16

#define FATHOM_FAR_JUMP(entry)                                                      \
	"adrp x16, :got:" #entry "\nldr x16, [x16, :got_lo12:" #entry "]\nbr x16\n" \
	".balign 16\n"
/* In the order of enum far_slot, site.c. */
#define FATHOM_FAR_ASM                              \
	FATHOM_FAR_JUMP(fathom_arch_entry_function) \
	FATHOM_FAR_JUMP(fathom_arch_entry_hijack)   \
	FATHOM_FAR_JUMP(fathom_arch_entry_any)

#endif
