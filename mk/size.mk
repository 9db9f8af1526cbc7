# `make size`: what the library costs a kernel, per target.
size: ## size of what a kernel links, per target, with its bars
	@test/lint/size

.PHONY: api
api: ## the public face of the library: headers, functions, macros; fails above 15 and 90
	@test/lint/api
