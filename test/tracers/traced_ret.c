/* SPDX-License-Identifier: MIT */
/* traced_ret.c -- the traced functions, with return sites. */
#define P(name) ret_##name
#include "traced.inc"
volatile int traced_sink;
