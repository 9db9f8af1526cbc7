# xv6.mk -- the library, the port and the flags for function tracing, in xv6's Makefile before its rule of the kernel.
.DEFAULT_GOAL := $K/kernel
include trace/files.mk

FATHOM_OBJS := $(patsubst %,%.o,$(basename $(FATHOM_SRC) $(FATHOM_ARCH_SRC_riscv64) $(FATHOM_WIRE_SRC))) ports/xv6/fathom_xv6.o
CFLAGS += -Itrace -Itrace/include -Iports/xv6
$(FATHOM_OBJS): CFLAGS += -O2 -ffunction-sections -fdata-sections
%.o: %.S
	$(CC) $(CFLAGS) -c $< -o $@

# Four c.nop at every entry, but not in what the trace line itself uses, nor before paging.
$K/%.o: CFLAGS += -fpatchable-function-entry=4 -falign-functions=4 -fno-ipa-ra
$K/uart.o $K/start.o: CFLAGS += -fpatchable-function-entry=0

# Symbols: link with an empty table, make the table from that, link again; text does not move.
FATHOM_BASE := $(OBJS) $(FATHOM_OBJS)
OBJS += $(FATHOM_OBJS) ports/xv6/ksyms1.o
$K/kernel ports/xv6/kernel0: LDFLAGS += --gc-sections --no-warn-rwx-segments
ports/xv6/kernel0: $(FATHOM_BASE) ports/xv6/ksyms0.o $K/kernel.ld
	$(LD) $(LDFLAGS) -T $K/kernel.ld -o $@ $(filter %.o,$^)
ports/xv6/ksyms0.S: ports/xv6/ksyms.awk
	awk -f $< /dev/null >$@
ports/xv6/ksyms1.S: ports/xv6/kernel0 ports/xv6/ksyms.awk
	$(TOOLPREFIX)nm -n $< | awk -f ports/xv6/ksyms.awk >$@
