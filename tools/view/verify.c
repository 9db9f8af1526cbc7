/* SPDX-License-Identifier: MIT */
/* verify.c -- everything in a trace is read: what is damaged, at which offset, and what can still be read. */
#include "base/diag.h"
#include "base/json.h"
#include "view/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct found {
	uint64_t events, blocks, back, unknown, no_format;
	uint64_t *by_stream;
	struct losses *losses;
	struct account account;
};

static void walk_stream(struct source *s, uint32_t i, struct found *f,
			const struct verify_options *o, uint64_t before)
{
	struct cursor *c = cursor_open(s, i);
	uint64_t last = 0;
	struct event e;

	while (c && cursor_next(c, &e)) {
		if (e.lost)
			losses_add(f->losses,
				   &(struct loss){.stream = i,
						  .from = f->by_stream[i] ? last : e.time,
						  .to = e.time,
						  .lost = e.lost});
		f->by_stream[i]++;
		if (e.time < last) {
			f->back++;
			source_damage(s, e.offset, 0,
				      "cpu %u: time goes backwards from %" PRIu64 " to %" PRIu64,
				      e.cpu, last, e.time);
		}
		last = e.time;
		if (!source_schema(s, e.type)) {
			f->unknown++;
			source_damage(s, e.offset, e.size, "cpu %u: event type %u is not known",
				      e.cpu, e.type);
		} else if (!source_format(s, e.type)) {
			f->no_format++;
		}
		if (!e.at.skip)
			o->progress(o->arg, "verifying", before + e.at.block, f->blocks);
	}
	f->events += f->by_stream[i];
	cursor_close(c);
}

/* Every format file, including those of events that do not occur. */
static void check_formats(struct source *s)
{
	for (size_t i = 0; i < s->nr_schemas; i++) {
		struct format_error err = {0};
		struct format *f = format_parse(s->schemas[i].text, s->schemas[i].text_bytes,
						s->schemas[i].system, &err);
		bool mapped = (const uint8_t *)s->schemas[i].text >= s->map &&
			      (const uint8_t *)s->schemas[i].text < s->map + s->map_bytes;

		if (!f)
			source_damage(
				s,
				mapped ? (uint64_t)((const uint8_t *)s->schemas[i].text - s->map) +
						 err.offset
				       : 0,
				s->schemas[i].text_bytes, "format of %s:%s: %s",
				s->schemas[i].system, s->schemas[i].name, err.what);
		format_free(f);
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct damage *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void print_json(const struct source *s, const struct found *f)
{
	struct json j;

	json_init(&j, stdout, true);
	json_open(&j, NULL, '{');
	json_str(&j, "file", s->path);
	json_str(&j, "format", s->ops->name);
	json_bool(&j, "whole", !s->damage_total);
	json_str(&j, "ended", s->info.ended);
	json_u64(&j, "events", f->events);
	json_u64(&j, "places", s->damage_total);
	json_u64(&j, "bytes_lost", s->damage_bytes);
	json_bool(&j, "complete", !account_lost(&f->account) && !f->account.lost.more);
	account_json(&f->account, &j);
	json_open(&j, "damage", '[');
	for (size_t i = 0; i < s->nr_damage; i++) {
		json_open(&j, NULL, '{');
		json_u64(&j, "offset", s->damage[i].offset);
		json_u64(&j, "bytes", s->damage[i].bytes);
		json_str(&j, "what", s->damage[i].what);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "cpus", '[');
	for (size_t i = 0; i < s->nr_streams; i++) {
		json_open(&j, NULL, '{');
		json_str(&j, "buffer", s->buffers[s->streams[i].buffer].name);
		json_u64(&j, "cpu", s->streams[i].cpu);
		json_u64(&j, "blocks", s->streams[i].nr_blocks);
		json_u64(&j, "events", f->by_stream[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

static void print_text(const struct source *s, const struct found *f)
{
	char lost[512];

	for (size_t i = 0; i < s->nr_damage; i++)
		printf("0x%010" PRIx64 "  %s\n", s->damage[i].offset, s->damage[i].what);
	if (s->damage_total > s->nr_damage)
		printf("%" PRIu64 " more places\n", s->damage_total - s->nr_damage);
	printf("%s: %s, %s; %" PRIu64 " events can be read", s->path, s->ops->name,
	       s->damage_total		   ? "DAMAGED"
	       : account_lost(&f->account) ? "not damaged, but not complete"
					   : "whole",
	       f->events);
	if (s->damage_total)
		printf(", %" PRIu64 " place%s damaged, %" PRIu64 " bytes cannot be read",
		       s->damage_total, s->damage_total == 1 ? " is" : "s are", s->damage_bytes);
	account_text(&f->account, lost, sizeof(lost));
	printf("\n  lost while it was recorded: %s\n", lost);
	if (s->info.ended[0])
		printf("  how the recording ended: %s\n", s->info.ended);
	for (size_t i = 0; i < s->nr_streams; i++) {
		const struct stream *t = &s->streams[i];

		printf("  cpu %-3u %10" PRIu64 " events in %" PRIu64 " blocks%s%s\n", t->cpu,
		       f->by_stream[i], t->nr_blocks, s->buffers[t->buffer].name[0] ? ", " : "",
		       s->buffers[t->buffer].name);
	}
}

/* Walk everything; 0 or -ENOMEM. */
static int walk(struct source *s, const struct verify_options *o, struct found *f)
{
	uint64_t before = 0;

	f->by_stream = calloc(s->nr_streams + 1, sizeof(*f->by_stream));
	f->losses = losses_new();
	if (!f->by_stream || !f->losses)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_streams; i++)
		f->blocks += s->streams[i].nr_blocks;
	check_formats(s);
	source_want_names(s);
	for (uint32_t i = 0; i < s->nr_streams; i++) {
		walk_stream(s, i, f, o, before);
		before += s->streams[i].nr_blocks;
	}
	o->progress(o->arg, "verifying", f->blocks, f->blocks);
	return account_make(&f->account, s, losses_at(f->losses, 0), losses_nr(f->losses), true,
			    NULL, NULL);
}

int verify(struct source *s, const struct verify_options *o)
{
	struct found f = {0};
	int err = walk(s, o, &f);

	if (!err) {
		if (s->nr_damage)
			qsort(s->damage, s->nr_damage, sizeof(*s->damage), by_offset);
		(o->json ? print_json : print_text)(s, &f);
	}
	account_free(&f.account);
	losses_free(f.losses);
	free(f.by_stream);
	return err;
}
