/* SPDX-License-Identifier: MIT */
/* blk.c -- the blk tracer: what a block layer says by the events of fathom/events/block.h, as the records of Linux's blktrace. */
#include "wire/cold.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/internal.h"
#include "fathom/inside/view.h"
#include "fathom/events/block.h"
#include "functions/extra.h"
#include "functions/tracers.h"
#include "wire/blk.h"

/*
 * The tracer attaches a hook to each of the events that the kernel has, so that a block layer is traced by the calls that it
 * has anyway, and the events themselves need not be on. A kernel without block_bio_queue has no block layer: the tracer does not
 * start. A request that another device's was made of (remap) is one more action, as in Linux.
 */
static const struct blk_hook {
	const char *event;
	uint32_t action; /* enum wire_blk_action, enum wire_blk_class << 16 */
} blk_hooks[] = {
	{"block_bio_queue", WIRE_BLK_QUEUE | WIRE_BLK_TC_QUEUE << 16},
	{"block_bio_backmerge", WIRE_BLK_BACKMERGE | WIRE_BLK_TC_QUEUE << 16},
	{"block_bio_frontmerge", WIRE_BLK_FRONTMERGE | WIRE_BLK_TC_QUEUE << 16},
	{"block_getrq", WIRE_BLK_GETRQ | WIRE_BLK_TC_QUEUE << 16},
	{"block_rq_requeue", WIRE_BLK_REQUEUE | WIRE_BLK_TC_REQUEUE << 16},
	{"block_rq_issue", WIRE_BLK_ISSUE | WIRE_BLK_TC_ISSUE << 16},
	{"block_rq_complete", WIRE_BLK_COMPLETE | WIRE_BLK_TC_COMPLETE << 16},
	{"block_bio_complete", WIRE_BLK_COMPLETE | WIRE_BLK_TC_COMPLETE << 16},
	{"block_plug", WIRE_BLK_PLUG | WIRE_BLK_TC_QUEUE << 16},
	{"block_unplug", WIRE_BLK_UNPLUG | WIRE_BLK_TC_QUEUE << 16},
	{"block_rq_insert", WIRE_BLK_INSERT | WIRE_BLK_TC_QUEUE << 16},
	{"block_rq_merge", WIRE_BLK_BACKMERGE | WIRE_BLK_TC_QUEUE << 16},
	{"block_split", WIRE_BLK_SPLIT | WIRE_BLK_TC_QUEUE << 16},
	{"block_bio_bounce", WIRE_BLK_BOUNCE},
	{"block_bio_remap", WIRE_BLK_REMAP | WIRE_BLK_TC_QUEUE << 16},
};
#define BLK_HOOKS    (sizeof(blk_hooks) / sizeof(blk_hooks[0]))
#define BLK_MORE_MAX 16 /* bytes after the fixed part */

struct blk_record {
	struct wire_common ent;
	uint64_t time;
	uint64_t sector;
	uint32_t bytes, action, pid, device, cpu;
	uint16_t error, more_bytes;
	uint8_t more[];
} FATHOM_RECORD;

_Static_assert(sizeof(struct blk_record) == WIRE_BLK_FIXED, "the layout of wire/blk.h");

