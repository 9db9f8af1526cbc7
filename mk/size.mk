# `make size`: what the library costs a kernel, per target.
size: ## size of what a kernel links, per target, with its bars
	@test/lint/size
