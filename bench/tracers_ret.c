/* SPDX-License-Identifier: MIT */
/* tracers_ret.c -- the benchmark's subject, with return sites. */
#define SUBJECT subject_ret
#include "tracers_subject.inc"
