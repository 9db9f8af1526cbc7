# The control tree: a process to trace, and Linux's own ftrace selftests against its mount.
MACHINE := $(B)/control/machine

$(B)/control/machine_work.o: test/control/machine_work.c test/control/machine.h
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) $(TRACED_RET) -c $< -o $@
$(MACHINE): test/control/machine.c test/control/machine.h $(B)/control/machine_work.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc $(USER_CFLAGS) -fno-pie -no-pie -DFATHOM_PATCH=1 -Itest/control $(DEPFLAGS) $< $(B)/control/machine_work.o \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@

# A process whose events count: nothing can be missing from its trace unseen.
$(B)/control/ticker: test/control/ticker.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc $(USER_CFLAGS) -fno-pie -no-pie -DFATHOM_PATCH=1 $(DEPFLAGS) $< -Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@

CHECK_FAST_DEPS += $(MACHINE) $(B)/control/ticker

# The same behind a bad line; -small has a 9P server of its own, whose messages are too short for packed pages.
$(B)/control/noisy $(B)/control/noisy-small: test/control/noisy.c $(wildcard trace/control/p9*) $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc $(USER_CFLAGS) -fno-pie -no-pie -DFATHOM_PATCH=1 $(if $(findstring small,$@),-DSMALL_MESSAGES -DFATHOM_P9_MSIZE=2048) $(DEPFLAGS) -MF $@.d $< \
		$(B)/user/libfathom.a -o $@
CHECK_FAST_DEPS += $(B)/control/noisy $(B)/control/noisy-small

# Both halves in one program: a target behind a noisy line, and the client.
$(B)/test/unit/line_noise: test/unit/line_noise.c test/harness.h $(B)/user/libfathom.a $(TOOLS_LIBOBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -Itools -Itest $(DEPFLAGS) $< $(TOOLS_LIBOBJ) $(B)/user/libfathom.a $(TOOLS_LIBS) -o $@
# The same behind a stub of GDB's protocol; its symbols must be where it runs.
$(B)/test/unit/line_gdb: test/unit/line_gdb.c test/harness.h $(B)/user/libfathom.a $(TOOLS_LIBOBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -fno-pie -no-pie -Itools -Itest $(DEPFLAGS) $< $(TOOLS_LIBOBJ) $(B)/user/libfathom.a $(TOOLS_LIBS) -o $@
CHECK_FAST_DEPS += $(B)/test/unit/line_noise $(B)/test/unit/line_gdb

# Each seed waits for its line most of the time. test/unit/line_noise and test/control/noise.py are the short versions.
.PHONY: line-noise
line-noise: $(B)/test/unit/line_noise $(B)/control/noisy $(B)/control/noisy-small $(B)/fathom ## over a line that spoils 1 byte in 500 each way: record, mount, OPS=10000 operations, SEEDS=100, JOBS=16 at once
	@mkdir -p $(B)/line-noise
	@seq $(or $(SEEDS),100) | xargs -P $(or $(JOBS),16) -I N_ sh -c 'log=$(B)/line-noise/N_; \
		if SEED=N_ OPERATIONS=$$(($(or $(OPS),10000) / 4)) $< >$$log 2>&1 && SEEDS=N_..N_ OPS=$(or $(OPS),10000) test/control/noise.py >>$$log 2>&1; \
		then rm $$log; else echo "seed N_:"; grep -v "^ok" $$log; exit 1; fi' && echo "$(or $(SEEDS),100) seeds passed"

.PHONY: record-ends
record-ends: $(B)/fathom $(B)/control/ticker ## recordings that end by death, stop, signal or a full disk at N=200 random moments
	ENDS=$(or $(N),200) test/control/ends.py

$(B)/control/forks.so: test/control/lib/forks.c
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) -Wno-missing-prototypes -O1 -fPIC -shared $< -o $@

.PHONY: selftests
selftests: $(B)/fathom $(MACHINE) $(B)/control/forks.so $(B)/demo/L6/kernel.elf ## Linux's own ftrace selftests against mounts of a process and of the demo kernel
	@test/control/selftests

.PHONY: control-clients
control-clients: $(MACHINE) ## eight clients at all files of a live process for a minute
	CLIENT_SECONDS=60 test/control/clients.py

# Fuzz targets of the control stage: the library itself under them. `make fuzz-trace-NAME`, NAME one of filter trigger glob p9 tracers.
# 4096 bytes are more than a line of any file of the tree: names have at most 511.
FUZZ_TRACE := $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/trace_*.c))
FUZZ_TRACE_SRC := $(FATHOM_SRC) $(FATHOM_ARCH_SRC_x86_64) $(WIRE_SRC) $(USER_SRC)

$(FUZZ_TRACE:%=$(B)/test/fuzz/%): $(B)/test/fuzz/%: test/fuzz/%.c test/fuzz/trace_setup.h test/lib/fuzz_replay.c $(B)/user-san/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(SAN) -Itest -Wno-missing-prototypes -DFUZZ_NAME='"$*"' -DINPUT_MAX=4096u $(DEPFLAGS) -MF $@.d -no-pie $< test/lib/fuzz_replay.c $(filter %.o,$^) \
		-Wl,--whole-archive $(B)/user-san/libfathom.a -Wl,--no-whole-archive -o $@
$(B)/test/fuzz/trace_tracers $(B)/fuzz/trace_tracers: $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o

$(B)/user-fuzz/%.o: %.c
	@mkdir -p $(@D)
	clang $(FUZZ_SAN) $(USER_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/user-fuzz/%.o: %.S
	@mkdir -p $(@D)
	clang $(USER_CFLAGS) -c $< -o $@
# It works out where a call's entry would be before it looks whether there is one.
$(B)/user-fuzz/trace/functions/graph.o: USER_CFLAGS += -fno-sanitize=bounds,pointer-overflow
$(FUZZ_TRACE:%=$(B)/fuzz/%): $(B)/fuzz/%: test/fuzz/%.c $(B)/fuzz/limit.o $(patsubst %,$(B)/user-fuzz/%.o,$(basename $(FUZZ_TRACE_SRC)))
	@mkdir -p $(@D)
	clang $(USER_CFLAGS) $(FUZZ_ONE) -no-pie $^ -o $@

CONTROL_FUZZ := $(FUZZ_TRACE:trace_%=fuzz-trace-%)
.PHONY: $(CONTROL_FUZZ)
$(CONTROL_FUZZ): fuzz-trace-%: $(B)/fuzz/trace_%
	@mkdir -p $(B)/fuzz/found/trace_$*
	$< -max_total_time=$(FUZZ_SECONDS) $(FUZZ_LIMITS) $(FUZZ_FLAGS) $(B)/fuzz/found/trace_$* test/fuzz/corpus/trace_$*

CHECK_FAST_DEPS += $(FUZZ_TRACE:%=$(B)/test/fuzz/%)

# A process with as many events and new tasks a second as it is told.
$(B)/control/flood: test/view/flood.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc $(USER_CFLAGS) -fno-pie -no-pie -DFATHOM_PATCH=1 $(DEPFLAGS) $< -Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@
CHECK_FAST_DEPS += $(B)/control/flood
