# The backtracer: tests and benchmarks that need both halves, the library's sampler and exporter and the host's reader.
BTB_BOTH := $(B)/test/unit/btb_noise $(B)/test/unit/btb_sampler

$(BTB_BOTH): $(B)/test/unit/%: test/unit/%.c test/unit/btb_make.h test/harness.h $(B)/user/libfathom.a $(TOOLS_LIBOBJ)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) -Itest -Itrace -Itrace/include -Iports/user $< $(TOOLS_LIBOBJ) \
		-Wl,--start-group $(B)/user/libfathom.a -Wl,--end-group $(TOOLS_LIBS) -o $@

CHECK_FAST_DEPS += $(BTB_BOTH)

$(B)/bench/l4re_make: bench/l4re_make.c test/unit/btb_make.h $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -Itest/unit $< $(B)/user/libfathom.a -o $@

$(B)/bench/l4re_sample: bench/l4re_sample.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $< $(B)/user/libfathom.a -o $@

bench-l4re: $(B)/fathom $(B)/bench/l4re_make $(B)/bench/l4re_sample ## backtracer: pipeline, flame graph, memory, cost of a sample
	@bench/l4re
