/* SPDX-License-Identifier: MIT */
/* link.c -- the target's end of the trace line: answers what the host asks over any byte pipe. */
#include "fathom/link.h"
#include "fathom/inside/errno.h"
#include "fathom/inside/event.h"
#include "fathom/trace.h"
#include "wire/text.h"

/*
 * L1. Every request is answered by one frame, which stays in `out` until the next request. A request that comes again
 *     (same number) gets the same bytes again: a page that was taken out of its ring is not lost with its frame.
 * L2. Nothing is sent that was not asked for, so the line never needs flow control of its own.
 */
static uint8_t *link_payload(struct fathom_link *l)
{
	return l->out + WIRE_FRAME_HEADER;
}

static uint32_t link_hello(struct fathom_link *l)
{
	const char *release = fathom_core.config.release;
	struct wire_hello h = {
		.version = 1,
		.nr_cpus = fathom_core.nr_cpus,
		.nr_events = fathom_event_count(),
		.page_bytes = WIRE_PAGE_BYTES,
		.ns_mult = fathom_core.config.clock_hz ? fathom_core.ns_mult : 0,
		.ns_shift = fathom_core.ns_shift,
		.now = fathom_now(),
	};
	uint32_t n = (uint32_t)fathom_strlen(release);

	n = n < 63 ? n : 63;
	__builtin_memcpy(link_payload(l), &h, sizeof(h));
	__builtin_memcpy(link_payload(l) + sizeof(h), release, n);
	return (uint32_t)sizeof(h) + n;
}

static int32_t link_event(struct fathom_link *l, uint32_t index, uint32_t *bytes)
{
	struct fathom_event *ev = index < fathom_event_count() ? fathom_event_at(index) : NULL;
	struct fathom_text t;

	if (!ev)
		return -FATHOM_EINVAL;
	fathom_text_init(&t, (char *)link_payload(l), FATHOM_LINK_BYTES);
	fathom_text_str(&t, ev->system);
	fathom_text_char(&t, '\n');
	fathom_event_format(ev, &t);
	*bytes = (uint32_t)t.len;
	return t.cut ? -FATHOM_E2BIG : 0;
}

static int32_t link_page(struct wire_page *page, uint32_t cpu, uint32_t *bytes)
{
	struct fathom_ring *r = fathom_ring_of(cpu);
	int n;

	if (!r)
		return -FATHOM_EINVAL;
	n = fathom_ring_read_page(r, page, 1);
	if (n < 0)
		return n;
	if (!n)
		return 0;
	*bytes = WIRE_PAGE_HEADER + (uint32_t)(page->commit & WIRE_COMMIT_SIZE);
	if (page->commit & WIRE_COMMIT_STORED)
		*bytes += 8;
	return 0;
}

#if FATHOM_LINK_PACKED
static int32_t link_packed(struct fathom_link *l, uint32_t cpu, uint32_t *bytes)
{
	int32_t err = link_page((struct wire_page *)l->page, cpu, bytes);

	if (!err && *bytes)
		*bytes = fathom_page_pack(&l->packer, l->page, *bytes, link_payload(l));
	return err;
}
#endif

static int32_t link_stats(struct fathom_link *l, uint32_t cpu, uint32_t *bytes)
{
	struct fathom_ring *r = fathom_ring_of(cpu);
	struct fathom_ring_stats st;

	if (!r)
		return -FATHOM_EINVAL;
	fathom_ring_stats(r, &st);
	struct wire_stats out = {
		.written = st.written,
		.read = st.read,
		.overwritten = st.overwritten,
		.full = st.full,
		.nested = st.nested,
		.too_big = st.too_big,
		.disabled = st.disabled,
		.discarded = st.discarded,
		.entries = st.entries,
		.cleared = st.cleared,
	};
	__builtin_memcpy(link_payload(l), &out, sizeof(out));
	*bytes = sizeof(out);
	return 0;
}

