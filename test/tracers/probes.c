/* SPDX-License-Identifier: MIT */
/* probes.c -- kprobe_events and eprobes of a process: arguments, return values, memory that is not there. */
#include <errno.h>
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "fathom_port.h"
#include "fathom_user.h"
#include "harness.h"
#include "traced.h"
#include "tree.h"

const char *probes_text = "some text";
struct {
	char a;
	short b;
	int c;
	const char *name;
	unsigned char bytes[4];
} probes_struct = {-1, -2, 0x12345678, "pointed to", {1, 2, 3, 255}};

static void begin(void)
{
	fathom_user_stop();
	CHECK_EQ(fathom_user_start("tracer=nop,out=,buffer_kb=256,cpus=2"), 0);
	hij_leaf(1); /* this thread has a ring now */
}

static int holds(const char *path, const char *text)
{
	if (strstr(get(path), text))
		return 1;
	printf("  %s is\n%s\n  without\n%s\n", path, get(path), text);
	return 0;
}

static int on(const char *event, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "events/%s/enable", event);
	return fathom_set(path, value);
}

static void entries(const char *family)
{
	char line[256], text[256];

	snprintf(line, sizeof(line), "p:mine %s_pair a=$arg1 $arg2:s32 c=$arg3:u8 d=%%cx:x16",
		 family);
	CHECK_EQ(append("kprobe_events", line), 0);
	snprintf(text, sizeof(text),
		 "p:kprobes/mine %s_pair a=$arg1 arg2=$arg2:s32 c=$arg3:u8 d=%%cx:x16\n", family);
	CHECK_STR(get("kprobe_events"), text);
	CHECK_STR(get("dynamic_events"), text);
	CHECK(holds("events/kprobes/mine/format",
		    "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		    "\tfield:u64 a;\toffset:16;\tsize:8;\tsigned:0;\n"
		    "\tfield:s32 arg2;\toffset:24;\tsize:4;\tsigned:1;\n"
		    "\tfield:u8 c;\toffset:28;\tsize:1;\tsigned:0;\n"
		    "\tfield:u16 d;\toffset:29;\tsize:2;\tsigned:0;\n"
		    "\nprint fmt: \"(%lx) a=0x%Lx arg2=%d c=%u d=0x%x\", REC->__probe_ip, REC->a, "
		    "REC->arg2, REC->c, REC->d\n"));
	ret_pair(1, 2, 3, 4), hij_pair(1, 2, 3, 4); /* it is off */
	CHECK_EQ(on("kprobes/mine", "1"), 0);
	CHECK_EQ(*family == 'r' ? ret_pair(0x1234, -5, 300, 0x54321).a
				: hij_pair(0x1234, -5, 300, 0x54321).a,
		 hij_pair(0x1234, -5, 300, 0x54321).a);
	snprintf(text, sizeof(text), "mine: (%s_pair+0x", family);
	CHECK(holds("trace", text));
	CHECK(holds("trace", ") a=0x1234 arg2=-5 c=44 d=0x4321\n"));
	CHECK(!strstr(get("trace"), "a=0x1 "));
	CHECK_EQ(fathom_set("kprobe_events", ""), -EBUSY);
	CHECK_EQ(append("kprobe_events", "-:mine"), -EBUSY);
	CHECK_EQ(on("kprobes/mine", "0"), 0);
	fathom_set("trace", "");
	ret_pair(0x1234, 2, 3, 4), hij_pair(0x1234, 2, 3, 4);
	CHECK(!strstr(get("trace"), "mine:"));
	CHECK(holds("kprobe_profile", "  mine                                         "));
	CHECK_EQ(append("kprobe_events", "-:kprobes/mine"), 0);
	CHECK_STR(get("dynamic_events"), "");
}

TEST(arguments)
{
	begin();
	entries("ret");
	entries("hij");
}

