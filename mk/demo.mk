# `make demo`, what `./run demo` calls. Until the demo kernel exists it traces a process.
.PHONY: demo-user
demo-user: all
	@echo "no demo yet"
