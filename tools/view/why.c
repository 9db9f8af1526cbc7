/* SPDX-License-Identifier: MIT */
/* why.c -- the chain behind a delay, as text and as JSON. */
#include "view/why.h"
#include "base/diag.h"
#include "view/amount.h"

#include <string.h>

struct who {
	char text[48];
};

/* "comm-pid"; the idle task has no pid of its own. */
static struct who who(const struct chain *c, int32_t pid)
{
	struct who w;

	if (pid < 0)
		snprintf(w.text, sizeof(w.text), "nobody");
	else if (!pid)
		snprintf(w.text, sizeof(w.text), "<idle>");
	else
		snprintf(w.text, sizeof(w.text), "%s-%d", model_comm(c->model, pid), pid);
	return w;
}

static struct who prio(const struct chain_link *k)
{
	struct who w = {""};

	if (k->prio >= 0)
		snprintf(w.text, sizeof(w.text), " (prio %d)", k->prio);
	return w;
}

static struct who times(const struct chain_link *k)
{
	struct who w = {""};

	if (k->count > 1)
		snprintf(w.text, sizeof(w.text), ", %s times", thousands(k->count));
	return w;
}

static const char * or (const char *name, const char *other)
{
	return *name ? name : other;
}

static void put_what(const struct chain *c, const struct chain_link *k, FILE *out)
{
	struct who of = who(c, k->of), by = who(c, k->by);

	switch (k->kind) {
	case CHAIN_RAN: fprintf(out, "%s ran on cpu %u%s", of.text, k->cpu, times(k).text); break;
	case CHAIN_INSTEAD:
		fprintf(out, "%s was ready: %s%s ran instead on cpu %u%s", of.text, by.text,
			prio(k).text, k->cpu, times(k).text);
		break;
	case CHAIN_MEANWHILE:
		fprintf(out, "%s ran on cpu %u; whether %s was ready is not recorded", by.text,
			k->cpu, of.text);
		break;
	case CHAIN_IDLE:
		fprintf(out, "%s was ready, and cpu %u idle: the switch was on its way", of.text,
			k->cpu);
		break;
	case CHAIN_IRQ:
		fprintf(out, "interrupt %s on cpu %u%s", or (k->name, "?"), k->cpu, times(k).text);
		break;
	case CHAIN_SOFTIRQ:
		fprintf(out, "soft interrupt %s on cpu %u%s", or (k->name, "?"), k->cpu,
			times(k).text);
		break;
	case CHAIN_IRQSOFF: fprintf(out, "%s had interrupts off on cpu %u", by.text, k->cpu); break;
	case CHAIN_EXTERNAL:
		fprintf(out, "until %s%s on cpu %u", *k->name ? "interrupt " : "an interrupt",
			k->name, k->cpu);
		break;
	case CHAIN_UNKNOWN: fprintf(out, "unknown: %s: %s", of.text, k->name); break;
	case CHAIN_BLOCKED:
		fprintf(out, "%s was blocked (%s%s%s) until %s woke it on cpu %u%s", of.text,
			k->name, *k->in ? ", in " : "", k->in, k->by < 0 ? "an interrupt" : by.text,
			k->cpu, k->by < 0 ? "" : "; that one meanwhile:");
		break;
	case CHAIN_UNBORN:
		fprintf(out, "%s did not exist until %s created it; that one meanwhile:", of.text,
			by.text);
		break;
	default: break;
	}
}

/* The task for which the one at this depth kept the delayed one waiting, if it is another. */
static void put_cause(const struct source *s, const struct chain *c, const struct why_options *o,
		      FILE *out)
{
	uint64_t delay = c->delay.to - c->delay.from;

	fprintf(out, "%scause%s %s of it (%.0f %%): ", o->bold, o->plain, amount(s, c->cause_time),
		100.0 * (double)c->cause_time / (double)delay);
	put_what(c, c->cause, out);
	if (c->cause->of != c->delay.pid && c->cause->kind != CHAIN_UNKNOWN)
		fprintf(out, "; %s waited for %s", who(c, c->delay.pid).text,
			who(c, c->cause->of).text);
	fprintf(out, "\n");
}

