# Fuzzing. test/fuzz/tools_NAME.c defines LLVMFuzzerTestOneInput(); its corpus is test/fuzz/corpus/tools_NAME/.
#   make check      replays every corpus, each input also with seeded mutations, under ASan + UBSan
#   make fuzz-NAME  looks for new inputs with clang's libFuzzer (FUZZ_SECONDS=60; FUZZ_FLAGS goes to it)

FUZZ_TOOLS   := $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/tools_*.c))
FUZZ_SECONDS ?= 60

$(FUZZ_TOOLS:%=$(B)/test/fuzz/%): $(B)/test/fuzz/%: test/fuzz/%.c test/lib/fuzz_replay.c $(TOOLS_SAN)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(SAN) -Itest -Wno-missing-prototypes -DFUZZ_NAME='"$*"' $(DEPFLAGS) -MF $@.d $< test/lib/fuzz_replay.c \
		$(TOOLS_SAN) $(TOOLS_LIBS) -o $@

$(B)/host-fuzz/%.o: %.c
	@mkdir -p $(@D)
	clang $(TOOLS_CFLAGS) -fsanitize=fuzzer-no-link,address,undefined $(DEPFLAGS) -c $< -o $@

$(FUZZ_TOOLS:%=$(B)/fuzz/%): $(B)/fuzz/%: test/fuzz/%.c $(TOOLS_LIBOBJ:$(B)/host/%=$(B)/host-fuzz/%)
	@mkdir -p $(@D)
	clang $(TOOLS_CFLAGS) -Wno-missing-prototypes -fsanitize=fuzzer,address,undefined -Itest $^ $(TOOLS_LIBS) -o $@

.PHONY: $(FUZZ_TOOLS:tools_%=fuzz-%)
$(FUZZ_TOOLS:tools_%=fuzz-%): fuzz-%: $(B)/fuzz/tools_%
	@mkdir -p $(B)/fuzz/found/$*
	$< -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=10 $(FUZZ_FLAGS) $(B)/fuzz/found/$* test/fuzz/corpus/tools_$*

CHECK_FAST_DEPS += $(FUZZ_TOOLS:%=$(B)/test/fuzz/%)
