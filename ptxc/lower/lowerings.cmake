# Writes a line CERB_LOWERING(name) for each lowering function that the rows of
# the table IN name, to OUT.
file(STRINGS ${IN} rows REGEX "^[^/]*Lower[A-Z]")
string(REGEX MATCHALL "Lower[A-Z][A-Za-z0-9]*" names "${rows}")
list(REMOVE_DUPLICATES names)
list(SORT names)
list(TRANSFORM names REPLACE "(.+)" "CERB_LOWERING(\\1)\n")
list(JOIN names "" text)
file(WRITE ${OUT} "${text}")
