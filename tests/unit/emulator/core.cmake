# The emulator's core without the HIP face.
foreach(fuzzer code_object instruction)
  cerberus_fuzzer(emulator_${fuzzer}_fuzzer
      SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/emulator_${fuzzer}_fuzzer.cc
      LIBS cerberus_emulator
      CORPUS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/emulator_${fuzzer})
endforeach()

cerberus_unit_test(emulator_core_test
    SOURCES core_test.cc
    LIBS cerberus_emulator)
