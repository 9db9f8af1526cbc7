/* SPDX-License-Identifier: MIT */
/* cold.h -- include it first in a file that is off the event path: in a kernel its code is made small, not fast. */
#ifndef WIRE_COLD_H
#define WIRE_COLD_H

#if defined(__GNUC__) && !defined(__clang__) && !__STDC_HOSTED__
/* The pragma forgets -fno-builtin: a loop that looks like strlen() must stay one. */
#pragma GCC optimize("Os", "no-tree-loop-distribute-patterns")
#endif

#endif
