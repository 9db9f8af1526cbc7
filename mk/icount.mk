# `make icount`: instructions per event and per traced call on five architectures, counted by QEMU.
ICOUNT_ARCHES := x86_64 aarch64 riscv64 cortex-m3 i386
ICOUNT_CC_x86_64    := gcc $(ARCHFLAGS_x86_64)
ICOUNT_CC_aarch64   := aarch64-linux-gnu-gcc $(ARCHFLAGS_aarch64)
ICOUNT_CC_riscv64   := riscv64-linux-gnu-gcc -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany
ICOUNT_CC_cortex-m3 := arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb
ICOUNT_CC_i386      := gcc -m32 -march=i686 -mgeneral-regs-only
ICOUNT_SITES_x86_64    := -pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return
ICOUNT_SITES_aarch64   := -fpatchable-function-entry=2
ICOUNT_SITES_riscv64   := -fpatchable-function-entry=4 -falign-functions=4
ICOUNT_SITES_cortex-m3 := -finstrument-functions
ICOUNT_SITES_i386      := -finstrument-functions
ICOUNT_LIB_cortex-m3 := none
ICOUNT_LIB_i386      := none
ICOUNT_RAM_x86_64  := 0x100000
ICOUNT_RAM_i386    := 0x100000
ICOUNT_RAM_aarch64 := 0x40080000
ICOUNT_RAM_riscv64 := 0x80000000
ICOUNT_RAM_cortex-m3 := 0
ICOUNT_CFLAGS := $(CSTD) -O2 -ffreestanding -fno-builtin -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns \
	-ffunction-sections -fdata-sections $(WARN) -Werror -I. -Itrace -Itrace/include -Ibench/icount

ICOUNT_HDR := $(wildcard trace/include/fathom/*.h trace/include/fathom/inside/*.h trace/arch/*/local.h bench/icount/*.h)

# Sources as they are, and the subject with the sites of the architecture.
define ICOUNT_RULES
ICOUNT_OBJ_$(1) := $$(patsubst %,$(B)/icount/$(1)/%.o,$$(basename $$(FATHOM_CORE_SRC) $$(FATHOM_STREAM_SRC) $$(FATHOM_FUNCTIONS_SRC) $$(FATHOM_ARCH_SRC_$(or $(ICOUNT_LIB_$(1)),$(1))) $$(WIRE_SRC) bench/icount/bench.c bench/icount/subject.c bench/icount/start.S))
# What tracepoint.h includes does not count as a dependency: to the compiler it is a system header.
$(B)/icount/$(1)/bench/icount/bench.o: $$(ICOUNT_HDR)
$(B)/icount/$(1)/bench/icount/subject.o: ICOUNT_MORE := $$(ICOUNT_SITES_$(1))
$(B)/icount/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(ICOUNT_CC_$(1)) $$(ICOUNT_CFLAGS) $(if $(ICOUNT_LIB_$(1)),-DBENCH_INSTRUMENT) $$(ICOUNT_MORE) $$(DEPFLAGS) -c $$< -o $$@
$(B)/icount/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(ICOUNT_CC_$(1)) $$(ICOUNT_CFLAGS) $$(DEPFLAGS) -c $$< -o $$@
$(B)/icount/$(1).elf: $$(ICOUNT_OBJ_$(1)) bench/icount/bench.lds
	$$(ICOUNT_CC_$(1)) -nostdlib -static -no-pie -Wl,--build-id=none -Wl,--gc-sections -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments \
		-Wl,--defsym=BENCH_RAM=$$(ICOUNT_RAM_$(1)) -Wl,-T,bench/icount/bench.lds $$(filter %.o,$$^) -o $$@
	$(if $(filter x86_64,$(1)),objcopy -O elf32-i386 $$@)
endef
# The same with a port that says that its hooks call nothing, and one does: FATHOM_PORT_LEAF.
define ICOUNT_CALLS
$(B)/icount/$(1)-calls/hot.o: trace/functions/hot.c $(B)/icount/$(1)/trace/functions/hot.o
	@mkdir -p $$(@D)
	$$(ICOUNT_CC_$(1)) $$(ICOUNT_CFLAGS) -DBENCH_CALLS -c $$< -o $$@
$(B)/icount/$(1)-calls.elf: $(B)/icount/$(1).elf $(B)/icount/$(1)-calls/hot.o
	$$(ICOUNT_CC_$(1)) -nostdlib -static -no-pie -Wl,--build-id=none -Wl,--gc-sections -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments \
		-Wl,--defsym=BENCH_RAM=$$(ICOUNT_RAM_$(1)) -Wl,-T,bench/icount/bench.lds $(B)/icount/$(1)-calls/hot.o \
		$$(filter-out %/functions/hot.o,$$(ICOUNT_OBJ_$(1))) -o $$@
CHECK_DEPS += $(if $(shell command -v $(firstword $(ICOUNT_CC_$(1)))),$(B)/icount/$(1)-calls.elf)
endef
$(foreach a,aarch64 riscv64,$(eval $(call ICOUNT_CALLS,$(a))))
$(foreach a,$(ICOUNT_ARCHES),$(eval $(call ICOUNT_RULES,$(a))))

.PHONY: icount
icount: $(ICOUNT_ARCHES:%=$(B)/icount/%.elf) ## instructions per event and traced call on five architectures, with their bars
	@bench/icount/run $(ICOUNT_ARCHES)
CHECK_DEPS += $(foreach a,aarch64 riscv64 cortex-m3,$(if $(shell command -v $(firstword $(ICOUNT_CC_$(a)))),$(B)/icount/$(a).elf))
