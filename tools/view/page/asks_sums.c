/* SPDX-License-Identifier: MIT */
/* asks_sums.c -- a range in numbers: times of lanes, what `profile`, `latency`, `why` and `flame` say of it. */
#include "base/json.h"
#include "model/chain.h"
#include "view/latency.h"
#include "view/page/asks.h"
#include "view/profile.h"
#include "view/stacks.h"
#include "view/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ask_sums(struct asks *a, const struct asked *q, FILE *out)
{
	const struct lanes *l = a->lanes;
	struct ask_window w;
	struct json j;

	if (!ask_window(a, q, &w))
		return -EINVAL;
	json_init(&j, out, false);
	json_open(&j, NULL, '{');
	json_open(&j, "lanes", '[');
	for (uint64_t i = 0; i < l->nr_lanes; i++) {
		const struct lane *k = &l->lane[i];
		uint64_t before[LANE_CLASSES], after[LANE_CLASSES];

		if (k->kind != LANE_CPU && k->kind != LANE_TASK && k->kind != LANE_IRQ &&
		    k->kind != LANE_LOST)
			continue;
		lane_sums(l, k, w.from, 0, before);
		lane_sums(l, k, w.to, 0, after);
		json_open(&j, NULL, '[');
		json_u64(&j, NULL, i);
		for (uint32_t c = 0; c < LANE_CLASSES; c++)
			json_u64(&j, NULL, after[c] > before[c] ? after[c] - before[c] : 0);
		json_close(&j, ']');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	return 0;
}

/* ---- what the commands say ---- */

static void count_events(const struct asks *a, const struct scan_choice *c, FILE *out)
{
	uint64_t *counts = calloc(SOURCE_ID_FAST, sizeof(*counts));
	struct scan *sc = scan_open(a->s, c, &(struct scan_options){.order = SCAN_BY_STREAM});
	const struct event *e;
	struct json j;

	while (counts && sc && (e = scan_next(sc)))
		counts[e->type < SOURCE_ID_FAST ? e->type : 0]++;
	json_init(&j, out, false);
	json_open(&j, NULL, '[');
	for (;;) {
		uint32_t best = 0;

		for (uint32_t i = 1; counts && i < SOURCE_ID_FAST; i++)
			if (counts[i] > counts[best])
				best = i;
		if (!counts || !counts[best])
			break;
		json_open(&j, NULL, '[');
		json_str(&j, NULL, best ? source_event_name(a->s, best) : "unknown");
		json_u64(&j, NULL, counts[best]);
		json_close(&j, ']');
		counts[best] = 0;
	}
	json_close(&j, ']');
	scan_close(sc);
	free(counts);
}

int ask_summary(struct asks *a, const struct asked *q, FILE *out)
{
	struct ask_window w;
	struct latency_options l = {.kinds = LATENCY_KINDS,
				    .worst = 3,
				    .histogram = true,
				    .json = true,
				    .bold = "",
				    .plain = ""};
	struct profile_options p = {.sort = PROFILE_SELF, .json = true, .bold = "", .plain = ""};
	int err;

	if (!ask_window(a, q, &w))
		return -EINVAL;
	l.walk =
		(struct model_walk){.choice = &w.choice, .numbered = true, .no_index = a->no_index};
	p.walk = l.walk;
	p.walk.numbered = false;
	fputs("{\"profile\":", out);
	err = profile_print(a->s, &p, out);
	if (err && err != -ENODATA)
		return err;
	if (err)
		fputs("{}", out);
	fputs(",\"latency\":", out);
	err = latency_print(a->s, &l, out);
	if (err && err != -ENODATA)
		return err;
	fputs(",\"events\":", out);
	count_events(a, &w.choice, out);
	fputc('}', out);
	return 0;
}

/* ---- stacks ---- */

static void json_node(struct json *j, const struct flame *f, uint32_t i, uint32_t depth)
{
	const struct flame_node *n = &f->node[i];
	const struct flame_name *name = &f->name[n->name];

	json_open(j, NULL, '[');
	if (i)
		json_bytes(j, NULL, name->text, name->bytes);
	else
		json_str(j, NULL, "all");
	json_u64(j, NULL, n->self);
	json_u64(j, NULL, n->total);
	json_open(j, NULL, '[');
	for (uint32_t c = n->child; c && depth < STACK_FRAMES_MAX; c = f->node[c].sibling)
		json_node(j, f, c, depth + 1);
	json_close(j, ']');
	json_close(j, ']');
}

int ask_flame(struct asks *a, const struct asked *q, FILE *out, char why[256])
{
	struct stacks_options o = {.by = STACKS_BY_TASK};
	struct stacks got = {0};
	struct ask_window w;
	struct flame *f;
	struct json j;
	int err;

	if (!ask_window(a, q, &w))
		return -EINVAL;
	f = flame_new();
	if (!f)
		return -ENOMEM;
	o.choice = w.choice;
	err = stacks_from_source(a->s, &o, f, false, &got);
	if (!err) {
		flame_finish(f, 0);
		json_init(&j, out, false);
		json_open(&j, NULL, '{');
		json_str(&j, "unit", got.unit);
		fputs(",\"tree\":", out);
		j.comma = false;
		json_node(&j, f, 0, 0);
		json_close(&j, '}');
	} else if (err == -ENODATA) {
		snprintf(why, 256, "the range has no calls and no stack samples");
	}
	stacks_release(&got);
	flame_free(f);
	return err == -ENODATA ? -EINVAL : err;
}

/* ---- causes ---- */

int ask_why(struct asks *a, const struct asked *q, FILE *out, char why[256])
{
	struct model_walk walk = {.choice = a->choice, .no_index = a->no_index};
	struct chain_delay d = {.kind = SPAN_KINDS};
	uint64_t from, to, pid;
	struct chain c = {0};
	struct account account;
	int err;

	if (!ask_number(q, "from", a->lanes->span, &from) ||
	    !ask_number(q, "to", a->lanes->span, &to) || !ask_number(q, "pid", INT32_MAX, &pid))
		return -EINVAL;
	d.pid = (int32_t)pid;
	d.from = a->lanes->start + from;
	d.to = a->lanes->start + to;
	err = chain_make(a->s, &walk, &d, &c);
	if (!err)
		err = model_account(a->s, &walk, c.model, &account);
	if (!err) {
		why_json(a->s, &c, &account, out);
		account_free(&account);
	} else if (err == -ENOENT) {
		snprintf(why, 256, "there is no such delay");
	}
	chain_free(&c);
	return err == -ENOENT ? -EINVAL : err;
}
