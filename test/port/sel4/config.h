/* SPDX-License-Identifier: MIT */
/* config.h -- stand-in for an seL4 build's configuration, for the test of ports/sel4. */
#ifndef CONFIG_H
#define CONFIG_H
#define CONFIG_FATHOM_STREAM   1
#define CONFIG_MAX_NUM_NODES   1
#define CONFIG_FATHOM_CLOCK_HZ 1000000000
#endif
