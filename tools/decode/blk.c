/* SPDX-License-Identifier: MIT */
/* blk.c -- records of the blk tracer taken apart. */
#include "decode/blk.h"

#include "base/bytes.h"

uint32_t blk_type(struct source *s)
{
	const struct schema *stack = source_schema_named(s, "ftrace:user_stack");

	return stack && !source_schema(s, stack->id + 1) ? stack->id + 1 : UINT32_MAX;
}

void blk_take(const struct event *e, bool big, struct fathom_text_blk *out)
{
	const uint8_t *p = e->data;
	uint32_t action = get_u32(p + WIRE_BLK_ACTION, big), more = get_u16(p + WIRE_BLK_MORE, big);
	uint32_t at = WIRE_BLK_FIXED, left;

	if (action & WIRE_BLK_CGROUP) {
		at += 8;
		more = more > 8 ? more - 8 : 0;
	}
	left = at < e->size ? e->size - at : 0;
	*out = (struct fathom_text_blk){
		.sector = get_u64(p + WIRE_BLK_SECTOR, big),
		.time = e->time,
		.bytes = get_u32(p + WIRE_BLK_BYTES, big),
		.action = action,
		.device = get_u32(p + WIRE_BLK_DEVICE, big),
		.cpu = e->cpu,
		.pid = e->pid,
		.error = (int16_t)get_u16(p + WIRE_BLK_ERROR, big),
		.more = p + (left ? at : 0),
		.more_bytes = more < left ? more : left,
		.comm = "",
	};
}
