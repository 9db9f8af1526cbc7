# The host program's own tests and benchmarks.

# Damaged traces: 8 mutations of each trace in check-fast, 120 in check.
$(B)/test/unit/tools_damage: DAMAGE := -DMUTATIONS=8
$(B)/test/torture/tools_damage: DAMAGE := -DMUTATIONS=120
$(B)/test/unit/tools_damage $(B)/test/torture/tools_damage: test/torture/tools_damage.c test/harness.h $(TOOLS_SAN)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(SAN) -Itest $(DAMAGE) $(DEPFLAGS) -MF $@.d $< $(TOOLS_SAN) $(TOOLS_LIBS) -o $@

CHECK_FAST_DEPS += $(B)/test/unit/tools_damage
CHECK_DEPS      += $(B)/test/torture/tools_damage

# Large traces for benchmarks: `build/bench/gen_trace FILE MEGABYTES [CPUS]`, `build/bench/gen_sched FILE EVENTS [CPUS]`.
$(B)/bench/gen_%: bench/gen_%.c $(B)/host/wire/tracedat_write.o $(B)/host/wire/text.o
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(DEPFLAGS) $^ -o $@

bench-host: $(B)/fathom $(B)/bench/gen_trace ## the host program: stat, index, query, memory on large traces
	@bench/host.py

.PHONY: bench-page
bench-page: $(B)/fathom $(B)/bench/gen_trace ## the page of 100 million events in headless Chromium: first picture, zooms, memory
	@bench/page.py

.PHONY: bench-answers
bench-answers: $(B)/fathom $(B)/bench/gen_sched ## latency, profile, sql and Parquet on 10 million events of a scheduler
	@bench/answers.py

.PHONY: diff-seeds
diff-seeds: $(B)/fathom ## SEEDS=100 pairs of runs, one with something 5 % slower: does `fathom diff` find it, and nothing else?
	@SEEDS=$(or $(SEEDS),100) test/cli/diff.py
