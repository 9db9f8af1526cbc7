/* SPDX-License-Identifier: MIT */
/* tracers_plain.c -- the benchmark's subject, without any site. */
#define SUBJECT subject_plain
#include "tracers_subject.inc"
