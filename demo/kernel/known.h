/* SPDX-License-Identifier: MIT */
/* known.h -- functions with known calls, for the shell and for processes that are traced. */
#ifndef DEMO_KNOWN_H
#define DEMO_KNOWN_H

/* Call each of known_small() ... known_outer() once, known_colour() and known_error() twice. */
void known_calls(void);

#endif
