/* SPDX-License-Identifier: MIT */
/* words.h -- what the ready-made event headers share. */
#ifndef FATHOM_EVENTS_WORDS_H
#define FATHOM_EVENTS_WORDS_H

#include "fathom/port_default.h"

/* A task's name into a record: cut to 15 characters, the rest zero, so no stale memory is recorded. */
static inline FATHOM_NOTRACE __attribute__((__unused__)) void fathom_assign_comm(char to[16],
										 const char *from)
{
	int i = 0;

	for (; i < 15 && from && from[i]; i++)
		to[i] = from[i];
	for (; i < 16; i++)
		to[i] = 0;
}

#endif
