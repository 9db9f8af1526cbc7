/* SPDX-License-Identifier: MIT */
/* formatdir.h -- format files from a directory or an archive of one, for sources that do not carry them. */
#ifndef DECODE_FORMATDIR_H
#define DECODE_FORMATDIR_H

#include "decode/source.h"

/*
 * A tracefs `events` directory (SYSTEM/EVENT/format), a directory of SYSTEM-EVENT.format files, or a tar of either, plain
 * or gzipped. header_page in it is given back in *page if it can be parsed. The number of formats, or a negative errno.
 */
int formatdir_load(struct source *s, const char *path, struct format_page *page);

#endif
