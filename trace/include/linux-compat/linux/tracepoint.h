/* SPDX-License-Identifier: MIT */
/* tracepoint.h -- where Linux's event headers look for it; put trace/include/linux-compat into the include path. */
#include "fathom/tracepoint.h"
