/* SPDX-License-Identifier: MIT */
/* export.c -- a trace as JSON lines, CSV or Chrome's trace JSON. */
#include "view/export.h"
#include "base/bytes.h"
#include "view/eventline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Chrome's form (chrome://tracing, Perfetto): a track per task with its calls (funcgraph_entry/exit become B and E) and
 * its other events as instants, and a track per CPU that shows which task ran (from sched_switch).
 */
#define CPU_TRACKS_PID 0x7fffffff

enum role {
	ROLE_UNKNOWN,
	ROLE_INSTANT,
	ROLE_ENTRY,
	ROLE_EXIT,
	ROLE_SWITCH,
};

struct chrome {
	struct source *s;
	FILE *out;
	struct eventline *line;
	uint8_t *roles; /* by type */
	struct running {
		uint64_t since;
		bool known;
	} * cpus; /* by CPU */
	uint32_t nr_cpus;
	bool comma;
};

static enum role role_of(struct chrome *c, uint32_t type)
{
	uint32_t slot = type < SOURCE_ID_FAST ? type : 0;
	const char *name;

	if (c->roles[slot])
		return c->roles[slot];
	name = source_event_name(c->s, type);
	c->roles[slot] = !strcmp(name, "funcgraph_entry")  ? ROLE_ENTRY
			 : !strcmp(name, "funcgraph_exit") ? ROLE_EXIT
			 : !strcmp(name, "sched_switch")   ? ROLE_SWITCH
							   : ROLE_INSTANT;
	return c->roles[slot];
}

static void micros(struct chrome *c, uint64_t t)
{
	fprintf(c->out, "%" PRIu64 ".%03" PRIu64, t / 1000, t % 1000);
}

/* {"ph":"B","ts":12.345,"pid":1,"tid":1,"name":"...  -- the caller closes it. */
static void begin(struct chrome *c, char ph, uint64_t t, int64_t pid, int64_t tid)
{
	fputs(c->comma ? ",\n" : "\n", c->out);
	c->comma = true;
	fprintf(c->out, "{\"ph\":\"%c\",\"ts\":", ph);
	micros(c, t);
	fprintf(c->out, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64, pid, tid);
}

static void name(struct chrome *c, const char *s, size_t n)
{
	fputs(",\"name\":\"", c->out);
	json_escape(c->out, s, n);
	fputc('"', c->out);
}

static uint64_t field(struct chrome *c, const struct event *e, const char *wanted)
{
	const struct format *f = source_format(c->s, e->type);
	const struct format_field *k = f ? format_field(f, wanted) : NULL;

	if (!k || k->offset > e->size || e->size - k->offset < k->size)
		return 0;
	return k->size == 8   ? get_u64(e->data + k->offset, c->s->big_endian)
	       : k->size == 4 ? get_u32(e->data + k->offset, c->s->big_endian)
			      : 0;
}

static int32_t process(struct chrome *c, int32_t pid)
{
	int32_t tgid = source_tgid(c->s, pid);

	return tgid > 0 ? tgid : pid;
}

static void call(struct chrome *c, const struct event *e, char ph)
{
	struct symbol sym;
	uint64_t func = field(c, e, "func");
	char hex[24];

	begin(c, ph, e->time, process(c, e->pid), e->pid);
	if (source_symbol(c->s, func, &sym)) {
		name(c, sym.name, strlen(sym.name));
	} else {
		snprintf(hex, sizeof(hex), "0x%" PRIx64, func);
		name(c, hex, strlen(hex));
	}
	fputc('}', c->out);
}

