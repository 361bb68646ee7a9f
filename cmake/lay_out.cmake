# Lays out the code of LIBRARY, in place: BOLT makes a copy that counts what it
# executes of FUNCTIONS (a name on each line), TRAIN makes it compile PTX, and
# BOLT orders blocks and functions by the counts. Where a step fails the library
# stays as the linker made it, which is right, but slower.
function(step)
  if(failed)
    return()
  endif()
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result
                  OUTPUT_FILE ${WORK}/log ERROR_FILE ${WORK}/log)
  if(NOT result EQUAL 0)
    file(REMOVE ${WORK}/counting.so ${WORK}/counts ${WORK}/laid_out.so)
    list(GET ARGN 0 program)
    message(WARNING "${LIBRARY} stays as it was linked: ${program} failed with "
                    "${result} (${WORK}/log); -DCERBERUS_BOLT=OFF does not try")
    set(failed ON PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
# Functions of one file have a number behind their names.
file(STRINGS ${FUNCTIONS} names)
list(TRANSFORM names APPEND "/1" OUTPUT_VARIABLE numbered)
list(JOIN names "\n" names)
list(JOIN numbered "\n" numbered)
file(WRITE ${WORK}/functions "${names}\n${numbered}\n")

set(failed OFF)
step(${BOLT} ${LIBRARY} -o ${WORK}/counting.so -instrument
     -instrumentation-file=${WORK}/counts
     -funcs-file-no-regex=${WORK}/functions)
step(${TRAIN} ${WORK}/counting.so ${PTX})
# Without -use-gnu-stack GNU strip damages the library.
step(${BOLT} ${LIBRARY} -o ${WORK}/laid_out.so -data=${WORK}/counts
     -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions
     -split-all-cold -split-eh -icf=1 -bolt-info=0 -update-debug-sections
     -use-gnu-stack)
step(${STACK_HEADER} ${WORK}/laid_out.so)
if(NOT failed)
  file(REMOVE ${WORK}/counting.so)
  file(RENAME ${WORK}/laid_out.so ${LIBRARY})
endif()
