# Programs inside a target: the process of test/program/live.py.
$(B)/program/busy: test/program/busy.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O2 -DFATHOM_PATCH=1 -fpatchable-function-entry=5 -fno-ipa-ra -fno-omit-frame-pointer $(USER_INC) $< $(B)/user/libfathom.a -o $@
CHECK_FAST_DEPS += $(B)/program/busy

# Programs that come and go while threads fire: `make torture N=...` for the long run.
$(B)/test/torture/programs: test/torture/programs.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O2 -DFATHOM_PATCH=1 -fpatchable-function-entry=5 -fno-ipa-ra -fno-omit-frame-pointer $(USER_INC) $< $(B)/user/libfathom.a -o $@
CHECK_DEPS += $(B)/test/torture/programs

# Random programs for the verifier and the interpreter: what is accepted stays inside its memory and its budget.
.PHONY: programs-random
programs-random: $(B)/test/unit/tools_bpf ## N=10000000 random eBPF programs under ASan and UBSan
	@N=$(if $(filter command,$(firstword $(origin N))),$(N),10000000) $<

# What programs cost inside a process, and their speed over a trace.
$(B)/bench/programs: bench/programs.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O2 -DFATHOM_PATCH=1 $(USER_INC) $< $(B)/user/libfathom.a -o $@
.PHONY: bench-programs
bench-programs: $(B)/fathom $(B)/bench/programs $(B)/bench/gen_sched ## programs: cost of a count inside a process, events a second over a trace
	@bench/programs.py
