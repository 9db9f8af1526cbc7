# fathom.bash -- completion for bash: commands, options as --help lists them, files.
_fathom()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} program=${COMP_WORDS[0]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; }; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p') help" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" --help | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u)" -- "$word")
	elif [[ $before == --form ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" help convert | sed -n '/^forms:/,/^$/s/^  \([a-z_]*\) .*/\1/p')" -- "$word")
	fi
}
# What is none of these is a file.
complete -o default -o bashdefault -F _fathom fathom
