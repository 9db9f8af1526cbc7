# SPDX-License-Identifier: MIT
# ksyms.awk -- `nm -n kernel` to the symbol table that fathom_xv6.c reads: text symbols, sorted by address.
$2 ~ /^[tT]$/ && $3 !~ /^(\.|__pfx_)/ {
	at = "0x" substr($1, length($1) - 7)
	if (at == last)
		next
	last = at
	n++
	off = off "\t.long " at " - 0x80000000\n"
	idx = idx "\t.long " len "\n"
	str = str "\t.asciz \"" $3 "\"\n"
	len += length($3) + 1
}
BEGIN { len = 0 }
END {
	print "\t.section .ksyms, \"a\"\n\t.globl ksym_count, ksym_at, ksym_name_at, ksym_names"
	print "\t.align 4\nksym_count:\t.long " n + 0
	printf "ksym_at:\n%sksym_name_at:\n%sksym_names:\n%s\t.byte 0\n", off, idx, str
	print "\t.section .note.GNU-stack, \"\", @progbits"
}
