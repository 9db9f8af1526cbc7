/* SPDX-License-Identifier: MIT */
/* rules.h -- what must hold of a trace: readable assertions, judged with what was lost in mind. */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <stdio.h>

#include "model/model.h"
#include "store/scan.h"

/*
 * A file of rules has one a line; # begins a comment.
 *
 *   KIND [NAME] FIGURE OP AMOUNT [where CONDITION [and CONDITION]...]
 *        KIND    wakeup ready running blocked irq softirq syscall fault ipc function, or a span named by the file
 *        NAME    of a system call, an interrupt, a function: only these
 *        FIGURE  count total min mean p50 p90 p99 p99.9 max
 *        AMOUNT  a number, with ns us ms s for times
 *        CONDITION  task = NAME, pid OP N, cpu OP N, prio OP N
 *   every EVENT has EVENT within AMOUNT [by FIELD]
 *   never EVENT inside NAME
 *   count(FILTER) OP N              FILTER is that of `fathom query --filter`
 *   no loss [in FROM..TO]           times as --from and --to take them
 *   span NAME = EVENT to EVENT [by FIELD]     names a span for the lines after it; without FIELD, of one task
 */
enum rule_kind {
	RULE_FIGURE,
	RULE_EVERY,
	RULE_NEVER,
	RULE_COUNT,
	RULE_NO_LOSS,
};

enum figure {
	FIGURE_COUNT,
	FIGURE_TOTAL,
	FIGURE_MIN,
	FIGURE_MEAN,
	FIGURE_P50,
	FIGURE_P90,
	FIGURE_P99,
	FIGURE_P999,
	FIGURE_MAX,
	FIGURES,
};

enum compare {
	COMPARE_LT,
	COMPARE_LE,
	COMPARE_GT,
	COMPARE_GE,
	COMPARE_EQ,
	COMPARE_NE,
};

enum condition_of {
	OF_TASK,
	OF_PID,
	OF_CPU,
	OF_PRIO,
};

struct condition {
	enum condition_of of;
	enum compare op;
	int64_t number;
	const char *text; /* a task's name */
};

#define CONDITIONS_MAX 8

struct rule {
	enum rule_kind kind;
	const char *text; /* as written in the file */
	uint32_t line;
	/* figures */
	enum span_kind span;
	uint32_t pair;	  /* SPAN_PAIR: which of rules.pairs */
	const char *name; /* NULL: any */
	enum figure figure;
	enum compare op;
	uint64_t amount;
	struct condition conditions[CONDITIONS_MAX];
	uint32_t nr_conditions;
	/* never: the event; count: the filter */
	const char *event;
	struct filter *filter;
	/* no loss */
	const char *from, *to;
};

struct rule_span {
	const char *name; /* "" for those of "every" */
	const char *text; /* the line */
	uint32_t line;
};

struct rules {
	struct rule *v;
	uint32_t nr;
	/* Spans that the file names, and those of "every". */
	struct model_pair *pairs;
	struct rule_span *spans; /* of each pair */
	uint32_t nr_pairs;
	char *text; /* what the pointers above point into */
	const char *file;
	bool failed;
};

/* NULL with messages: file, line, a mark and what was expected. The text is copied. */
struct rules *rules_parse(const char *file, const char *text, size_t bytes);
/* The same of a file. */
struct rules *rules_load(const char *file);
void rules_free(struct rules *r);
/* The line, a mark under `at`, and what may have been meant (NULL: nothing similar), to stderr. */
void rules_mark(const char *line, const char *at, const char *guess);
/* Does the trace know every event that the rules name? If not, false with messages: a count of what it does not know is not 0. */
bool rules_known(struct source *s, const struct rules *r);

enum verdict {
	VERDICT_OK,
	VERDICT_FAILED,
	VERDICT_INCONCLUSIVE, /* lost events may hide the answer */
};

struct judgement {
	enum verdict verdict;
	char found[160]; /* "p99 is 214.3 us of 398" */
	uint64_t event;	 /* number of the event that shows it; MODEL_NO_EVENT: none */
};

/* Judge all; out has room for rules.nr. 0, or a negative errno; -EINVAL with a message. */
int rules_judge(struct source *s, const struct scan_choice *c, const struct rules *r,
		struct judgement *out);

/* A report for people, with the event of each failure and its neighbours; or JUnit's XML; or JSON. */
void rules_show(struct source *s, const struct rules *r, const struct judgement *j, FILE *out);
void rules_junit(struct source *s, const struct rules *r, const struct judgement *j, FILE *out);
void rules_json(struct source *s, const struct rules *r, const struct judgement *j, FILE *out);

#endif
