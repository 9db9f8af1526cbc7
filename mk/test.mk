# Tests. A file in test/unit is one program; its prefix says what it links:
#   trace_*.c  the library with the user port, under ASan + UBSan
#   tools_*.c  the host program's objects (all but main), under ASan + UBSan
#   btb_*.c line_*.c  both (mk/l4re.mk, mk/control.mk)
# Scripts (*.sh, *.py) in test/<kind>/ are run as they are. A script with a line `# slow` or `# slow SECONDS` runs in `make check` only.
# Every test prints `ok NAME`, `not ok NAME: why` or `skip NAME: why`; test/runner counts them.

UNIT_TRACE := $(patsubst test/unit/%.c,$(B)/test/unit/%,$(wildcard test/unit/trace_*.c))
UNIT_TOOLS := $(patsubst test/unit/%.c,$(B)/test/unit/%,$(wildcard test/unit/tools_*.c))

$(UNIT_TRACE): $(B)/test/unit/%: test/unit/%.c test/harness.h $(B)/user-san/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(SAN) -Itest $(DEPFLAGS) $< -Wl,--whole-archive $(B)/user-san/libfathom.a -Wl,--no-whole-archive -pthread $(TEST_LIBS) -o $@

$(UNIT_TOOLS): $(B)/test/unit/%: test/unit/%.c test/harness.h $(TOOLS_SAN)
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(SAN) -Itest $(DEPFLAGS) $< $(TOOLS_SAN) $(TOOLS_LIBS) -o $@

CHECK_FAST_DEPS += $(UNIT_TRACE) $(UNIT_TOOLS)

.PHONY: format
format: ## let clang-format lay out every source file
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

.PHONY: mutants
mutants: ## plant the faults of test/mutants/*.list one at a time: the tests must notice; ONLY='ring- P1' for some
	@test/mutants/run $(ONLY)
