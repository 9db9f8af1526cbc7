# The user port: its example, built in the ways programs are built, and `make demo-user`.
#   work-patch  call sites are patched NOPs      work-load   load and branch
#   work-gc     --gc-sections, GNU ld            work-lld    clang, lld, --gc-sections
USER_EXAMPLE := ports/user/example/work.c
USER_WORKS   := $(addprefix $(B)/port/work-,patch load gc lld san)
USER_INC     := -std=gnu11 -g $(WARN) -D_GNU_SOURCE -I. -Itrace -Itrace/include -Iports/user -pthread
WORK_patch   := gcc -O2 -DFATHOM_PATCH=1
WORK_load    := gcc -O2 -DFATHOM_PATCH=0
WORK_gc      := gcc -O2 -DFATHOM_PATCH=1 -ffunction-sections -fdata-sections -Wl,--gc-sections
WORK_lld     := clang -O2 -DFATHOM_PATCH=1 -ffunction-sections -fdata-sections -fuse-ld=lld -Wl,--gc-sections
WORK_san     := gcc -O1 -DFATHOM_PATCH=0 $(SAN)

$(filter-out %-san,$(USER_WORKS)): $(B)/port/work-%: $(USER_EXAMPLE) $(B)/user/libfathom.a
	@mkdir -p $(@D)
	$(WORK_$*) $(USER_INC) $< $(B)/user/libfathom.a -o $@
$(B)/port/work-san: $(USER_EXAMPLE) $(B)/user-san/libfathom.a
	@mkdir -p $(@D)
	$(WORK_san) $(USER_INC) $< $(B)/user-san/libfathom.a -o $@

CHECK_FAST_DEPS += $(USER_WORKS)

.PHONY: demo-user
demo-user: $(B)/port/work-patch ## trace a process with the user port and print its report
	@cd $(B)/port && FATHOM_TRACE="events=*,out=work.dat" ./work-patch && trace-cmd report work.dat 2>/dev/null | head -40
	@echo "... all of it: trace-cmd report $(B)/port/work.dat"
CHECK_FAST_DEPS += $(B)/x86_64/libfathom.a

# A program that records more than its buffer holds (test/cli/losses.py).
$(B)/port/full: test/port/full.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O2 $(USER_INC) $< $(B)/user/libfathom.a -o $@
CHECK_FAST_DEPS += $(B)/port/full

# A program that ends badly (test/port/crashes.py).
$(B)/port/crashes: test/port/crashes.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O1 -fno-optimize-sibling-calls $(USER_INC) $< $(B)/user/libfathom.a -o $@
CHECK_FAST_DEPS += $(B)/port/crashes

# A program at the limits of the port (test/port/user_edges.py).
$(B)/port/user_edges: test/port/user_edges.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O2 -DFATHOM_PATCH=1 $(USER_INC) $< $(B)/user/libfathom.a -o $@
CHECK_FAST_DEPS += $(B)/port/user_edges
