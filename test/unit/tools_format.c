/* SPDX-License-Identifier: MIT */
/* tools_format.c -- the parser of format files: shapes of fields, damage, header_page. */
#include "harness.h"
#include "decode/format.h"

static const char sample[] = "name: sched_thing\nID: 273\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
			     "\tfield:__data_loc char[] msg;\toffset:24;\tsize:4;\tsigned:0;\n"
			     "\tfield:__rel_loc u32[] words;\toffset:28;\tsize:4;\tsigned:0;\n"
			     "\tfield:const char * fmt;\toffset:32;\tsize:8;\tsigned:0;\n"
			     "\tfield:unsigned long caller[8];\toffset:40;\tsize:64;\tsigned:0;\n"
			     "\tfield:void *old;\toffset:104;\tsize:8;\tsigned:0;\n"
			     "\tfield:u32 buf[];\toffset:112;\tsize:0;\tsigned:0;\n"
			     "\nprint fmt: \"%s\", REC->comm\n";

TEST(format_fields)
{
	struct format_error err;
	struct format *f = format_parse(sample, sizeof(sample) - 1, "sched", &err);
	const struct format_field *d;

	CHECK(f != NULL);
	if (!f)
		return;
	CHECK(!strcmp(f->name, "sched_thing") && !strcmp(f->system, "sched"));
	CHECK_EQ(f->id, 273);
	CHECK_EQ(f->nr_common, 3);
	CHECK_EQ(f->nr_fields, 10);
	CHECK(!strcmp(f->print_fmt, "\"%s\", REC->comm"));
	d = format_field(f, "comm");
	CHECK(d && d->flags == (FORMAT_SIGNED | FORMAT_ARRAY | FORMAT_STRING) && d->nr_elems == 16);
	d = format_field(f, "msg");
	CHECK(d && d->flags == (FORMAT_DATA_LOC | FORMAT_STRING) && d->elem_size == 1);
	CHECK(d && !strcmp(d->type, "__data_loc char[]"));
	d = format_field(f, "words");
	CHECK(d && d->flags == FORMAT_REL_LOC && d->elem_size == 4);
	d = format_field(f, "fmt");
	CHECK(d && d->flags == FORMAT_POINTER && !strcmp(d->type, "const char *"));
	d = format_field(f, "caller");
	CHECK(d && d->elem_size == 8 && d->nr_elems == 8 &&
	      d->flags == (FORMAT_ARRAY | FORMAT_LONG));
	d = format_field(f, "old");
	CHECK(d && !strcmp(d->type, "void *") && d->offset == 104);
	d = format_field(f, "buf");
	CHECK(d && d->nr_elems == 0 && d->elem_size == 4);
	CHECK(format_field(f, "pid") == format_field(f, "common_pid"));
	CHECK(!format_field(f, "nope"));
	format_free(f);
}

/* What kernels of other days and modules of other people have written. */
TEST(format_odd_fields)
{
	static const char text[] = "name: odd\r\nID: 5\r\nformat:\r\n"
				   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\r\n"
				   "\tfield special:int n;\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield:u32 grid[2][3];\toffset:12;\tsize:24;\tsigned:0;\n"
				   "\tfield:unsigned int flags:4;\toffset:36;\tsize:4;\tsigned:0;\n"
				   "\tfield:char comm[TASK_COMM_LEN];\toffset:40;\tsize:16;\n"
				   "\nprint fmt: \"%d\", REC->n\r\n";
	struct format *f = format_parse(text, sizeof(text) - 1, "s", NULL);
	const struct format_field *d;

	CHECK(f && f->nr_fields == 5 && !strcmp(f->name, "odd"));
	if (!f)
		return;
	CHECK(!strcmp(f->print_fmt, "\"%d\", REC->n"));
	d = format_field(f, "n");
	CHECK(d && d->offset == 8 && d->flags == FORMAT_SIGNED && !strcmp(d->type, "int"));
	d = format_field(f, "grid");
	CHECK(d && d->elem_size == 4 && d->nr_elems == 6);
	d = format_field(f, "flags");
	CHECK(d && d->offset == 36 && !strcmp(d->type, "unsigned int"));
	d = format_field(f, "comm");
	CHECK(d && d->nr_elems == 16);
	format_free(f);
}

static int refused(const char *text)
{
	struct format_error err = {0, NULL};
	struct format *f = format_parse(text, strlen(text), NULL, &err);

	format_free(f);
	return !f && err.what && err.offset <= strlen(text);
}

TEST(format_damage)
{
	CHECK(refused(""));
	CHECK(refused("name: x\n"));
	CHECK(refused("name: x\nID: 99999999999\n"));
	CHECK(refused("name: x\nID: 1\n\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n"));
	CHECK(refused("name: x\nID: 1\n\tfield:int a;\toffset:0;\tsigned:1;\n"));
	CHECK(refused("name: x\nID: 1\n\tfield:int a;\toffset:4294967296;\tsize:4;\n"));
	CHECK(refused(
		"name: x\nID: 1\n\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\tsigned:0;\n"));
	CHECK(refused("name: x\nID: 1\n\tfield:]; offset:0;\tsize:8;\tsigned:0;\n"));
	/* Every cut of a good file is refused or read, never worse. */
	for (size_t n = 0; n < sizeof(sample); n++) {
		char *cut = malloc(n + 1);

		memcpy(cut, sample, n);
		format_free(format_parse(cut, n, "s", NULL));
		free(cut);
	}
}

TEST(format_header_page)
{
	static const char good[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
	struct format_page page;

	CHECK_EQ(format_parse_page(good, sizeof(good) - 1, &page, NULL), 0);
	CHECK_EQ(page.commit_size, 4);
	CHECK_EQ(page.data_offset, 12);
	CHECK_EQ(page.data_size, 4084);
	CHECK_EQ(format_parse_page(good, 60, &page, NULL), -1);
}

TEST_MAIN
