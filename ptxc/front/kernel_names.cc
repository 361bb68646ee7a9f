#include "ptxc/front/kernel_names.h"

#include <set>

#include "ptxc/front/parse/lexer.h"

namespace cerberus::ptx {

std::vector<std::string> KernelNames(std::string_view text) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;  // GCC declares each in front
  Lexer lexer(text);
  bool behind_entry = false;
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd;
       token = lexer.Next()) {
    if (behind_entry && token.kind == TokenKind::kIdentifier &&
        seen.insert(token.text).second) {
      names.emplace_back(token.text);
    }
    behind_entry =
        token.kind == TokenKind::kDirective && token.text == ".entry";
  }
  return names;
}

}  // namespace cerberus::ptx