/* By return sites and by replaced return addresses; what a tail call will return is not known before it has. */
TEST(returns)
{
	begin();
	CHECK_EQ(append("kprobe_events",
			"r:one hij_leaf value=$retval:s32\nr:two ret_leaf $retval:u8\n"
			"p:three ret_mid%return\nr:kprobes/four ret_branchy $retval:s32"),
		 0);
	CHECK_EQ(fathom_set("events/kprobes/enable", "1"), 0);
	CHECK_EQ(hij_leaf(41), 42);
	CHECK_EQ(ret_mid(6), 16);
	CHECK_EQ(ret_branchy(0), 42);
	CHECK(holds("trace", "one: (test_returns+0x"));
	CHECK(holds("trace", " <- hij_leaf) value=42\n"));
	CHECK(holds("trace", "two: (ret_mid+0x"));
	CHECK(holds("trace", " <- ret_leaf) arg1=7\n"));
	CHECK(holds("trace", " <- ret_leaf) arg1=8\n"));
	CHECK(holds("trace", " <- ret_mid)\n"));
	CHECK(holds("trace", " <- ret_branchy) arg1=42\n"));
	CHECK(holds("kprobe_events", "r:kprobes/three ret_mid\n"));
	CHECK_EQ(fathom_set("events/kprobes/enable", "0"), 0);
	CHECK_EQ(fathom_set("kprobe_events", ""), 0);
	CHECK_EQ(hij_leaf(1), 2);
}

TEST(memory)
{
	char line[512], text[256];
	uintptr_t at = (uintptr_t)&probes_struct;

	begin();
	snprintf(line, sizeof(line),
		 "p:mem hij_pair +0($arg1):s8 b=+2($arg1):s16 c=+4($arg1):x32 "
		 "n=+0(+8($arg1)):string "
		 "v=+16($arg1):u8[4] bits=+4($arg1):b8@4/32 none=+0($arg2):string zero=+0($arg2) "
		 "who=$comm imm=\\7 t=\\\"txt\" sym=@0x%lx:x64",
		 (unsigned long)(uintptr_t)&probes_text);
	CHECK_EQ(append("kprobe_events", line), 0);
	CHECK_EQ(on("kprobes/mem", "1"), 0);
	hij_pair((long)at, 16, 0, 0);
	snprintf(text, sizeof(text),
		 " arg1=-1 b=-2 c=0x12345678 n=\"pointed to\" v={1,2,3,255} bits=103 none=(fault) "
		 "zero=0x0 "
		 "who=\"tracers_probes\" imm=0x7 t=\"txt\" sym=0x%lx\n",
		 (unsigned long)(uintptr_t)probes_text);
	CHECK(holds("trace", text));
	/* What any event has: a filter, a histogram. */
	CHECK_EQ(fathom_set("events/kprobes/mem/filter", "b == -2 && n ~ \"pointed*\""), 0);
	CHECK_EQ(append("events/kprobes/mem/trigger", "hist:keys=n:vals=c"), 0);
	hij_pair((long)at, 16, 0, 0);
	CHECK(holds("events/kprobes/mem/hist", "{ n: pointed to "));
	CHECK_EQ(append("events/kprobes/mem/trigger", "!hist:keys=n:vals=c"), 0);
	CHECK_EQ(on("kprobes/mem", "0"), 0);
	CHECK_EQ(fathom_set("dynamic_events", ""), 0);
}

/* Several places make one event. */
TEST(places)
{
	begin();
	CHECK_EQ(append("kprobe_events", "p:kprobes/both hij_leaf\np:kprobes/both ret_leaf"), 0);
	CHECK_STR(get("kprobe_events"), "p:kprobes/both hij_leaf\np:kprobes/both ret_leaf\n");
	CHECK_EQ(append("kprobe_events", "p:kprobes/both ret_leaf"), -EEXIST);
	CHECK_EQ(append("kprobe_events", "r:kprobes/both ret_mid"), -EEXIST);
	CHECK_EQ(append("kprobe_events", "p:kprobes/both ret_mid $stack"), -EEXIST);
	CHECK_EQ(on("kprobes/both", "1"), 0);
	hij_leaf(1), ret_leaf(1);
	CHECK(holds("trace", "both: (hij_leaf+0x"));
	CHECK(holds("trace", "both: (ret_leaf+0x"));
	CHECK_EQ(on("kprobes/both", "0"), 0);
	CHECK_EQ(append("kprobe_events", "-:kprobes/both ret_leaf"), 0);
	CHECK_STR(get("kprobe_events"), "p:kprobes/both hij_leaf\n");
	CHECK_EQ(append("kprobe_events", "-:kprobes/both ret_leaf"), -ENOENT);
	CHECK_EQ(append("kprobe_events", "p ret_leaf\np:group/ ret_leaf"), 0);
	CHECK(holds("dynamic_events",
		    "p:kprobes/p_ret_leaf_0 ret_leaf\np:group/p_ret_leaf_0 ret_leaf\n"));
	CHECK_EQ(append("dynamic_events", "-:group/"), 0);
	CHECK_EQ(append("dynamic_events", "!p:p_ret_leaf_0 ret_leaf"), 0);
	CHECK_EQ(append("dynamic_events", "-:both"), 0);
	CHECK_STR(get("dynamic_events"), "");
}

