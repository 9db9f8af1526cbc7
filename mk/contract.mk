# The port's contract: the library with a port whose every hook a test can replace (test/contract).
CONTRACT_CFLAGS := $(CSTD) -O1 -g $(WARN) $(SAN) -D_GNU_SOURCE -I. -Itrace -Itrace/include -Itest/contract -pthread
CONTRACT_OBJ    := $(patsubst %,$(B)/contract/%.o,$(basename $(FATHOM_SRC) $(FATHOM_ARCH_SRC_x86_64) $(WIRE_SRC)))
$(B)/contract/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CONTRACT_CFLAGS) $(GENERAL_REGS) $(DEPFLAGS) -c $< -o $@
$(B)/contract/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CONTRACT_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/contract/libfathom.a: $(CONTRACT_OBJ)
	@rm -f $@
	ar rcs $@ $^
UNIT_CONTRACT := $(patsubst test/contract/%.c,$(B)/test/unit/contract_%,$(wildcard test/contract/*.c))
$(UNIT_CONTRACT): $(B)/test/unit/contract_%: test/contract/%.c test/contract/hooks.h test/harness.h $(B)/tracers/traced_cyg.o $(B)/contract/libfathom.a
	@mkdir -p $(@D)
	$(CC) $(CONTRACT_CFLAGS) -no-pie -Itest -Itest/tracers $(DEPFLAGS) $< $(B)/tracers/traced_cyg.o $(B)/contract/libfathom.a -o $@
CHECK_FAST_DEPS += $(UNIT_CONTRACT)
