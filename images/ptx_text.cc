#include "images/ptx_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "ptxc/front/parse/lexer.h"

namespace cerberus::images {
namespace {

using ptx::Lexer;
using ptx::Token;
using ptx::TokenKind;

constexpr std::string_view kVersion = ".version";

// Goes through the directives of one module after the other. A token is looked
// at before it is taken, so that what does not belong to a module is not in it.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text), lexer_(text) {}

  // The module that begins at `begin`, where .version stands; empty if none
  // does.
  std::string_view ModuleAt(std::size_t begin) {
    lexer_.Seek(static_cast<std::uint32_t>(begin));
    Advance();
    has_function_ = false;
    if (Header()) {
      while (Item()) {
      }
    }
    if (!has_function_) return {};
    return text_.substr(begin, end_ - begin);
  }
  // Where the next module may begin.
  std::size_t seen() const {
    return token_.kind == TokenKind::kError ? lexer_.offset() : token_.offset;
  }
  // Behind the last module nothing but comments and blanks.
  bool IsAtEnd() const {
    return token_.kind == TokenKind::kEnd && end_of_last_ == end_;
  }

 private:
  void Advance() {
    end_of_last_ = lexer_.offset();
    token_ = lexer_.Next();
  }
  bool At(std::string_view directive) const {
    return token_.kind == TokenKind::kDirective && token_.text == directive;
  }
  bool Accept(TokenKind kind) {
    if (token_.kind != kind) return false;
    Advance();
    return true;
  }
  bool Accept(char c) {
    if (!token_.Is(c)) return false;
    Advance();
    return true;
  }
  // The text up to the token just taken belongs to the module.
  bool Ends() {
    end_ = end_of_last_;
    return true;
  }
  // The text breaks off, or the next module begins.
  bool IsBroken() const {
    return token_.kind == TokenKind::kEnd || token_.kind == TokenKind::kError ||
           At(kVersion);
  }

  // .version 8.0, .target sm_80, texmode_independent
  bool Header() {
    if (!At(kVersion)) return false;
    Advance();
    if (!Accept(TokenKind::kFloat64) || !At(".target")) return false;
    Advance();
    do {
      if (!Accept(TokenKind::kIdentifier)) return false;
    } while (Accept(','));
    return Ends();
  }

  // Behind the brace: up to the one that closes it.
  bool Block() {
    for (int depth = 1; depth > 0; Advance()) {
      if (IsBroken()) return false;
      if (token_.Is('{')) ++depth;
      if (token_.Is('}')) --depth;
    }
    return true;
  }

  bool FileItem() {
    Advance();
    if (!Accept(TokenKind::kInteger) || !Accept(TokenKind::kString))
      return false;
    while (Accept(',')) {
      if (!Accept(TokenKind::kInteger)) return false;
    }
    return Ends();
  }

  bool SectionItem() {
    while (!IsBroken() && !token_.Is('{')) Advance();
    return Accept('{') && Block() && Ends();
  }

  // A variable, a function with or without its body, an alias, a pragma.
  bool Statement() {
    bool is_function = false;
    for (int parentheses = 0;;) {
      if (IsBroken()) return false;
      is_function |= At(".entry") || At(".func");
      if (token_.Is('(')) ++parentheses;
      if (token_.Is(')')) --parentheses;
      if (Accept(';')) return Ends();
      if (!token_.Is('{') || parentheses != 0) {
        Advance();
        continue;
      }
      Advance();
      if (!Block()) return false;
      if (!is_function) continue;  // what an array holds
      has_function_ = true;
      return Ends();
    }
  }

  bool Item() {
    static constexpr std::string_view kStatements[] = {
        ".visible", ".extern", ".weak",   ".common", ".entry",
        ".func",    ".global", ".const",  ".shared", ".local",
        ".tex",     ".reg",    ".pragma", ".alias"};
    if (token_.kind != TokenKind::kDirective) return false;
    if (std::ranges::find(kStatements, token_.text) != std::end(kStatements))
      return Statement();
    if (At(".file")) return FileItem();
    if (At(".section") || At(".nv_intermediate_source_section"))
      return SectionItem();
    if (At(".address_size")) {
      Advance();
      return Accept(TokenKind::kInteger) && Ends();
    }
    return false;
  }

  const std::string_view text_;
  Lexer lexer_;
  Token token_;
  std::size_t end_of_last_ = 0;  // of the token in front of token_
  std::size_t end_ = 0;          // of the module so far
  bool has_function_ = false;
};

// What a lexer can count.
std::string_view Countable(std::string_view text) {
  return text.substr(0, std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

std::vector<std::string_view> ModulesIn(std::string_view text) {
  std::vector<std::string_view> modules;
  text = Countable(text);
  Walk walk(text);
  for (std::size_t at = 0; (at = text.find(kVersion, at)) != text.npos;
       at = std::max(at + kVersion.size(), walk.seen())) {
    const std::string_view module = walk.ModuleAt(at);
    if (!module.empty()) modules.push_back(module);
  }
  return modules;
}

bool BeginsModule(std::string_view text) {
  const Token first = Lexer(Countable(text)).Next();
  return first.kind == TokenKind::kDirective && first.text == kVersion;
}

std::string_view OnlyModule(std::string_view text) {
  text = Countable(text);
  Walk walk(text);
  const std::string_view module = walk.ModuleAt(Lexer(text).Next().offset);
  return walk.IsAtEnd() ? module : std::string_view();
}

}  // namespace cerberus::images
