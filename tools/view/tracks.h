/* SPDX-License-Identifier: MIT */
/* tracks.h -- where spans, edges and events are drawn: for outputs that have tracks in groups. */
#ifndef VIEW_TRACKS_H
#define VIEW_TRACKS_H

#include "base/idmap.h"
#include "model/model.h"

/*
 * A group for each process, with a track per task; the idle task is one per CPU, though its pid is the same on all. CPUs show
 * which task ran, and where events were lost or not recorded; interrupts have a track per CPU.
 */
enum {
	TRACKS_CPUS = 0x7ffffff0,
	TRACKS_IRQS,
	TRACKS_IDLE,
};

struct track {
	int32_t group, id;
};

struct tracks {
	struct source *s;
	struct model *model;
	struct idmap seen;
	char label[64], cpu[32];
};

static inline struct track tracks_cpu(uint32_t cpu)
{
	return (struct track){TRACKS_CPUS, (int32_t)cpu};
}
struct track tracks_task(const struct tracks *t, int32_t pid, uint32_t cpu);
/* The name of a span and its track; NULL: it is not drawn. Valid until the next call. */
const char *tracks_span(struct tracks *t, const struct span *s, struct track *at);
/* The first time that a track is asked for: its name, and that of its group in *group. Else NULL. */
const char *tracks_first(struct tracks *t, struct track at, const char **group);

#endif
