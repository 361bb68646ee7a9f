#include "ptxc/front/ast.h"

#include <algorithm>
#include <iterator>

#include "support/bytes.h"

namespace cerberus::ptx {
namespace {

struct SregInfo {
  std::string_view name;
  Type type;
  bool vector;
};
constexpr SregInfo kSregs[] = {
    {"", Type::kNone, false},
#define PTX_SREG(id, spelling, type, vec, ptx, sm) \
  {spelling, Type::k##type, (vec) != 0},
#include "ptxc/front/ptx_sregs.def"
};

}  // namespace

std::string_view SpecialRegName(SpecialReg reg) {
  return kSregs[static_cast<std::size_t>(reg)].name;
}
Type SpecialRegType(SpecialReg reg) {
  return kSregs[static_cast<std::size_t>(reg)].type;
}
bool SpecialRegIsVector(SpecialReg reg) {
  return kSregs[static_cast<std::size_t>(reg)].vector;
}

Position Module::PositionOf(std::uint32_t offset) const {
  const std::string_view before =
      text.substr(0, std::min<std::size_t>(offset, text.size()));
  const std::size_t newline = before.rfind('\n');
  Position at;
  at.line =
      1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  at.column = static_cast<int>(
      before.size() - (newline == std::string_view::npos ? 0 : newline + 1) +
      1);
  return at;
}

const SourceFile* Module::FileByNumber(std::uint32_t number) const {
  for (const SourceFile& file : files)
    if (file.number == number) return &file;
  return nullptr;
}

std::string_view VarSpaceName(VarSpace space) {
  constexpr std::string_view kNames[] = {".reg",    ".global", ".const",
                                         ".shared", ".local",  ".param",
                                         ".tex",    ".sreg"};
  return kNames[static_cast<std::size_t>(space)];
}

std::uint32_t Variable::alignment() const {
  if (align != 0) return align;
  return std::max(1u, static_cast<std::uint32_t>(BytesOf(type)) * vector);
}

std::uint64_t Variable::EndFrom(std::uint64_t begin) const {
  return AlignUp(begin, alignment()) + size();
}

std::uint32_t Module::FindVariable(std::string_view name) const {
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (variables[i].function == kNoId && variables[i].name == name)
      return static_cast<std::uint32_t>(i);
  return kNoId;
}

std::uint32_t Module::FindFunction(std::string_view name) const {
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return static_cast<std::uint32_t>(i);
  return kNoId;
}

LineIndex::LineIndex(std::string_view text) {
  starts_.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') starts_.push_back(static_cast<std::uint32_t>(i + 1));
}

Position LineIndex::At(std::uint32_t offset) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto line = std::prev(next);
  return {static_cast<int>(std::distance(starts_.begin(), next)),
          static_cast<int>(offset - *line) + 1};
}

Where WhereOf(const Module& module, const Function* function,
              std::uint32_t offset, std::uint32_t loc) {
  Where where;
  const Position at = module.PositionOf(offset);
  where.ptx_line = at.line;
  where.ptx_column = at.column;
  if (function != nullptr) where.kernel = std::string(function->name);
  if (loc < module.locs.size()) {
    const Loc& source = module.locs[loc];
    where.source_line = static_cast<int>(source.line);
    if (const SourceFile* file = module.FileByNumber(source.file))
      where.source_file = std::string(file->name);
  }
  return where;
}

std::string RegisterName(const Function& function, std::uint32_t id) {
  if (id >= function.registers.size()) return "<register>";
  const RegisterDecl& decl =
      function.register_decls[function.registers[id].decl];
  std::string name(decl.name);
  if (decl.ranged) name += std::to_string(id - decl.first);
  return name;
}

}  // namespace cerberus::ptx
