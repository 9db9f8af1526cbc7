/* SPDX-License-Identifier: MIT */
/* define_trace.h -- where Linux's event headers look for it; put trace/include/linux-compat into the include path. */
#include "fathom/define_trace.h"
