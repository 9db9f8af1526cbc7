/* SPDX-License-Identifier: MIT */
/* instrument.h -- what the compiler's calls come to. Included by fathom/instrument.h. */
#ifndef FATHOM_INSIDE_INSTRUMENT_H
#define FATHOM_INSIDE_INSTRUMENT_H

#include <stdint.h>

extern uint32_t fathom_instrument_on; /* written in task context, read relaxed by every call */
void fathom_instrument_enter(void *function, void *call_site, void *frame);
void fathom_instrument_leave(void *function);

#endif
