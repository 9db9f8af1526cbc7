# The demo kernel: `make boot [LEVEL=n] [ARCH=...]` boots it with a shell on the terminal; `make demo` traces it.
# LEVEL is the porting level of docs/PORTING.md, 0..6; each has its own folder of objects, and so has each architecture.
ARCH  ?= x86_64
LEVEL ?= 6
# SITES=entry: NOPs at entries only, as clang and other CPUs have them; function_graph then replaces return addresses.
SITES ?= return
DB    := $(B)/demo$(if $(filter-out x86_64,$(ARCH)),-$(ARCH))
D     := $(DB)/L$(LEVEL)$(if $(filter entry,$(SITES)),-entry)
DEMO_CC := $(CROSS_$(ARCH))$(if $(CROSS_$(ARCH)),gcc,$(CC))
DEMO_LD := $(CROSS_$(ARCH))ld

# What differs by architecture: flags, where RAM begins, the sites of level 4 and up, and QEMU's machine.
DEMO_ARCH_x86_64  := -mno-red-zone -mgeneral-regs-only -mcmodel=kernel
DEMO_USER_x86_64  := -mgeneral-regs-only
DEMO_RAM_x86_64   := 0
DEMO_SITES_x86_64 := -pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return
DEMO_SITES_x86_64_entry := -fpatchable-function-entry=5 -fno-ipa-ra
DEMO_VIRTIO       := virtio-serial-pci,disable-legacy=off,disable-modern=on,ioeventfd=off,max_ports=2
DEMO_LINE_x86_64  := -device $(DEMO_VIRTIO) -device virtserialport,chardev=trace
DEMO_QEMU_x86_64  := qemu-system-x86_64 -machine pc,accel=tcg -cpu qemu64 -device isa-debug-exit,iobase=0xf4,iosize=4
DEMO_ARCH_riscv64 := -march=rv64imac_zicsr_zifencei -mabi=lp64 -mcmodel=medany -mno-relax
DEMO_USER_riscv64 := $(DEMO_ARCH_riscv64)
DEMO_RAM_riscv64  := 0x80000000
DEMO_SITES_riscv64 := -fpatchable-function-entry=4 -falign-functions=4 -fno-ipa-ra
DEMO_QEMU_riscv64 := qemu-system-riscv64 -machine virt
DEMO_LINE_riscv64 := -device $(DEMO_VIRTIO),addr=1 -device virtserialport,chardev=trace
DEMO_ARCH_aarch64 := -mgeneral-regs-only -mno-outline-atomics -mno-omit-leaf-frame-pointer
DEMO_USER_aarch64 := $(DEMO_ARCH_aarch64)
DEMO_RAM_aarch64  := 0x40000000
DEMO_SITES_aarch64 := -fpatchable-function-entry=2 -fno-ipa-ra
DEMO_LINE_aarch64 := $(DEMO_LINE_riscv64)
DEMO_QEMU_aarch64 := qemu-system-aarch64 -machine virt,gic-version=3,highmem=off -cpu cortex-a57 -semihosting

