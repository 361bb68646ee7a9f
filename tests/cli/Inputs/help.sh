# help.sh TEST COMMAND...: the help of a verb is what stands behind the line
# "Help:" at the end of its test, and fits a terminal of 25 lines of 80
# characters.
test=$1
shift
code=0
help=$("$@" --help) || code=1
expected=$(sed '1,/^Help:$/d' "$test")
if test "$help" != "$expected"; then
  echo "the help of '$*' is not what $test has:"
  echo "$help"
  code=1
fi
if test "$(echo "$help" | wc -l)" -gt 25; then
  echo "more than 25 lines"
  code=1
fi
if echo "$help" | grep -E '.{81}'; then
  echo "more than 80 characters in a line"
  code=1
fi
exit $code
