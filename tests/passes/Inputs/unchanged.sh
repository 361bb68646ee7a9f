# unchanged.sh PTXC-OPT PASS IN.ll: fails if the pass changes the functions, and
# shows how. Declarations that nobody uses may appear.
opt=$1 pass=$2 in=$3
definitions() {
  sed -n -e 's/ #[0-9]\{1,\} {$/ {/' -e 's/ #[0-9]\{1,\}$//' \
    -e '/^define/,/^}/p'
}
before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
# A pass that only looks.
"$opt" --passes=print-local-memory -S "$in" 2>&1 >"$before.all" | grep -v note:
"$opt" --passes="$pass" -S "$in" >"$after.all" || exit
definitions <"$before.all" >"$before"
definitions <"$after.all" >"$after"
rm -f "$before.all" "$after.all"
grep -q '^define' "$before" && diff -u "$before" "$after"
