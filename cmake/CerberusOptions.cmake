# Flags, output folders and options that every room shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

include(CTest)
option(CERBERUS_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
set(CERBERUS_SANITIZE "" CACHE STRING
    "Sanitizers for all of our code, e.g. address,undefined")

# The build tree has the layout of an install tree, so that programs find
# their libraries the same way in both: bin/, lib/, lib/cerberus/ (private:
# the CUDA driver stub and what it loads; never on the loader's own path).
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CERBERUS_PRIVATE_LIBDIR ${CMAKE_INSTALL_LIBDIR}/cerberus)
set(CERBERUS_PRIVATE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/cerberus)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
# Of programs that load a private library.
set(CERBERUS_PROGRAM_RPATH "$ORIGIN/../${CERBERUS_PRIVATE_LIBDIR}")

# clang 22 finds what is deprecated within std::stable_sort of Debian 12's
# libstdc++.
add_compile_options(-Wall -Wextra -Wno-unused-parameter
                    -Wno-deprecated-declarations)
# No path of the building machine may reach a binary.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
if(CERBERUS_SANITIZE)
  add_compile_options(-fsanitize=${CERBERUS_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CERBERUS_SANITIZE})
endif()

find_program(CERBERUS_CCACHE ccache)
if(CERBERUS_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CERBERUS_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CERBERUS_CCACHE})
endif()

# LLVM's archives name libraries that nothing here calls.
add_link_options(-Wl,--as-needed)

find_program(CERBERUS_LLD NAMES ld.lld-22)
if(CERBERUS_LLD)
  add_link_options(-fuse-ld=${CERBERUS_LLD})
endif()

# cerberus_unit_test(<name> SOURCES ... LIBS ... [PROPERTIES ...]): a GoogleTest
# program whose cases ctest lists one by one.
function(cerberus_unit_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS;DEFINES;PROPERTIES" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gmock_main)
  target_compile_definitions(${name} PRIVATE ${T_DEFINES})
  set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600 LABELS unit ${T_PROPERTIES})
endfunction()

# cerberus_fuzzer(<name> SOURCES ... LIBS ... CORPUS dir): the fuzz target's
# LLVMFuzzerTestOneInput, built twice: as a libFuzzer program (preset fuzz)
# and as a test that replays the corpus in the tree with the normal compiler.
function(cerberus_fuzzer name)
  cmake_parse_arguments(F "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  if(CERBERUS_FUZZERS)
    add_executable(${name} ${F_SOURCES}
                   ${CMAKE_SOURCE_DIR}/tests/fuzz/sanitizer_defaults.cc)
    target_link_libraries(${name} PRIVATE ${F_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  endif()
  if(BUILD_TESTING)
    add_executable(${name}_replay ${F_SOURCES}
                   ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    target_link_libraries(${name}_replay PRIVATE ${F_LIBS})
    set_target_properties(${name}_replay PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME fuzz_corpus.${name} COMMAND ${name}_replay ${F_CORPUS})
    set_tests_properties(fuzz_corpus.${name} PROPERTIES
        TIMEOUT 600 LABELS fuzz)
  endif()
endfunction()

# cerberus_planted_bug_test(<name> SOURCES ... LIBS ... SEEDS dir FINDS regex
# ARGS ...): a fuzzer is tested as well. `SOURCES` holds copies of library
# files in which CERBERUS_PLANTED_BUG leaves a check out; the fuzzer must find
# that from harmless seeds.
function(cerberus_planted_bug_test name)
  cmake_parse_arguments(P "" "SEEDS;FINDS" "SOURCES;LIBS;ARGS" ${ARGN})
  # Other builds would not notice that a file has moved.
  foreach(source ${P_SOURCES})
    if(IS_ABSOLUTE ${source} AND NOT EXISTS ${source})
      message(FATAL_ERROR "fuzz.planted_bug.${name}: no ${source}")
    endif()
  endforeach()
  if(NOT CERBERUS_FUZZERS)
    return()
  endif()
  set(program ${name}_planted_bug_fuzzer)
  set(corpus ${CMAKE_BINARY_DIR}/fuzz/${name}_planted_bug)
  add_executable(${program} ${P_SOURCES}
                 ${CMAKE_SOURCE_DIR}/tests/fuzz/sanitizer_defaults.cc)
  target_compile_definitions(${program} PRIVATE CERBERUS_PLANTED_BUG)
  target_link_libraries(${program} PRIVATE ${P_LIBS})
  target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${program} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  file(MAKE_DIRECTORY ${corpus})
  add_test(NAME fuzz.planted_bug.${name}
      COMMAND ${program} -max_total_time=300 ${P_ARGS}
              -artifact_prefix=${corpus}- ${corpus} ${P_SEEDS})
  set_tests_properties(fuzz.planted_bug.${name} PROPERTIES
      PASS_REGULAR_EXPRESSION "${P_FINDS}" TIMEOUT 360 LABELS fuzz)
endfunction()
