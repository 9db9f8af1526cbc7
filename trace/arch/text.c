/* SPDX-License-Identifier: MIT */
/* text.c -- writes instructions: one store each, through the port's mapping, with the caches made to agree. */
#include "wire/cold.h"
#include "arch/text.h"
#include "fathom/inside/errno.h"
#include "fathom/trace.h"

struct text_port fathom_text_port;

/* The set of one that fathom_arch_patch() needs: a breakpoint handler may ask for it later. */
static struct {
	uintptr_t at;
	size_t bytes;
	uint8_t code[FATHOM_PATCH_BYTES_MAX];
} text_single;

void fathom_text_port_set(const struct fathom_config *config)
{
	fathom_text_port.map = config->text_map;
	fathom_text_port.unmap = config->text_unmap;
	fathom_text_port.sync = config->sync;
	fathom_text_port.stop = config->stop_cpus;
}

int fathom_arch_can_patch(void)
{
	return fathom_text_port.map != 0;
}

/* No memcpy: that may be a loop over bytes, and a traced function. */
static void text_store(uint8_t *to, const uint8_t *code, size_t bytes)
{
	struct pair {
		uint16_t v;
	} __attribute__((packed, may_alias));

	if (bytes == 4 && !((uintptr_t)to & 3)) {
		uint32_t word = code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
				(uint32_t)code[3] << 24;

		__atomic_store_n((uint32_t *)(void *)to, word, __ATOMIC_RELAXED);
	} else if (bytes == 2) {
		((volatile struct pair *)(void *)to)->v = (uint16_t)(code[0] | code[1] << 8);
	} else {
		for (size_t i = 0; i < bytes; i++)
			((volatile uint8_t *)to)[i] = code[i];
	}
}

int fathom_text_write(uintptr_t at, const uint8_t *code, size_t bytes)
{
	uint8_t *to = fathom_text_port.map((void *)at, bytes);

	if (!to)
		return -FATHOM_EFAULT;
	text_store(to, code, bytes);
	fathom_arch_text_flush(to, at, bytes);
	if (fathom_text_port.unmap)
		fathom_text_port.unmap(to, bytes);
	return 0;
}

static uintptr_t single_at(const void *arg, uint32_t i, size_t *bytes)
{
	(void)arg, (void)i;
	*bytes = text_single.bytes;
	return text_single.at;
}

static size_t single_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	(void)arg, (void)i;
	for (size_t k = 0; k < text_single.bytes; k++)
		out[k] = text_single.code[k];
	return text_single.bytes;
}

int fathom_arch_patch(void *at, const void *code, size_t bytes)
{
	static const struct fathom_patch_set one = {1, single_at, single_code, 0};
	int result;

	if (!bytes || bytes > FATHOM_PATCH_BYTES_MAX)
		return -FATHOM_EINVAL;
	text_single.at = (uintptr_t)at;
	text_single.bytes = bytes;
	for (size_t k = 0; k < bytes; k++)
		text_single.code[k] = ((const uint8_t *)code)[k];
	result = fathom_arch_patch_many(&one);
	return result < 0 ? result : 0;
}