void why_text(const struct source *s, const struct chain *c, const struct account *a,
	      const struct why_options *o, FILE *out)
{
	uint64_t delay = c->delay.to - c->delay.from, small = 0, nr_small = 0;
	char lost[512];

	fprintf(out, "%s%s%s: %s %s, from %s to %s\n", o->bold, who(c, c->delay.pid).text, o->plain,
		c->delay.kind == SPAN_KINDS ? "off the CPU for" : span_kind_name(c->delay.kind),
		amount(s, delay), amount_time(s, c->delay.from), amount_time(s, c->delay.to));
	for (size_t i = 0; i < c->nr; i++) {
		const struct chain_link *k = &c->links[i];

		if ((double)k->time * 100 < o->least * (double)delay) {
			small += CHAIN_IS_LEAF(k->kind) ? k->time : 0;
			nr_small += CHAIN_IS_LEAF(k->kind);
			continue;
		}
		fprintf(out, "%14s %*s", CHAIN_IS_LEAF(k->kind) ? amount(s, k->time) : "",
			(int)k->depth * 2, "");
		put_what(c, k, out);
		fprintf(out, "\n");
	}
	if (nr_small)
		fprintf(out, "%14s  in %s smaller links (--least 0 shows them)\n", amount(s, small),
			thousands(nr_small));
	if (c->cause)
		put_cause(s, c, o, out);
	account_text(a, lost, sizeof(lost));
	fprintf(out, "lost: %s\n", lost);
}

/* ---- JSON ---- */

static void json_task(const struct chain *c, struct json *j, const char *key, int32_t pid)
{
	if (pid < 0)
		return;
	json_open(j, key, '{');
	json_s64(j, "pid", pid);
	json_str(j, "comm", model_comm(c->model, pid));
	json_close(j, '}');
}

static void json_link(const struct source *s, const struct chain *c, struct json *j,
		      const char *key, const struct chain_link *k, uint64_t time)
{
	json_open(j, key, '{');
	json_str(j, "kind", chain_kind_name(k->kind));
	json_bool(j, "leaf", CHAIN_IS_LEAF(k->kind));
	json_u64(j, "depth", k->depth);
	amount_json(j, s, "time", time);
	amount_json(j, s, "from", k->from);
	amount_json(j, s, "to", k->to);
	json_task(c, j, "of", k->of);
	json_task(c, j, "by", k->by);
	if (k->cpu != CHAIN_NO_CPU)
		json_u64(j, "cpu", k->cpu);
	if (k->prio >= 0)
		json_s64(j, "prio", k->prio);
	if (*k->name)
		json_str(j, k->kind == CHAIN_UNKNOWN ? "why" : "name", k->name);
	if (*k->in)
		json_str(j, "in", k->in);
	json_u64(j, "count", k->count);
	json_close(j, '}');
}

void why_json(const struct source *s, const struct chain *c, const struct account *a, FILE *out)
{
	struct json j;

	json_init(&j, out, true);
	json_open(&j, NULL, '{');
	json_str(&j, "file", s->path);
	json_str(&j, "unit", s->unit == CLOCK_NS ? "ns" : "ticks");
	account_json(a, &j);
	json_task(c, &j, "task", c->delay.pid);
	json_str(&j, "kind", c->delay.kind == SPAN_KINDS ? "off" : span_kind_name(c->delay.kind));
	amount_json(&j, s, "from", c->delay.from);
	amount_json(&j, s, "to", c->delay.to);
	amount_json(&j, s, "delay", c->delay.to - c->delay.from);
	json_open(&j, "links", '[');
	for (size_t i = 0; i < c->nr; i++)
		json_link(s, c, &j, NULL, &c->links[i], c->links[i].time);
	json_close(&j, ']');
	if (c->cause)
		json_link(s, c, &j, "cause", c->cause, c->cause_time);
	json_close(&j, '}');
	json_end(&j);
}

int why_print(struct source *s, const struct chain_choice *c, const struct why_options *o,
	      FILE *out)
{
	struct chain_delay delay;
	struct chain chain = {0};
	struct account a;
	int err = chain_find(s, c, &delay);

	if (!err)
		err = chain_make(s, &c->walk, &delay, &chain);
	if (!err)
		err = model_account(s, &c->walk, chain.model, &a);
	if (!err) {
		if (o->json)
			why_json(s, &chain, &a, out);
		else
			why_text(s, &chain, &a, o, out);
		account_free(&a);
	}
	chain_free(&chain);
	return err;
}
