/* SPDX-License-Identifier: MIT */
/* ring.c -- the writer's side of the ring: reserve, commit, discard, page ends. */
#include "fathom/inside/errno.h"
#include "fathom/inside/ring.h"
#include "ring/pos.h"

/*
 * One ring belongs to one CPU. Its contexts write: a task, an interrupt in the middle of the task's record, an NMI in the
 * middle of the interrupt's. They nest: whoever interrupts is done before the interrupted goes on. One reader, on any
 * CPU, takes pages out. Nobody waits for anybody.
 *
 *	slots       0         1         2         3         4
 *	        +---------+---------+---------+---------+---------+
 *	        | page 7  | page 1  | page 4  | page 3  | page 0  |         page 2: the reader's
 *	        | lap 6   | lap 6   | lap 6   | lap 5   | lap 5   |
 *	        | full    | full    | ####==. | FREE    | full    |
 *	        +---------+---------+---------+---------+---------+
 *	                              ^   ^ ^             ^
 *	                        commit ---+ +--- tail     oldest: what the reader takes next, and what the
 *	                                                  owner overwrites when it comes round
 *
 *	#### committed: the reader may have it     == reserved by writers that are still open     . free
 *
 * Everything the writers fight over is the one word `tail`: slot index and lap of its page, records and words taken in it.
 * A reservation moves it. On the fast path, where nothing was open, that is a plain store, and a look at commit after it: if
 * commit is where it was, nobody came between the look and the grab, so the time delta computed in between is right (R11).
 * Else, and at page ends, it is a compare-and-exchange, local to the CPU (no LOCK), for the same end. If one fails, an
 * interrupt has just written its own records; look again. After RETRIES failures in a row the event is refused and
 * counted, so a writer always ends.
 *
 * Who is the outermost writer? The one that found commit == tail: then no reservation was open. While its own is, the two
 * differ, so whoever interrupts it knows that it is nested, and leaves `commit`, `last_time` and the page numbering alone.
 * A nested commit has nothing to do: when the outermost one commits, everyone above it is done, and everything before
 * the tail is whole (R3).
 *
 *	reserve:  A  look at tail, commit  B  clock  C  store tail  O  look at commit  D  header, payload
 *	          (off the fast path C is an exchange, and there is no O)
 *	commit:   E  commit = end of my record  F  is that the tail? if not, nested records stand behind it: publish
 *	publish:  K  look at commit, tail  L  number the pages in between, commit = tail  M  again, until they are equal
 *
 * An interrupt between D and E is nested, one behind E is outermost itself, for commit == tail again: F then finds a tail
 * that is not its own, and publish() finds nothing left to do. Should interrupts write at L so often that publish() gives
 * up, it says so in `lagging`: the next writer finishes the work before it looks who is outermost.
 *
 * Time: outermost records carry deltas from the outermost record before them. A nested record cannot know the time of
 * the open one below it, so it carries an absolute stamp; so does the outermost record behind nested ones: publish() makes
 * last_time a time that no clock is near, and every path that computes a delta ends in stamp_for().
 * The first record of a page needs neither: its time is the page's.
 *
 * At the end of a page:    H  prepare the next slot  I  compare-and-exchange tail into it  J  close the old page
 * Preparing is idempotent: an interrupt may find the slot prepared and go on from there, or prepare it for us. In the
 * slot word, which owner and reader share, the oldest page changes hands: the reader exchanges it for its spare page and
 * marks the slot FREE, the owner raises the lap. Whoever is first has the page; these are the only locked instructions,
 * once per page. What the reader read of a page before it was full is counted in the slot as well, so a page that is
 * overwritten tells exactly how many unread records went with it.
 *
 * R1  tail only grows, except that discard takes back the last record, to where it began.
 * R2  A page holds records only in [0, words of tail); the winner of the exchange owns what it added.
 * R3  Everything before commit is complete. Only an outermost writer moves it, only forward, with release.
 * R4  commit == tail, or a reservation is open, or a writer is on its way to make them equal, or `lagging` is set.
 * R5  Pages from commit to tail are never overwritten, so while a writer is open the tail moves less than one lap.
 * R6  A page is in exactly one slot, or is the reader's.
 * R7  The reader takes pages only before commit; its word of the slot proves that the page is still the one it saw.
 * R8  meta of a page is written by who closes it (used, entries) and by publish (first, missed, discards), before commit
 *     passes it; from then on it is constant until the owner's tail is in that page again.
 * R9  A position never comes back: between the look and the grab an interrupt can write whole laps, but not as many as
 *     the lap bits count (2^25; 16 on a 32-bit target, where it must also hit the very word and count).
 * R10 While the ring is HELD no reservation is granted and nobody touches tail or commit, but a writer that looked at the
 *     flags before: its own is the last. Whoever holds the ring puts a commit that is at the tail into the next epoch, by an
 *     exchange, exchanges the tail for NOWHERE, makes all CPUs see both, and looks: if NOWHERE still stands there, nobody
 *     stored a tail before (a store, or an exchange without LOCK, would stand over it); who stores one later finds
 *     another commit at O, who exchanges finds another tail, and the ring is the holder's own. Such a writer may also be
 *     about to prepare a slot: resize takes each slot by exchange, and the words and positions it leaves are of laps that
 *     nobody has looked for. One more "all CPUs see it" before the ring is let go: on x86 an exchange that failed stores what
 *     it found, NOWHERE.
 *     A record that was granted meanwhile takes commit back to the epoch of its tail. Until then nobody can tell, if the
 *     tail is ahead of commit and in another epoch, whether it is open, or its writer is between C and O and will fail:
 *     whoever interrupts it is refused, and counted as nested.
 * R11 A tail that is not ahead of commit, by one record at least, is no tail: nobody is open, and commit stands for it (`lag`, if
 *     commit is lagging). The fast path stores its tail without looking (C) and looks at commit after that (O). If commit is
 *     where it was, nobody wrote since A: whoever did was outermost, and has moved commit. If not, what was stored counts
 *     one record more than commit did then, so no more than commit does now. An interrupt at O is nested in the one
 *     case; in the other it is outermost, and mends the tail before it looks at it. The writer takes its tail back itself
 *     if nobody has. Where a commit lags it has passed two records at least since A, so an old tail is never equal to it.
 *     (64-bit targets. Others have no bits for the epoch, and exchange the tail at C.)
 */

