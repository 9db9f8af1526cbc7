/* SPDX-License-Identifier: MIT */
/* btb_noise.c -- the exporter's console text through a line that loses and changes it, and back to the same words. */
#include "harness.h"
#include "btb_make.h"
#include "decode/btb/btb.h"

#define SEEDS 1000

struct back {
	struct btb_words words;
	size_t cuts;
};

static void take(void *arg, uint32_t run, const uint64_t *w, size_t n, size_t good)
{
	struct back *b = arg;
	bool cut;

	(void)run;
	if (!btb_section_decode(w, n, good, &b->words, &cut) || cut)
		b->cuts++;
}

static bool same(const struct made *m, const char *text, size_t bytes, struct btb_loss *loss)
{
	struct back b = {0};
	bool ok;

	memset(loss, 0, sizeof(*loss));
	ok = btb_console_read(text, bytes, false, take, &b, loss) == 0 && !b.cuts &&
	     b.words.n == m->n && !memcmp(b.words.w, m->w, m->n * 8);
	btb_words_free(&b.words);
	return ok;
}

/* Where each line begins; one more for the end. */
static size_t *lines_of(const struct made *m, size_t *nr)
{
	size_t *v = malloc((m->bytes / 2 + 2) * sizeof(*v)), n = 0;

	v[n++] = 0;
	for (size_t i = 0; i < m->bytes; i++)
		if (m->text[i] == '\n')
			v[n++] = i + 1;
	*nr = n - 1;
	return v;
}

static size_t without(const struct made *m, const size_t *lines, size_t from, size_t count,
		      char *out)
{
	memcpy(out, m->text, lines[from]);
	memcpy(out + lines[from], m->text + lines[from + count], m->bytes - lines[from + count]);
	return m->bytes - (lines[from + count] - lines[from]);
}

TEST(there_and_back)
{
	for (size_t stacks = 0; stacks < 3000; stacks = stacks * 3 + 1) {
		for (int percent = 0; percent <= 25; percent += 5) {
			struct made m = {0};
			struct btb_loss loss;

			made_stacks(&m, stacks, 4, stacks);
			CHECK_EQ(made_export(&m, (uint32_t)percent, percent % 2), 0);
			CHECK(same(&m, m.text, m.bytes, &loss));
			CHECK_EQ(loss.bad_lines + loss.lost_words + loss.xor_errors, 0);
			made_free(&m);
		}
	}
}

TEST(bad_arguments)
{
	struct fathom_btb_export e;
	static uint64_t memory[FATHOM_BTB_EXPORT_BYTES / 8];

	CHECK_EQ(fathom_btb_export_begin(&e, NULL, sizeof(memory), 0, 0, made_put, NULL), -22);
	CHECK_EQ(fathom_btb_export_begin(&e, (char *)memory + 1, sizeof(memory), 0, 0, made_put,
					 NULL),
		 -22);
	CHECK_EQ(fathom_btb_export_begin(&e, memory, sizeof(memory), 26, 0, made_put, NULL), -22);
	CHECK_EQ(fathom_btb_export_begin(&e, memory, sizeof(memory) - 8, 0, 0, made_put, NULL),
		 -12);
	CHECK_EQ(fathom_btb_export_begin(&e, memory, sizeof(memory), 10, 0, made_put, NULL), -12);
}

/* Ten lines of parity for a hundred of data rebuild any burst of eight in a hundred lines. */
TEST(a_burst_of_8_percent_is_rebuilt_with_10_percent_parity)
{
	struct made m = {0};
	size_t *lines, nr, fails = 0;
	char *text;

	made_stacks(&m, 1500, 4, 7);
	CHECK_EQ(made_export(&m, 10, 1), 0);
	lines = lines_of(&m, &nr);
	text = malloc(m.bytes);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t r = seed * 6364136223846793005ull + 1442695040888963407ull;
		size_t count = nr * 8 / 100, from = made_random(&r) % (nr - count + 1);
		struct btb_loss loss;

		fails += !same(&m, text, without(&m, lines, from, count, text), &loss);
	}
	CHECK_EQ(fails, 0);
	free(text);
	free(lines);
	made_free(&m);
}

