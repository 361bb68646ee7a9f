# cerberus_room(<name>): the folder is a room. Its sources see its own headers;
# who links the target cerberus_room_<name>, or a library that exports it, sees
# them as "<name>/...". No folder above is on anybody's search path: a room that
# is not linked cannot be included.
function(cerberus_room name)
  set(root ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  add_library(cerberus_room_${name} INTERFACE)
  target_include_directories(cerberus_room_${name} INTERFACE ${root})
  include_directories(${root})
  # Debug information names headers by their places in the tree.
  set(map -ffile-prefix-map=${root}=.)
  target_compile_options(cerberus_room_${name} INTERFACE ${map})
  add_compile_options(${map})
endfunction()
