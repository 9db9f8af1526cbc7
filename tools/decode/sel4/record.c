/* SPDX-License-Identifier: MIT */
/* record.c -- seL4 events as records, and the schemas (Linux-style format texts) that describe them. */
#include "decode/sel4/record.h"

#include <stdio.h>
#include <string.h>

/* Offsets of a record's own fields. */
enum {
	AT_VMID = 8,
	AT_SMALL = 12,
	AT_NUMBER = 16,
	AT_VALUE = 24,
	AT_VALUE2 = 32,
};

#define F(type, name, offset, size, sign) \
	"\tfield:" type " " name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #sign ";\n"
#define VMID	    F("int", "vmid", 8, 4, 1)
#define NUMBER	    F("u64", "number", 16, 8, 0)
#define SMALL(name) F("u32", name, 12, 4, 0)
#define VALUE(name) F("u64", name, 24, 8, 0)

#define OBJECTS                                                                             \
	"__print_symbolic(REC->object, {0, \"Untyped\"}, {1, \"TCB\"}, {2, \"Endpoint\"}, " \
	"{3, \"Notification\"}, {4, \"CNode\"}, {5, \"HugePage\"}, {6, \"VSpace\"}, "       \
	"{7, \"SmallPage\"}, {8, \"LargePage\"}, {9, \"PageTable\"}, {10, \"VCPU\"})"

