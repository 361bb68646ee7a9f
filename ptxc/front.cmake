# The front half of ptxc: PTX text to a checked syntax tree. No LLVM.
add_library(cerberus_ptx STATIC
  ast.cc
  kernel_names.cc
  lexer.cc
  opcode_table.cc
  parser.cc
  parser_body.cc
  parser_expr.cc
  parser_function.cc
  parser_operand.cc
  parser_variable.cc
  printer.cc
  sema.cc
  sema_instruction.cc
  sema_operand.cc)
target_link_libraries(cerberus_ptx PUBLIC cerberus_room_ptxc cerberus_support)
