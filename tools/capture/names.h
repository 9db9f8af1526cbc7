/* SPDX-License-Identifier: MIT */
/* names.h -- task names out of the events themselves, when nobody can be asked. */
#ifndef CAPTURE_NAMES_H
#define CAPTURE_NAMES_H

#include "capture/capture.h"

/* Fill c->cmdlines from sched_switch and sched_process_fork records. */
void capture_names(struct capture *c);

#endif
