/* SPDX-License-Identifier: MIT */
/* stdarg.h -- for kernels that are compiled with -nostdinc and have none: -isystem trace/include/freestanding. */
#ifndef FATHOM_FREESTANDING_STDARG_H
#define FATHOM_FREESTANDING_STDARG_H

typedef __builtin_va_list va_list;
#define va_start(ap, last) __builtin_va_start(ap, last)
#define va_arg(ap, type)   __builtin_va_arg(ap, type)
#define va_copy(to, from)  __builtin_va_copy(to, from)
#define va_end(ap)	   __builtin_va_end(ap)

#endif
