cmake_policy(VERSION 3.25)
# Writes to OUT a linker script by which each function that a library exports of
# its objects, named in the file LIST one a line, has the version OWN as well as
# its default one. What begins with one of HIDDEN is not exported.
file(STRINGS ${LIST} objects)
execute_process(
  COMMAND ${NM} --extern-only --defined-only --no-weak --format=just-symbols
          --quiet ${objects}
  OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${names}")
list(FILTER names INCLUDE REGEX "^[A-Za-z][A-Za-z0-9_]*$")
if(EXISTS ${HIDDEN})
  file(STRINGS ${HIDDEN} hidden)
  list(REMOVE_ITEM names ${hidden})
endif()
set(script "")
foreach(name IN LISTS names)
  string(APPEND script "\"${name}@${OWN}\" = ${name};\n")
endforeach()
file(WRITE ${OUT} "${script}")
