# The HIP face: libamdhip64 in a folder of its own, so that no loader path
# that finds other libraries of ours finds it by accident.
add_library(cerberus_offload_bundle STATIC offload_bundle.cc)
target_link_libraries(cerberus_offload_bundle
    PUBLIC cerberus_support
    PRIVATE cerberus_hip_bundle)

add_library(cerberus_hip_face SHARED
    hip_array.cc
    hip_capture.cc
    hip_context.cc
    hip_copy.cc
    hip_copy_api.cc
    hip_device.cc
    hip_error.cc
    hip_event.cc
    hip_external.cc
    hip_fill.cc
    hip_graph.cc
    hip_graph_api.cc
    hip_graph_memory.cc
    hip_graph_nodes.cc
    hip_launch.cc
    hip_ipc.cc
    hip_managed.cc
    hip_memory.cc
    hip_module.cc
    hip_program.cc
    hip_per_thread.cc
    hip_pool.cc
    hip_runtime.cc
    hip_stream.cc
    hip_stream_api.cc
    hip_texture.cc
    hip_unsupported.cc
    hip_user_object.cc
    hip_virtual.cc)
target_link_libraries(cerberus_hip_face PRIVATE
    cerberus_emulator cerberus_kpack_c cerberus_offload_bundle
    cerberus_support
    ${CMAKE_DL_LIBS})
target_link_options(cerberus_hip_face PRIVATE
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/hip.map
    -Wl,--exclude-libs,ALL)
set_target_properties(cerberus_hip_face PROPERTIES
    OUTPUT_NAME amdhip64
    SOVERSION 7
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/hip.map
    LIBRARY_OUTPUT_DIRECTORY ${CERBERUS_PRIVATE_OUTPUT_DIRECTORY}/emulator)

# Programs of HIP 5 and 6 ask for these names; the face reads the version of
# its structures off the name it was opened under. lib/emulator is where a
# person looks for it.
add_custom_command(TARGET cerberus_hip_face POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink libamdhip64.so.7
            ${CERBERUS_PRIVATE_OUTPUT_DIRECTORY}/emulator/libamdhip64.so.6
    COMMAND ${CMAKE_COMMAND} -E create_symlink libamdhip64.so.7
            ${CERBERUS_PRIVATE_OUTPUT_DIRECTORY}/emulator/libamdhip64.so.5
    COMMAND ${CMAKE_COMMAND} -E create_symlink cerberus/emulator
            ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/emulator
    VERBATIM)

install(TARGETS cerberus_hip_face
        LIBRARY DESTINATION ${CERBERUS_PRIVATE_LIBDIR}/emulator)
install(CODE "
  foreach(major 5 6)
    file(CREATE_LINK libamdhip64.so.7
         \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CERBERUS_PRIVATE_LIBDIR}/emulator/libamdhip64.so.\${major}\"
         SYMBOLIC)
  endforeach()")
