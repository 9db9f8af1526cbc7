# The seL4 stream: its tests' extra parts, its benchmark.
$(B)/test/unit/trace_stream: TEST_LIBS := -llz4

$(B)/test/unit/stream_nest: test/unit/stream_nest.c test/harness.h $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -Itest $(DEPFLAGS) $< $(B)/user/libfathom.a -pthread -o $@

CHECK_FAST_DEPS += $(B)/test/unit/stream_nest
