/* SPDX-License-Identifier: MIT */
/* text.c -- the note's line for an event: `?:[51517274] KENTRY Syscall Call cap=1 tag=42`. */
#include "decode/sel4/record.h"

#include <string.h>

static const char *const paths[8] = {"Unknown",	   "Interrupt", "UnknownSyscall", "UserFault",
				     "DebugFault", "VMFault",	"Syscall",	  "VCPUFault"};

/* Of the kernels that were traced: without the mixed-criticality extension. */
static const char *const syscalls[9] = {NULL,	"Call",	 "ReplyRecv", "Send",  "NBSend",
					"Recv", "Reply", "Yield",     "NBRecv"};

static uint64_t get(const uint8_t *r, uint32_t at, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, r + at, bytes);
	return v;
}

/*
 * Lines of this format are short and made by the ten thousand, so they are put together here without a bound on each
 * character: LINE_ROOM holds the longest line, whose only part of any length, a function's name, is cut to NAME_ROOM.
 */
#define LINE_ROOM 256u
#define NAME_ROOM 160u

static inline char *text(char *p, const char *s)
{
	size_t n = strlen(s); /* of literals: known to the compiler */

	memcpy(p, s, n);
	return p + n;
}

static char *decimal(char *p, uint64_t v)
{
	char digits[20];
	char *at = digits + sizeof(digits);

	do {
		*--at = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (size_t n = (size_t)(digits + sizeof(digits) - at); n; n--)
		*p++ = *at++;
	return p;
}

static inline char *number(char *p, const char *name, uint64_t v)
{
	p = text(p, name);
	if (v > 9)
		return decimal(p, v);
	*p = (char)('0' + v);
	return p + 1;
}

static inline char *hex(char *p, const char *name, uint64_t v)
{
	unsigned shift = 0;

	p = text(text(p, name), "0x");
	while (shift < 60 && v >> shift >> 4)
		shift += 4;
	for (;; shift -= 4) {
		*p++ = "0123456789abcdef"[v >> shift & 15];
		if (!shift)
			return p;
	}
}

static char *entry(char *p, const uint8_t *r)
{
	uint32_t nr = r[13];

	p = text(text(p, "KENTRY "), paths[r[12] & 7]);
	if ((r[12] & 7) != WIRE_SEL4_PATH_SYSCALL)
		return p;
	if (nr < 9 && syscalls[nr])
		p = text(text(p, " "), syscalls[nr]);
	else
		p = number(p, " syscall=", nr);
	p = number(p, " cap=", r[14]);
	p = number(p, " tag=", get(r, 24, 4));
	return r[15] ? text(p, " fastpath=1") : p;
}

static char *function(struct source *s, char *p, uint64_t func)
{
	struct symbol sym;
	size_t n;

	if (func <= WIRE_SEL4_FUNC_LAST) /* not in the dictionary: its index is all that is known */
		return number(p, "#", func);
	if (!source_symbol(s, func, &sym))
		return hex(p, "", func);
	n = strnlen(sym.name, NAME_ROOM);
	memcpy(p, sym.name, n);
	p += n;
	return sym.offset ? hex(p, "+", sym.offset) : p;
}

static char *marker(char *p, uint32_t type, const uint8_t *r)
{
	uint64_t small = get(r, 12, 4), value = get(r, 24, 8);

	switch (type) {
	case WIRE_SEL4_VMID: return number(p, "VMID ", get(r, 8, 4));
	case WIRE_SEL4_SAFE_PTE: return hex(p, "SAFE_PTE pc=", value);
	case WIRE_SEL4_SYSCALL: return number(p, "SYSCALL ", small);
	case WIRE_SEL4_VSPACE: return hex(p, "VSPACE paddr=", value);
	case WIRE_SEL4_THREAD: return hex(p, "THREAD tcb=", value);
	case WIRE_SEL4_RETYPE: return number(hex(p, "RETYPE paddr=", value), " type=", small);
	case WIRE_SEL4_INIT_PT: return number(hex(p, "INIT_PT paddr=", value), " phase=", small);
	case WIRE_SEL4_CREATE_OBJ:
		return number(hex(p, "CREATE_OBJ paddr=", value), " type=", small);
	case WIRE_SEL4_PT_MAP:
		p = hex(hex(p, "PT_MAP pt=", value), " parent=", get(r, 32, 8));
		return number(p, " slot=", small);
	case WIRE_SEL4_INTERRUPT: return number(p, "IRQ ", small);
	case WIRE_SEL4_KERNEL_EXIT: return number(p, "KEXIT duration=", small);
	case WIRE_SEL4_VM_FAULT: return hex(number(p, "VM_FAULT type=", small), " addr=", value);
	case WIRE_SEL4_USER_FAULT:
		return hex(number(p, "USER_FAULT number=", small), " code=", value);
	case WIRE_SEL4_TRACEPOINT:
		return number(number(p, "TRACEPOINT id=", small), " duration=", value);
	case WIRE_SEL4_TIMESTAMP: return number(p, "TIMESTAMP ", value);
	case WIRE_SEL4_UNKNOWN: return hex(p, "UNKNOWN marker=", small);
	default: return hex(p, "CUT word=", small);
	}
}

int sel4_print(struct source *s, const struct event *e, char *buf, size_t size)
{
	uint32_t type = sel4_type_of_id(e->type);
	uint32_t at_vmid = 8, at_number = 16;
	char line[LINE_ROOM], *p = line;
	size_t n;
	int32_t vmid;

	if (type == WIRE_SEL4_NR_TYPES)
		return -1;
	if (type == WIRE_SEL4_FUNC_ENTER)
		at_vmid = 20, at_number = 24;
	else if (type == WIRE_SEL4_FUNC_EXIT)
		at_vmid = 48, at_number = 40;
	vmid = (int32_t)get(e->data, at_vmid, 4);
	if (vmid < 0)
		*p++ = '?';
	else
		p = decimal(p, (uint64_t)vmid);
	p = text(number(p, ":[", get(e->data, at_number, 8)), "] ");
	if (type <= WIRE_SEL4_FUNC_EXIT)
		p = function(s, text(p, type == WIRE_SEL4_FUNC_ENTER ? "ENTER " : "EXIT "),
			     get(e->data, 8, 8));
	else if (type == WIRE_SEL4_KERNEL_ENTRY)
		p = entry(p, e->data);
	else
		p = marker(p, type, e->data);
	n = (size_t)(p - line) < size ? (size_t)(p - line) : size;
	memcpy(buf, line, n);
	return (int)n;
}
