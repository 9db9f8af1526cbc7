#!/usr/bin/env bash
# completion.sh -- what bash completes behind `fathom`.
cd "$(dirname "$0")/../.." || exit 1
PATH="$PWD/build:$PATH"
. docs/fathom.bash
bad=0

# completes NAME WANT WORD...: the last word is the one under the cursor.
completes()
{
	local name=$1 want=$2
	shift 2
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_fathom
	if [ "${COMPREPLY[*]}" = "$want" ]; then
		echo "ok completion_$name"
	else
		echo "not ok completion_$name: '${COMPREPLY[*]}', want '$want'"
		bad=1
	fi
}

completes command "report record" fathom re
completes help_of_command "stat" fathom help st
completes option "--filter --formats --from --full-time" fathom report --f
completes own_option "--compression" fathom convert --comp
completes form "jsonl json" fathom convert a.dat --form js
completes file "" fathom report tra
exit $bad
