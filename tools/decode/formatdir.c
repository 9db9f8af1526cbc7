/* SPDX-License-Identifier: MIT */
/* formatdir.c -- format files from a directory or an archive of one, for sources that do not carry them. */
#include "decode/formatdir.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ARCHIVE_MAX (256u << 20)
#define TAR_BLOCK   512u

/* Adds the file if its path says it is a format: ".../SYSTEM/EVENT/format" or ".../SYSTEM-EVENT.format". */
static int take(struct source *s, const char *path, const char *text, size_t bytes,
		struct format_page *page)
{
	const char *base = basename(path), *end, *start;
	char *system;
	int err;

	if (!strcmp(base, "header_page")) {
		format_parse_page(text, bytes, page, NULL);
		return 0;
	}
	if (!strcmp(base, "format") && base - path > 1) {
		for (end = base - 1; end > path && end[-1] != '/';)
			end--;
		if (end - path < 2)
			return 0;
		for (start = --end; start > path && start[-1] != '/';)
			start--;
	} else if (!strcmp(source_suffix(base), "format") && strchr(base, '-')) {
		start = base;
		end = strchr(base, '-');
	} else {
		return 0;
	}
	system = strndup(start, (size_t)(end - start));
	if (!system)
		return -ENOMEM;
	err = source_add_schema(s, system, text, bytes, true);
	free(system);
	return err ? 0 : 1;
}

static uint64_t octal(const char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v * 8 + (uint64_t)(p[i] - '0');
	return v;
}

static int load_tar(struct source *s, const char *path, struct format_page *page)
{
	size_t bytes, at = 0;
	char *tar = file_load(path, ARCHIVE_MAX, &bytes);
	int n = 0;

	if (!tar)
		return -errno;
	while (bytes - at >= TAR_BLOCK && tar[at]) {
		char name[101] = "";
		uint64_t size = octal(tar + at + 124, 12);
		char type = tar[at + 156];

		memcpy(name, tar + at, 100);
		at += TAR_BLOCK;
		if (size > bytes - at)
			break;
		if (type == '0' || !type)
			n += take(s, name, tar + at, size, page) > 0;
		size = (size + TAR_BLOCK - 1) & ~(uint64_t)(TAR_BLOCK - 1);
		at = size > bytes - at ? bytes : at + size;
	}
	free(tar);
	return n ? n : -EINVAL;
}

/* Directories are at most two deep below `events`. */
static int walk(struct source *s, const char *dir, int depth, struct format_page *page)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	int n = 0;

	if (!d)
		return -errno;
	while ((de = readdir(d))) {
		char *path = de->d_name[0] == '.' ? NULL : file_join(dir, de->d_name);
		struct stat st;
		size_t bytes;

		if (path && !stat(path, &st)) {
			if (S_ISDIR(st.st_mode) && depth < 3) {
				int got = walk(s, path, depth + 1, page);

				n += got > 0 ? got : 0;
			} else if (S_ISREG(st.st_mode) && strstr(de->d_name, "format")) {
				char *text = file_load(path, FORMAT_TEXT_MAX, &bytes);

				if (text)
					n += take(s, path, text, bytes, page) > 0;
				free(text);
			} else if (!strcmp(de->d_name, "header_page")) {
				char *text = file_load(path, FORMAT_TEXT_MAX, &bytes);

				if (text)
					take(s, path, text, bytes, page);
				free(text);
			}
		}
		free(path);
	}
	closedir(d);
	return n;
}

int formatdir_load(struct source *s, const char *path, struct format_page *page)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? walk(s, path, 0, page) : load_tar(s, path, page);
}
