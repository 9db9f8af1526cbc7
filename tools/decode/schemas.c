/* SPDX-License-Identifier: MIT */
/* schemas.c -- event types by id and by name, and the names a source knows: symbols, tasks, printk formats. */
#include "decode/source.h"
#include "base/vec.h"
#include "base/bytes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rest of the line after `key`, which stands at the start of a line of the first `bytes`. */
static const char *line_value(const char *text, size_t bytes, const char *key, size_t *value_bytes)
{
	size_t key_bytes = strlen(key);
	const char *p = text, *end = text + bytes;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;

		if ((size_t)(stop - p) >= key_bytes && !memcmp(p, key, key_bytes)) {
			for (p += key_bytes; p < stop && *p == ' ';)
				p++;
			if (stop > p && stop[-1] == '\r')
				stop--;
			*value_bytes = (size_t)(stop - p);
			return p;
		}
		if (stop - p > 7 && !memcmp(p, "format:", 7))
			break;
		p = stop + 1;
	}
	return NULL;
}

static bool number(const char *p, size_t bytes, uint32_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes && p[i] >= '0' && p[i] <= '9' && i < 10; i++)
		v = v * 10 + (uint64_t)(p[i] - '0');
	*out = (uint32_t)v;
	return bytes && p[0] >= '0' && p[0] <= '9' && v <= UINT32_MAX;
}

#define SCHEMAS_MAX 200000u

static struct schema *new_schema(struct source *s)
{
	size_t nr = s->nr_schemas;

	return nr < SCHEMAS_MAX && VEC_MORE(s->schemas, nr) ? &s->schemas[nr] : NULL;
}

int source_add_schema(struct source *s, const char *system, const char *text, size_t bytes,
		      bool copy)
{
	size_t name_bytes, id_bytes;
	const char *name = line_value(text, bytes, "name:", &name_bytes);
	const char *id = line_value(text, bytes, "ID:", &id_bytes);
	struct schema *k, v = {.text = text, .text_bytes = bytes, .owned = copy};

	if (!name || !name_bytes || name_bytes > 256 || !id || !number(id, id_bytes, &v.id))
		return -EINVAL;
	k = new_schema(s);
	v.system = strdup(system ? system : "");
	v.name = strndup(name, name_bytes);
	if (copy) {
		char *own = malloc(bytes ? bytes : 1);

		if (own)
			memcpy(own, text, bytes);
		v.text = own;
	}
	if (!k || !v.system || !v.name || !v.text) {
		free(v.system);
		free(v.name);
		if (copy)
			free((void *)v.text);
		return -ENOMEM;
	}
	*k = v;
	k->order = (uint32_t)s->nr_schemas++;
	return 0;
}

