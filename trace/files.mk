# Sources of the library, for this and any other build system.
# A kernel compiles $(FATHOM_SRC), $(FATHOM_ARCH_SRC_<arch>) and wire/*.c with -I<fathom> -I<fathom>/trace -I<fathom>/trace/include
# and a folder that holds its fathom_port.h.
FATHOM_SRC := $(sort $(wildcard trace/ring/*.c trace/events/*.c trace/functions/*.c trace/samples/*.c trace/control/*.c trace/programs/*.c trace/send/*.c))
FATHOM_ARCH_SRC_x86_64  := $(sort $(wildcard trace/arch/x86_64/*.c trace/arch/x86_64/*.S)) trace/arch/text.c
FATHOM_ARCH_SRC_aarch64 := $(sort $(wildcard trace/arch/aarch64/*.c trace/arch/aarch64/*.S)) trace/arch/text.c trace/arch/patch_word.c
FATHOM_ARCH_SRC_riscv64 := $(sort $(wildcard trace/arch/riscv64/*.c trace/arch/riscv64/*.S)) trace/arch/text.c trace/arch/patch_word.c
# Any other CPU: text is not patched, off events test a flag.
FATHOM_ARCH_SRC_none    := $(sort $(wildcard trace/arch/none/*.c))
