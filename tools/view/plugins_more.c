/* SPDX-License-Identifier: MIT */
/* plugins_more.c -- futex calls, TLB flushes and exits of guests, as trace-cmd's plugins print them. */
#include "view/lines.h"

static void put_hex8(struct out *o, uint64_t v)
{
	out_printf(o, "0x%08llx", (unsigned long long)v);
}

/* ---- futex ---- */

enum {
	FUTEX_UADDR,
	FUTEX_OP,
	FUTEX_VAL,
	FUTEX_UTIME,
	FUTEX_UADDR2,
	FUTEX_VAL3
};

/* Which arguments an operation has, in this order. */
enum {
	HAS_VALUE = 1,	/* val=0x00000007 */
	HAS_COUNT = 2,	/* val=7 */
	HAS_TIME = 4,	/* utime= */
	HAS_COUNT2 = 8, /* val2=, which is where utime stands */
	HAS_UADDR2 = 16,
	HAS_VAL3 = 32,
};

#define FUTEX_PRIVATE  0x80u
#define FUTEX_REALTIME 0x100u

static const struct futex_op {
	const char *name;
	unsigned has;
} futex_ops[] = {
	{"FUTEX_WAIT", HAS_VALUE | HAS_TIME},
	{"FUTEX_WAKE", HAS_COUNT},
	{"FUTEX_FD", HAS_COUNT},
	{"FUTEX_REQUEUE", HAS_COUNT | HAS_COUNT2 | HAS_UADDR2},
	{"FUTEX_CMP_REQUEUE", HAS_COUNT | HAS_COUNT2 | HAS_UADDR2 | HAS_VAL3},
	{"FUTEX_WAKE_OP", HAS_COUNT | HAS_COUNT2 | HAS_UADDR2 | HAS_VAL3},
	{"FUTEX_LOCK_PI", HAS_TIME},
	{"FUTEX_UNLOCK_PI", 0},
	{"FUTEX_TRYLOCK_PI", 0},
	{"FUTEX_WAIT_BITSET", HAS_VALUE | HAS_TIME | HAS_VAL3},
	{"FUTEX_WAKE_BITSET", HAS_COUNT | HAS_VAL3},
	{"FUTEX_WAIT_REQUEUE_PI", HAS_VALUE | HAS_TIME | HAS_UADDR2 | HAS_VAL3},
	{"FUTEX_CMP_REQUEUE_PI", HAS_COUNT | HAS_COUNT2 | HAS_UADDR2 | HAS_VAL3},
};

static void put_hex_argument(struct line_writer *w, const struct item *i, const char *label,
			     const struct format_field *f)
{
	out_str(w->out, label);
	put_hex8(w->out, item_number(w, i, f));
}

static void put_count(struct line_writer *w, const struct item *i, const char *label,
		      const struct format_field *f)
{
	out_str(w->out, label);
	out_u64(w->out, item_number(w, i, f));
}

void print_futex(struct line_writer *w, const struct printer *p, const struct item *i)
{
	uint64_t op = item_number(w, i, p->field[FUTEX_OP]);
	uint64_t command = op & ~(uint64_t)(FUTEX_PRIVATE | FUTEX_REALTIME);
	const struct futex_op *f = &futex_ops[command];

	if (command >= sizeof(futex_ops) / sizeof(futex_ops[0])) {
		print_format(w, p, i);
		return;
	}
	out_str(w->out, "op=");
	out_str(w->out, f->name);
	if (op & FUTEX_PRIVATE)
		out_str(w->out, "|FUTEX_PRIVATE_FLAG");
	if (op & FUTEX_REALTIME)
		out_str(w->out, "|FUTEX_CLOCK_REALTIME");
	put_hex_argument(w, i, " uaddr=", p->field[FUTEX_UADDR]);
	if (f->has & HAS_VALUE)
		put_hex_argument(w, i, " val=", p->field[FUTEX_VAL]);
	if (f->has & HAS_COUNT)
		put_count(w, i, " val=", p->field[FUTEX_VAL]);
	if (f->has & HAS_TIME)
		put_hex_argument(w, i, " utime=", p->field[FUTEX_UTIME]);
	if (f->has & HAS_COUNT2)
		put_count(w, i, " val2=", p->field[FUTEX_UTIME]);
	if (f->has & HAS_UADDR2)
		put_hex_argument(w, i, " uaddr2=", p->field[FUTEX_UADDR2]);
	if (f->has & HAS_VAL3)
		put_hex_argument(w, i, " val3=", p->field[FUTEX_VAL3]);
}

/* ---- TLB ---- */

