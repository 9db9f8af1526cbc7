# Programs inside a target: the process of test/program/live.py.
$(B)/program/busy: test/program/busy.c $(B)/user/libfathom.a
	@mkdir -p $(@D)
	gcc -O2 -DFATHOM_PATCH=1 -fpatchable-function-entry=5 -fno-ipa-ra -fno-omit-frame-pointer $(USER_INC) $< $(B)/user/libfathom.a -o $@
CHECK_FAST_DEPS += $(B)/program/busy
