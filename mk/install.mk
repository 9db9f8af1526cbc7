# What others build with: the amalgamation for kernels, the shared library for processes, and `make install`.
AMALGAMATION := $(B)/amalgamation/fathom.c
$(AMALGAMATION): trace/amalgamate trace/files.mk trace/fathom.lds $(FATHOM_SRC) $(FATHOM_WIRE_SRC) $(wildcard trace/arch/*/*.c trace/arch/*/*.S) \
		$(shell find trace wire -name '*.h')
	trace/amalgamate $(@D)
.PHONY: amalgamation
amalgamation: $(AMALGAMATION) ## the library as one fathom.c and fathom.h, for a kernel: build/amalgamation

# libfathom.so: made of the amalgamation and the user port; it exports what the installed headers name.
FATHOM_VERSION := 0.1.0
FATHOM_SONAME  := libfathom.so.0
SHARED_CFLAGS   = $(filter-out -ftls-model=%,$(USER_CFLAGS)) -fPIC -ftls-model=initial-exec
SHARED_OBJ     := $(patsubst %.c,$(B)/shared/%.o,$(notdir $(filter %.c,$(USER_SRC)))) $(B)/shared/preload.o $(B)/shared/fathom.o
$(B)/shared/fathom.o: $(AMALGAMATION)
	@mkdir -p $(@D)
	$(CC) $(SHARED_CFLAGS) $(GENERAL_REGS) -I$(<D) -c $< -o $@
$(B)/shared/%.o: ports/user/%.c
	@mkdir -p $(@D)
	$(CC) $(SHARED_CFLAGS) $(DEPFLAGS) -c $< -o $@
$(B)/shared/exports: ports/user/exports $(wildcard trace/include/fathom/*.h trace/include/fathom/*/*.h ports/user/fathom_*.h)
	@mkdir -p $(@D)
	ports/user/exports >$@
$(B)/shared/$(FATHOM_SONAME): $(SHARED_OBJ) $(B)/shared/exports
	$(CC) -shared -Wl,-soname,$(FATHOM_SONAME) -Wl,--version-script,$(B)/shared/exports -Wl,-z,defs -Wl,-z,nodelete $(SHARED_OBJ) -pthread -o $@
# What every program and library that links libfathom.so brings along: it joins with its own events.
$(B)/shared/join.o: ports/user/join.inc
	@mkdir -p $(@D)
	$(CC) $(SHARED_CFLAGS) -x c -c $< -o $@
CHECK_FAST_DEPS += $(B)/shared/$(FATHOM_SONAME) $(B)/shared/join.o

install: $(B)/fathom $(B)/user/libfathom.a $(B)/shared/$(FATHOM_SONAME) $(B)/shared/join.o $(AMALGAMATION) ## the host program, its man pages and completion; the library for programs and kernels: PREFIX=/usr/local DESTDIR=
	install -D -m 755 $(B)/fathom $(DESTDIR)$(PREFIX)/bin/fathom
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 docs/fathom.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/fathom
	@ports/user/install $(DESTDIR)$(PREFIX) $(PREFIX) $(B) $(FATHOM_VERSION)
