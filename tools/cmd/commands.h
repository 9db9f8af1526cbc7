/* SPDX-License-Identifier: MIT */
/* commands.h -- the list of subcommands: COMMAND(name, "one line for help"); cmd/NAME.c defines int cmd_NAME(argc, argv). */
COMMAND(report, "a trace as text: what trace-cmd report and the kernel print")
COMMAND(version, "print the version")
COMMAND(flame, "stacks of any trace as a flame graph")
COMMAND(stat, "what is in a trace: counts, span, rates, losses")
COMMAND(index, "build the sparse index beside a trace")
COMMAND(record, "boot or attach to a target, trace it, write trace.dat")
COMMAND(query, "events by number, type, time or filter")
COMMAND(convert, "a trace of any format into another form")
COMMAND(mount, "the control tree of a target as a file system")
COMMAND(fs, "files of a target's control tree, without a mount")
COMMAND(verify, "what of a trace is damaged, and what can be read")
COMMAND(merge, "two traces on one time line")