/* Records were given back in place, perhaps in this page. Context: outermost. */
static __attribute__((noinline, cold)) void note_discards(struct fathom_ring *r,
							  const struct wire_page *page,
							  struct fathom_page_meta *m)
{
	uint64_t time = 0;

	m->discards = (uint16_t)(m->entries - fathom_ring_count(page->data, 0, m->used, &time));
	r->in_place_noted += m->discards;
}

/* A page is behind us: number the next one, so a reader can tell what is missing before it. Keeps R8. Context: outermost. */
static void publish_page(struct fathom_ring *r, unsigned long from, unsigned long to)
{
	unsigned long slot = fathom_load(&r->slots[FATHOM_POS_INDEX(from)]);
	unsigned long missed = fathom_load(&r->full) + fathom_load(&r->nested);
	struct fathom_page_meta *m = slot_meta(r, slot);
	struct fathom_page_meta *next = slot_meta(r, fathom_load(&r->slots[FATHOM_POS_INDEX(to)]));
	struct wire_page *page = slot_page(r, slot);

	m->discards = 0;
	if (fathom_unlikely(r->in_place_noted != fathom_load(&r->in_place)))
		note_discards(r, page, m);
	page->commit = m->used;
#ifdef FATHOM_PARANOID
	uint32_t n;

	if (fathom_ring_page_check(page, m->used, &n) < 0 ||
	    n != (uint32_t)m->entries - m->discards)
		r->corrupt++;
#endif
	next->first = m->first + m->entries - m->discards;
	next->missed = missed - r->missed_noted;
	r->missed_noted = missed;
}

