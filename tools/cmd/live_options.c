/* SPDX-License-Identifier: MIT */
/* live_options.c -- what top and view take of a live target: how it is recorded meanwhile. */
#include "cmd/live_options.h"

struct record_options live_asked;

static bool add_event(const char *name)
{
	return record_add_event(&live_asked, name, false);
}

struct option_call live_add_event = {add_event};
