/* SPDX-License-Identifier: MIT */
/* events.c -- defines what events.h declares. */
#define CREATE_TRACE_POINTS
#include "events.h"
