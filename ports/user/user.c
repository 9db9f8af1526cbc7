/* SPDX-License-Identifier: MIT */
/* user.c -- the cold half of the user port. */
#include "fathom_port.h"

__thread uint32_t fathom_user_cpu;
