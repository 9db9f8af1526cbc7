/* SPDX-License-Identifier: MIT */
/* learn.h -- names of tasks that had exited when the trace's table was written: records of the scheduler hold them. */
#ifndef MODEL_LEARN_H
#define MODEL_LEARN_H

#include "decode/source.h"

/* Look for the names of these tasks that the trace's table lacks; from then on source_comm() knows them. */
void model_learn_comms(struct source *s, const int32_t *pids, size_t nr, bool no_index);

#endif