static const struct {
	const char *name, *fields, *print;
} schemas[WIRE_SEL4_NR_TYPES] = {
	[WIRE_SEL4_FUNC_ENTER] = {"func_enter",
				  F("unsigned long", "func", 8, 8, 0) F("int", "depth", 16, 4, 1)
					  F("int", "vmid", 20, 4, 1) F("u64", "number", 24, 8, 0),
				  "\"--> %ps (%d)\", (void *)REC->func, REC->depth"},
	[WIRE_SEL4_FUNC_EXIT] =
		{"func_exit",
		 F("unsigned long", "func", 8, 8, 0) F("int", "depth", 16,
						       4, 1) F("unsigned int", "overrun", 20, 4, 0)
			 F("unsigned long long", "calltime", 24, 8,
			   0) F("unsigned long long", "rettime", 32, 8, 0)
				 F("u64", "number", 40, 8, 0) F("int", "vmid", 48, 4, 1),
		 "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
		 "REC->depth, REC->calltime, REC->rettime, REC->depth"},
	[WIRE_SEL4_VMID] = {"vmid", VMID NUMBER, "\"vmid=%d\", REC->vmid"},
	[WIRE_SEL4_SAFE_PTE] = {"safe_pte", VMID NUMBER VALUE("pc"), "\"pc=0x%llx\", REC->pc"},
	[WIRE_SEL4_SYSCALL] = {"syscall", VMID SMALL("nr") NUMBER, "\"nr=%u\", REC->nr"},
	[WIRE_SEL4_VSPACE] = {"vspace", VMID NUMBER VALUE("paddr"), "\"paddr=0x%llx\", REC->paddr"},
	[WIRE_SEL4_THREAD] = {"thread", VMID NUMBER VALUE("tcb"), "\"tcb=0x%llx\", REC->tcb"},
	[WIRE_SEL4_RETYPE] = {"retype", VMID SMALL("object") NUMBER VALUE("paddr"),
			      "\"paddr=0x%llx type=%s\", REC->paddr, " OBJECTS},
	[WIRE_SEL4_INIT_PT] =
		{"init_pt", VMID SMALL("phase") NUMBER VALUE("paddr"),
		 "\"paddr=0x%llx phase=%s\", REC->paddr, __print_symbolic(REC->phase, "
		 "{0, \"START\"}, {1, \"AFTER_WRITE\"}, {2, \"AFTER_FLUSH\"}, "
		 "{3, \"END_OK\"}, {4, \"END_BAD\"})"},
	[WIRE_SEL4_CREATE_OBJ] = {"create_obj", VMID SMALL("object") NUMBER VALUE("paddr"),
				  "\"paddr=0x%llx type=%s\", REC->paddr, " OBJECTS},
	[WIRE_SEL4_PT_MAP] =
		{"pt_map", VMID SMALL("slot") NUMBER VALUE("pt") F("u64", "parent", 32, 8, 0),
		 "\"pt=0x%llx parent=0x%llx slot=%u\", REC->pt, REC->parent, REC->slot"},
	[WIRE_SEL4_KERNEL_ENTRY] =
		{"kernel_entry",
		 VMID F("u8", "path", 12, 1, 0) F("u8", "syscall", 13, 1, 0)
			 F("u8", "cap", 14, 1, 0) F("u8", "fastpath", 15, 1, 0)
				 NUMBER F("u32", "tag", 24, 4, 0),
		 "\"%s syscall=%u cap=%u tag=%u fastpath=%u\", __print_symbolic(REC->path, "
		 "{0, \"Unknown\"}, {1, \"Interrupt\"}, {2, \"UnknownSyscall\"}, {3, "
		 "\"UserFault\"}, "
		 "{4, \"DebugFault\"}, {5, \"VMFault\"}, {6, \"Syscall\"}, {7, \"VCPUFault\"}), "
		 "REC->syscall, REC->cap, REC->tag, REC->fastpath"},
	[WIRE_SEL4_INTERRUPT] = {"interrupt", VMID SMALL("irq") NUMBER, "\"irq=%u\", REC->irq"},
	[WIRE_SEL4_KERNEL_EXIT] = {"kernel_exit", VMID SMALL("duration") NUMBER,
				   "\"duration=%u\", REC->duration"},
	[WIRE_SEL4_VM_FAULT] = {"vm_fault", VMID SMALL("fault") NUMBER VALUE("addr"),
				"\"type=%u addr=0x%llx\", REC->fault, REC->addr"},
	[WIRE_SEL4_USER_FAULT] = {"user_fault", VMID SMALL("nr") NUMBER VALUE("code"),
				  "\"number=%u code=0x%llx\", REC->nr, REC->code"},
	[WIRE_SEL4_TRACEPOINT] = {"tracepoint", VMID SMALL("id") NUMBER VALUE("duration"),
				  "\"id=%u duration=%llu\", REC->id, REC->duration"},
	[WIRE_SEL4_TIMESTAMP] = {"timestamp", VMID NUMBER VALUE("clock"),
				 "\"clock=%llu\", REC->clock"},
	[WIRE_SEL4_UNKNOWN] = {"unknown", VMID SMALL("marker") NUMBER VALUE("words"),
			       "\"marker=0x%x words=%llu\", REC->marker, REC->words"},
	[WIRE_SEL4_CUT] = {"cut", VMID SMALL("marker") NUMBER VALUE("words"),
			   "\"marker=0x%x words=%llu\", REC->marker, REC->words"},
};

const char *sel4_type_name(uint32_t type)
{
	return type < WIRE_SEL4_NR_TYPES ? schemas[type].name : "?";
}

uint32_t sel4_type_of_id(uint32_t id)
{
	if (id == WIRE_ID_FUNCGRAPH_ENTRY)
		return WIRE_SEL4_FUNC_ENTER;
	if (id == WIRE_ID_FUNCGRAPH_EXIT)
		return WIRE_SEL4_FUNC_EXIT;
	return id >= SEL4_ID_FIRST + WIRE_SEL4_VMID && id < SEL4_ID_FIRST + WIRE_SEL4_NR_TYPES
		       ? id - SEL4_ID_FIRST
		       : WIRE_SEL4_NR_TYPES;
}

int sel4_add_schemas(struct source *s)
{
	for (uint32_t t = 0; t < WIRE_SEL4_NR_TYPES; t++) {
		const char *name = t == WIRE_SEL4_FUNC_ENTER  ? "funcgraph_entry"
				   : t == WIRE_SEL4_FUNC_EXIT ? "funcgraph_exit"
							      : schemas[t].name;
		char text[2048];
		int n, err;

		n = snprintf(text, sizeof(text), SOURCE_COMMON "%s\nprint fmt: %s\n", name,
			     sel4_id(t), schemas[t].fields, schemas[t].print);
		err = source_add_schema(s, t <= WIRE_SEL4_FUNC_EXIT ? "ftrace" : "sel4", text,
					(size_t)n, true);
		if (err)
			return err;
		s->schemas[s->nr_schemas - 1].alias = sel4_type_name(t);
	}
	return 0;
}

