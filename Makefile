# Fathom: one non-recursive Makefile. `make help` lists the targets.
# Sources are found by place: a .c file put into the right folder is built; see the maps (README.md) in the folders.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

CC       ?= gcc
ifeq ($(origin CC),default)
CC       := gcc
endif
B        := build
WARN     := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef $(if $(CI),-Werror) $(if $(WERROR),-Werror)
CSTD     := -std=gnu11
DEPFLAGS  = -MMD -MP
# After -O2 -g of the others: the sanitized build is compiled twice as fast, and its reports still have lines.
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1

comma := ,

include trace/files.mk

# ---- host program -------------------------------------------------------------------------------------------------

TOOLS_STAGES := base decode query store model program sql view rules capture live cmd
TOOLS_SRC    := $(sort $(foreach d,$(TOOLS_STAGES),$(wildcard tools/$(d)/*.c tools/$(d)/*/*.c)))
WIRE_SRC     := $(sort $(wildcard wire/*.c))
# -fPIC: the same objects make the extension for sqlite3 (mk/sql.mk), which shows no name of ours.
TOOLS_CFLAGS := $(CSTD) -O2 -g -fPIC -fvisibility=hidden $(WARN) -D_GNU_SOURCE -DWIRE_HOST=1 -I. -Itools -pthread
TOOLS_LIBS   := -lsqlite3 -ldw -lelf -lzstd -lz -llz4 -lfuse3 -lm -pthread
# Loading eight libraries takes as long as starting the process twice over, which a query feels. Where the archives are
# there, only libc stays shared.
STATIC_LIBS  := sqlite3 dw elf lzma bz2 zstd z lz4 fuse3
HAVE_STATIC  := $(if $(filter-out /%,$(foreach l,$(STATIC_LIBS),$(shell $(CC) -print-file-name=lib$(l).a))),,y)
FATHOM_LIBS  := $(if $(HAVE_STATIC),-Wl$(comma)-Bstatic $(STATIC_LIBS:%=-l%) -Wl$(comma)-Bdynamic -lm -pthread,$(TOOLS_LIBS))
TOOLS_OBJ    := $(TOOLS_SRC:%.c=$(B)/host/%.o) $(WIRE_SRC:%.c=$(B)/host/%.o)
TOOLS_LIBOBJ := $(filter-out $(B)/host/tools/cmd/main.o,$(TOOLS_OBJ))

$(B)/host/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(DEPFLAGS) -c $< -o $@

# What a file embeds (view/embed.h) is part of it.
$(foreach k,host host-san,$(B)/$(k)/tools/view/flame_svg.o): tools/view/flame.js tools/view/flame.css
$(foreach k,host host-san,$(B)/$(k)/tools/view/page/page.o): $(wildcard tools/view/page/*.js tools/view/page/*.css tools/view/page/*.html)

$(B)/fathom: $(TOOLS_OBJ)
	$(CC) $(TOOLS_CFLAGS) $^ $(FATHOM_LIBS) -o $@

# The same objects under sanitizers, for tests.
$(B)/host-san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) $(SAN) $(DEPFLAGS) -c $< -o $@

# All but main, in an archive: a test links what it uses.
TOOLS_SAN := $(B)/host-san/libtools.a
$(TOOLS_SAN): $(TOOLS_LIBOBJ:$(B)/host/%=$(B)/host-san/%)
	@rm -f $@
	ar rcs $@ $^

$(B)/fathom-san: $(TOOLS_OBJ:$(B)/host/%=$(B)/host-san/%)
	$(CC) $(TOOLS_CFLAGS) $(SAN) $^ $(TOOLS_LIBS) -o $@

# ---- the library, freestanding ---------------------------------------------------------------------------------------

# Flags of a hard kernel: what xv6, seL4, NuttX and Zephyr ask for, together.
# -g1: lines and names for a debugger; nobody looks at the types, which take a quarter of the compiler's time.
FREE_CFLAGS := $(CSTD) -O2 -g1 -ffreestanding -nostdinc -fno-builtin -fno-stack-protector -fno-pic -fno-common \
	-fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections $(WARN) -Werror \
	-I. -Itrace -Itrace/include -Iports/template
CROSS_x86_64  :=
CROSS_aarch64 := aarch64-linux-gnu-
CROSS_riscv64 := riscv64-linux-gnu-
ARCHFLAGS_x86_64  := -mno-red-zone -mgeneral-regs-only -mcmodel=kernel
ARCHFLAGS_aarch64 := -mno-outline-atomics -mgeneral-regs-only
ARCHFLAGS_riscv64 := -march=rv64imac -mabi=lp64 -mcmodel=medany
ARCHES := x86_64 aarch64 riscv64

define FREE_RULES
CC_$(1)  := $$(CROSS_$(1))gcc
FREE_OBJ_$(1) := $$(patsubst %,$(B)/$(1)/%.o,$$(basename $$(FATHOM_SRC) $$(FATHOM_ARCH_SRC_$(1)) $$(WIRE_SRC)))
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(CC_$(1)) $$(FREE_CFLAGS) $$(ARCHFLAGS_$(1)) -isystem $$(shell $$(CC_$(1)) -print-file-name=include) $$(DEPFLAGS) -c $$< -o $$@
$(B)/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(CC_$(1)) $$(FREE_CFLAGS) $$(ARCHFLAGS_$(1)) $$(DEPFLAGS) -c $$< -o $$@
$(B)/$(1)/libfathom.a: $$(FREE_OBJ_$(1))
	@rm -f $$@
	$$(CROSS_$(1))ar rcs $$@ $$^
endef
$(foreach a,$(ARCHES),$(eval $(call FREE_RULES,$(a))))

# ---- the library in a process (user port) --------------------------------------------------------------------------

USER_SRC    := $(sort $(filter-out ports/user/preload.c,$(wildcard ports/user/*.c ports/user/*.S)))
USER_CFLAGS := $(CSTD) -O2 -g1 $(WARN) -D_GNU_SOURCE -I. -Itrace -Itrace/include -Iports/user -pthread -fno-omit-frame-pointer
USER_OBJ    := $(patsubst %,$(B)/user/%.o,$(basename $(FATHOM_SRC) $(FATHOM_ARCH_SRC_x86_64) $(WIRE_SRC) $(USER_SRC)))

$(B)/user/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/user/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(filter-out -mgeneral-regs-only,$(USER_CFLAGS)) $(DEPFLAGS) -c $< -o $@
# Traced functions have live vector registers and any stack alignment when they call into the library.
GENERAL_REGS := $(if $(filter x86_64,$(shell uname -m)),-mgeneral-regs-only)
$(B)/user/trace/%.o $(B)/user/wire/%.o $(B)/user-san/trace/%.o $(B)/user-san/wire/%.o: USER_CFLAGS += $(GENERAL_REGS)
# The archive goes into the program itself (its shared libraries use that copy): thread-local words need no table.
$(B)/user/%.o $(B)/user-san/%.o: USER_CFLAGS += -ftls-model=local-exec
$(B)/user/libfathom.a: $(USER_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(B)/user-san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(SAN) $(DEPFLAGS) -c $< -o $@
$(B)/user-san/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(filter-out -mgeneral-regs-only,$(USER_CFLAGS)) $(DEPFLAGS) -c $< -o $@
# Where the library checks its port and itself, too.
$(B)/user-san/%.o: USER_CFLAGS += -DFATHOM_DEBUG=1
$(B)/user-san/libfathom.a: $(USER_OBJ:$(B)/user/%=$(B)/user-san/%)
	@rm -f $@
	ar rcs $@ $^

# ---- parts: each folder adds its own targets -------------------------------------------------------------------------

CHECK_FAST_DEPS :=
CHECK_DEPS      :=
DEMO_TARGET     ?= demo-user
PREFIX          ?= /usr/local

include $(sort $(wildcard mk/*.mk))

.PHONY: all help install clean demo check check-fast tests lint size bench
all: $(B)/fathom $(B)/user/libfathom.a $(B)/shared/$(FATHOM_SONAME) $(foreach a,$(ARCHES),$(B)/$(a)/libfathom.a) ## build the host program and the library for every target

help: ## this list
	@grep -hE '^[a-z][a-zA-Z0-9_-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  %-18s %s\n",$$1,$$2}'

demo: $(DEMO_TARGET) ## trace the demo and print its report

check-fast: $(B)/fathom $(CHECK_FAST_DEPS) ## tests that take seconds
	@test/runner fast

check: tests ## every test
	@test/runner all

tests: all $(CHECK_FAST_DEPS) $(CHECK_DEPS) ## build what the tests run

lint: ## clang-format, cppcheck, layering, nm contract
	@test/lint/run

bench: bench-core bench-tracers bench-host bench-sel4 bench-l4re ## every benchmark, with its bars

clean: ## remove build/
	rm -rf $(B)

-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)