TEST(eprobes)
{
	begin();
	CHECK_EQ(append("dynamic_events", "p:src hij_pair x=$arg1:s32 s=+0($arg2):string p=$arg2"),
		 0);
	CHECK_EQ(append("dynamic_events", "e:copy kprobes.src y=$x:s16 z=$s str=+0($p):string $x"),
		 0);
	CHECK(holds("dynamic_events",
		    "e:eprobes/copy kprobes.src y=$x:s16 z=$s str=+0($p):string x=$x\n"));
	CHECK_EQ(on("eprobes/copy", "1"), 0);
	hij_pair(-3, (long)(uintptr_t)probes_text, 0, 0);
	CHECK(holds("trace", "copy: (kprobes.src) y=-3 z=\"some text\" str=\"some text\" "
			     "x=0xfffffffffffffffd\n"));
	CHECK(!strstr(get("trace"), "src: ")); /* that one is not on */
	CHECK_EQ(append("dynamic_events", "-:src"), -EBUSY);
	CHECK_EQ(on("eprobes/copy", "0"), 0);
	CHECK_EQ(append("dynamic_events", "-:eprobes/copy kprobes/src"), 0);
	CHECK_EQ(append("dynamic_events", "-:src"), 0);
}

/* Where Linux's selftests put their carets. */
TEST(errors)
{
	static const struct {
		const char *command, *what;
	} wrong[] = {
		{"p^100 hij_leaf", "Maxactive is not for kprobe"},
		{"r^1a111 hij_leaf", "Invalid maxactive number"},
		{"r^100000 hij_leaf", "Maxactive is too big"},
		{"p ^non_exist_func", "Invalid probed address or symbol"},
		{"p ^hoge-fuga", "Invalid probed address or symbol"},
		{"r ^hij_leaf+10", "Retprobe address must be an function entry"},
		{"p ^hij_leaf+10", "Probe point is not an instruction boundary"},
		{"p:^/bar hij_leaf", "Group name is not specified"},
		{"p:^foo-1/bar hij_leaf", "Group name must follow the same rules as C identifiers"},
		{"p:^ hij_leaf", "Event name is not specified"},
		{"p:foo/^bar.1 hij_leaf", "Event name must follow the same rules as C identifiers"},
		{"p hij_leaf ^$retval", "$retval is not available on probe"},
		{"p hij_leaf ^$stack10000", "Invalid stack number"},
		{"p hij_leaf ^$arg10000", "Invalid argument number"},
		{"p hij_leaf ^$none_var", "Invalid $-variable specified"},
		{"p hij_leaf ^%none_reg", "Invalid register name"},
		{"p hij_leaf ^@12345678abcde", "Invalid memory address"},
		{"p hij_leaf arg1=\\^x", "Invalid immediate value"},
		{"p hij_leaf ^+0@0)", "Dereference needs a brace"},
		{"p hij_leaf ^+0ab1(@0)", "Invalid dereference offset"},
		{"p hij_leaf +0(+0(@0^)", "Dereference brace is not closed"},
		{"p hij_leaf +0(^$comm)", "$comm can not be dereferenced"},
		{"p hij_leaf ^&1", "Invalid fetch argument"},
		{"p hij_leaf +0($arg1):^y16", "Unknown type is specified"},
		{"p hij_leaf $arg1:^string", "String accepts only memory argument"},
		{"p hij_leaf ^1=$arg1",
		 "Argument name must follow the same rules as C identifiers"},
		{"p hij_leaf x=$arg1 ^x=$arg2", "This argument name is already used"},
		{"e ^kprobes.none", "Attached event does not exist"},
		{"e ^none", "This requires both group and event name to attach"},
	};

	begin();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *caret = strchr(wrong[i].command, '^');
		char command[128], expect[512];
		int at = (int)(caret - wrong[i].command);

		snprintf(command, sizeof(command), "%.*s%s", at, wrong[i].command, caret + 1);
		CHECK_EQ(fathom_set("error_log", ""), 0);
		CHECK(append("dynamic_events", command) < 0);
		snprintf(expect, sizeof(expect), "%s: error: %s\n  Command: %s\n%*s^\n",
			 command[0] == 'e' ? "event_probe" : "trace_kprobe", wrong[i].what, command,
			 11 + at, "");
		CHECK(holds("error_log", expect));
	}
	CHECK_STR(get("dynamic_events"), "");
}

TEST_MAIN
