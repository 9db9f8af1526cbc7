/* SPDX-License-Identifier: MIT */
/* tracers_hij.c -- the benchmark's subject, without return sites. */
#define SUBJECT subject_hij
#include "tracers_subject.inc"
