/* SPDX-License-Identifier: MIT */
/* traced_cyg.c -- the traced functions, compiled with -finstrument-functions. */
#define P(name) cyg_##name
#include "traced.inc"

volatile int traced_sink;
