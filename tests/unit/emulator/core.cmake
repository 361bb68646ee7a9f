# The emulator's core without the HIP face.
foreach(fuzzer code_object instruction stream)
  cerberus_fuzzer(emulator_${fuzzer}_fuzzer
      SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/emulator_${fuzzer}_fuzzer.cc
      LIBS cerberus_emulator
      CORPUS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/emulator_${fuzzer})
endforeach()

cerberus_unit_test(emulator_core_test
    SOURCES core_test.cc
    LIBS cerberus_emulator)

# Kernels in assembly, and a few in HIP for what only a compiler knows.
foreach(test stats)
  cerberus_unit_test(emulator_${test}_test
      SOURCES ${test}_test.cc
      LIBS cerberus_emulator
      DEFINES LLVM_MC="${CERBERUS_LLVM_MC}" CLANGXX="${CERBERUS_CLANGXX}")
endforeach()
