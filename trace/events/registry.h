/* SPDX-License-Identifier: MIT */
/* registry.h -- what core.c needs of the registry. */
#ifndef PROBE_REGISTRY_H
#define PROBE_REGISTRY_H

void fathom_registry_init(void); /* gives ids, sets fields up; keeps what is enabled already */
void fathom_registry_exit(void); /* every event off */

#endif
