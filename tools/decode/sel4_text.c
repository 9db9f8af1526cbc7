/* SPDX-License-Identifier: MIT */
/* sel4_text.c -- the note's line for an event: `?:[51517274] KENTRY Syscall Call cap=1 tag=42`. */
#include "decode/sel4_record.h"
#include "wire/text.h"

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

static void number(struct fathom_text *t, const char *name, uint64_t v)
{
	fathom_text_str(t, name);
	fathom_text_u64(t, v, 0, ' ');
}

static void hex(struct fathom_text *t, const char *name, uint64_t v)
{
	fathom_text_str(t, name);
	fathom_text_bytes(t, "0x", 2);
	fathom_text_hex(t, v, 0, ' ');
}

static void entry(struct fathom_text *t, const uint8_t *r)
{
	uint32_t nr = r[13];

	fathom_text_str(t, "KENTRY ");
	fathom_text_str(t, paths[r[12] & 7]);
	if ((r[12] & 7) != WIRE_SEL4_PATH_SYSCALL)
		return;
	if (nr < 9 && syscalls[nr]) {
		fathom_text_char(t, ' ');
		fathom_text_str(t, syscalls[nr]);
	} else {
		number(t, " syscall=", nr);
	}
	number(t, " cap=", r[14]);
	number(t, " tag=", get(r, 24, 4));
	if (r[15])
		fathom_text_str(t, " fastpath=1");
}

static void function(struct source *s, struct fathom_text *t, uint64_t func)
{
	struct symbol sym;

	if (func <= WIRE_SEL4_FUNC_LAST) /* not in the dictionary: its index is all that is known */
		number(t, "#", func);
	else if (!source_symbol(s, func, &sym))
		hex(t, "", func);
	else {
		fathom_text_str(t, sym.name);
		if (sym.offset)
			hex(t, "+", sym.offset);
	}
}

static void marker(struct fathom_text *t, uint32_t type, const uint8_t *r)
{
	uint64_t small = get(r, 12, 4), value = get(r, 24, 8);

	switch (type) {
	case WIRE_SEL4_VMID: number(t, "VMID ", get(r, 8, 4)); break;
	case WIRE_SEL4_SAFE_PTE: hex(t, "SAFE_PTE pc=", value); break;
	case WIRE_SEL4_SYSCALL: number(t, "SYSCALL ", small); break;
	case WIRE_SEL4_VSPACE: hex(t, "VSPACE paddr=", value); break;
	case WIRE_SEL4_THREAD: hex(t, "THREAD tcb=", value); break;
	case WIRE_SEL4_RETYPE:
		hex(t, "RETYPE paddr=", value);
		number(t, " type=", small);
		break;
	case WIRE_SEL4_INIT_PT:
		hex(t, "INIT_PT paddr=", value);
		number(t, " phase=", small);
		break;
	case WIRE_SEL4_CREATE_OBJ:
		hex(t, "CREATE_OBJ paddr=", value);
		number(t, " type=", small);
		break;
	case WIRE_SEL4_PT_MAP:
		hex(t, "PT_MAP pt=", value);
		hex(t, " parent=", get(r, 32, 8));
		number(t, " slot=", small);
		break;
	case WIRE_SEL4_INTERRUPT: number(t, "IRQ ", small); break;
	case WIRE_SEL4_KERNEL_EXIT: number(t, "KEXIT duration=", small); break;
	case WIRE_SEL4_VM_FAULT:
		number(t, "VM_FAULT type=", small);
		hex(t, " addr=", value);
		break;
	case WIRE_SEL4_USER_FAULT:
		number(t, "USER_FAULT number=", small);
		hex(t, " code=", value);
		break;
	case WIRE_SEL4_TRACEPOINT:
		number(t, "TRACEPOINT id=", small);
		number(t, " duration=", value);
		break;
	case WIRE_SEL4_TIMESTAMP: number(t, "TIMESTAMP ", value); break;
	case WIRE_SEL4_UNKNOWN: hex(t, "UNKNOWN marker=", small); break;
	default: hex(t, "CUT word=", small); break;
	}
}

int sel4_print(struct source *s, const struct event *e, char *buf, size_t size)
{
	uint32_t type = sel4_type_of_id(e->type);
	uint32_t at_vmid = 8, at_number = 16;
	struct fathom_text t;
	int32_t vmid;

	if (type == WIRE_SEL4_NR_TYPES)
		return -1;
	if (type == WIRE_SEL4_FUNC_ENTER)
		at_vmid = 20, at_number = 24;
	else if (type == WIRE_SEL4_FUNC_EXIT)
		at_vmid = 48, at_number = 40;
	vmid = (int32_t)get(e->data, at_vmid, 4);
	fathom_text_init(&t, buf, size);
	if (vmid < 0)
		fathom_text_char(&t, '?');
	else
		fathom_text_u64(&t, (uint64_t)vmid, 0, ' ');
	number(&t, ":[", get(e->data, at_number, 8));
	fathom_text_bytes(&t, "] ", 2);
	if (type <= WIRE_SEL4_FUNC_EXIT) {
		fathom_text_str(&t, type == WIRE_SEL4_FUNC_ENTER ? "ENTER " : "EXIT ");
		function(s, &t, get(e->data, 8, 8));
	} else if (type == WIRE_SEL4_KERNEL_ENTRY) {
		entry(&t, e->data);
	} else {
		marker(&t, type, e->data);
	}
	return (int)t.len;
}
