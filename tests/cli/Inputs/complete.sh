# complete.sh FILE WORD...: what bash offers for the last word of this line.
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_cerberus
printf '%s\n' "${COMPREPLY[@]}"
