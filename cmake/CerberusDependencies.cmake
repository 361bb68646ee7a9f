# What comes from Debian. A room links only the targets it may see.
set(ZLIB_USE_STATIC_LIBS ${CERBERUS_PORTABLE})
find_package(LLVM REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} found, expected 22")
endif()
# Code for GPUs that is compiled when Cerberus is built.
find_program(CERBERUS_CLANG NAMES clang-22 REQUIRED)
find_program(CERBERUS_NM NAMES llvm-nm-22 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# LLVM's archives name the shared one.
if(CERBERUS_PORTABLE)
  find_library(CERBERUS_ZSTD_STATIC NAMES libzstd.a REQUIRED)
  set_target_properties(zstd::libzstd_shared PROPERTIES
    IMPORTED_LOCATION ${CERBERUS_ZSTD_STATIC})
endif()
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# In the program, for machines that have none.
find_library(CERBERUS_SQLITE_STATIC NAMES libsqlite3.a REQUIRED)
add_library(cerberus_sqlite INTERFACE)
target_link_libraries(cerberus_sqlite INTERFACE
  ${CERBERUS_SQLITE_STATIC} ${CMAKE_DL_LIBS} m)
find_package(fmt REQUIRED)
# Debian 13's. Its headers do not compile with clang 22's consteval; format
# strings are then checked when they are used.
if(fmt_VERSION VERSION_GREATER_EQUAL 10 AND fmt_VERSION VERSION_LESS 11)
  add_compile_definitions(FMT_CONSTEVAL=)
endif()
find_package(CLI11 REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# LLVM's headers as a plain interface target; the libraries differ by room
# (ptxc links the static AMDGPU code generator, the emulator the disassembler).
add_library(cerberus_llvm_headers INTERFACE)
target_include_directories(cerberus_llvm_headers SYSTEM INTERFACE
                           ${LLVM_INCLUDE_DIRS})
separate_arguments(CERBERUS_LLVM_DEFS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(cerberus_llvm_headers INTERFACE
                           ${CERBERUS_LLVM_DEFS})

# msgpack-c is headers only here: its package's CMake file asks for Boost.
add_library(cerberus_msgpack INTERFACE)
target_compile_definitions(cerberus_msgpack INTERFACE MSGPACK_NO_BOOST)
