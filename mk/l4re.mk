# The backtracer: tests and benchmarks that need both halves, the library's exporter and the host's reader.
BTB_BOTH := $(B)/test/unit/btb_noise

$(B)/test/unit/btb_noise: test/unit/btb_noise.c test/unit/btb_make.h test/harness.h $(B)/user/libfathom.a $(TOOLS_LIBOBJ)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) -Itest -Itrace -Itrace/include -Iports/user $< $(TOOLS_LIBOBJ) \
		-Wl,--start-group $(B)/user/libfathom.a -Wl,--end-group $(TOOLS_LIBS) -o $@

CHECK_FAST_DEPS += $(BTB_BOTH)
