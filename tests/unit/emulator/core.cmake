# The emulator's core without the HIP face.
foreach(fuzzer code_object instruction stream)
  cerberus_fuzzer(emulator_${fuzzer}_fuzzer
      SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/emulator_${fuzzer}_fuzzer.cc
      LIBS cerberus_emulator
      CORPUS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/emulator_${fuzzer})
endforeach()

# A write behind the buffer, from two harmless stores, with the bounds check
# left out.
cerberus_planted_bug_test(emulator
    SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/emulator_stream_fuzzer.cc
            ${CMAKE_SOURCE_DIR}/emulator/access/memory.cc
    LIBS cerberus_emulator
    SEEDS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/emulator_stream_stores
    ARGS -len_control=0 -max_len=34
    FINDS "of the buffer was written")

cerberus_unit_test(emulator_core_test
    SOURCES core_test.cc
    LIBS cerberus_emulator)
cerberus_unit_test(emulator_float16_test
    SOURCES float16_test.cc
    LIBS cerberus_support)
# The arithmetic of the lane loops, with the instructions that v3 is for.
target_compile_options(emulator_float16_test PRIVATE
    -ffp-contract=off -fno-trapping-math)

cerberus_unit_test(emulator_division_test
    SOURCES division_test.cc
    LIBS cerberus_emulator)
target_compile_options(emulator_division_test PRIVATE -ffp-contract=off)

# Kernels in assembly, and a few in HIP for what only a compiler knows.
foreach(test gws hazard machine_state residency sanitizer stats targets)
  cerberus_unit_test(emulator_${test}_test
      SOURCES ${test}_test.cc
      LIBS cerberus_emulator
      DEFINES LLVM_MC="${CERBERUS_LLVM_MC}" CLANGXX="${CERBERUS_CLANGXX}")
endforeach()
