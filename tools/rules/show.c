/* SPDX-License-Identifier: MIT */
/* show.c -- judgements for people, for JUnit, and as JSON. */
#include "rules/rules.h"

#include "base/json.h"
#include "view/report.h"

#include <inttypes.h>

#define NEIGHBOURS 2 /* events before and after the one that shows a failure */

static const char *const words[] = {"ok", "FAILED", "inconclusive"};

static void neighbours(struct source *s, uint64_t event, FILE *out)
{
	struct scan_choice all = SCAN_ALL;
	struct scan_options so = {.numbered = true};
	struct scan *sc = scan_open(s, &all, &so);
	struct report_options ro = {.choice = &all};
	struct report_line *line = report_line_new(s, &ro);
	const struct event *e;
	const char *text;
	size_t bytes;
	uint64_t n = event > NEIGHBOURS ? event - NEIGHBOURS : 0, nr;

	if (sc && line && !scan_seek(sc, n, &nr))
		for (; n <= event + NEIGHBOURS && (e = scan_next(sc)); n++) {
			fprintf(out, "  %c %9" PRIu64 " ", n == event ? '>' : ' ', n);
			text = report_line(line, e, &bytes);
			fwrite(text, 1, bytes, out);
		}
	report_line_free(line);
	scan_close(sc);
}

void rules_show(struct source *s, const struct rules *r, const struct judgement *j, FILE *out)
{
	uint32_t i, nr[3] = {0};

	for (i = 0; i < r->nr; i++) {
		nr[j[i].verdict]++;
		fprintf(out, "%-12s  %s: %s\n", words[j[i].verdict], r->v[i].text, j[i].found);
		if (j[i].verdict == VERDICT_FAILED && j[i].event != MODEL_NO_EVENT)
			neighbours(s, j[i].event, out);
	}
	fprintf(out, "%u ok, %u failed, %u inconclusive\n", nr[VERDICT_OK], nr[VERDICT_FAILED],
		nr[VERDICT_INCONCLUSIVE]);
}

static void xml(FILE *out, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '>' || *s == '&' || *s == '"' || (unsigned char)*s < 32)
			fprintf(out, "&#%d;", (unsigned char)*s);
		else
			fputc(*s, out);
}

void rules_junit(struct source *s, const struct rules *r, const struct judgement *j, FILE *out)
{
	uint32_t i, failed = 0, skipped = 0;

	for (i = 0; i < r->nr; i++) {
		failed += j[i].verdict == VERDICT_FAILED;
		skipped += j[i].verdict == VERDICT_INCONCLUSIVE;
	}
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
	xml(out, s->path);
	fprintf(out, "\" tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n", r->nr, failed, skipped);
	for (i = 0; i < r->nr; i++) {
		fputs("  <testcase classname=\"", out);
		xml(out, r->file);
		fputs("\" name=\"", out);
		xml(out, r->v[i].text);
		if (j[i].verdict == VERDICT_OK) {
			fputs("\"/>\n", out);
			continue;
		}
		fprintf(out, "\"><%s message=\"%s",
			j[i].verdict == VERDICT_FAILED ? "failure" : "skipped",
			j[i].verdict == VERDICT_FAILED ? "" : "inconclusive: ");
		xml(out, j[i].found);
		fputs("\"/></testcase>\n", out);
	}
	fputs("</testsuite>\n", out);
}

void rules_json(struct source *s, const struct rules *r, const struct judgement *j, FILE *out)
{
	struct json js;
	uint32_t i;

	json_init(&js, out, true);
	json_open(&js, NULL, '{');
	json_str(&js, "file", s->path);
	json_open(&js, "rules", '[');
	for (i = 0; i < r->nr; i++) {
		json_open(&js, NULL, '{');
		json_str(&js, "rule", r->v[i].text);
		json_u64(&js, "line", r->v[i].line);
		json_str(&js, "verdict",
			 j[i].verdict == VERDICT_FAILED ? "failed" : words[j[i].verdict]);
		json_str(&js, "found", j[i].found);
		if (j[i].event != MODEL_NO_EVENT)
			json_u64(&js, "event", j[i].event);
		json_close(&js, '}');
	}
	json_close(&js, ']');
	json_close(&js, '}');
	json_end(&js);
}
