# Tests of the ring: built from its sources with a port of their own (test/ringport), so that they own the clock and the
# race points. ring_*.c in test/unit under ASan + UBSan.
RING_SRC    := $(addprefix trace/ring/,ring.c read.c control.c)
RING_HDR    := $(wildcard trace/ring/*.h trace/include/fathom/*.h trace/include/fathom/inside/*.h trace/arch/*/local.h wire/ringpage.h test/ringport/*.h test/harness.h)
RING_CFLAGS := $(CSTD) -O2 -g $(WARN) -D_GNU_SOURCE -I. -Itrace -Itrace/include -Itest/ringport -Itest -pthread

UNIT_RING := $(patsubst test/unit/%.c,$(B)/test/unit/%,$(wildcard test/unit/ring_*.c))
$(UNIT_RING): $(B)/test/unit/%: test/unit/%.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) -DFATHOM_PARANOID $(SAN) $< $(RING_SRC) -o $@
CHECK_FAST_DEPS += $(UNIT_RING)

# The local exchange is split in the model: a reader on another CPU may come between.
MODEL_CFLAGS := -DRINGPORT_STEP -DFATHOM_LOCAL_GENERIC -DWIRE_PAGE_BYTES=1024u -include $(CURDIR)/test/ringport/split.h

# The model test, and the same with planted bugs, which it must find (test/model/planted.sh).
$(B)/test/model/model: test/model/model.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) $(MODEL_CFLAGS) -DFATHOM_PARANOID $< $(RING_SRC) -o $@
CHECK_FAST_DEPS += $(B)/test/model/model
# The same as aarch64 loads: in pairs.
$(B)/test/model/model_pair: test/model/model.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) $(MODEL_CFLAGS) -DFATHOM_PARANOID -DRINGPORT_PAIR $< $(RING_SRC) -o $@
CHECK_FAST_DEPS += $(B)/test/model/model_pair
# The same with a writer that gives up at once, so that the roads behind giving up are walked too.
$(B)/test/model/model_hasty: test/model/model.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) $(MODEL_CFLAGS) -DFATHOM_PARANOID -DFATHOM_RING_RETRIES=1 $< $(RING_SRC) -o $@
CHECK_FAST_DEPS += $(B)/test/model/model_hasty

# Owner and reader on a weakly ordered machine: the compiler calls weak.c at every access, which chooses what a load sees.
WEAK_CFLAGS := -DRINGPORT_STEP -DFATHOM_LOCAL_GENERIC -DMODEL_WEAK -DRACY= -DWIRE_PAGE_BYTES=256u -fsanitize=thread -Wno-tsan
$(B)/test/model/weak.o: test/model/weak.c test/model/weak.h
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) -c $< -o $@
$(B)/test/model/model_weak: test/model/model.c $(B)/test/model/weak.o $(RING_SRC) $(RING_HDR)
	for s in model/model ../trace/ring/ring ../trace/ring/read ../trace/ring/control; do \
		$(CC) $(RING_CFLAGS) $(WEAK_CFLAGS) -c test/$$s.c -o $(@D)/weak_$$(basename $$s).o || exit 1; \
	done
	$(CC) $(addprefix $(@D)/weak_,model.o ring.o read.o control.o) $(@D)/weak.o -o $@
CHECK_FAST_DEPS += $(B)/test/model/model_weak

# Hooks of events that come and go, on the same machine; there every access is a place for others to run.
HOOKS_CFLAGS := -D_GNU_SOURCE -DFATHOM_HOOKS_MAX=2 -fsanitize=thread -Wno-tsan
$(B)/test/model/weak_steps.o: test/model/weak.c test/model/weak.h
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) -DWEAK_STEPS -c $< -o $@
$(B)/test/model/hooks: test/model/hooks.c trace/events/hooks.c $(B)/test/model/weak_steps.o $(RING_HDR)
	$(CC) $(RING_CFLAGS) $(HOOKS_CFLAGS) -c $< -o $@.o
	$(CC) $@.o $(@D)/weak_steps.o -o $@
CHECK_FAST_DEPS += $(B)/test/model/hooks

RING_PLANTS := $(shell test/model/plant --list | cut -f1)
RING_PLANTS_WEAK := $(filter weak-%,$(RING_PLANTS))
RING_PLANTS_HOOKS := $(filter hooks-%,$(RING_PLANTS))
RING_PLANTS_STRONG := $(filter-out weak-% hooks-%,$(RING_PLANTS))
$(RING_PLANTS_STRONG:%=$(B)/test/plant/%/model): $(B)/test/plant/%/model: test/model/plant test/model/model.c $(RING_SRC) $(RING_HDR)
	@test/model/plant $* $(@D)
	cd $(@D) && $(CC) $(CSTD) -O1 -D_GNU_SOURCE $(MODEL_CFLAGS) $(PLANT_CFLAGS) -I. -Itrace -Itrace/include -I$(CURDIR)/test/ringport \
		$(CURDIR)/test/model/model.c $(RING_SRC) -o model
$(RING_PLANTS_WEAK:%=$(B)/test/plant/%/model): $(B)/test/plant/%/model: test/model/plant test/model/model.c $(B)/test/model/weak.o $(RING_SRC) $(RING_HDR)
	@test/model/plant $* $(@D)
	cd $(@D) && $(CC) $(CSTD) -O1 -c -D_GNU_SOURCE $(WEAK_CFLAGS) -I. -Itrace -Itrace/include -I$(CURDIR)/test/ringport \
		$(CURDIR)/test/model/model.c $(RING_SRC) && $(CC) *.o $(CURDIR)/$(B)/test/model/weak.o -o model
$(RING_PLANTS_HOOKS:%=$(B)/test/plant/%/model): $(B)/test/plant/%/model: test/model/plant test/model/hooks.c trace/events/hooks.c $(B)/test/model/weak_steps.o $(RING_HDR)
	@test/model/plant $* $(@D)
	cd $(@D) && $(CC) $(CSTD) -O1 -c $(HOOKS_CFLAGS) -I. -Itrace -Itrace/include -I$(CURDIR)/test/ringport -I$(CURDIR)/test/model \
		$(CURDIR)/test/model/hooks.c && $(CC) hooks.o $(CURDIR)/$(B)/test/model/weak_steps.o -o model
$(B)/test/plant/lag-%/model: PLANT_CFLAGS := -DFATHOM_RING_RETRIES=1
.PHONY: ring-plants
ring-plants: $(RING_PLANTS:%=$(B)/test/plant/%/model)
CHECK_DEPS += ring-plants

# Torture: threads as CPUs, signals as interrupts, a live reader. `make torture N=100000000` for the long run.
TORTURE_CFLAGS := $(RING_CFLAGS) -DRINGPORT_TSC -DFATHOM_PARANOID
$(B)/test/torture/torture: test/torture/torture.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(TORTURE_CFLAGS) $< $(RING_SRC) -o $@
$(B)/test/torture-tsan/torture: test/torture/torture.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(TORTURE_CFLAGS) -DFATHOM_LOCAL_GENERIC -fsanitize=thread -Wno-tsan $< $(RING_SRC) -o $@
$(B)/test/torture-aarch64/torture: test/torture/torture.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	aarch64-linux-gnu-gcc $(TORTURE_CFLAGS) -static $< $(RING_SRC) -o $@
$(B)/test/torture-riscv64/torture: test/torture/torture.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	riscv64-linux-gnu-gcc $(TORTURE_CFLAGS) -static $< $(RING_SRC) -o $@
CHECK_DEPS += $(B)/test/torture/torture $(addprefix $(B)/test/torture-,$(addsuffix /torture,tsan aarch64 riscv64))

# After every instruction of the writer: x86_64's trap flag. The control stores the tail plainly and must fail.
$(B)/test/torture/stepping: test/torture/stepping.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) $< $(RING_SRC) -o $@
$(B)/test/plant/plain-tail/stepping: test/torture/stepping.c $(B)/test/plant/plain-tail/model
	cd $(@D) && $(CC) $(CSTD) -O2 -D_GNU_SOURCE -I. -Itrace -Itrace/include -I$(CURDIR)/test/ringport \
		$(CURDIR)/test/torture/stepping.c $(RING_SRC) -o stepping
CHECK_DEPS += $(B)/test/torture/stepping $(B)/test/plant/plain-tail/stepping

# The library whole, with hooks, resizes and snapshots.
$(B)/test/torture/together: test/torture/together.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(DEPFLAGS) $< -Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_DEPS += $(B)/test/torture/together

N ?= 100000000
.PHONY: torture
torture: $(B)/test/torture/torture $(B)/test/torture/together $(B)/test/torture/programs ## N events with nested signal writers and a live reader, in every mode; N more with hooks, resizes and snapshots at once; N with programs that come and go (N=100000000)
	$(B)/test/torture/torture $(N)
	$(B)/test/torture/together $(N)
	$(B)/test/torture/programs $(N)

# bench-core: one process with everything in it. LTTng-UST is linked if it is installed.
BENCH_CORE_SRC := bench/core/core.c $(FATHOM_CORE_SRC) $(FATHOM_STREAM_SRC) $(FATHOM_FUNCTIONS_SRC) $(FATHOM_ARCH_SRC_x86_64) $(WIRE_SRC)
BENCH_CORE_CFLAGS := $(CSTD) -O2 -g1 $(WARN) -D_GNU_SOURCE -I. -Itrace -Itrace/include -Ibench/core -fno-pic -no-pie
BENCH_CORE_OBJ := $(patsubst %,$(B)/bench/core/o/%.o,$(basename $(BENCH_CORE_SRC)))
$(B)/bench/core/o/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_CORE_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/bench/core/o/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(BENCH_CORE_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/bench/core/core: $(BENCH_CORE_OBJ) bench/core/lttng.c bench/core/lttng_tp.h
	@mkdir -p $(@D)
	if echo '#include <lttng/tracepoint.h>' | $(CC) -E - >/dev/null 2>&1; then \
		$(CC) $(CSTD) -O2 -D_GNU_SOURCE -Ibench/core bench/core/lttng.c $(BENCH_CORE_OBJ) -no-pie -llttng-ust -ldl -o $@; \
	else \
		printf '#include "core.h"\nvoid bench_lttng(uint32_t n, uint64_t x) { (void)n, (void)x; }\nint bench_lttng_is_on(void) { return 0; }\n' \
		| $(CC) -Ibench/core -x c - -x none $(BENCH_CORE_OBJ) -no-pie -o $@; \
	fi
bench-core: $(B)/bench/core/core ## what one event costs: floor, on, off, VeridianOS-style, LTTng-UST
	@bench/core/run
