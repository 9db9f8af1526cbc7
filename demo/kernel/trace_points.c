/* SPDX-License-Identifier: MIT */
/* trace_points.c -- the one file in which the events are defined. */
#define CREATE_TRACE_POINTS
#include "trace_points.h"
