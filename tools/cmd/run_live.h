/* SPDX-License-Identifier: MIT */
/* run_live.h -- fathom run --target. */
#ifndef CMD_RUN_LIVE_H
#define CMD_RUN_LIVE_H

#include "program/program.h"

/* An exit code. */
int run_live(const char *target, const struct program_options *p, uint32_t seconds);

#endif
