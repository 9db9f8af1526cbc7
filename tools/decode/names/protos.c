/* SPDX-License-Identifier: MIT */
/* protos.c -- prototypes of functions, each made once, from whatever names them first. */
#include "decode/names/protos_int.h"
#include "base/file.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "decode/names/elf.h"

#include <errno.h>

#define BTF_MAX (512u << 20)

/* A function that nothing names is remembered too. */
static struct proto unknown;

struct protos {
	struct btf *btf;
	struct dwarf_protos **dwarf;
	size_t nr_dwarf;
	struct idmap known; /* by the address of the function */
	char *loaded;	    /* the file of the BTF */
};

struct protos *protos_new(void)
{
	return calloc(1, sizeof(struct protos));
}

struct proto *proto_make(uint32_t nr)
{
	struct proto *p =
		nr > PROTO_PARAMS_MAX ? NULL : calloc(1, sizeof(*p) + nr * sizeof(p->param[0]));

	if (p)
		p->nr = nr;
	return p;
}

void proto_release(struct proto *p)
{
	if (!p || p == &unknown)
		return;
	for (uint32_t i = 0; i < p->nr; i++)
		free((void *)p->param[i].type.values);
	free((void *)p->ret.values);
	free(p);
}

void protos_free(struct protos *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->known.cap; i++)
		proto_release(t->known.slots[i].value);
	idmap_free(&t->known);
	for (size_t i = 0; i < t->nr_dwarf; i++)
		dwarf_protos_close(t->dwarf[i]);
	free(t->dwarf);
	btf_close(t->btf);
	free(t->loaded);
	free(t);
}

int protos_add_btf(struct protos *t, const void *data, size_t bytes, uint32_t long_bytes)
{
	struct btf *b = btf_open(data, bytes, long_bytes);

	if (!b)
		return -EINVAL;
	btf_close(t->btf);
	t->btf = b;
	return 0;
}

int protos_add_file(struct protos *t, const char *path, uint32_t long_bytes)
{
	size_t bytes;
	char *data;
	int err;

	if (elf_is(path)) {
		struct dwarf_protos *d = dwarf_protos_open(path);

		if (!d)
			return errno ? -errno : -ENOENT;
		if (!VEC_MORE(t->dwarf, t->nr_dwarf)) {
			dwarf_protos_close(d);
			return -ENOMEM;
		}
		t->dwarf[t->nr_dwarf++] = d;
		return 0;
	}
	data = file_load(path, BTF_MAX, &bytes);
	if (!data)
		return -errno;
	err = protos_add_btf(t, data, bytes, long_bytes);
	if (err) {
		free(data);
		return err;
	}
	free(t->loaded);
	t->loaded = data;
	return 0;
}

const struct proto *protos_find(struct protos *t, const char *name, uint64_t addr)
{
	void **at = idmap_at(&t->known, addr);
	struct proto *p = NULL;

	if (!at)
		return NULL;
	if (!*at) {
		for (size_t i = 0; i < t->nr_dwarf && !p; i++)
			p = dwarf_proto(t->dwarf[i], name, addr);
		if (!p && t->btf)
			p = btf_proto(t->btf, name);
		*at = p ? p : &unknown;
	}
	return *at == &unknown ? NULL : *at;
}

const char *protos_text(struct protos *t, uint64_t addr, size_t max, size_t *len)
{
	const char *s = NULL;

	for (size_t i = 0; i < t->nr_dwarf && !s; i++)
		s = dwarf_protos_text(t->dwarf[i], addr, max, len);
	return s;
}