/* It knows the first four reasons only, and prints the number of any. */
void print_tlb_flush(struct line_writer *w, const struct printer *p, const struct item *i)
{
	static const char *const reasons[] = {"flush on task switch", "remote shootdown",
					      "local shootdown", "local mm shootdown"};
	uint32_t reason = (uint32_t)item_number(w, i, p->field[0]);

	out_str(w->out, "pages=");
	out_s64(w->out, (int64_t)item_number(w, i, p->field[1]));
	out_str(w->out, " reason=");
	if (reason < sizeof(reasons) / sizeof(reasons[0]))
		out_str(w->out, reasons[reason]);
	out_printf(w->out, " (%u)", reason);
}

/* ---- guests ---- */

struct reason {
	uint32_t number;
	const char *name;
};

static const struct reason vmx_reasons[] = {
	{0, "EXCEPTION_NMI"},
	{1, "EXTERNAL_INTERRUPT"},
	{2, "TRIPLE_FAULT"},
	{7, "PENDING_INTERRUPT"},
	{8, "NMI_WINDOW"},
	{9, "TASK_SWITCH"},
	{10, "CPUID"},
	{12, "HLT"},
	{13, "INVD"},
	{14, "INVLPG"},
	{15, "RDPMC"},
	{16, "RDTSC"},
	{18, "VMCALL"},
	{19, "VMCLEAR"},
	{20, "VMLAUNCH"},
	{21, "VMPTRLD"},
	{22, "VMPTRST"},
	{23, "VMREAD"},
	{24, "VMRESUME"},
	{25, "VMWRITE"},
	{26, "VMOFF"},
	{27, "VMON"},
	{28, "CR_ACCESS"},
	{29, "DR_ACCESS"},
	{30, "IO_INSTRUCTION"},
	{31, "MSR_READ"},
	{32, "MSR_WRITE"},
	{36, "MWAIT_INSTRUCTION"},
	{39, "MONITOR_INSTRUCTION"},
	{40, "PAUSE_INSTRUCTION"},
	{41, "MCE_DURING_VMENTRY"},
	{43, "TPR_BELOW_THRESHOLD"},
	{44, "APIC_ACCESS"},
	{45, "EOI_INDUCED"},
	{48, "EPT_VIOLATION"},
	{49, "EPT_MISCONFIG"},
	{50, "INVEPT"},
	{52, "PREEMPTION_TIMER"},
	{54, "WBINVD"},
	{55, "XSETBV"},
	{56, "APIC_WRITE"},
	{58, "INVPCID"},
	{62, "PML_FULL"},
	{63, "XSAVES"},
	{64, "XRSTORS"},
};

/* Printed with EXIT_ before them. */
static const struct reason svm_reasons[] = {
	{0, "READ_CR0"},
	{3, "READ_CR3"},
	{4, "READ_CR4"},
	{8, "READ_CR8"},
	{16, "WRITE_CR0"},
	{19, "WRITE_CR3"},
	{20, "WRITE_CR4"},
	{24, "WRITE_CR8"},
	{32, "READ_DR0"},
	{33, "READ_DR1"},
	{34, "READ_DR2"},
	{35, "READ_DR3"},
	{36, "READ_DR4"},
	{37, "READ_DR5"},
	{38, "READ_DR6"},
	{39, "READ_DR7"},
	{48, "WRITE_DR0"},
	{49, "WRITE_DR1"},
	{50, "WRITE_DR2"},
	{51, "WRITE_DR3"},
	{52, "WRITE_DR4"},
	{53, "WRITE_DR5"},
	{54, "WRITE_DR6"},
	{55, "WRITE_DR7"},
	{64, "EXCP_DE"},
	{65, "EXCP_DB"},
	{67, "EXCP_BP"},
	{68, "EXCP_OF"},
	{69, "EXCP_BR"},
	{70, "EXCP_UD"},
	{71, "EXCP_NM"},
	{72, "EXCP_DF"},
	{74, "EXCP_TS"},
	{75, "EXCP_NP"},
	{76, "EXCP_SS"},
	{77, "EXCP_GP"},
	{78, "EXCP_PF"},
	{80, "EXCP_MF"},
	{81, "EXCP_AC"},
	{82, "EXCP_MC"},
	{83, "EXCP_XF"},
	{96, "INTR"},
	{97, "NMI"},
	{98, "SMI"},
	{99, "INIT"},
	{100, "VINTR"},
	{101, "CR0_SEL_WRITE"},
	{102, "IDTR_READ"},
	{103, "GDTR_READ"},
	{104, "LDTR_READ"},
	{105, "TR_READ"},
	{106, "IDTR_WRITE"},
	{107, "GDTR_WRITE"},
	{108, "LDTR_WRITE"},
	{109, "TR_WRITE"},
	{110, "RDTSC"},
	{111, "RDPMC"},
	{112, "PUSHF"},
	{113, "POPF"},
	{114, "CPUID"},
	{115, "RSM"},
	{116, "IRET"},
	{117, "SWINT"},
	{118, "INVD"},
	{119, "PAUSE"},
	{120, "HLT"},
	{121, "INVLPG"},
	{122, "INVLPGA"},
	{123, "IOIO"},
	{124, "MSR"},
	{125, "TASK_SWITCH"},
	{126, "FERR_FREEZE"},
	{127, "SHUTDOWN"},
	{128, "VMRUN"},
	{129, "VMMCALL"},
	{130, "VMLOAD"},
	{131, "VMSAVE"},
	{132, "STGI"},
	{133, "CLGI"},
	{134, "SKINIT"},
	{135, "RDTSCP"},
	{136, "ICEBP"},
	{137, "WBINVD"},
	{138, "MONITOR"},
	{139, "MWAIT"},
	{140, "MWAIT_COND"},
	{141, "XSETBV"},
	{0x400, "NPF"},
	{0x401, "AVIC_INCOMPLETE_IPI"},
	{0x402, "AVIC_UNACCELERATED_ACCESS"},
	{0xffffffff, "ERR"},
};

