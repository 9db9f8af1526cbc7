# Linux's own event headers against our macros.
.PHONY: interop-headers
interop-headers: $(B)/user/libfathom.a ## compile the kernel's own trace/events/*.h, unchanged, against our macros
	@test/interop/headers.sh
	@test/interop/all_headers
