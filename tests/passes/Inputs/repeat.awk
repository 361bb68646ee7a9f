# Makes a large function of a small text: what lies between `; repeat` and
# `; end`, and what EACH{...} holds, comes n times, with ITH for 0 to n - 1 and
# NEXT for one more; TOTAL is n.
function times(text,  all, i, one) {
  all = ""
  for (i = 0; i < n; ++i) {
    one = text
    gsub(/ITH/, i, one)
    gsub(/NEXT/, i + 1, one)
    all = all one
  }
  return all
}
/^; repeat/ { inside = 1; text = ""; next }
/^; end/ { inside = 0; printf "%s", times(text); next }
inside { text = text $0 "\n"; next }
{
  if (match($0, /EACH{[^}]*}/)) {
    $0 = substr($0, 1, RSTART - 1) times(substr($0, RSTART + 5, RLENGTH - 6)) \
         substr($0, RSTART + RLENGTH)
  }
  gsub(/TOTAL/, n)
  print
}