static void publish_to(struct fathom_ring *r, unsigned long pos, unsigned long to)
{
	unsigned long next;

	for (; !pos_same_page(pos, to); pos = next) {
		next = pos_next_page(r, pos);
		publish_page(r, pos, next);
	}
	/* Pairs with the acquire in the reader's look at `commit`. */
	fathom_store_release(&r->commit, to);
}

/* The record that ends at `end` has this time; is it the last one before `to`, where commit will be? Context: outermost. */
static void note_time(struct fathom_ring *r, unsigned long to, unsigned long end, uint64_t time)
{
	if (to == end)
		r->last_time = time;
	else
		time_forget(r, to, time);
}

/*
 * Is something before the tail not committed, with nobody open to do it? Asked by who has just closed the outermost
 * record. If commit moves between the looks, an interrupt was outermost meanwhile, or the ring was resized: then nothing
 * was left to do. The same if the tail is gone: seize() takes it only where commit is.
 */
static int pending(struct fathom_ring *r, unsigned long *from, unsigned long *to)
{
	*from = fathom_load(&r->commit);
	fathom_local_barrier();
	FATHOM_STEP(K);
	/* Pairs with the release in move_tail(): with a tail that was moved comes the commit that was. */
	*to = fathom_load_acquire(&r->tail);
	fathom_local_barrier();
	return pos_ahead(*to, *from) && *to != FATHOM_POS_NOWHERE &&
	       FATHOM_POS_SAME(fathom_load(&r->commit), *from);
}

/*
 * Commit everything before the tail, page ends included. `end` and `time` are those of the outermost record (FATHOM_POS_NOWHERE: it
 * was given back). Context: outermost, its record complete. While it is pending every interrupt is nested, so this is alone
 * with commit. Keeps R3, R4, R8.
 */
void fathom_ring_publish(struct fathom_ring *r, unsigned long end, uint64_t time)
{
	unsigned long from, to;

	/* An interrupt before this line that finds it set does all the work; behind it, every one is nested. */
	fathom_store(&r->lagging, 0);
	fathom_local_barrier();
	for (int i = 0; pending(r, &from, &to); i++) {
		if (i == FATHOM_RING_RETRIES) {
			fathom_store(&r->lagging, 1);
			fathom_local_barrier();
			/* If an interrupt before this line has done all the work, nobody asks. */
			fathom_store(&r->lag, fathom_load(&r->tail));
			return;
		}
		note_time(r, to, end, time);
		FATHOM_STEP(L);
		publish_to(r, from, to);
		fathom_local_barrier();
		FATHOM_STEP(M);
	}
}

enum next_result {
	NEXT_READY,
	NEXT_FULL,
	NEXT_LAPPED,
	NEXT_STALE, /* interrupts have come round to it: `to` is in the past */
};

/* Make the slot of `to`, the page behind the tail's, ready to be written. Any number of times, by anyone. Keeps R5, R6. */
static enum next_result prepare_next(struct fathom_ring *r, unsigned long to)
{
	unsigned long *at = &r->slots[FATHOM_POS_INDEX(to)];
	unsigned long slot = fathom_load_acquire(at);
	uint32_t unread;