static uint32_t link_names(struct fathom_link *l, const struct wire_frame *f)
{
	struct fathom_text t;

	fathom_text_init(&t, (char *)link_payload(l), FATHOM_LINK_BYTES);
	for (uint32_t i = 0; i + 4 <= f->bytes; i += 4) {
		char name[16];
		int32_t pid;

		__builtin_memcpy(&pid, f->payload + i, 4);
		if (!fathom_core.config.task_name || fathom_core.config.task_name(pid, name))
			continue;
		fathom_text_s64(&t, pid, 0, ' ');
		fathom_text_char(&t, ' ');
		fathom_text_str(&t, name);
		fathom_text_char(&t, '\n');
	}
	return (uint32_t)t.len;
}

static uint32_t link_printk(struct fathom_link *l, uint32_t index)
{
	const char *fmt = fathom_printk_format(index);
	uint64_t at = (uintptr_t)fmt;
	struct fathom_text t;

	if (!fmt)
		return 0;
	__builtin_memcpy(link_payload(l), &at, sizeof(at));
	fathom_text_init(&t, (char *)link_payload(l) + sizeof(at), FATHOM_LINK_BYTES - sizeof(at));
	for (; *fmt; fmt++) {
		if (*fmt == '\n' || *fmt == '"' || *fmt == '\\')
			fathom_text_char(&t, '\\');
		fathom_text_char(&t, *fmt == '\n' ? 'n' : *fmt);
	}
	return (uint32_t)(sizeof(at) + t.len);
}

static int32_t link_enable(const struct wire_frame *f)
{
	char pattern[128];

	if (f->bytes >= sizeof(pattern))
		return -FATHOM_EINVAL;
	__builtin_memcpy(pattern, f->payload, f->bytes);
	pattern[f->bytes] = 0;
	return fathom_event_enable_locked(pattern, f->arg != 0);
}

static void link_answer(struct fathom_link *l, const struct wire_frame *f)
{
	uint32_t bytes = 0;
	int32_t result = 0;

	switch (f->type) {
	case WIRE_FRAME_HELLO: bytes = link_hello(l); break;
	case WIRE_FRAME_EVENT: result = link_event(l, f->arg, &bytes); break;
	case WIRE_FRAME_PAGE: /* at an 8-byte boundary: `out` is aligned, and so is its payload */
		result = link_page((struct wire_page *)link_payload(l), f->arg, &bytes);
		break;
#if FATHOM_LINK_PACKED
	case WIRE_FRAME_PACKED: result = link_packed(l, f->arg, &bytes); break;
#endif
	case WIRE_FRAME_STATS: result = link_stats(l, f->arg, &bytes); break;
	case WIRE_FRAME_NAMES: bytes = link_names(l, f); break;
	case WIRE_FRAME_PRINTK: bytes = link_printk(l, f->arg); break;
	case WIRE_FRAME_TRACING: f->arg ? fathom_tracing_on() : fathom_tracing_off(); break;
	case WIRE_FRAME_ENABLE: result = link_enable(f); break;
	default: result = -FATHOM_ENOSYS;
	}
	l->number = f->number;
	l->sent = fathom_frame_seal(l->out, (uint8_t)(f->type | WIRE_FRAME_ANSWER), f->number,
				    (uint32_t)result, result < 0 ? 0 : bytes);
}

static void link_answer_locked(struct fathom_link *l, const struct wire_frame *f)
{
	fathom_lock();
	link_answer(l, f);
	fathom_unlock();
}

void fathom_link_init(struct fathom_link *l, fathom_link_send_fn send, void *arg)
{
	__builtin_memset(l, 0, sizeof(*l));
	l->send = send;
	l->arg = arg;
	l->in.buf = l->request;
	l->in.room = sizeof(l->request);
}

void fathom_link_input(struct fathom_link *l, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes || l->in.done) {
		struct wire_frame f;
		size_t used;
		int got = fathom_frame_receive(&l->in, p, bytes, &used, &f);

		p += used;
		bytes -= used;
		if (!got || f.type >= WIRE_FRAME_START) /* an answer, or for the 9P server */
			continue;
		if (l->sent && f.number == l->number)
			l->resent++;
		else
			link_answer_locked(l, &f);
		l->send(l->arg, l->out, l->sent);
	}
}