const struct schema *source_schema(const struct source *s, uint32_t id)
{
	if (id < SOURCE_ID_FAST)
		return s->by_id[id];
	for (size_t lo = 0, hi = s->nr_schemas; lo < hi;) {
		size_t mid = (lo + hi) / 2;

		if (s->schemas[mid].id == id)
			return &s->schemas[mid];
		if (s->schemas[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* A format file does not say how long a long is; arrays of them whose number is not known were taken as of 8 bytes. */
static void shorten_longs(struct format *f)
{
	for (uint32_t i = 0; i < f->nr_fields; i++) {
		struct format_field *d = &f->fields[i];
		bool array = d->flags & (FORMAT_ARRAY | FORMAT_DYNAMIC);

		if (!array || d->elem_size != 8 || !(d->flags & (FORMAT_LONG | FORMAT_POINTER)))
			continue;
		d->elem_size = 4;
		d->nr_elems = d->flags & FORMAT_DYNAMIC ? 0 : d->size / 4;
	}
}

const struct format *source_format(struct source *s, uint32_t id)
{
	struct schema *k = (struct schema *)source_schema(s, id);
	struct format *f;

	if (!k)
		return NULL;
	f = __atomic_load_n(&k->format, __ATOMIC_ACQUIRE); /* pairs with the release below */
	if (f)
		return f;
	pthread_mutex_lock(s->lock);
	f = k->format;
	if (!f && !k->broken) {
		struct format_error err = {0};

		f = format_parse(k->text, k->text_bytes, k->system, &err);
		k->broken = !f;
		if (f && s->long_bytes == 4)
			shorten_longs(f);
		__atomic_store_n(&k->format, f, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(s->lock);
	return f;
}

const struct schema *source_schema_named(const struct source *s, const char *name)
{
	const char *sep = strpbrk(name, ":/");
	size_t system_bytes = sep ? (size_t)(sep - name) : 0;
	const char *event = sep ? sep + 1 : name;

	for (size_t i = 0; i < s->nr_schemas; i++) {
		const struct schema *k = &s->schemas[i];

		if (strcmp(k->name, event) != 0)
			continue;
		if (!sep ||
		    (strlen(k->system) == system_bytes && !memcmp(k->system, name, system_bytes)))
			return k;
	}
	return NULL;
}

const char *source_event_name(const struct source *s, uint32_t id)
{
	const struct schema *k = source_schema(s, id);

	return k ? k->name : "";
}

/* The first lookup sorts a table, so it is made here, under the lock. */
static void want_tasks(struct source *s)
{
	if (__atomic_load_n(&s->have_names, __ATOMIC_ACQUIRE)) /* pairs with the release below */
		return;
	pthread_mutex_lock(s->lock);
	if (!s->have_names) {
		if (s->ops->names)
			s->ops->names(s, SOURCE_TASKS);
		printks_find(s->printks, 0);
		__atomic_store_n(&s->have_names, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(s->lock);
}

void source_want_names(struct source *s)
{
	struct symbol sym;

	if (__atomic_load_n(&s->have_symbols, __ATOMIC_ACQUIRE)) /* pairs with the release below */
		return;
	want_tasks(s);
	pthread_mutex_lock(s->lock);
	if (!s->have_symbols) {
		if (s->ops->names && !s->given_symbols)
			s->ops->names(s, SOURCE_SYMBOLS);
		symbols_find(s->symbols, 0, ALIAS_FIRST, &sym);
		__atomic_store_n(&s->have_symbols, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(s->lock);
}

void source_want_texts(struct source *s)
{
	pthread_mutex_lock(s->lock);
	if (!s->have_texts && s->ops->names)
		s->ops->names(s, SOURCE_TEXTS);
	s->have_texts = true;
	pthread_mutex_unlock(s->lock);
}

bool source_symbol(struct source *s, uint64_t addr, struct symbol *out)
{
	source_want_names(s);
	return symbols_find(s->symbols, addr, ALIAS_FIRST, out);
}

uint32_t source_kernel(const struct source *s)
{
	const char *p = s->info.uname;
	unsigned major, minor;

	if (!strncmp(p, "Linux ", 6))
		p += 6 + strcspn(p + 6, " ");
	return sscanf(p, " %u.%u", &major, &minor) == 2 && major < 1000 && minor < 1000
		       ? major * 1000 + minor
		       : 0;
}

const char *source_comm(struct source *s, int32_t pid)
{
	const char *comm;

	want_tasks(s);
	comm = tasks_comm(s->tasks, pid);
	if (comm)
		return comm;
	return pid ? "<...>" : "<idle>";
}

int32_t source_tgid(struct source *s, int32_t pid)
{
	want_tasks(s);
	return tasks_tgid(s->tasks, pid);
}

const char *source_printk(struct source *s, uint64_t addr)
{
	want_tasks(s);
	return printks_find(s->printks, addr);
}

/* The lock is held. */
static void want_protos(struct source *s)
{
	if (!s->have_protos && s->ops->names)
		s->ops->names(s, SOURCE_PROTOS);
	s->have_protos = true;
}

const struct proto *source_proto(struct source *s, const char *name, uint64_t addr)
{
	const struct proto *p;

	pthread_mutex_lock(s->lock);
	want_protos(s);
	p = protos_find(s->protos, name, addr);
	pthread_mutex_unlock(s->lock);
	return p;
}

const char *source_program_text(struct source *s, uint64_t addr, size_t max, size_t *len)
{
	const char *text;

	pthread_mutex_lock(s->lock);
	want_protos(s);
	text = protos_text(s->protos, addr, max, len);
	pthread_mutex_unlock(s->lock);
	return text;
}

bool source_field(struct source *s, const struct event *e, const char *name, uint64_t *out)
{
	const struct format *f = source_format(s, e->type);
	const struct format_field *k = f ? format_field(f, name) : NULL;
	const uint8_t *p;

	if (!k || k->offset > e->size || k->size > e->size - k->offset)
		return false;
	p = e->data + k->offset;
	switch (k->size) {
	case 1: *out = *p; break;
	case 2: *out = get_u16(p, s->big_endian); break;
	case 4: *out = get_u32(p, s->big_endian); break;
	case 8: *out = get_u64(p, s->big_endian); break;
	default: return false;
	}
	return true;
}
