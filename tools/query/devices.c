/* SPDX-License-Identifier: MIT */
/* devices.c -- numbers that print fmts leave to a plugin of libtraceevent: devices, hypercalls of Xen. */
#include "query/strings.h"

#include <stdio.h>
#include <string.h>

#define MINOR_BITS 20u

struct value strings_device(struct expr_record *r, uint64_t dev)
{
	uint32_t v = (uint32_t)dev;
	char text[32];
	int n = snprintf(text, sizeof(text), "%u:%u", v >> MINOR_BITS,
			 v & ((1u << MINOR_BITS) - 1));

	return strings_text(r, text, (size_t)n);
}

/* By number; Xen's public header has them. */
static const char *const hypercalls[] = {
	"set_trap_table",
	"mmu_update",
	"set_gdt",
	"stack_switch",
	"set_callbacks",
	"fpu_taskswitch",
	"sched_op_compat",
	"dom0_op",
	"set_debugreg",
	"get_debugreg",
	"update_descriptor",
	[12] = "memory_op",
	"multicall",
	"update_va_mapping",
	"set_timer_op",
	"event_channel_op_compat",
	"xen_version",
	"console_io",
	"physdev_op_compat",
	"grant_table_op",
	"vm_assist",
	"update_va_mapping_otherdomain",
	"iret",
	"vcpu_op",
	"set_segment_base",
	"mmuext_op",
	"acm_op",
	"nmi_op",
	"sched_op",
	"callback_op",
	"xenoprof_op",
	"event_channel_op",
	"physdev_op",
	"hvm_op",
	[48] = "arch_0",
	"arch_1",
	"arch_2",
	"arch_3",
	"arch_4",
	"arch_5",
	"arch_6",
	"arch_7",
};

struct value strings_hypercall(struct expr_record *r, uint64_t op)
{
	size_t known = sizeof(hypercalls) / sizeof(hypercalls[0]);
	char text[40];
	int n;

	if (op >= known || !hypercalls[op])
		return strings_text(r, "", 0);
	n = snprintf(text, sizeof(text), "(%s)", hypercalls[op]);
	return strings_text(r, text, (size_t)n);
}