/* Without parity: any loss that leaves each column of a section at most one hole comes back through the XOR block. */
TEST(one_hole_a_column_is_rebuilt_by_xor)
{
	struct made m = {0};
	size_t fails = 0;
	char *text;

	made_stacks(&m, 400, 2, 3);
	CHECK_EQ(made_export(&m, 0, 1), 0);
	text = malloc(m.bytes + 1);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t r = seed * 6364136223846793005ull + 1;
		uint8_t hit[32] = {0};
		struct btb_loss loss;
		char *p = text;

		memcpy(text, m.text, m.bytes);
		text[m.bytes] = 0;
		/* Walk the lines; spoil or drop some, each offset at most once a section. */
		while ((p = memmem(p, (size_t)(text + m.bytes - p), ">=< [", 5))) {
			unsigned offset = (unsigned)strtoul(p + 14, NULL, 16) / 4;

			if (!memcmp(p + 5, "00000000.00", 11))
				memset(hit, 0, sizeof(hit));
			if (!hit[offset] && made_random(&r) % 8 == 0 &&
			    memcmp(p + 5, "00000000", 8)) {
				hit[offset] = 1;
				if (made_random(&r) % 2)
					p[20 + made_random(&r) % 60] = '#';
				else
					memset(p, '~', 40);
			}
			p += 5;
		}
		fails += !same(&m, text, m.bytes, &loss);
	}
	CHECK_EQ(fails, 0);
	free(text);
	made_free(&m);
}

/* A digit that became another digit is found and put right by parity. */
TEST(a_wrong_digit_is_corrected)
{
	struct made m = {0};
	size_t fails = 0, changed = 0;

	made_stacks(&m, 1500, 4, 9);
	CHECK_EQ(made_export(&m, 10, 0), 0);
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t r = seed * 6364136223846793005ull + 9;
		size_t at = made_random(&r) % m.bytes;
		char *p = memmem(m.text + at, m.bytes - at, ">=< [", 5), old;
		struct btb_loss loss;

		if (!p)
			continue;
		p += 18 + made_random(&r) % 4 * 17 + made_random(&r) % 16;
		old = *p;
		*p = old == '7' ? '8' : '7';
		changed++;
		fails += !same(&m, m.text, m.bytes, &loss);
		*p = old;
	}
	CHECK(changed > 100);
	CHECK_EQ(fails, 0);
	made_free(&m);
}

/* Other clients break in: `tag| first half`, foreign lines, `tag: second half`. */
TEST(broken_lines_are_joined)
{
	struct made m = {0}, broken = {0};
	struct btb_loss loss;
	uint64_t r = 42;
	char *p, *nl;
	size_t cuts = 0;

	made_stacks(&m, 300, 1, 5);
	CHECK_EQ(made_export(&m, 0, 1), 0);
	for (p = m.text; p < m.text + m.bytes; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(m.text + m.bytes - p));
		size_t n = (size_t)(nl + 1 - p), at = 16 + made_random(&r) % 80;

		if (n < 100 || made_random(&r) % 5) {
			made_put(&broken, p, n);
			continue;
		}
		made_put(&broken, p, at);
		made_put(&broken,
			 "\033[0m\r\n\033[32mhello   | Hello World\033[0m\r\n\033[33mbacktrac: ",
			 53);
		made_put(&broken, p + at, n - at);
		cuts++;
	}
	CHECK(cuts > 50);
	CHECK(same(&m, broken.text, broken.bytes, &loss));
	CHECK_EQ(loss.lost_words, 0);
	CHECK(loss.joined_lines > 50);
	made_free(&m);
	made_free(&broken);
}

/* A target with little memory sends parity by and by: every stretch of lines survives a burst of its own. */
TEST(bursts_in_every_span)
{
	struct made m = {0}, torn = {0};
	size_t *lines, nr, spans = 0;
	struct btb_loss loss;
	uint64_t r = 99;

	made_stacks(&m, 20000, 4, 5);
	CHECK_EQ(made_export_in(&m, 10, 1, 8), 0);
	lines = lines_of(&m, &nr);
	for (size_t i = 0, skip = 100; i < nr; i++) {
		if (i == skip) {
			i += 90;
			skip = i + 1800 + made_random(&r) % 400;
			spans++;
		}
		if (i < nr)
			made_put(&torn, m.text + lines[i], lines[i + 1] - lines[i]);
	}
	CHECK(spans > 10);
	CHECK(same(&m, torn.text, torn.bytes, &loss));
	CHECK_EQ(loss.lost_words, 0);
	CHECK(loss.rebuilt_lines > 50 * spans);
	free(lines);
	made_free(&m);
	made_free(&torn);
}

