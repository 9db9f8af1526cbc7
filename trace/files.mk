# Sources of the library, for this and any other build system, by level (docs/PORTING.md). A kernel compiles the groups that it wants,
# $(FATHOM_ARCH_SRC_<arch>) and $(FATHOM_WIRE_SRC) with -I<fathom> -I<fathom>/trace -I<fathom>/trace/include and a folder that holds
# its fathom_port.h; $(FATHOM_SRC) is all of them, and a linker that collects sections drops what nothing uses.
FATHOM_TEXT_SRC      := $(addprefix trace/control/,dump.c filter_run.c text.c view.c)
FATHOM_STREAM_SRC    := trace/ring/stream.c trace/ring/lz4.c trace/send/stream_dump.c
FATHOM_SAMPLER_SRC   := $(sort $(wildcard trace/samples/*.c trace/send/btb_*.c))
FATHOM_FUNCTIONS_SRC := $(sort $(wildcard trace/functions/*.c)) trace/events/modules.c trace/events/snapshot.c
FATHOM_TREE_SRC      := $(filter-out $(FATHOM_TEXT_SRC),$(sort $(wildcard trace/control/*.c trace/programs/*.c trace/dynamic/*.c trace/lastboot/*.c trace/blk/*.c trace/noise/*.c)))
# Level 0 to 3: events, the beacon, the link, dumps and fathom_save(). With FATHOM_FUNCTIONS 0 it needs none of the groups below.
FATHOM_CORE_SRC      := $(filter-out $(FATHOM_FUNCTIONS_SRC) $(FATHOM_STREAM_SRC) $(FATHOM_SAMPLER_SRC),\
	$(sort $(wildcard trace/ring/*.c trace/events/*.c trace/send/*.c))) $(FATHOM_TEXT_SRC)
# Level 4 and 5: functions; they need the stream, seL4's 16-bit words. Level 6: the tree and programs, which need functions. The sampler needs them too.
FATHOM_SRC := $(FATHOM_CORE_SRC) $(FATHOM_STREAM_SRC) $(FATHOM_FUNCTIONS_SRC) $(FATHOM_SAMPLER_SRC) $(FATHOM_TREE_SRC)
# What both halves share.
FATHOM_WIRE_SRC := $(sort $(wildcard wire/*.c))

FATHOM_ARCH_SRC_x86_64  := $(sort $(wildcard trace/arch/x86_64/*.c trace/arch/x86_64/*.S)) trace/arch/text.c
FATHOM_ARCH_SRC_aarch64 := $(sort $(wildcard trace/arch/aarch64/*.c trace/arch/aarch64/*.S)) trace/arch/text.c trace/arch/patch_word.c
FATHOM_ARCH_SRC_riscv64 := $(sort $(wildcard trace/arch/riscv64/*.c trace/arch/riscv64/*.S)) trace/arch/text.c trace/arch/patch_word.c
# Any other CPU: text is not patched, off events test a flag.
FATHOM_ARCH_SRC_none    := $(sort $(wildcard trace/arch/none/*.c))
