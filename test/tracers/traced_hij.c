/* SPDX-License-Identifier: MIT */
/* traced_hij.c -- the traced functions, without return sites: their return address is replaced. */
#define P(name) hij_##name
#include "traced.inc"