DEMO_SRC   := $(sort $(wildcard demo/kernel/*.c demo/arch/$(ARCH)/*.c demo/arch/$(ARCH)/*.S demo/*.c) $(if $(filter-out x86_64,$(ARCH)),$(wildcard demo/arch/virt/*.c)))
DEMO_FREE  := $(CSTD) -O2 -g -ffreestanding -nostdinc -isystem $(shell $(DEMO_CC) -print-file-name=include) -fno-builtin \
	-fno-stack-protector -fno-pic -fno-common -fno-asynchronous-unwind-tables -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -fno-tree-loop-distribute-patterns $(WARN)
# Level 6, and 5 with the same library, is what is looked at and timed; the others show that a level is enough to boot and to be traced.
DEMO_CFLAGS := $(DEMO_FREE) $(if $(filter-out 5 6,$(LEVEL)),-O1 -g0) $(DEMO_ARCH_$(ARCH)) -DLEVEL=$(LEVEL) -I. -Itrace -Itrace/include -Idemo -Idemo/kernel -Idemo/arch/$(ARCH) -Idemo/arch
# Level 4 and up: NOPs at every entry and return of the kernel's own functions, never in the library.
DEMO_TRACE_FLAGS  := $(if $(filter 4 5 6,$(LEVEL)),$(DEMO_SITES_$(ARCH)$(if $(filter entry,$(SITES)),_entry)))
DEMO_OBJ   := $(patsubst %,$(D)/%.o,$(basename $(DEMO_SRC)))
# demo/fathom_port.h is the same to the library at levels 0 and 1, and at 5 and 6, with any SITES.
DEMO_LIB_LEVEL := $(or $(filter 2 3 4,$(LEVEL)),$(if $(filter 0 1,$(LEVEL)),1,6))
DEMO_LIB   := $(patsubst %,$(DB)/lib$(DEMO_LIB_LEVEL)/%.o,$(basename $(FATHOM_SRC) $(FATHOM_ARCH_SRC_$(ARCH)) $(WIRE_SRC)))

# User programs: each .c is a program of its own, linked with start.c and nothing else.
DEMO_PROGRAMS := $(filter-out start,$(notdir $(basename $(wildcard demo/user/*.c))))
DEMO_USER     := $(DB)/user
USER_FLAGS    := $(filter-out -fno-optimize-sibling-calls,$(DEMO_FREE)) $(DEMO_USER_$(ARCH)) -Itrace/include -Idemo/arch/$(ARCH)

$(DEMO_USER)/%.o: demo/user/%.c
	@mkdir -p $(@D)
	$(DEMO_CC) $(USER_FLAGS) $(DEPFLAGS) -c $< -o $@
$(DEMO_USER)/%.elf: $(DEMO_USER)/start.o $(DEMO_USER)/%.o demo/user/user.lds
	$(DEMO_LD) -nostdlib -static -z max-page-size=4096 --no-warn-rwx-segments -T demo/user/user.lds $(filter %.o,$^) -o $@

# The programs as the kernel carries them: a table and the files themselves.
$(DEMO_USER)/programs.S: $(DEMO_PROGRAMS:%=$(DEMO_USER)/%.elf) mk/demo.mk
	@{ printf '\t.section .rodata\n\t.globl programs\n\t.balign 8\nprograms:\n'; \
	for p in $(DEMO_PROGRAMS); do printf '\t.quad name_%s, elf_%s, elf_%s_end\n' $$p $$p $$p; done; \
	printf '\t.quad 0, 0, 0\n'; \
	for p in $(DEMO_PROGRAMS); do printf 'name_%s:\t.asciz "%s"\n\t.balign 4096\nelf_%s:\t.incbin "$(DEMO_USER)/%s.elf"\nelf_%s_end:\n' $$p $$p $$p $$p $$p; done; \
	printf '\t.section .note.GNU-stack, "", @progbits\n'; } >$@

# Symbols: link once with an empty table, make the table from that, link again; text has not moved in between.
define DEMO_LINK
	$(DEMO_LD) -nostdlib -static -z max-page-size=4096 --no-warn-rwx-segments --defsym=RAM_BASE=$(DEMO_RAM_$(ARCH)) -T demo/kernel.lds $(1) -o $(2)
endef

# All levels share the rules through a pattern on the level.
$(DB)/lib$(DEMO_LIB_LEVEL)/%.o: %.c
	@mkdir -p $(@D)
	$(DEMO_CC) $(DEMO_CFLAGS) -ULEVEL -DLEVEL=$(DEMO_LIB_LEVEL) -g$(if $(filter 6,$(DEMO_LIB_LEVEL)),1,0) $(DEPFLAGS) -c $< -o $@
$(DB)/lib$(DEMO_LIB_LEVEL)/%.o: %.S
	@mkdir -p $(@D)
	$(DEMO_CC) $(DEMO_CFLAGS) -ULEVEL -DLEVEL=$(DEMO_LIB_LEVEL) -g$(if $(filter 6,$(DEMO_LIB_LEVEL)),1,0) $(DEPFLAGS) -c $< -o $@
$(D)/demo/%.o: demo/%.c
	@mkdir -p $(@D)
	$(DEMO_CC) $(DEMO_CFLAGS) $(DEMO_TRACE_FLAGS) $(DEPFLAGS) -c $< -o $@
$(D)/demo/%.o: demo/%.S
	@mkdir -p $(@D)
	$(DEMO_CC) $(DEMO_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(D)/programs.o: $(DEMO_USER)/programs.S
	@mkdir -p $(@D)
	$(DEMO_CC) $(DEMO_ARCH_$(ARCH)) -fno-pic -c $< -o $@
$(D)/ksyms0.S: demo/ksyms.awk
	@mkdir -p $(@D)
	awk -f $< /dev/null >$@
$(D)/ksyms1.S: $(D)/kernel0.elf demo/ksyms.awk
	$(CROSS_$(ARCH))nm -n $< | awk -f demo/ksyms.awk >$@
$(D)/ksyms%.o: $(D)/ksyms%.S
	$(DEMO_CC) $(DEMO_ARCH_$(ARCH)) -fno-pic -c $< -o $@
$(D)/kernel0.elf: $(DEMO_OBJ) $(DEMO_LIB) $(D)/programs.o $(D)/ksyms0.o demo/kernel.lds
	$(call DEMO_LINK,$(filter %.o,$^),$@)
$(D)/kernel.elf: $(DEMO_OBJ) $(DEMO_LIB) $(D)/programs.o $(D)/ksyms1.o demo/kernel.lds
	$(call DEMO_LINK,$(filter %.o,$^),$@)

SMP       ?= 4
DEMO_QEMU := $(DEMO_QEMU_$(ARCH)) -m 256M -smp $(SMP) -display none -no-reboot -net none -kernel $(D)/kernel.elf

CHECK_FAST_DEPS += $(B)/demo/L6/kernel.elf
# The other levels and SITES=entry, built before the tests start: two of them at once would build the same objects.
# They share the user programs and libraries, which level 6 (and 0 for 1) has built.
DEMO_OTHERS := $(addprefix demo-L,0 1 2 3 4 5 6-entry)
.PHONY: $(DEMO_OTHERS)
$(DEMO_OTHERS): demo-L%: $(B)/demo/L6/kernel.elf
	@$(MAKE) -s demo-kernel LEVEL=$(firstword $(subst -, ,$*)) SITES=$(if $(findstring entry,$*),entry,return)
demo-L1: demo-L0
# The other architectures, at level 6; the tests of the other levels there: ARCH=... LEVELS='0 1 2 3 4 5' test/boot/levels.py.
DEMO_ARCHES := $(addprefix demo-,$(filter-out x86_64,$(notdir $(patsubst %/boot.S,%,$(wildcard demo/arch/*/boot.S)))))
.PHONY: $(DEMO_ARCHES)
$(DEMO_ARCHES): demo-%:
	@$(MAKE) -s demo-kernel ARCH=$*
