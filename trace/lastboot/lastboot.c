/* SPDX-License-Identifier: MIT */
/* lastboot.c -- the memory that survives a warm reset: its head says whose trace it holds; instances/boot_map has its rings there. */
#include "wire/cold.h"
#include "control/control.h"
#include "control/pool.h"
#include "control/tree.h"
#include "events/registry.h"
#include "fathom/object.h"
#include "functions/tracer.h"
#include "lastboot/lastboot.h"
#include "wire/crc32.h"

/*
 * The memory:   | head | the rings' heads, one per CPU | pad to a page | ring of CPU 0 | ring of CPU 1 | ...
 * The head is written once, when the rings are empty. A boot that would write another one does not touch what it finds but
 * begins anew: its events, addresses or sizes are others.
 */
#define LASTBOOT_MAGIC "FATHOM LASTBOOT" /* 16 bytes with its NUL */
#define LASTBOOT_LAYOUT \
	1u /* raise it when the memory, or struct fathom_ring, means something else */

struct lastboot_head {
	char magic[16];
	uint32_t bytes, crc; /* of this struct; CRC-32 with this member 0 */
	uint32_t layout, page_bytes, ring_bytes, nr_cpus;
	uint32_t build; /* of the kernel: its events, formats and functions */
	uint32_t unused;
	uint64_t memory_bytes;
};

static struct {
	const char *none; /* why there is no trace of the last boot; NULL: there is one */
	struct lastboot_found found[FATHOM_CPUS_MAX];
} lastboot;

static uint32_t lastboot_hash(uint32_t crc, const char *text)
{
	return fathom_crc32(crc, text, fathom_strlen(text) + 1);
}

static uint32_t lastboot_hash_event(uint32_t crc, const struct fathom_event *ev)
{
	crc = lastboot_hash(lastboot_hash(crc, ev->system), ev->name);
	crc = fathom_crc32(lastboot_hash(crc, ev->print_fmt), &ev->id, sizeof(ev->id));
	for (uint32_t i = 0; i < ev->nr_fields; i++) {
		const struct fathom_field *f = &ev->fields[i];
		uint32_t place = (uint32_t)f->offset << 16 | f->size;

		crc = lastboot_hash(lastboot_hash(crc, f->type), f->name);
		crc = fathom_crc32(crc, &place, sizeof(place));
	}
	return crc;
}

/* What a record may refer to: events by id, formats and functions by address. */
static uint32_t lastboot_build(void)
{
	const struct fathom_object *program = fathom_object_next(NULL);
	uint32_t crc = lastboot_hash(0, fathom_core.config.release);
	const char *format;

	for (struct fathom_event *const *ev = program->events; ev < program->events_end; ev++)
		crc = lastboot_hash_event(crc, *ev);
	for (uint32_t i = 0; (format = fathom_printk_format(i)); i++)
		crc = fathom_crc32(lastboot_hash(crc, format), &format, sizeof(format));
	for (uint32_t i = 0; i < fathom_function_count(); i++) {
		uintptr_t at = fathom_function_address(i);

		crc = fathom_crc32(crc, &at, sizeof(at));
	}
	return crc;
}

static void lastboot_head_make(struct lastboot_head *h)
{
	*h = (struct lastboot_head){.magic = LASTBOOT_MAGIC,
				    .bytes = sizeof(*h),
				    .layout = LASTBOOT_LAYOUT,
				    .page_bytes = WIRE_PAGE_BYTES,
				    .ring_bytes = sizeof(struct fathom_ring),
				    .nr_cpus = fathom_core.nr_cpus,
				    .build = lastboot_build(),
				    .memory_bytes = fathom_core.config.last_boot_bytes};
	h->crc = fathom_crc32(0, h, sizeof(*h));
}

/* Is it what this boot would have written? NULL, or why not. */
static const char *lastboot_refuses(const struct lastboot_head *found,
				    const struct lastboot_head *want)
{
	struct lastboot_head h = *found;

	h.crc = 0;
	if (__builtin_memcmp(found->magic, want->magic, sizeof(want->magic)) != 0)
		return "the memory held none";
	if (fathom_crc32(0, &h, sizeof(h)) != found->crc)
		return "its head was damaged";
	if (found->build != want->build)
		return "it was of another build";
	if (found->nr_cpus != want->nr_cpus)
		return "it had another number of CPUs";
	return found->crc == want->crc ? NULL : "it had another layout";
}

