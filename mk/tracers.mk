# Tests and benchmarks of the function tracers. Their subjects are compiled twice: with return sites, and without.
TRACED_RET := -O2 -g -fno-pie -pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return
TRACED_HIJ := -O2 -g -fno-pie -fpatchable-function-entry=17,12 -fno-ipa-ra

$(B)/tracers/%_ret.o: test/tracers/%_ret.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) $(TRACED_RET) -fno-omit-frame-pointer -c $< -o $@
$(B)/tracers/%_hij.o: test/tracers/%_hij.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(TRACED_HIJ) -fno-omit-frame-pointer -c $< -o $@

$(B)/test/unit/tracers_%: test/tracers/%.c test/tracers/port.h test/tracers/forest.h test/harness.h $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -fno-pie -no-pie $(TRACERS_LINK) -Itest -Itest/tracers $(DEPFLAGS) $< $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@

CHECK_FAST_DEPS += $(addprefix $(B)/test/unit/tracers_,graph filters nesting beside together probes)

# ---- benchmark ----

$(B)/bench/tracers_ret.o: bench/tracers_ret.c bench/tracers_subject.inc
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) $(TRACED_RET) -c $< -o $@
$(B)/bench/tracers_hij.o: bench/tracers_hij.c bench/tracers_subject.inc
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) $(TRACED_HIJ) -c $< -o $@
$(B)/bench/tracers_plain.o: bench/tracers_plain.c bench/tracers_subject.inc
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) -O2 -g -fno-pie -c $< -o $@
$(B)/bench/tracers: bench/tracers.c bench/tracers_loop.h test/tracers/port.h $(B)/bench/tracers_ret.o $(B)/bench/tracers_hij.o $(B)/bench/tracers_plain.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc $(USER_CFLAGS) -fno-pie -no-pie -Itest/tracers -Ibench $(filter %.c %.o,$^) -Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@

# The same call under other tracers, compiled as their manuals ask.
OTHER_FLAGS_pg  := -pg
OTHER_FLAGS_cyg := -finstrument-functions
OTHER_FLAGS_nop := -fpatchable-function-entry=5
TRACERS_OTHER   := $(addprefix $(B)/bench/tracers_other_,pg cyg nop)
$(TRACERS_OTHER): $(B)/bench/tracers_other_%: bench/tracers_other.c bench/tracers_subject_other.c bench/tracers_loop.h bench/tracers_subject.inc
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) -O2 -g $(OTHER_FLAGS_$*) -c bench/tracers_subject_other.c -o $@.o
	gcc $(CSTD) $(WARN) -O2 -g -Ibench bench/tracers_other.c $@.o -o $@

# Counted from the disassembly, so it holds on any machine; test/tracers/uops.sh is the same as a test.
uops: $(B)/bench/core/core $(B)/bench/tracers ## micro-operations of the recording fast paths, and their bounds
	@bench/uops.py
.PHONY: uops
CHECK_FAST_DEPS += $(B)/bench/core/core $(B)/bench/tracers

bench-tracers: $(B)/bench/tracers $(TRACERS_OTHER) ## cost of a traced call and its return
	@bench/tracers.sh

.PHONY: together
together: $(B)/test/unit/tracers_together ## shell, link and tree clients at once while tracers toggle, 10 minutes
	TOGETHER_SECONDS=600 $<

.PHONY: boot-toggle
boot-toggle: $(B)/demo/L6/kernel.elf ## 1,000 tracer changes on the demo kernel under load and NMIs
	@TOGGLES=1000 test/boot/toggle.py

$(B)/test/traced_process: test/tracers/process.c $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) -O2 -fno-pie -no-pie $< $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -pthread -o $@
CHECK_FAST_DEPS += $(B)/test/traced_process

$(B)/tracers/traced_cyg.o: test/tracers/traced_cyg.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) -O2 -g -fno-pie -fno-omit-frame-pointer -finstrument-functions -c $< -o $@
$(B)/test/unit/tracers_instrument: test/tracers/instrument.c test/tracers/unpatched.h test/tracers/forest.h test/tracers/port.h test/harness.h $(B)/tracers/traced_cyg.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -fno-pie -no-pie -Itest -Itest/tracers $(DEPFLAGS) $< $(B)/tracers/traced_cyg.o \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_FAST_DEPS += $(B)/test/unit/tracers_instrument

