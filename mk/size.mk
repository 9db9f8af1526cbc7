# `make size`: what the library costs a kernel.
size: $(B)/x86_64/libfathom.a ## size of the library's parts and of the ports
	@test/lint/size