static size_t lastboot_heads_bytes(void)
{
	size_t bytes = 64 + fathom_core.nr_cpus * sizeof(struct fathom_ring);

	_Static_assert(sizeof(struct lastboot_head) <= 64, "the rings' heads begin there");
	return (bytes + WIRE_PAGE_BYTES - 1) & ~(size_t)(WIRE_PAGE_BYTES - 1);
}

/* The ring of one CPU, with what the last boot left in it if `keep`. */
static int lastboot_ring(struct fathom_ring *r, uint8_t *mem, size_t bytes, uint32_t cpu, int keep)
{
	struct lastboot_found *found = &lastboot.found[cpu];

	*found = (struct lastboot_found){0};
	if (keep && !fathom_lastboot_adopt(r, mem, bytes, cpu, found))
		return 0;
	found->bad_pages = keep ? fathom_ring_pages_in(bytes) : 0;
	found->not_counted = (uint8_t)keep;
	return fathom_ring_init(r, mem, bytes, cpu);
}

static int lastboot_open(struct ctl_instance *tr)
{
	const struct fathom_config *c = &fathom_core.config;
	uint32_t n = fathom_core.nr_cpus;
	size_t heads = lastboot_heads_bytes(), each;
	uint8_t *mem = c->last_boot_memory;
	struct fathom_ring *r;
	struct lastboot_head *there = c->last_boot_memory, want;

	if (!mem || (uintptr_t)mem % WIRE_PAGE_BYTES)
		return -FATHOM_EINVAL;
	if (c->last_boot_bytes < heads)
		return -FATHOM_ENOMEM;
	each = (c->last_boot_bytes - heads) / n & ~(size_t)(WIRE_PAGE_BYTES - 1);
	if (fathom_ring_pages_in(each) < FATHOM_RING_PAGES_MIN)
		return -FATHOM_ENOMEM;
	tr->ring = tr->rings = fathom_pool_get(n * sizeof(*tr->ring));
	if (!tr->ring)
		return -FATHOM_ENOMEM;
	r = (struct fathom_ring *)(void *)(mem + 64);
	lastboot_head_make(&want);
	lastboot.none = lastboot_refuses(there, &want);
	for (uint32_t cpu = 0; cpu < n; cpu++) {
		tr->ring[cpu] = &r[cpu];
		lastboot_ring(&r[cpu], mem + heads + cpu * each, each, cpu, !lastboot.none);
	}
	tr->survives = 1;
	tr->last_boot = !lastboot.none;
	__builtin_memcpy(there, &want, sizeof(want));
	return 0;
}

static void lastboot_line(struct fathom_text *t, const char *name, uint64_t n, int or_more)
{
	fathom_text_str(t, name);
	fathom_text_str(t, ": ");
	if (or_more)
		fathom_text_char(t, '?');
	else
		fathom_text_u64(t, n, 0, ' ');
	fathom_text_char(t, '\n');
}

static void lastboot_stats(uint32_t cpu, struct fathom_text *t)
{
	const struct lastboot_found *f = &lastboot.found[cpu];

	if (!f->bad_pages)
		return;
	lastboot_line(t, "damaged pages", f->bad_pages, 0);
	lastboot_line(t, "damaged events", f->damaged, f->not_counted);
}

static void lastboot_info(const struct ctl_instance *tr, struct fathom_text *t)
{
	struct lastboot_found all = {0};

	fathom_text_str(t, "# ");
	fathom_text_str(t, lastboot.none   ? "no trace of the last boot: "
			   : tr->last_boot ? "the trace of the last boot, until tracing_on is 1\n"
					   : "the trace of the last boot was given up\n");
	if (lastboot.none) {
		fathom_text_str(t, lastboot.none);
		fathom_text_char(t, '\n');
		return;
	}
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++) {
		const struct lastboot_found *f = &lastboot.found[cpu];

		all.pages += f->pages;
		all.events += f->events;
		all.bad_pages += f->bad_pages;
		all.damaged += f->damaged;
		all.unreadable += f->unreadable;
		all.not_counted |= f->not_counted;
	}
	lastboot_line(t, "pages", all.pages, 0);
	lastboot_line(t, "events", all.events, 0);
	lastboot_line(t, "damaged pages", all.bad_pages, 0);
	lastboot_line(t, "damaged events", all.damaged, all.not_counted);
	lastboot_line(t, "events of unknown type", all.unreadable, 0);
}

const struct fathom_last_boot fathom_last_boot = {
	.open = lastboot_open, .stats = lastboot_stats, .info = lastboot_info};