static const char *reason_name(const struct reason *list, size_t nr, uint32_t number)
{
	for (size_t k = 0; k < nr; k++)
		if (list[k].number == number)
			return list[k].name;
	return NULL;
}

static void put_reason(struct out *o, uint64_t isa, uint32_t number)
{
	bool svm = isa == 2;
	const char *name =
		svm ? reason_name(svm_reasons, sizeof(svm_reasons) / sizeof(svm_reasons[0]), number)
		    : reason_name(vmx_reasons, sizeof(vmx_reasons) / sizeof(vmx_reasons[0]),
				  number);

	out_str(o, "reason ");
	if (isa != 1 && isa != 2)
		out_str(o, "UNKNOWN-ISA");
	else if (name)
		out_printf(o, "%s%s", svm ? "EXIT_" : "", name);
	else
		out_printf(o, "UNKNOWN (%u)", number);
}

enum {
	EXIT_REASON,
	EXIT_RIP,
	EXIT_ISA,
	EXIT_INFO1,
	EXIT_INFO2
};

/* Kernels before there was SVM in the trace do not give the kind: it is VMX. */
static uint64_t isa_of(struct line_writer *w, const struct item *i, const struct format_field *f)
{
	return f ? item_number(w, i, f) : 1;
}

void print_kvm_exit(struct line_writer *w, const struct printer *p, const struct item *i)
{
	put_reason(w->out, isa_of(w, i, p->field[EXIT_ISA]),
		   (uint32_t)item_number(w, i, p->field[EXIT_REASON]));
	out_printf(w->out, " rip 0x%llx",
		   (unsigned long long)item_number(w, i, p->field[EXIT_RIP]));
	if (p->field[EXIT_INFO1] && p->field[EXIT_INFO2])
		out_printf(w->out, " info %llx %llx",
			   (unsigned long long)item_number(w, i, p->field[EXIT_INFO1]),
			   (unsigned long long)item_number(w, i, p->field[EXIT_INFO2]));
}

void print_kvm_inject(struct line_writer *w, const struct printer *p, const struct item *i)
{
	static const char *const labels[] = {" info1 ", " info2 ", " int_info ", " int_info_err "};

	put_reason(w->out, isa_of(w, i, p->field[5]), (uint32_t)item_number(w, i, p->field[0]));
	for (unsigned k = 0; k < 4; k++) {
		out_str(w->out, labels[k]);
		out_hex(w->out, item_number(w, i, p->field[k + 1]));
	}
}

/* "csbase:rip: 0f 01 c1"; bytes that are not in the record are not shown. */
void print_kvm_insn(struct line_writer *w, const struct printer *p, const struct item *i)
{
	uint64_t len = item_number(w, i, p->field[2]);
	uint32_t at = p->field[3]->offset;

	out_hex(w->out, item_number(w, i, p->field[1]));
	out_char(w->out, ':');
	out_hex(w->out, item_number(w, i, p->field[0]));
	out_str(w->out, ": ");
	for (uint64_t k = 0; k < len && k < p->field[3]->size && at + k < i->size; k++)
		out_printf(w->out, k ? " %02x" : "%02x", w->data[at + k]);
	if (item_number(w, i, p->field[4]))
		out_str(w->out, " FAIL");
}
