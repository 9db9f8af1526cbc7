/* SPDX-License-Identifier: MIT */
/* embed.h -- a file of the source tree as a string of the program. */
#ifndef VIEW_EMBED_H
#define VIEW_EMBED_H

#define EMBED(name, file)                                                                          \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n"); \
	extern const char name[]

#endif
