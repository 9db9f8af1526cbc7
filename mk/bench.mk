# Benchmarks. Each prints a table and, per bar, a line `bar NAME measured goal ok|SHORT`.
.PHONY: bench-core bench-tracers bench-host bench-sel4 bench-l4re
