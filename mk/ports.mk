# Ports to kernels that are not ours: each is built, booted and traced in a copy of a tree that is given, by ports/NAME/port.py.
PORTS := $(patsubst ports/%/port.py,%,$(wildcard ports/*/port.py))

.PHONY: $(PORTS:%=port-%)
$(PORTS:%=port-%): port-%: $(B)/fathom
	@$(if $(TREE),,echo "make $@ TREE=DIR: the kernel's tree, which ports/$*/README.md names" >&2; exit 2;) ports/$*/port.py $(TREE)