/* Linux's classes of what is done, and how. */
static uint32_t blk_class(uint32_t op)
{
	static const struct {
		uint32_t op, tc;
	} flags[] = {
		{FATHOM_BLOCK_PREFLUSH, WIRE_BLK_TC_FLUSH}, {FATHOM_BLOCK_FUA, WIRE_BLK_TC_FUA},
		{FATHOM_BLOCK_AHEAD, WIRE_BLK_TC_AHEAD},    {FATHOM_BLOCK_SYNC, WIRE_BLK_TC_SYNC},
		{FATHOM_BLOCK_META, WIRE_BLK_TC_META},
	};
	static const uint32_t ops[] = {
		[FATHOM_BLOCK_READ] = WIRE_BLK_TC_READ,
		[FATHOM_BLOCK_WRITE] = WIRE_BLK_TC_WRITE,
		[FATHOM_BLOCK_DISCARD] = WIRE_BLK_TC_WRITE | WIRE_BLK_TC_DISCARD,
		[FATHOM_BLOCK_FLUSH] = WIRE_BLK_TC_FLUSH,
	};
	uint32_t what = op & FATHOM_BLOCK_OP,
		 tc = what < sizeof(ops) / sizeof(ops[0]) ? ops[what] : 0;

	for (uint32_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (op & flags[i].op)
			tc |= flags[i].tc;
	return tc;
}

static void blk_put_big(uint8_t *to, uint64_t v, uint32_t bytes)
{
	while (bytes--) {
		to[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

/* What only some actions have, big endian: how many bytes. */
static uint32_t blk_more(uint8_t to[BLK_MORE_MAX], uint32_t what, const struct fathom_block_io *io)
{
	switch (what) {
	case WIRE_BLK_UNPLUG: blk_put_big(to, io->nr, 8); return 8;
	case WIRE_BLK_SPLIT: blk_put_big(to, io->sector_2, 8); return 8;
	case WIRE_BLK_REMAP:
		blk_put_big(to, io->dev_2, 4);
		blk_put_big(to + 4, io->dev, 4);
		blk_put_big(to + 8, io->sector_2, 8);
		return 16;
	default: return 0;
	}
}

static void blk_note(void *data, const struct fathom_block_io *io)
{
	const struct blk_hook *h = data;
	uintptr_t pin = fathom_port_pin();
	struct fathom_ring *ring = fathom_tracer_ring();
	uint32_t what = h->action & 0xffff;
	uint8_t more[BLK_MORE_MAX];
	uint32_t n = blk_more(more, what, io);
	struct fathom_slot slot;
	struct blk_record *r;

	r = ring ? fathom_ring_reserve(ring, (uint32_t)sizeof(*r) + n, &slot) : 0;
	if (r) {
		int plug = what == WIRE_BLK_PLUG || what == WIRE_BLK_UNPLUG;

		fathom_put_common(r, WIRE_ID_BLK, fathom_port_context(pin));
		r->time = 0;
		r->sector = plug ? 0 : io->sector;
		r->bytes = plug ? 0 : io->bytes;
		r->action = h->action | (plug ? 0 : blk_class(io->op) << 16);
		r->pid = (uint32_t)r->ent.pid;
		r->device = io->dev;
		r->cpu = fathom_port_cpu();
		r->error = (uint16_t)io->error;
		r->more_bytes = (uint16_t)n;
		for (uint32_t i = 0; i < n; i++)
			r->more[i] = more[i];
		fathom_ring_commit(ring, &slot);
	}
	fathom_port_unpin(pin);
}

static void blk_stop(void)
{
	for (uint32_t i = 0; i < BLK_HOOKS; i++) {
		struct fathom_event *ev = fathom_event_find("block", blk_hooks[i].event);

		if (ev)
			fathom_event_unhook_locked(ev, (void (*)(void))blk_note,
						   (void *)&blk_hooks[i]);
	}
}

/* What fails is taken back: fathom_tracer_set() calls stop. */
static int blk_start(void)
{
	if (!fathom_event_find("block", "block_bio_queue"))
		return -FATHOM_ENODEV;
	for (uint32_t i = 0; i < BLK_HOOKS; i++) {
		struct fathom_event *ev = fathom_event_find("block", blk_hooks[i].event);
		int err = ev ? fathom_event_hook_locked(ev, (void (*)(void))blk_note,
							(void *)&blk_hooks[i])
			     : 0;

		if (err)
			return err;
	}
	return 0;
}

static const struct fathom_tracer_option blk_options[] = {
	{"blk_classic", FATHOM_OPT_BLK_CLASSIC},
	{"blk_cgroup", FATHOM_OPT_BLK_CGROUP},
	{"blk_cgname", FATHOM_OPT_BLK_CGNAME},
	{0, 0},
};
static const struct fathom_tracer blk_tracers[] = {
	{"blk", 0, blk_options, blk_start, blk_stop, 0},
	{0, 0, 0, 0, 0, 0},
};

/* ---- text ---- */

static int blk_is_running(void)
{
	return fathom_tracer_current() == &blk_tracers[0];
}

static int blk_is_classic(void)
{
	return blk_is_running() && fathom_tracer_options() & FATHOM_OPT_BLK_CLASSIC;
}

static int blk_header(const struct fathom_view *v, struct fathom_text *out)
{
	(void)v;
	if (!blk_is_running())
		return 0;
	fathom_text_header_tracer(out, "blk");
	if (blk_is_classic())
		fathom_text_str(out, fathom_blk_head);
	return 1;
}

static int blk_put(struct fathom_view *v, struct fathom_text *out, uint32_t form)
{
	const struct blk_record *r = (const void *)v->record;
	struct fathom_text_blk b;
	char comm[16];
	uint32_t left;

	if (r->ent.type != WIRE_ID_BLK || v->bytes < sizeof(*r))
		return 0;
	left = v->bytes - (uint32_t)sizeof(*r);
	b = (struct fathom_text_blk){
		.sector = r->sector,
		.time = fathom_clock_time(&v->config.clock, v->time),
		.bytes = r->bytes,
		.action = r->action,
		.device = r->device,
		.cpu = v->cpu,
		.pid = r->ent.pid,
		.error = (int16_t)r->error,
		.more = r->more,
		.more_bytes = r->more_bytes < left ? r->more_bytes : left,
		.comm = fathom_text_comm(r->ent.pid, fathom_view_comm(v, r->ent.pid, comm)),
	};
	if (v->config.options & FATHOM_TEXT_VERBOSE)
		form |= FATHOM_BLK_WORDS;
	fathom_text_blk(out, &b, form);
	return 1;
}

static int blk_line(struct fathom_view *v, struct fathom_text *out,
		    const struct fathom_text_entry *e)
{
	(void)e;
	return blk_is_classic() && blk_put(v, out, FATHOM_BLK_CLASSIC);
}

static int blk_body(struct fathom_view *v, struct fathom_text *out)
{
	return blk_put(v, out, 0);
}

const struct fathom_extra fathom_blk = {
	.tracers = blk_tracers,
	.header = blk_header,
	.line = blk_line,
	.body = blk_body,
};
