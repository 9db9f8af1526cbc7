/* SPDX-License-Identifier: MIT */
/* scsi.c -- scsi_trace_parse_cdb(): what a SCSI command asks for, in the kernel's words. */
#include "query/strings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CDB_BYTES 32u /* the longest that is looked at; what is not there reads as 0 */

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

/* Reads, writes and verifies of one size: where the length lies and how wide it is. */
static int transfer(char *to, size_t room, uint64_t lba, uint32_t length, uint8_t flags, bool unmap)
{
	int n = snprintf(to, room, "lba=%" PRIu64 " txlen=%u protect=%u", lba, length, flags >> 5);

	if (unmap)
		n += snprintf(to + n, room - (size_t)n, " unmap=%u", flags >> 3 & 1u);
	return n;
}

static int variable_length(char *to, size_t room, const uint8_t *c)
{
	static const char *const names[] = {
		[9] = "READ_32", [10] = "VERIFY_32", [11] = "WRITE_32", [13] = "WRITE_SAME_32"};
	uint32_t action = be16(c + 8);
	const char *name = action < sizeof(names) / sizeof(names[0]) ? names[action] : NULL;
	int n;

	if (!name)
		return snprintf(to, room, "-");
	n = snprintf(to, room, "%s lba=%" PRIu64 " txlen=%u protect=%u ei_lbrt=%u", name,
		     be64(c + 12), be32(c + 28), c[10] >> 5, be32(c + 20));
	if (action == 13)
		n += snprintf(to + n, room - (size_t)n, " unmap=%u", c[10] >> 3 & 1u);
	return n;
}

static int service_action_in(char *to, size_t room, const uint8_t *c)
{
	unsigned action = c[1] & 0x1f;

	if (action != 0x10 && action != 0x12)
		return snprintf(to, room, "UNKNOWN");
	return snprintf(to, room, "%s lba=%" PRIu64 " alloc_len=%u",
			action == 0x10 ? "READ_CAPACITY_16" : "GET_LBA_STATUS", be64(c + 2),
			be32(c + 10));
}

static int describe(char *to, size_t room, const uint8_t *c)
{
	switch (c[0]) {
	case 0x08:
	case 0x0a:
		return snprintf(to, room, "lba=%u txlen=%u", (c[1] & 0x1fu) << 16 | be16(c + 2),
				c[4]);
	case 0x28:
	case 0x2a:
	case 0x2f:
	case 0x41: return transfer(to, room, be32(c + 2), be16(c + 7), c[1], c[0] == 0x41);
	case 0x42: return snprintf(to, room, "regions=%u", (be16(c + 7) - 8) / 16);
	case 0x7f: return variable_length(to, room, c);
	case 0x88:
	case 0x8a:
	case 0x8f:
	case 0x93: return transfer(to, room, be64(c + 2), be32(c + 10), c[1], c[0] == 0x93);
	case 0x9e: return service_action_in(to, room, c);
	case 0xa8:
	case 0xaa:
	case 0xaf: return transfer(to, room, be32(c + 2), be32(c + 6), c[1], false);
	default: return snprintf(to, room, "-");
	}
}

struct value strings_cdb(struct expr_record *r, const struct value *v)
{
	uint8_t cdb[CDB_BYTES] = {0};
	char text[160];

	if (v->s)
		memcpy(cdb, v->s, v->len < sizeof(cdb) ? v->len : sizeof(cdb));
	return strings_text(r, text, (size_t)describe(text, sizeof(text), cdb));
}
