# Tests and benchmarks of the function tracers. Their subjects are compiled twice: with return sites, and without.
TRACED_RET := -O2 -g -fno-pie -pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return
TRACED_HIJ := -O2 -g -fno-pie -fpatchable-function-entry=5 -fno-ipa-ra

$(B)/tracers/%_ret.o: test/tracers/%_ret.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	gcc $(CSTD) $(WARN) $(TRACED_RET) -c $< -o $@
$(B)/tracers/%_hij.o: test/tracers/%_hij.c test/tracers/traced.inc test/tracers/traced.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(TRACED_HIJ) -c $< -o $@

$(B)/test/unit/tracers_%: test/tracers/%.c test/tracers/port.h test/harness.h $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -fno-pie -no-pie -Itest -Itest/tracers $(DEPFLAGS) $< $(B)/tracers/traced_ret.o $(B)/tracers/traced_hij.o \
		-Wl,--whole-archive $(B)/user/libfathom.a -Wl,--no-whole-archive -o $@

CHECK_FAST_DEPS += $(B)/test/unit/tracers_graph
