/* SPDX-License-Identifier: MIT */
/* amount.c -- times as people read them, and as JSON has them. */
#include "view/amount.h"

#include <inttypes.h>

static char *room(void)
{
	static char ring[16][32];
	static unsigned next;

	return ring[next++ % 16];
}

const char *amount(const struct source *s, uint64_t v)
{
	char *out = room();

	if (s->unit != CLOCK_NS)
		snprintf(out, 32, "%" PRIu64, v);
	else if (v >= 1000000000)
		snprintf(out, 32, "%.3f s ", (double)v / 1e9);
	else if (v >= 1000000)
		snprintf(out, 32, "%.3f ms", (double)v / 1e6);
	else
		snprintf(out, 32, "%.3f us", (double)v / 1e3);
	return out;
}

const char *amount_time(const struct source *s, uint64_t t)
{
	uint64_t us = t / 1000 + (t % 1000 >= 500);
	char *out = room();

	if (s->unit == CLOCK_NS)
		snprintf(out, 32, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	else
		snprintf(out, 32, "%" PRIu64, t);
	return out;
}

void amount_json(struct json *j, const struct source *s, const char *key, uint64_t v)
{
	char text[64];

	snprintf(text, sizeof(text), "%s_%s", key, s->unit == CLOCK_NS ? "ns" : "ticks");
	json_u64(j, text, v);
}
