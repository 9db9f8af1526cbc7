/* SPDX-License-Identifier: MIT */
/* btb_code.h -- dictionary compression of a section. */
#ifndef SEND_BTB_CODE_H
#define SEND_BTB_CODE_H

#include <stdint.h>
#include "wire/btb.h"

/*
 * Compress the n words of `section` (header included) into `code`, which must have room for as many. Returns the words
 * of the compressed section, or 0: it would not become smaller, and the section's own header now says raw.
 */
uint32_t fathom_btb_encode(uint64_t *section, uint32_t n, uint64_t *sorted, uint64_t *code);

#endif
