# SPDX-License-Identifier: MIT
# symbols.awk -- `nm -n kernel.elf` to the table of symbols.c, in C: functions by address, the end of the last one after them. For an
# empty table, to link the first time, run it on /dev/null.
BEGIN { print "struct symbol { unsigned long at; const char *name; };\nextern const struct symbol symbols[];\nextern const unsigned nr_symbols;\nconst struct symbol symbols[] = {" }
$2 ~ /^[tT]$/ && $3 !~ /^[.$]/ && $1 != last {
	printf "\t{0x%s, \"%s\"},\n", $1, $3
	last = $1
	n++
}
END { printf "\t{~0ul, \"\"},\n};\nconst unsigned nr_symbols = %d;\n", n }
