# `fathom report`: its benchmark is a part of bench-host.
.PHONY: bench-report
bench-report: $(B)/fathom ## fathom report against trace-cmd report
	@bench/report.py
bench-host: bench-report