/* Sections of a long run are handed out by and by; each of them is still repaired, the lost ones still counted. */
TEST(a_line_lost_in_every_section_of_a_long_run)
{
	struct made m = {0}, torn = {0};
	size_t *lines, nr, sections = 0, lost = 0;
	struct btb_loss loss;
	uint64_t r = 17;

	made_stacks(&m, 60000, 4, 6);
	CHECK_EQ(made_export(&m, 0, 0), 0);
	lines = lines_of(&m, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!strncmp(m.text + lines[i], "-->", 3)) {
			lost = i + 1 + made_random(&r) % 30;
			sections++;
		}
		if (i != lost)
			made_put(&torn, m.text + lines[i], lines[i + 1] - lines[i]);
	}
	CHECK(sections > 100);
	CHECK(same(&m, torn.text, torn.bytes, &loss));
	CHECK_EQ(loss.lost_words, 0);
	CHECK(loss.rebuilt_words > 2 * sections);
	CHECK_EQ(loss.runs, 1);
	CHECK_EQ(loss.sections, sections);
	free(lines);
	made_free(&m);
	made_free(&torn);
}

/* Runs in one log keep apart, also when the first lost its end. */
TEST(several_runs)
{
	struct made a = {0}, log = {0};
	struct back b = {0};
	struct btb_loss loss = {0};

	made_stacks(&a, 200, 1, 1);
	CHECK_EQ(made_export(&a, 0, 1), 0);
	made_put(&log, a.text, a.bytes);
	made_put(&log, a.text, a.bytes);
	CHECK_EQ(btb_console_read(log.text, log.bytes, false, take, &b, &loss), 0);
	CHECK_EQ(loss.runs, 2);
	CHECK_EQ(b.words.n, 2 * a.n);
	btb_words_free(&b.words);
	made_free(&a);
	made_free(&log);
}

/* Many words go into a file, if there is a place for one; they are the same words. */
TEST(many_words_go_into_a_file)
{
	static uint64_t chunk[4093];

	for (int place = 0; place < 2; place++) {
		struct btb_words v = {0};
		size_t bad = 0;

		setenv("TMPDIR", place ? "/nowhere" : "/tmp", 1);
		for (uint64_t at = 0; at < 11u << 20; at += sizeof(chunk) / 8) {
			for (size_t i = 0; i < sizeof(chunk) / 8; i++)
				chunk[i] = at + i;
			CHECK_EQ(btb_words_add(&v, chunk, sizeof(chunk) / 8), 0);
		}
		for (size_t i = 0; i < v.n; i++)
			bad += v.w[i] != i;
		CHECK_EQ(bad, 0);
		CHECK_EQ(v.filed, !place);
		btb_words_free(&v);
	}
	unsetenv("TMPDIR");
}

/* Whatever the line does: no crash, no hang, and never words that were not sent without saying that something is lost. */
TEST(garbage_is_survived)
{
	struct made m = {0};
	char *text;

	made_stacks(&m, 300, 2, 11);
	CHECK_EQ(made_export(&m, 5, 1), 0);
	text = malloc(m.bytes);
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t r = seed * 0x9e3779b97f4a7c15ull;
		struct back b = {0};
		struct btb_loss loss = {0};

		memcpy(text, m.text, m.bytes);
		for (uint64_t k = made_random(&r) % 400; k; k--)
			text[made_random(&r) % m.bytes] = (char)made_random(&r);
		btb_console_read(text, m.bytes - made_random(&r) % 1000, false, take, &b, &loss);
		CHECK(b.words.n <= m.n * 2);
		btb_words_free(&b.words);
	}
	free(text);
	made_free(&m);
}

TEST_MAIN