CHECK_DEPS += $(DEMO_OTHERS) $(DEMO_ARCHES)

.PHONY: boot demo-kernel
demo-kernel: $(D)/kernel.elf
boot: $(D)/kernel.elf ## boot the demo kernel with its shell on this terminal: LEVEL=0..6 SMP=1..8 SH='run ipc;exit'
	@$(DEMO_QEMU) -serial mon:stdio -chardev null,id=trace $(DEMO_LINE_$(ARCH)) $(if $(SH),-append "sh=$(SH)"); [ $$? -eq 33 ]

DEMO_TARGET := demo-trace
.PHONY: demo-trace
demo-trace: $(B)/fathom $(DB)/L6/kernel.elf
	@demo/trace-demo $(ARCH)

# Boots in a row, each with a workload under trace on 1, 2, 4 or 8 CPUs, each checked.
SOAK = $(if $(filter command,$(firstword $(origin N))),$(N),50)
.PHONY: boot-soak
boot-soak: $(B)/fathom $(B)/demo/L6/kernel.elf ## N=50 boots in a row, traced and checked
	@for i in $$(seq $(SOAK)); do \
		smp=$$((1 << i % 4)); \
		SMP=$$smp test/boot/smp.py >$(B)/demo/soak.log || { echo "boot $$i on $$smp CPUs:"; grep -v '^ok' $(B)/demo/soak.log; exit 1; }; \
		printf '\rboot %d of %d' $$i $(SOAK); \
	done; echo; echo "$(SOAK) boots passed"

.PHONY: demo-causes
demo-causes: $(B)/fathom $(B)/demo/L6/kernel.elf ## SEEDS=100 delays whose cause is known: does `fathom why` name it?
	@SEEDS=$(or $(SEEDS),100) test/boot/causes.py