	/* The reader can take this slot from under us once; nested writers can prepare it once. */
	for (int i = 0; i < 4; i++) {
		FATHOM_STEP(H);
		if (slot_lap_ahead(slot, to) >= 0)
			return slot_lap_ahead(slot, to) ? NEXT_STALE : NEXT_READY;
		unread = 0;
		if (!(slot & FATHOM_SLOT_FREE)) {
			if (FATHOM_POS_INDEX(fathom_load(&r->commit)) == FATHOM_POS_INDEX(to))
				return NEXT_LAPPED;
			unread = slot_unread(r, slot);
			if (unread && !fathom_load(&r->overwrite))
				return NEXT_FULL;
		}
		if (fathom_shared_cmpxchg(at, &slot, slot_next_lap(slot))) {
			/*
			 * The stores into the page come after the new lap: an exchange alone does not order later ones
			 * (aarch64 without LSE). Pairs with the acquire fence in iter_page().
			 */
			__atomic_thread_fence(__ATOMIC_RELEASE);
			shared_add(&r->overwritten, unread);
			return NEXT_READY;
		}
	}
	return NEXT_LAPPED;
}

/* How one attempt will stamp its record. */
struct stamp {
	uint32_t type; /* 0: delta only, or WIRE_TYPE_EXTEND, WIRE_TYPE_STAMP */
	uint32_t back; /* the clock went back */
	uint64_t value;
};

/* A clock that goes back a little gets the time before; a lot, and it is believed, by a stamp. */
static uint64_t time_forward(uint64_t time, uint64_t before)
{
	return time < before && before - time <= WIRE_DELTA_MAX ? before : time;
}

/* For a record at `at` that is reserved when the tail was `before`. */
static struct stamp stamp_for(struct fathom_ring *r, unsigned long at, unsigned long before,
			      uint32_t flags, uint64_t *time)
{
	struct stamp s = {0, 0, 0};
	unsigned long vague = fathom_load(&r->vague);
	int outermost = FATHOM_POS_SAME(fathom_load(&r->commit), before);
	int known = outermost && !FATHOM_POS_SAME(before, vague);
	uint64_t last = FATHOM_POS_SAME(fathom_load(&r->commit), vague) ? 0 : r->last_time;

	/* A nested context may see half of a 64-bit store on a 32-bit target: no looking back there. */
	if (outermost || sizeof(long) == 8) {
		if (!known && r->seen_time > last)
			last = r->seen_time;
		s.back = *time < last;
		*time = time_forward(*time, last);
	}
	s.value = *time;
	if (flags & FATHOM_RING_ABSOLUTE) {
		s.type = WIRE_TYPE_STAMP;
	} else if (FATHOM_POS_WORDS(at) == 0) {
		s.value = 0; /* the page's own time says it */
	} else if (!known || *time < last) {
		s.type = WIRE_TYPE_STAMP;
	} else {
		s.value = *time - last;
		s.type = s.value > WIRE_DELTA_MAX ? WIRE_TYPE_EXTEND : 0;
	}
	return s;
}

/* Fill in what stands before the payload. The room from slot->at on is ours. */
static void write_head(struct fathom_ring *r, struct fathom_slot *slot, uint32_t words,
		       struct stamp s)
{
	unsigned long word = fathom_load(&r->slots[FATHOM_POS_INDEX(slot->at)]);
	struct wire_page *page = slot_page(r, word);
	uint32_t *to = slot_data(r, word) + FATHOM_POS_WORDS(slot->at);
	uint32_t delta = (uint32_t)s.value;

	if (FATHOM_POS_WORDS(slot->at) == 0)
		page->time = slot->time;
	if (s.back)
		fathom_local_add(&r->clock_back, 1);
	if (s.type) {
		to[0] = wire_header(s.type, (uint32_t)s.value & WIRE_DELTA_MAX);
		to[1] = (uint32_t)(s.value >> WIRE_DELTA_BITS);
		to += 2;
		delta = 0;
	}
	/* `here`: the next one may be granted there by the fast path */
	if (FATHOM_POS_SAME(fathom_load(&r->commit), slot->before))
		r->here = slot_data(r, word) + 1;
	else if (sizeof(long) == 8 && slot->time > r->seen_time)
		r->seen_time = slot->time;
	slot->data = fathom_ring_header(to, words, delta);
}

