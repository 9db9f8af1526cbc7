/* SPDX-License-Identifier: MIT */
/* names.h -- task names out of the events themselves, when nobody can be asked. */
#ifndef CAPTURE_NAMES_H
#define CAPTURE_NAMES_H

#include "capture/capture.h"

/* Task names from the scheduler's events of a recording, as lines of saved_cmdlines. */
void capture_names(struct capture *c, const char *file);

#endif
