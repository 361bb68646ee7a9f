# The emulator's core without the HIP face.
foreach(fuzzer code_object instruction stream)
  cerberus_fuzzer(emulator_${fuzzer}_fuzzer
      SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/emulator_${fuzzer}_fuzzer.cc
      LIBS cerberus_emulator
      CORPUS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/emulator_${fuzzer})
endforeach()

# The fuzzer itself is tested: with a bounds check left out (the copy of
# memory.cc is linked in place of the library's) it must find a write behind
# the buffer, from two harmless stores.
if(CERBERUS_FUZZERS)
  add_executable(emulator_planted_bug_fuzzer
      ${CMAKE_SOURCE_DIR}/tests/fuzz/emulator_stream_fuzzer.cc
      ${CMAKE_SOURCE_DIR}/emulator/memory.cc)
  target_compile_definitions(emulator_planted_bug_fuzzer PRIVATE
      CERBERUS_PLANTED_BUG)
  target_link_libraries(emulator_planted_bug_fuzzer PRIVATE cerberus_emulator)
  target_link_options(emulator_planted_bug_fuzzer PRIVATE -fsanitize=fuzzer)
  set_target_properties(emulator_planted_bug_fuzzer PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/planted_bug)
  add_test(NAME fuzz.planted_bug
      COMMAND emulator_planted_bug_fuzzer -max_total_time=300 -len_control=0
              -max_len=34
              -artifact_prefix=${CMAKE_BINARY_DIR}/fuzz/planted_bug-
              ${CMAKE_BINARY_DIR}/fuzz/planted_bug
              ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/emulator_stream_stores)
  set_tests_properties(fuzz.planted_bug PROPERTIES
      PASS_REGULAR_EXPRESSION "of the buffer was written"
      TIMEOUT 360 LABELS fuzz)
endif()

cerberus_unit_test(emulator_core_test
    SOURCES core_test.cc
    LIBS cerberus_emulator)
cerberus_unit_test(emulator_float16_test
    SOURCES float16_test.cc
    LIBS cerberus_support)
# The arithmetic of the lane loops, with the instructions that v3 is for.
target_compile_options(emulator_float16_test PRIVATE
    -ffp-contract=off -fno-trapping-math)

# Kernels in assembly, and a few in HIP for what only a compiler knows.
foreach(test hazard machine_state sanitizer stats targets)
  cerberus_unit_test(emulator_${test}_test
      SOURCES ${test}_test.cc
      LIBS cerberus_emulator
      DEFINES LLVM_MC="${CERBERUS_LLVM_MC}" CLANGXX="${CERBERUS_CLANGXX}")
endforeach()
