/* SPDX-License-Identifier: MIT */
/* protos_int.h -- inside names/: the two sources of prototypes. */
#ifndef DECODE_PROTOS_INT_H
#define DECODE_PROTOS_INT_H

#include "decode/names/protos.h"

struct proto *proto_make(uint32_t nr);
void proto_release(struct proto *p);

/* protos_btf.c */
struct btf;
struct btf *btf_open(const void *data, size_t bytes, uint32_t long_bytes);
void btf_close(struct btf *b);
/* NULL: it has no such function, or is damaged there. */
struct proto *btf_proto(struct btf *b, const char *name);

/* protos_dwarf.c */
struct dwarf_protos;
/* NULL with errno ENOENT: the file has no DWARF. */
struct dwarf_protos *dwarf_protos_open(const char *path);
void dwarf_protos_close(struct dwarf_protos *d);
struct proto *dwarf_proto(struct dwarf_protos *d, const char *name, uint64_t addr);
const char *dwarf_protos_text(struct dwarf_protos *d, uint64_t addr, size_t max, size_t *len);

#endif
