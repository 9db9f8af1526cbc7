/* SPDX-License-Identifier: MIT */
/* asks.c -- what the page asks: its parameters, tiles and events. */
#include "view/page/asks.h"
#include "base/json.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILES_MAX  64u	       /* of one question, side by side */
#define BYTES_MAX  (32u << 20) /* of an answer */
#define EVENTS_MAX 10000u

/* ---- parameters ---- */

bool ask_number(const struct asked *q, const char *name, uint64_t max, uint64_t *out)
{
	const char *text = q->get(q->arg, name);
	char *end;
	double v;

	if (!text)
		return false;
	v = strtod(text, &end);
	if (end == text || *end || !isfinite(v) || v < 0)
		return false;
	*out = v >= (double)max ? max : (uint64_t)v;
	return true;
}

bool ask_window(const struct asks *a, const struct asked *q, struct ask_window *w)
{
	uint64_t span = a->lanes->span + 1;

	if (!ask_number(q, "from", span, &w->from) || !ask_number(q, "to", span, &w->to))
		return false;
	w->choice = *a->choice;
	if (a->lanes->start + w->from > w->choice.from)
		w->choice.from = a->lanes->start + w->from;
	if (a->lanes->start + w->to < w->choice.to)
		w->choice.to = a->lanes->start + w->to;
	return true;
}

/* ---- tiles ---- */

/* "3,5-9": the next run of a list. False at its end, or where it is wrong. */
static bool next_run(const char **at, uint64_t *first, uint64_t *last)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*first = *last = strtoull(*at, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*last = strtoull(end + 1, &end, 10);
	*at = *end == ',' ? end + 1 : end;
	return true;
}

static bool put_tile(const struct asks *a, const char *lanes, uint32_t level, uint64_t index,
		     FILE *out, uint64_t *bytes)
{
	struct tile_bytes b = {0};
	uint32_t head[4] = {htole32(level), htole32((uint32_t)index), 0,
			    htole32((uint32_t)(index >> 32))};
	uint64_t first, last;

	while (next_run(&lanes, &first, &last) && b.n < BYTES_MAX)
		for (; first <= last && first < a->lanes->nr_lanes && b.n < BYTES_MAX; first++)
			tile_put(a->lanes, first, level, index, &b);
	head[2] = htole32((uint32_t)b.n);
	fwrite(head, sizeof(head), 1, out);
	if (b.n)
		fwrite(b.v, 1, b.n, out);
	*bytes += b.n;
	free(b.v);
	return !b.failed && *bytes < BYTES_MAX;
}

static int ask_tiles(const struct asks *a, const struct asked *q, FILE *out)
{
	const char *lanes = q->get(q->arg, "lanes");
	uint64_t level, first, n = 1, bytes = 0;

	if (!lanes || !ask_number(q, "level", 63, &level) ||
	    !ask_number(q, "first", 1ull << 52, &first) || level > tile_levels(a->lanes))
		return -EINVAL;
	ask_number(q, "n", TILES_MAX, &n);
	while (n-- && put_tile(a, lanes, (uint32_t)level, first, out, &bytes))
		first++;
	return 0;
}

/* ---- events ---- */

#define ONLY_MAX 4
/* Types that have a lane of their own. */
static const struct {
	const char *name, *types[ONLY_MAX];
} only[] = {{"markers", {"print", "bprint", "bputs", "raw_data"}},
	    {"samples", {"kernel_stack", "user_stack"}}};

static size_t types_of(const struct source *s, const char *const names[ONLY_MAX],
		       uint32_t types[ONLY_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ONLY_MAX && names[i]; i++) {
		const struct schema *k = source_schema_named(s, names[i]);

		if (k)
			types[n++] = k->id;
	}
	return n;
}

