/* SPDX-License-Identifier: MIT */
/* stddef.h -- for kernels that are compiled with -nostdinc and have none: -isystem trace/include/freestanding. */
#ifndef FATHOM_FREESTANDING_STDDEF_H
#define FATHOM_FREESTANDING_STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#ifdef __cplusplus
#define NULL __null
#else
#define NULL ((void *)0)
#endif
#define offsetof(type, member) __builtin_offsetof(type, member)

#endif
