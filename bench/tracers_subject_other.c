/* SPDX-License-Identifier: MIT */
/* tracers_subject_other.c -- the subject, compiled for another tracer. */
#define SUBJECT subject_other
#include "tracers_subject.inc"
