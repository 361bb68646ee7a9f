# Fails if what TOOL makes of the file PAGE differs from it.
execute_process(COMMAND ${TOOL} ${PAGE} OUTPUT_VARIABLE made RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${TOOL}: ${status}")
endif()
file(READ ${PAGE} page)
if(NOT made STREQUAL page)
  message(FATAL_ERROR "${PAGE} is out of date: tests/tools/noop_coverage.py --only NOTHING --write")
endif()