static int ask_events(const struct asks *a, const struct asked *q, FILE *out, char why[256])
{
	struct page_events o = {.start = a->lanes->start, .max = 200};
	const char *text = q->get(q->arg, "filter");
	struct expr_error wrong;
	struct filter *filter = NULL;
	struct ask_window w;
	uint32_t types[ONLY_MAX];
	uint64_t nr;
	int err;

	if (!ask_window(a, q, &w))
		return -EINVAL;
	ask_number(q, "max", EVENTS_MAX, &o.max);
	ask_number(q, "skip", UINT32_MAX, &o.skip);
	o.choice = &w.choice;
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (q->get(q->arg, only[i].name)) {
			w.choice.types = types;
			w.choice.nr_types = types_of(a->s, only[i].types, types);
		}
	if (text) {
		filter = filter_new(text, &wrong);
		if (!filter) {
			snprintf(why, 256, "filter, at %zu: %s", wrong.offset + 1, wrong.what);
			return -EINVAL;
		}
		w.choice.filter = filter;
	}
	err = page_events(a->s, &o, out, &nr);
	filter_free(filter);
	return err;
}

/* ---- what is new ---- */

/* Of a recording that grows: how long it is, lanes, tasks and names that are new since a turn, sums of lanes that have changed since a time. */
static int ask_news(const struct asks *a, const struct asked *q, FILE *out)
{
	uint64_t turn, name, since;
	struct ask_state state;
	struct json j;

	if (!a->live || !ask_number(q, "turn", UINT32_MAX, &turn) ||
	    !ask_number(q, "names", UINT32_MAX, &name) ||
	    !ask_number(q, "since", UINT64_MAX / 2, &since))
		return -EINVAL;
	a->state(a->state_arg, &state);
	json_init(&j, out, false);
	json_open(&j, NULL, '{');
	json_u64(&j, "span", a->lanes->span);
	json_u64(&j, "events", a->lanes->nr_events);
	json_str(&j, "state", state.over ? "over" : state.away ? "away" : "on");
	json_u64(&j, "cuts", state.cuts);
	json_open(&j, "sums", '[');
	for (uint64_t i = 0; i < a->lanes->nr_lanes; i++) {
		if (lanes_live_is_new(a->live, i, (uint32_t)turn) ||
		    !lanes_live_changed(a->live, i, since))
			continue;
		json_open(&j, NULL, '[');
		json_u64(&j, NULL, i);
		json_u64(&j, NULL, a->lanes->lane[i].nr);
		for (uint32_t k = 0; k < LANE_CLASSES; k++)
			json_u64(&j, NULL, a->lanes->lane[i].sum[k]);
		json_close(&j, ']');
	}
	json_close(&j, ']');
	json_open(&j, "lanes", '[');
	for (uint64_t i = 0; i < a->lanes->nr_lanes; i++)
		if (lanes_live_is_new(a->live, i, (uint32_t)turn))
			page_lane(&j, &a->lanes->lane[i], i);
	json_close(&j, ']');
	fputc(',', out);
	lanes_live_names(a->live, (uint32_t)name, (uint32_t)turn, out);
	fputc('}', out);
	return 0;
}

/* ---- all ---- */

static int answer(struct asks *a, const char *what, const struct asked *q, FILE *out, bool *binary,
		  char why[256])
{
	size_t n;
	char *meta;
	int err = -ENOENT;

	*why = 0;
	*binary = !strcmp(what, "tiles");
	if (*binary)
		return ask_tiles(a, q, out);
	if (!strcmp(what, "sums"))
		return ask_sums(a, q, out);
	if (!strcmp(what, "news"))
		return ask_news(a, q, out);
	if (!strcmp(what, "events"))
		return ask_events(a, q, out, why);
	if (!strcmp(what, "meta")) {
		meta = page_meta(a->s, a->lanes, a->title, &n);
		if (!meta)
			return -ENOMEM;
		fwrite(meta, 1, n, out);
		free(meta);
		return 0;
	}
	pthread_mutex_lock(&a->walking);
	if (!strcmp(what, "summary"))
		err = ask_summary(a, q, out);
	else if (!strcmp(what, "search"))
		err = ask_search(a, q, out, why);
	else if (!strcmp(what, "flame"))
		err = ask_flame(a, q, out, why);
	else if (!strcmp(what, "why"))
		err = ask_why(a, q, out, why);
	pthread_mutex_unlock(&a->walking);
	return err;
}

int ask(struct asks *a, const char *what, const struct asked *q, FILE *out, bool *binary,
	char why[256])
{
	int err;

	if (a->live)
		lanes_live_share(a->live);
	err = answer(a, what, q, out, binary, why);
	if (a->live)
		lanes_live_done(a->live);
	return err;
}