#if FATHOM_PORT_LEAF
/* For functions/hot.h. */
void fathom_hot_take_back(struct fathom_ring *r, unsigned long stored);
void fathom_hot_take_back(struct fathom_ring *r, unsigned long stored)
{
	fathom_ring_take_back(r, stored);
}
#endif

/* Move the tail to the page at `to`, behind its first record, and close the one it leaves. 0: an interrupt was faster. */
static int go_next(struct fathom_ring *r, unsigned long to, uint32_t words,
		   struct fathom_slot *slot)
{
	unsigned long was = slot->before;
	struct fathom_page_meta *m;

	slot->at = to;
	slot->end = fathom_ring_end(to, words);
	FATHOM_STEP(I);
	if (!fathom_local_cmpxchg(&r->tail, was, slot->end))
		return 0;
	FATHOM_STEP(J);
	m = slot_meta(r, fathom_load(&r->slots[FATHOM_POS_INDEX(was)]));
	m->used = FATHOM_POS_WORDS(was) * 4;
	m->entries = (uint16_t)pos_count(was);
	return 1;
}

/* The tail's page has no room: go on in the next. 1: done, 0: try again, or the cause of refusal, negative. */
static int reserve_next(struct fathom_ring *r, uint32_t words, uint32_t flags,
			struct fathom_slot *slot)
{
	unsigned long was = slot->before, to = pos_next_page(r, was);
	enum next_result res = prepare_next(r, to);
	struct stamp s;

	/* What it says holds only if no interrupt has changed it meanwhile. */
	if (res != NEXT_READY)
		return res == NEXT_STALE || fathom_load(&r->tail) != was ? 0 : -(int)res;
	s = stamp_for(r, to, was, flags, &slot->time);
	if (!go_next(r, to, words + (s.type ? 2 : 0), slot))
		return 0;
	write_head(r, slot, words, s);
	return 1;
}

/* Publish the first record of a page, and number the page before. Context: outermost, its record complete. Keeps R3, R4, R8. */
void fathom_ring_commit_first(struct fathom_ring *r, unsigned long before, unsigned long end,
			      uint64_t time)
{
	FATHOM_STEP(L);
	publish_page(r, before, end);
	fathom_ring_try_commit(r, end, time);
}

/* Stamps and extensions have 59 bits. What is further from the page's time than that needs a page of its own. */
static int stamp_fits(const struct fathom_ring *r, const struct fathom_slot *slot)
{
	unsigned long word = fathom_load(&r->slots[FATHOM_POS_INDEX(slot->before)]);

	return !FATHOM_POS_WORDS(slot->before) ||
	       (slot_page(r, word)->time ^ slot->time) >> WIRE_STAMP_BITS == 0;
}

static int reserve_here(struct fathom_ring *r, uint32_t words, uint32_t flags,
			struct fathom_slot *slot)
{
	uint32_t need = words, used = FATHOM_POS_WORDS(slot->before);
	struct stamp s = {0, 0, 0};

	if (used + need <= FATHOM_RING_WORDS) {
		s = stamp_for(r, slot->before, slot->before, flags, &slot->time);
		need += s.type ? 2 : 0;
	}
	if (used + need > FATHOM_RING_WORDS || (s.type && !stamp_fits(r, slot)))
		return reserve_next(r, words, flags, slot);
	slot->at = slot->before;
	slot->end = fathom_ring_end(slot->at, need);
	FATHOM_STEP(C);
	if (!fathom_local_cmpxchg(&r->tail, slot->before, slot->end))
		return 0;
	FATHOM_STEP(D);
	write_head(r, slot, words, s);
	return 1;
}

static void refuse(struct fathom_slot *slot, unsigned long *cause)
{
	fathom_local_add(cause, 1);
	slot->data = NULL;
}

