# Fails if TOOL's output differs from the file PAGE.
execute_process(COMMAND ${TOOL} OUTPUT_VARIABLE made RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${TOOL}: ${status}")
endif()
file(READ ${PAGE} page)
if(NOT made STREQUAL page)
  message(FATAL_ERROR "${PAGE} is out of date: ${TOOL} > ${PAGE}")
endif()
