# Code in the order in which it is executed.
find_program(CERBERUS_LLVM_BOLT NAMES llvm-bolt-22)
set(lay_out OFF)
if(CERBERUS_LLVM_BOLT AND CERBERUS_LLD AND NOT CERBERUS_SANITIZE
   AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(lay_out ON)
endif()
option(CERBERUS_BOLT
  "llvm-bolt lays out the compiler's code (a tenth faster; 40 s and 3 GB a link)"
  ${lay_out})
if(CERBERUS_BOLT AND NOT (CERBERUS_LLVM_BOLT AND CERBERUS_LLD))
  message(FATAL_ERROR "CERBERUS_BOLT needs llvm-bolt-22 and ld.lld-22")
endif()

# cerberus_lay_out(<target> FUNCTIONS file TRAIN program PTX files): the blocks
# of those functions of the shared library, in an order that llvm-bolt finds by
# letting `program` compile the files.
function(cerberus_lay_out target)
  cmake_parse_arguments(L "" "FUNCTIONS;TRAIN" "PTX" ${ARGN})
  target_sources(${target} PRIVATE
    ${CMAKE_SOURCE_DIR}/ptxc/layout/spare_header.cc)
  target_link_options(${target} PRIVATE -Wl,--emit-relocs)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
    ${L_PTX} ${CMAKE_SOURCE_DIR}/cmake/lay_out.cmake)
  add_dependencies(${target} ${L_TRAIN} cerberus_stack_header)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -D BOLT=${CERBERUS_LLVM_BOLT}
      -D LIBRARY=$<TARGET_FILE:${target}> -D FUNCTIONS=${L_FUNCTIONS}
      -D TRAIN=$<TARGET_FILE:${L_TRAIN}> "-DPTX=${L_PTX}"
      -D STACK_HEADER=$<TARGET_FILE:cerberus_stack_header>
      -D WORK=${CMAKE_CURRENT_BINARY_DIR}/layout
      -P ${CMAKE_SOURCE_DIR}/cmake/lay_out.cmake
    COMMENT "Laying out the code of ${target}" VERBATIM)
endfunction()
