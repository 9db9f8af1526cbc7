# Tests of the ring: built from its sources with a port of their own (test/ringport), so that they own the clock and the
# race points. ring_*.c in test/unit under ASan + UBSan.
RING_SRC    := $(sort $(wildcard trace/ring/*.c))
RING_HDR    := $(wildcard trace/ring/*.h trace/include/fathom/*.h trace/arch/*/local.h wire/ringpage.h test/ringport/*.h test/harness.h)
RING_CFLAGS := $(CSTD) -O2 -g $(WARN) -D_GNU_SOURCE -I. -Itrace -Itrace/include -Itest/ringport -Itest -pthread

UNIT_RING := $(patsubst test/unit/%.c,$(B)/test/unit/%,$(wildcard test/unit/ring_*.c))
$(UNIT_RING): $(B)/test/unit/%: test/unit/%.c $(RING_SRC) $(RING_HDR)
	@mkdir -p $(@D)
	$(CC) $(RING_CFLAGS) -DFATHOM_PARANOID $(SAN) $< $(RING_SRC) -o $@
CHECK_FAST_DEPS += $(UNIT_RING)
