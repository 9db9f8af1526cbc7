# The seL4 stream: its tests' extra parts, its benchmark.
$(B)/test/unit/trace_stream: TEST_LIBS := -llz4

$(B)/test/unit/stream_nest: test/unit/stream_nest.c test/harness.h $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -Itest $(DEPFLAGS) $< $(B)/user/libfathom.a -pthread -o $@

CHECK_FAST_DEPS += $(B)/test/unit/stream_nest

# `make bench-sel4`: the note's 90,310,000 words, generated once; ratios to processes run in turn with ours.
SEL4_BENCH ?= $(B)/bench/sel4.data
$(B)/bench/sel4_gen $(B)/bench/sel4_base: $(B)/bench/%: bench/%.c
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(DEPFLAGS) $< -o $@
$(B)/bench/sel4: bench/sel4.c $(TOOLS_LIBOBJ)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(DEPFLAGS) $< $(TOOLS_LIBOBJ) $(FATHOM_LIBS) -o $@
$(B)/bench/sel4_target: bench/sel4_target.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(DEPFLAGS) $< $(B)/user/libfathom.a -pthread -o $@
$(SEL4_BENCH)/ftrace.bin: $(B)/bench/sel4_gen
	@mkdir -p $(@D)
	$< $@

bench-sel4: $(B)/fathom $(B)/bench/sel4 $(B)/bench/sel4_base $(B)/bench/sel4_target $(SEL4_BENCH)/ftrace.bin ## the seL4 stream on host and target
	@$(B)/bench/sel4_target
	@$(B)/bench/sel4 $(SEL4_BENCH)

# ports/sel4 built against stand-ins for seL4's headers, and the dump it makes.
PORT_SEL4 := ports/sel4/fathom_sel4.c trace/ring/stream.c trace/ring/lz4.c trace/send/stream_dump.c wire/crc32.c wire/text.c
$(B)/test/unit/port_sel4: test/unit/port_sel4.c $(PORT_SEL4) $(wildcard ports/sel4/*.h test/port/sel4/*/*.h test/port/sel4/*.h) test/harness.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) -O2 -g $(WARN) $(SAN) -Itest/port/sel4 -Iports/sel4 -I. -Itrace -Itrace/include -Itest $< $(PORT_SEL4) -o $@
CHECK_FAST_DEPS += $(B)/test/unit/port_sel4
