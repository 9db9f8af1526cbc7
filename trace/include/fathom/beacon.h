/* SPDX-License-Identifier: MIT */
/* beacon.h -- leave what a reader of the kernel's memory needs, for the day the kernel cannot speak any more. */
#ifndef FATHOM_BEACON_H
#define FATHOM_BEACON_H

/*
 * Write the beacon (wire/beacon.h) and the events' formats into what is left of the memory given to fathom_init(): a page,
 * and about one KiB per event. 0, -EINVAL (not initialised), -ENOMEM. Context: task, after fathom_init().
 */
int fathom_beacon(void);

/*
 * The same for memory that is kept without the rest of the program, a file that is mapped: the heads of the rings move into it,
 * so call it before the first event. After a snapshot it describes the rings before it. Context: task, after fathom_init().
 */
int fathom_beacon_alone(void);

#endif
