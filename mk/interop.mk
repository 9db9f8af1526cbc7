# Linux's own event headers against our macros. The package is installed here, not by ./run: only this needs it.
.PHONY: interop-headers
interop-headers: $(B)/user/libfathom.a ## compile the kernel's own trace/events/*.h, unchanged, against our macros
	@ls -d /usr/src/linux-headers-6.1.0-*[0-9]-amd64 >/dev/null 2>&1 || { \
		p=$$(apt-cache search --names-only '^linux-headers-6\.1\.0-[0-9]+-amd64$$' | awk '{print $$1}' | sort -V | tail -1); \
		DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$$p"; }
	@test/interop/headers.sh
	@test/interop/all_headers
