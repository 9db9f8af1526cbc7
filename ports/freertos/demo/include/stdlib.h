/* SPDX-License-Identifier: MIT */
/* stdlib.h -- FreeRTOS includes it and uses nothing of it. */
#include <stddef.h>