/* The task that is switched away from ran on this CPU since the last switch. */
static void ran(struct chrome *c, const struct event *e)
{
	struct running *r = e->cpu < c->nr_cpus ? &c->cpus[e->cpu] : NULL;
	char label[80];

	if (r && r->known && e->pid && e->time >= r->since) {
		begin(c, 'X', r->since, CPU_TRACKS_PID, e->cpu);
		fputs(",\"dur\":", c->out);
		micros(c, e->time - r->since);
		snprintf(label, sizeof(label), "%s-%d", source_comm(c->s, e->pid), e->pid);
		name(c, label, strlen(label));
		fputc('}', c->out);
	}
	if (r) {
		r->since = e->time;
		r->known = true;
	}
}

static void instant(struct chrome *c, const struct event *e)
{
	const char *ev = source_event_name(c->s, e->type), *text;
	size_t n;

	begin(c, 'i', e->time, process(c, e->pid), e->pid);
	name(c, ev, strlen(ev));
	text = eventline_info(c->line, e, &n);
	fprintf(c->out, ",\"s\":\"t\",\"args\":{\"cpu\":%u,\"text\":\"", e->cpu);
	json_escape(c->out, text, n);
	fputs("\"}}", c->out);
}

static void track_name(int32_t pid, const char *comm, int32_t tgid, void *arg)
{
	struct chrome *c = arg;

	begin(c, 'M', 0, tgid > 0 ? tgid : pid, pid);
	fputs(",\"name\":\"thread_name\",\"args\":{\"name\":\"", c->out);
	json_escape(c->out, comm, strlen(comm));
	fputs("\"}}", c->out);
}

static void chrome_head(struct chrome *c)
{
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", c->out);
	source_want_names(c->s);
	tasks_each(c->s->tasks, track_name, c);
	begin(c, 'M', 0, CPU_TRACKS_PID, 0);
	fputs(",\"name\":\"process_name\",\"args\":{\"name\":\"CPUs\"}}", c->out);
}

static void chrome_event(struct chrome *c, const struct event *e)
{
	switch (role_of(c, e->type)) {
	case ROLE_ENTRY: call(c, e, 'B'); break;
	case ROLE_EXIT: call(c, e, 'E'); break;
	case ROLE_SWITCH:
		ran(c, e);
		instant(c, e);
		break;
	default: instant(c, e); break;
	}
}

static int chrome_init(struct chrome *c, struct source *s, struct eventline *line, FILE *out)
{
	uint32_t cpus = 1;

	for (size_t i = 0; i < s->nr_streams; i++)
		if (s->streams[i].cpu >= cpus && s->streams[i].cpu < 65536)
			cpus = s->streams[i].cpu + 1;
	*c = (struct chrome){.s = s, .out = out, .line = line, .nr_cpus = cpus};
	c->roles = calloc(SOURCE_ID_FAST, 1);
	c->cpus = calloc(cpus, sizeof(*c->cpus));
	return c->roles && c->cpus ? 0 : -ENOMEM;
}

int export_events(struct source *s, struct merge *m, enum export_form form,
		  bool (*keep)(const struct event *e, void *arg), void *arg, FILE *out)
{
	struct eventline *line = eventline_new(s);
	struct chrome c = {0};
	const struct event *e;
	struct json j;
	int err = line ? chrome_init(&c, s, line, out) : -ENOMEM;

	if (!err && form == EXPORT_CSV)
		fputs(eventline_csv_head, out);
	if (!err && form == EXPORT_CHROME)
		chrome_head(&c);
	while (!err && (e = merge_next(m))) {
		if (keep && !keep(e, arg))
			continue;
		if (form == EXPORT_CSV) {
			eventline_csv(line, e, out);
		} else if (form == EXPORT_CHROME) {
			chrome_event(&c, e);
		} else {
			json_init(&j, out, false);
			json_open(&j, NULL, '{');
			eventline_json(line, e, UINT64_MAX, &j);
			json_close(&j, '}');
			json_end(&j);
		}
		if (ferror(out))
			err = -EIO;
	}
	if (!err && form == EXPORT_CHROME)
		fputs("\n]}\n", out);
	free(c.roles);
	free(c.cpus);
	eventline_free(line);
	return err;
}