# The same on other CPUs, by qemu-user: test/tracers/other.sh. They have no return sites.
TRACERS_CROSS := aarch64 riscv64
TRACED_aarch64 := -fpatchable-function-entry=2 -fno-ipa-ra
TRACED_riscv64 := -fpatchable-function-entry=4 -fno-ipa-ra -falign-functions=4
define TRACERS_FOR
$(B)/user-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(CROSS_$(1))gcc $$(USER_CFLAGS) -O1 -g1 $$(DEPFLAGS) -c $$< -o $$@
$(B)/user-$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(CROSS_$(1))gcc $$(USER_CFLAGS) $$(DEPFLAGS) -c $$< -o $$@
$(B)/user-$(1)/libfathom.a: $$(patsubst %,$(B)/user-$(1)/%.o,$$(basename $$(FATHOM_SRC) $$(FATHOM_ARCH_SRC_$(1)) $$(WIRE_SRC) $$(USER_SRC)))
	@rm -f $$@
	$$(CROSS_$(1))ar rcs $$@ $$^
$(B)/tracers-$(1)/traced_cyg.o: TRACED := -fno-omit-frame-pointer -finstrument-functions
$(B)/tracers-$(1)/traced_ret.o $(B)/tracers-$(1)/traced_hij.o: TRACED := $$(TRACED_$(1))
$(B)/tracers-$(1)/%.o: test/tracers/%.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $$(@D)
	$$(CROSS_$(1))gcc $$(CSTD) $$(WARN) -O2 -g -fno-omit-frame-pointer $$(TRACED) -c $$< -o $$@
$(B)/test/tracers-$(1)/instrument: test/tracers/unpatched.h $(B)/tracers-$(1)/traced_cyg.o
$(B)/test/tracers-$(1)/graph: $(B)/tracers-$(1)/traced_ret.o $(B)/tracers-$(1)/traced_hij.o
$(B)/test/tracers-$(1)/%: test/tracers/%.c test/tracers/port.h test/harness.h $(B)/user-$(1)/libfathom.a
	@mkdir -p $$(@D)
	$$(CROSS_$(1))gcc $$(USER_CFLAGS) -static -Itest -Itest/tracers $$(filter %.c %.o,$$^) \
		-Wl,--whole-archive $(B)/user-$(1)/libfathom.a -Wl,--no-whole-archive -o $$@
CHECK_DEPS += $(B)/test/tracers-$(1)/instrument $(B)/test/tracers-$(1)/graph
endef
$(foreach a,$(TRACERS_CROSS),$(eval $(call TRACERS_FOR,$(a))))

# And on aarch64 by entries that save nothing: FATHOM_PORT_LEAF.
$(B)/user-leaf/%.o: %.c
	@mkdir -p $(@D)
	$(CROSS_aarch64)gcc -Itest/tracers/leaf $(USER_CFLAGS) -O1 -g1 $(DEPFLAGS) -c $< -o $@
$(B)/user-leaf/%.o: %.S
	@mkdir -p $(@D)
	$(CROSS_aarch64)gcc -Itest/tracers/leaf $(USER_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/user-leaf/libfathom.a: $(patsubst %,$(B)/user-leaf/%.o,$(basename $(FATHOM_SRC) $(FATHOM_ARCH_SRC_aarch64) $(WIRE_SRC) $(USER_SRC)))
	@rm -f $@
	$(CROSS_aarch64)ar rcs $@ $^
$(B)/test/tracers-leaf/graph: test/tracers/graph.c test/tracers/port.h test/tracers/leaf/fathom_port.h test/harness.h $(B)/user-leaf/libfathom.a \
		$(B)/tracers-aarch64/traced_ret.o $(B)/tracers-aarch64/traced_hij.o
	@mkdir -p $(@D)
	$(CROSS_aarch64)gcc -Itest/tracers/leaf $(USER_CFLAGS) -static -Itest -Itest/tracers $(filter %.c %.o,$^) \
		-Wl,--whole-archive $(B)/user-leaf/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_DEPS += $(B)/test/tracers-leaf/graph

# And with functions compiled by clang, on this CPU. The functions with return sites are gcc's: clang has none.
TRACED_clang = -fpatchable-function-entry=5
$(B)/tracers-clang/traced_cyg.o: TRACED_clang := -fno-omit-frame-pointer -finstrument-functions
$(B)/tracers-clang/%.o: test/tracers/%.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	clang $(CSTD) $(WARN) -O2 -g -fno-pie -fno-omit-frame-pointer $(TRACED_clang) -c $< -o $@
$(B)/test/tracers-clang/instrument: test/tracers/unpatched.h $(B)/tracers-clang/traced_cyg.o
$(B)/test/tracers-clang/graph: $(B)/tracers/traced_ret.o $(B)/tracers-clang/traced_hij.o
$(B)/test/tracers-clang/%: test/tracers/%.c test/tracers/port.h test/harness.h $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -fno-pie -no-pie -Itest -Itest/tracers $(filter %.c %.o,$^) \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_DEPS += $(addprefix $(B)/test/tracers-clang/,instrument graph)

# Under sanitizers, whose runtime wants the stack aligned. The subjects are compiled without.
$(B)/test/tracers-san/%: test/tracers/%.c test/tracers/port.h test/tracers/forest.h test/harness.h $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o $(B)/user-san/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(SAN) -DPORT_HOLDS_LOCK -fno-pie -no-pie -Itest -Itest/tracers $(filter %.c %.o,$^) \
		-Wl,--whole-archive $(B)/user-san/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_DEPS += $(addprefix $(B)/test/tracers-san/,graph nesting)

# Text that cannot be written: -pg -mfentry, with gcc's table of sites and as clang does it, without.
$(B)/tracers/fentry_gcc.o: test/tracers/traced_cyg.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) -O2 -g -fno-pie -pg -mfentry -mrecord-mcount -c $< -o $@
$(B)/tracers/fentry_clang.o: test/tracers/traced_cyg.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	clang $(CSTD) $(WARN) -O2 -g -fno-pie -pg -mfentry -c $< -o $@
$(B)/test/tracers-gcc/fentry $(B)/test/tracers-clang/fentry: $(B)/test/tracers-%/fentry: test/tracers/fentry.c test/tracers/unpatched.h test/tracers/port.h test/harness.h $(B)/tracers/fentry_%.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -fno-pie -no-pie -Itest -Itest/tracers $(filter %.c %.o,$^) \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_DEPS += $(B)/test/tracers-gcc/fentry $(B)/test/tracers-clang/fentry

