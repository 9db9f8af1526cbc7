/* SPDX-License-Identifier: MIT */
/* stddef.h -- what seL4's own headers lack: it compiles with -nostdinc and has a stdint.h, but no stddef.h. */
#ifndef FATHOM_SEL4_STDDEF_H
#define FATHOM_SEL4_STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#define offsetof(type, member) __builtin_offsetof(type, member)
#ifndef SIZE_MAX
#define SIZE_MAX ((size_t)-1)
#endif

#endif