static void put(uint8_t *out, uint32_t at, uint64_t v, uint32_t bytes)
{
	memcpy(out + at, &v, bytes); /* hosts are little endian, as the stream is */
}

static uint32_t record_function(const struct sel4_event *e, uint8_t *out)
{
	put(out, 8, e->func, 8);
	put(out, 16, (uint32_t)e->depth, 4);
	if (e->type == WIRE_SEL4_FUNC_ENTER) {
		put(out, 20, (uint32_t)e->vmid, 4);
		put(out, 24, e->number, 8);
		return 32;
	}
	put(out, 20, 0, 4);
	put(out, 24, e->calltime, 8);
	put(out, 32, e->rettime, 8);
	put(out, 40, e->number, 8);
	put(out, 48, (uint32_t)e->vmid, 4);
	put(out, 52, 0, 4);
	return SEL4_RECORD_BYTES;
}

/* The one small number and the one or two large ones of a marker. */
static void split(const struct sel4_event *e, uint64_t *small, uint64_t *value, uint64_t *value2)
{
	const uint16_t *w = e->w + 1;

	switch (e->type) {
	case WIRE_SEL4_SYSCALL:
	case WIRE_SEL4_INTERRUPT: *small = w[0]; break;
	case WIRE_SEL4_KERNEL_EXIT: *small = wire_sel4_get32(w); break;
	case WIRE_SEL4_SAFE_PTE:
	case WIRE_SEL4_VSPACE:
	case WIRE_SEL4_THREAD: *value = wire_sel4_get48(w); break;
	case WIRE_SEL4_RETYPE:
	case WIRE_SEL4_INIT_PT:
	case WIRE_SEL4_CREATE_OBJ:
		*value = wire_sel4_get48(w);
		*small = w[3];
		break;
	case WIRE_SEL4_PT_MAP:
		*value = wire_sel4_get48(w);
		*value2 = wire_sel4_get48(w + 3);
		*small = w[6];
		break;
	case WIRE_SEL4_VM_FAULT:
	case WIRE_SEL4_TRACEPOINT:
		*small = w[0];
		*value = wire_sel4_get48(w + 1);
		break;
	case WIRE_SEL4_USER_FAULT:
		*small = w[0];
		*value = wire_sel4_get32(w + 1);
		break;
	case WIRE_SEL4_TIMESTAMP: *value = wire_sel4_get48(w + 1); break;
	case WIRE_SEL4_UNKNOWN:
	case WIRE_SEL4_CUT:
		*small = e->w[0];
		*value = e->nr_words;
		break;
	default: break;
	}
}

uint32_t sel4_record(const struct sel4_event *e, uint8_t *out)
{
	struct wire_common common = {.type = (uint16_t)sel4_id(e->type), .pid = e->pid};
	uint64_t small = 0, value = 0, value2 = 0;

	memcpy(out, &common, sizeof(common));
	if (e->type <= WIRE_SEL4_FUNC_EXIT)
		return record_function(e, out);
	if (e->type == WIRE_SEL4_KERNEL_ENTRY) {
		struct wire_sel4_entry k = wire_sel4_entry_unpack(e->w + 1);

		small = k.path | (uint32_t)k.syscall << 8 | (uint32_t)k.cap << 16 |
			(uint32_t)k.fastpath << 24;
		value = k.tag;
	} else {
		split(e, &small, &value, &value2);
	}
	put(out, AT_VMID, (uint32_t)e->vmid, 4);
	put(out, AT_SMALL, small, 4);
	put(out, AT_NUMBER, e->number, 8);
	put(out, AT_VALUE, value, 8);
	put(out, AT_VALUE2, value2, 8);
	return e->type == WIRE_SEL4_PT_MAP ? 40 : 32;
}