# Shared libraries that come later: two with sites, one without.
PLUG_FLAGS := -O2 -fPIC -shared -fno-omit-frame-pointer
PLUG_alpha := -fpatchable-function-entry=5 -fno-ipa-ra -DPLUG=alpha
PLUG_beta  := -fpatchable-function-entry=5 -fno-ipa-ra -DPLUG=beta
PLUG_plain := -DPLUG=plain
PLUGS      := $(addprefix $(B)/tracers/,alpha.so beta.so plain.so)
$(PLUGS): $(B)/tracers/%.so: test/tracers/plug.c ports/user/fathom_user.h trace/include/fathom/inside/far.h trace/arch/x86_64/far.h
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(PLUG_FLAGS) $(PLUG_$*) $< -o $@
$(B)/test/unit/tracers_later: $(PLUGS)
$(B)/test/unit/tracers_later: TRACERS_LINK := -rdynamic
CHECK_FAST_DEPS += $(B)/test/unit/tracers_later

# The patcher of the CPUs that replace a word, compiled for this one with a made-up port (test/unit/patch_words.c).
PATCH_WORDS := $(addprefix $(B)/test/unit/patch_words_,aarch64 riscv64)
$(PATCH_WORDS): $(B)/test/unit/patch_words_%: test/unit/patch_words.c test/harness.h trace/arch/text.c trace/arch/patch_word.c trace/arch/%/site.c $(wildcard trace/arch/*.h trace/include/fathom/*.h)
	@mkdir -p $(@D)
	$(CC) $(CSTD) -O1 -g $(WARN) $(SAN) -Wno-missing-prototypes -DWORDS_$* -I. -Itrace -Itrace/include -Iports/template -Itest $(filter %.c,$^) -o $@
CHECK_FAST_DEPS += $(PATCH_WORDS)

# Calls whose arguments and values are known (test/tracers/arguments.py): the demo kernel's, in processes.
KNOWN_SRC   := test/tracers/known.c demo/kernel/known.c
KNOWN_SITES := -fpatchable-function-entry=5 -fno-ipa-ra
KNOWN       := $(addprefix $(B)/test/known,-O0 -nodebug)
$(B)/test/known $(KNOWN): $(KNOWN_SRC) demo/kernel/known.h $(B)/user/libfathom.a
$(B)/test/known $(B)/test/known-nodebug:
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -O2 -g$(if $(filter %nodebug,$@),0) $(KNOWN_SITES) $(KNOWN_SRC) $(B)/user/libfathom.a $(if $(filter %nodebug,$@),-s) -o $@
$(B)/test/known-O0:
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -O0 -g $(KNOWN_SITES) -fno-pie -no-pie $(KNOWN_SRC) $(B)/user/libfathom.a -o $@
KNOWN_OTHER := $(addprefix $(B)/test/known-,$(TRACERS_CROSS))
$(KNOWN_OTHER): $(B)/test/known-%: $(KNOWN_SRC) demo/kernel/known.h $(B)/user-%/libfathom.a
	@mkdir -p $(@D)
	$(CROSS_$*)gcc $(USER_CFLAGS) -O2 -g -static $(TRACED_$*) $(KNOWN_SRC) $(B)/user-$*/libfathom.a -o $@
CHECK_DEPS += $(B)/test/known $(KNOWN) $(KNOWN_OTHER)
