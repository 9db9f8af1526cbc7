/* SPDX-License-Identifier: MIT */
/* text_blk.c -- the line that Linux prints of a record of its blk tracer. */
#include "wire/cold.h"
#include "wire/blk.h"
#include "wire/div.h"
#include "wire/format.h"

const char fathom_blk_head[] = "# DEV   CPU TIMESTAMP     PID ACT FLG\n"
			       "#  |     |     |           |   |   |\n";

void fathom_blk_letters(uint32_t action, uint32_t bytes, char out[8])
{
	uint32_t tc = action >> 16, n = 0;
	int message = (action & ~WIRE_BLK_CGROUP) == WIRE_BLK_MESSAGE;

	if (message)
		tc = bytes = 0;
	if (tc & WIRE_BLK_TC_FLUSH)
		out[n++] = 'F';
	out[n++] = tc & WIRE_BLK_TC_DISCARD ? 'D'
		   : tc & WIRE_BLK_TC_WRITE ? 'W'
		   : bytes		    ? 'R'
					    : 'N';
	if (tc & WIRE_BLK_TC_FUA)
		out[n++] = 'F';
	if (tc & WIRE_BLK_TC_AHEAD)
		out[n++] = 'A';
	if (tc & WIRE_BLK_TC_SYNC)
		out[n++] = 'S';
	if (tc & WIRE_BLK_TC_META)
		out[n++] = 'M';
	out[n] = 0;
}

static uint64_t blk_big(const struct fathom_text_blk *b, uint32_t at, uint32_t bytes)
{
	uint64_t v = 0;

	if (b->more_bytes < at + bytes)
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		v = v << 8 | b->more[at + i];
	return v;
}

/* "254,0    Q  WS ", with CPU, time and task where the columns are left to it. */
static void blk_action(struct fathom_text *t, const struct fathom_text_blk *b, const char *action,
		       uint32_t form)
{
	uint64_t seconds = b->time;
	uint32_t ns = wire_div(&seconds, 1000);
	char letters[8];

	ns += 1000 * wire_div(&seconds, 1000);
	ns += 1000000 * wire_div(&seconds, 1000);
	fathom_blk_letters(b->action, b->bytes, letters);
	fathom_text_printf(t, "%3u,%-3u ", b->device >> 20, b->device & 0xfffff);
	if (form & FATHOM_BLK_CLASSIC)
		fathom_text_printf(t, "%2u %5llu.%09u %5d ", b->cpu, (unsigned long long)seconds,
				   ns, b->pid);
	fathom_text_printf(t, "%2s %3s ", action, letters);
}

static void blk_command(struct fathom_text *t, const struct fathom_text_blk *b)
{
	fathom_text_char(t, '(');
	for (uint32_t i = 0; i < b->more_bytes; i++)
		fathom_text_printf(t, i ? " %02x" : "%02x", b->more[i]);
	fathom_text_str(t, ") ");
}

static void blk_generic(struct fathom_text *t, const struct fathom_text_blk *b)
{
	if (b->action >> 16 & WIRE_BLK_TC_PC) {
		fathom_text_printf(t, "%u ", b->bytes);
		blk_command(t, b);
	} else if (b->bytes >> 9) {
		fathom_text_printf(t, "%llu + %u ", (unsigned long long)b->sector, b->bytes >> 9);
	}
	fathom_text_printf(t, "[%s]\n", b->comm);
}

static void blk_with_error(struct fathom_text *t, const struct fathom_text_blk *b)
{
	if (b->action >> 16 & WIRE_BLK_TC_PC)
		blk_command(t, b);
	else if (b->bytes >> 9)
		fathom_text_printf(t, "%llu + %u ", (unsigned long long)b->sector, b->bytes >> 9);
	else
		fathom_text_printf(t, "%llu ", (unsigned long long)b->sector);
	fathom_text_printf(t, "[%d]\n", b->error);
}

static void blk_plug(struct fathom_text *t, const struct fathom_text_blk *b)
{
	fathom_text_printf(t, "[%s]\n", b->comm);
}

static void blk_unplug(struct fathom_text *t, const struct fathom_text_blk *b)
{
	fathom_text_printf(t, "[%s] %llu\n", b->comm, (unsigned long long)blk_big(b, 0, 8));
}

static void blk_split(struct fathom_text *t, const struct fathom_text_blk *b)
{
	fathom_text_printf(t, "%llu / %llu [%s]\n", (unsigned long long)b->sector,
			   (unsigned long long)blk_big(b, 0, 8), b->comm);
}

static void blk_remap(struct fathom_text *t, const struct fathom_text_blk *b)
{
	uint32_t from = (uint32_t)blk_big(b, 0, 4);

	fathom_text_printf(t, "%llu + %u <- (%u,%u) %llu\n", (unsigned long long)b->sector,
			   b->bytes >> 9, from >> 20, from & 0xfffff,
			   (unsigned long long)blk_big(b, 8, 8));
}

static const struct {
	const char *letter, *word;
	void (*put)(struct fathom_text *t, const struct fathom_text_blk *b);
} blk_acts[WIRE_BLK_ACTIONS] = {
	[WIRE_BLK_QUEUE] = {"Q", "queue", blk_generic},
	[WIRE_BLK_BACKMERGE] = {"M", "backmerge", blk_generic},
	[WIRE_BLK_FRONTMERGE] = {"F", "frontmerge", blk_generic},
	[WIRE_BLK_GETRQ] = {"G", "getrq", blk_generic},
	[WIRE_BLK_SLEEPRQ] = {"S", "sleeprq", blk_generic},
	[WIRE_BLK_REQUEUE] = {"R", "requeue", blk_with_error},
	[WIRE_BLK_ISSUE] = {"D", "issue", blk_generic},
	[WIRE_BLK_COMPLETE] = {"C", "complete", blk_with_error},
	[WIRE_BLK_PLUG] = {"P", "plug", blk_plug},
	[WIRE_BLK_UNPLUG] = {"U", "unplug_io", blk_unplug},
	[WIRE_BLK_UNPLUG_TIMER] = {"UT", "unplug_timer", blk_unplug},
	[WIRE_BLK_INSERT] = {"I", "insert", blk_generic},
	[WIRE_BLK_SPLIT] = {"X", "split", blk_split},
	[WIRE_BLK_BOUNCE] = {"B", "bounce", blk_generic},
	[WIRE_BLK_REMAP] = {"A", "remap", blk_remap},
};

void fathom_text_blk(struct fathom_text *t, const struct fathom_text_blk *b, uint32_t form)
{
	uint32_t what = b->action & 0xffff & ~WIRE_BLK_CGROUP, n = 0;
	int words = (form & FATHOM_BLK_WORDS) != 0;

	if ((b->action & ~WIRE_BLK_CGROUP) == WIRE_BLK_MESSAGE) {
		blk_action(t, b, words ? "message" : "m", form);
		while (n < b->more_bytes && b->more[n])
			n++;
		fathom_text_bytes(t, (const char *)b->more, n);
		fathom_text_char(t, '\n');
	} else if (!what || what >= WIRE_BLK_ACTIONS) {
		fathom_text_printf(t, "Unknown action %x\n", what);
	} else {
		blk_action(t, b, words ? blk_acts[what].word : blk_acts[what].letter, form);
		blk_acts[what].put(t, b);
	}
}
