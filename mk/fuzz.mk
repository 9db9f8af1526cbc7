# Fuzzing. test/fuzz/tools_NAME.c defines LLVMFuzzerTestOneInput(); its corpus is test/fuzz/corpus/tools_NAME/.
#   make check      replays every corpus, each input also with seeded mutations, under ASan + UBSan
#   make fuzz-NAME  looks for new inputs with clang's libFuzzer (FUZZ_SECONDS=60; FUZZ_FLAGS goes to it)
#   make fuzz-all   every target N=1000000 times, none of the runs over 1 s or 1 GiB; goes on where it was stopped (build/fuzz/done)

FUZZ_TOOLS   := $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/tools_*.c))
FUZZ_SECONDS ?= 60
# Inputs as long as a hostile file; libFuzzer's own default is the longest of the corpus.
# A second of processor time is test/lib/fuzz_limit.c's; -timeout is of real time, against what does not end.
FUZZ_LIMITS  := -max_len=1000000 -rss_limit_mb=1024 -timeout=60
# What comparisons compare is not watched: that took two thirds of the time, and in the same time more of the code is reached without.
FUZZ_SAN     := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-coverage=trace-cmp -fno-sanitize-recover=all
# Tables by type are half a megabyte each, and a recording keeps room for its end on the disk: most of the time went into pages that no input fills.
FUZZ_SMALL   := -DSOURCE_ID_FAST=2048u -DRECORDING_SPLICE_PAGES=1u
FUZZ_ONE     := $(FUZZ_SAN) -fsanitize=fuzzer -fno-sanitize-coverage=trace-cmp -DLLVMFuzzerTestOneInput=fuzz_one -Wno-missing-prototypes -Itest

$(B)/fuzz/limit.o: test/lib/fuzz_limit.c
	@mkdir -p $(@D)
	clang $(CSTD) -O2 $(WARN) -c $< -o $@

$(FUZZ_TOOLS:%=$(B)/test/fuzz/%): $(B)/test/fuzz/%: test/fuzz/%.c test/lib/fuzz_replay.c $(TOOLS_SAN)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(SAN) -Itest -Wno-missing-prototypes -DFUZZ_NAME='"$*"' $(DEPFLAGS) -MF $@.d $< test/lib/fuzz_replay.c \
		$(TOOLS_SAN) $(TOOLS_LIBS) -o $@

$(B)/host-fuzz/%.o: %.c
	@mkdir -p $(@D)
	clang $(TOOLS_CFLAGS) $(FUZZ_SAN) $(FUZZ_SMALL) $(DEPFLAGS) -c $< -o $@

$(FUZZ_TOOLS:%=$(B)/fuzz/%): $(B)/fuzz/%: test/fuzz/%.c $(B)/fuzz/limit.o $(TOOLS_LIBOBJ:$(B)/host/%=$(B)/host-fuzz/%)
	@mkdir -p $(@D)
	clang $(TOOLS_CFLAGS) $(FUZZ_ONE) $(FUZZ_SMALL) $^ $(TOOLS_LIBS) -o $@

.PHONY: $(FUZZ_TOOLS:tools_%=fuzz-%)
$(FUZZ_TOOLS:tools_%=fuzz-%): fuzz-%: $(B)/fuzz/tools_%
	@mkdir -p $(B)/fuzz/found/$*
	$< -max_total_time=$(FUZZ_SECONDS) $(FUZZ_LIMITS) $(FUZZ_FLAGS) $(B)/fuzz/found/$* test/fuzz/corpus/tools_$*

CHECK_FAST_DEPS += $(FUZZ_TOOLS:%=$(B)/test/fuzz/%)

# Every target so many times, JOBS of them at once.
FUZZ_N = $(if $(filter command,$(firstword $(origin N))),$(N),1000000)
.PHONY: fuzz-all
fuzz-all: $(FUZZ_TOOLS:%=$(B)/fuzz/%) $(patsubst test/fuzz/%.c,$(B)/fuzz/%,$(wildcard test/fuzz/trace_*.c)) ## every fuzz target N=1000000 times: no crash, no run over 1 s or 1 GiB
	@test/fuzz/all $(FUZZ_N) $(FUZZ_LIMITS) $(FUZZ_FLAGS)