/*
 * Put the tail right if a writer that was interrupted before it stored its own has left that there (R11). 0: it cannot be told
 * whether a record is open, for the ring was seized in the middle of that writer's C and O (R10).
 */
static int mend(struct fathom_ring *r)
{
	unsigned long tail = fathom_load(&r->tail), commit = fathom_load(&r->commit);

	if (tail == commit || tail == FATHOM_POS_NOWHERE)
		return 1;
	if (pos_ahead(tail, commit))
		return !((tail ^ commit) & FATHOM_POS_EPOCHS);
	fathom_ring_take_back(r, tail);
	return 1;
}

void fathom_ring_catch_up(struct fathom_ring *r)
{
	mend(r);
	if (fathom_unlikely(fathom_load(&r->lagging)))
		fathom_ring_publish(r, FATHOM_POS_NOWHERE, r->seen_time);
}

/* reserve() when anything is out of the ordinary. Context: any. */
void fathom_ring_reserve_slow(struct fathom_ring *r, uint32_t bytes, struct fathom_slot *slot)
{
	/* Pairs with the release in set_flag(): not held any more, so what a resize did is seen. */
	uint32_t flags = fathom_load_acquire(&r->flags), words = fathom_ring_words(bytes);
	int got = 0;

	if (flags & (FATHOM_RING_OFF | FATHOM_RING_HELD)) {
		refuse(slot, &r->disabled);
		return;
	}
	/* With stamps on every record the first of a page has one too. */
	if (bytes > FATHOM_RING_EVENT_MAX - (flags & FATHOM_RING_ABSOLUTE ? 8 : 0)) {
		refuse(slot, &r->too_big);
		return;
	}
	for (int i = 0; i < FATHOM_RING_RETRIES && !got; i++) {
		if (!mend(r))
			break;
		/* Pairs with the release in move_tail(). */
		slot->before = fathom_load_acquire(&r->tail);
		fathom_local_barrier();
		FATHOM_STEP(B);
		if (slot->before == FATHOM_POS_NOWHERE) {
			refuse(slot, &r->disabled);
			return;
		}
		/* Behind the look: if commit lags again, or begins to, the tail has moved and the exchange fails. */
		fathom_ring_catch_up(r);
		slot->time = fathom_port_clock();
		got = reserve_here(r, words, flags, slot);
	}
	if (got <= 0)
		refuse(slot, got == -NEXT_FULL ? &r->full : &r->nested);
}

/*
 * Take the record back if it is the last one; else a nested writer stands behind it, and it becomes padding. Padding needs
 * a delta that is not 0; the record behind it has a stamp or a page of its own, so no time is bent.
 */
__attribute__((cold)) void fathom_ring_discard(struct fathom_ring *r,
					       const struct fathom_slot *slot)
{
	uint32_t words = FATHOM_POS_WORDS(slot->end) - FATHOM_POS_WORDS(slot->at), type, delta;
	unsigned long word = fathom_load(&r->slots[FATHOM_POS_INDEX(slot->at)]);
	uint32_t *head = slot_data(r, word) + FATHOM_POS_WORDS(slot->at);

	fathom_local_add(&r->discarded, 1);
	FATHOM_STEP(N);
	if (!fathom_local_cmpxchg(&r->tail, slot->end, slot->at)) {
		type = wire_header_type(*head);
		if (type == WIRE_TYPE_EXTEND || type == WIRE_TYPE_STAMP) {
			head += 2;
			words -= 2;
		}
		delta = wire_header_delta(head[0]);
		head[0] = wire_header(WIRE_TYPE_PADDING, delta ? delta : 1);
		head[1] = (words - 1) * 4;
		fathom_local_add(&r->in_place, 1);
	}
	/* If it was outermost: records of others, or the end of the page before, are left to publish. */
	if (FATHOM_POS_SAME(fathom_load(&r->commit), slot->before))
		fathom_ring_publish(r, FATHOM_POS_NOWHERE, slot->time);
}
