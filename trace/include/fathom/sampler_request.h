/* SPDX-License-Identifier: MIT */
/* sampler_request.h -- what may be asked of the sampler: for the kernel, and for an application that calls it. */
#ifndef FATHOM_SAMPLER_REQUEST_H
#define FATHOM_SAMPLER_REQUEST_H

/* The flags of the L4Re backtracer, so that an application's call carries over; CONTROL entries of a capture hold them. */
enum fathom_sampler_request {
	FATHOM_SAMPLER_START = 1,
	FATHOM_SAMPLER_STOP = 2,
	FATHOM_SAMPLER_RESET = 4,
	FATHOM_SAMPLER_SET_INTERVAL = 8, /* argument: microseconds */
	FATHOM_SAMPLER_GET_INTERVAL = 16,
	FATHOM_SAMPLER_IS_RUNNING = 32,
	FATHOM_SAMPLER_WRITE_STATS = 64,
	FATHOM_SAMPLER_NO_ENTRY = 128, /* do not log the request */
	/* Not the original's. Argument: microseconds from START, 0: never. */
	FATHOM_SAMPLER_STOP_AFTER = 256,
};

#endif
