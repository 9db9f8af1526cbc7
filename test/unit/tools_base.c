/* SPDX-License-Identifier: MIT */
/* tools_base.c -- what every stage stands on: files written whole or not at all, things by number. */
#include "harness.h"
#include "base/idmap.h"
#include "base/output.h"
#include "base/colour.h"
#include "base/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/fathom-base.XXXXXX", path[64], other[64];

static void fresh_dir(void)
{
	strcpy(strchr(dir, '.'), ".XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
}

/* Removes the folder; how many files were in it. */
static int files(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			n += !unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(dir);
	return n;
}

static const char *content(const char *name)
{
	static char text[64];
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	if (f)
		fclose(f);
	return f ? text : NULL;
}

static int write_text(const char *name, const char *text, bool fresh, int outcome)
{
	struct output o;
	int err = output_open(&o, name, fresh);

	if (err)
		return err;
	fputs(text, o.f);
	return output_close(&o, outcome);
}

static const char *escaped(const char *s, size_t n)
{
	static char text[256];

	text[terminal_escape(text, s, n)] = 0;
	return text;
}

TEST(nothing_steers_a_terminal)
{
	CHECK_STR(escaped("a\tb\n", 4), "a\tb\n");
	CHECK_STR(escaped("\0\1\x1f\x7f\r", 5), "\\x00\\x01\\x1f\\x7f\\x0d");
	CHECK_STR(escaped("\x1b[2J", 4), "\\x1b[2J");
	CHECK_STR(escaped(COLOUR_RED "x" COLOUR_OFF, 10), COLOUR_RED "x" COLOUR_OFF);
	CHECK_STR(escaped("\x1b[31", 4), "\\x1b[31");
	/* UTF-8 passes; its forms of U+0080..9f, cut, overlong and wrong ones do not. */
	CHECK_STR(escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9),
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	CHECK_STR(escaped("\xc2\x9b", 2), "\\xc2\\x9b");
	CHECK_STR(escaped("\xc2", 1), "\\xc2");
	CHECK_STR(escaped("\xe0\x82\x9b", 3), "\\xe0\\x82\\x9b");
	CHECK_STR(escaped("\x9b"
			  "31m",
			  4),
		  "\\x9b31m");
	CHECK_STR(escaped("\xff\xc3(", 3), "\\xff\\xc3(");
}

/* To ask for what is not there changes nothing: no table grows for it. */
TEST(asking_is_free)
{
	struct idmap m = {0};
	int thing;

	for (uint64_t k = 0; k < 100000; k++)
		CHECK(idmap_find(&m, k) == NULL);
	CHECK_EQ(m.cap, 0);
	*idmap_at(&m, 7) = &thing;
	for (uint64_t k = 0; k < 100000; k++)
		CHECK(idmap_find(&m, k) == (k == 7 ? &thing : NULL));
	CHECK_EQ(m.nr, 1);
	CHECK_EQ(m.cap, 16);
	idmap_free(&m);
}

/* Things come and go in any order; what is left is found, and what was taken out is not. */
TEST(things_are_taken_out)
{
	static bool in[512];
	static char thing[512];
	struct idmap m = {0};
	uint64_t seed = 1;
	size_t nr = 0;

	CHECK(idmap_remove(&m, 3) == NULL);
	for (int turn = 0; turn < 100000; turn++) {
		uint64_t k = (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 55;

		if (in[k]) {
			CHECK(idmap_remove(&m, k) == &thing[k]);
			nr--;
		} else {
			CHECK(idmap_remove(&m, k) == NULL);
			*idmap_at(&m, k) = &thing[k];
			nr++;
		}
		in[k] = !in[k];
		if (turn % 1000)
			continue;
		for (uint64_t i = 0; i < 512; i++)
			CHECK(idmap_find(&m, i) == (in[i] ? &thing[i] : NULL));
		CHECK_EQ(m.nr, nr);
	}
	idmap_free(&m);
}

TEST(a_file_is_whole_or_the_old_one)
{
	struct output o;

	fresh_dir();
	CHECK_EQ(write_text(path, "old", false, 0), 0);
	CHECK_EQ(output_open(&o, path, false), 0);
	fputs("half", o.f);
	fflush(o.f);
	CHECK_STR(content(path), "old");
	CHECK_EQ(output_close(&o, -EINVAL), -EINVAL);
	CHECK_STR(content(path), "old");
	CHECK_EQ(write_text(path, "new", false, 0), 0);
	CHECK_STR(content(path), "new");
	CHECK_EQ(write_text(path, "newer", true, 0), -EEXIST);
	CHECK_EQ(output_open(&o, path, true), -EEXIST); /* before anything is done for it */
	CHECK(output_is_input(path, path) && !output_is_input(path, dir));
	CHECK_EQ(write_text("/dev/full", "x", false, 0), -ENOSPC);
	CHECK_STR(content(path), "new");
	CHECK_EQ(write_text(other, "half", true, -ENODATA), -ENODATA);
	CHECK_EQ(files(), 1);
}

TEST(who_comes_first_keeps_the_name)
{
	struct output a, b;

	fresh_dir();
	CHECK_EQ(output_open(&a, path, true), 0);
	fputs("a", a.f);
	CHECK_EQ(write_text(other, "b", true, 0), 0);
	CHECK_EQ(link(other, path), 0);
	CHECK_EQ(output_close(&a, 0), -EEXIST);
	CHECK_STR(content(path), "b");
	CHECK_EQ(output_open(&b, "/no/such/folder/file", true), -ENOENT);
	CHECK_EQ(files(), 2);
}

TEST(links_and_modes_are_kept)
{
	struct stat st;

	fresh_dir();
	CHECK_EQ(write_text(path, "old", false, 0), 0);
	CHECK_EQ(chmod(path, 0640), 0);
	CHECK_EQ(symlink("file", other), 0);
	CHECK_EQ(write_text(other, "new", false, 0), 0);
	CHECK(!lstat(other, &st) && S_ISLNK(st.st_mode));
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0640);
	CHECK_STR(content(path), "new");
	CHECK(output_is_input(other, path));
	CHECK(!output_is_input("/no/such/file", path));
	CHECK_EQ(files(), 2);
}

TEST(what_is_no_file_is_written_in_place)
{
	struct stat st;

	CHECK_EQ(write_text("/dev/null", "x", false, 0), 0);
	CHECK(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
	CHECK_EQ(write_text("/dev/full", "x", false, 0), -ENOSPC);
}

TEST(a_name_beside_the_input)
{
	static const char *const names[][2] = {
		{"a/trace.dat", "a/trace.svg"}, {"trace", "trace.svg"},
		{"a.b/trace", "a.b/trace.svg"}, {"./x.y.dat", "./x.y.svg"},
		{"a/.hidden", "a/.hidden.svg"}, {".hidden", ".hidden.svg"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *got = output_beside(names[i][0], "svg");

		CHECK_STR(got, names[i][1]);
		free(got);
	}
}

TEST(things_by_number)
{
	static int things[5000];
	struct idmap m = {0};
	size_t held = 0;

	for (uint64_t i = 0; i < 5000; i++) {
		void **at = idmap_at(&m, i << 20 | i % 3);

		CHECK(at && !*at);
		*at = &things[i];
	}
	for (uint64_t i = 0; i < 5000; i++)
		CHECK(*idmap_at(&m, i << 20 | i % 3) == &things[i]);
	for (size_t i = 0; i < m.cap; i++)
		held += m.slots[i].value != NULL;
	CHECK_EQ(held, 5000);
	CHECK(*idmap_at(&m, UINT64_MAX) == NULL);
	idmap_free(&m);
}

TEST_MAIN
