#include "ptxc/front/opcode_table.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cerberus::ptx {
namespace {

struct TypeInfo {
  std::string_view name;
  TypeKind kind;
  int bits;
};
constexpr TypeInfo kTypeInfo[] = {
    {"", TypeKind::kNone, 0},
#define PTX_TYPE(id, spelling, kind, bits) {spelling, TypeKind::kind, bits},
#include "ptxc/front/ptx_types.def"
};

struct ModInfo {
  ModGroup group;
  std::uint8_t value;
  std::string_view spelling;
};
constexpr ModInfo kMods[] = {
#define PTX_MOD(group, id, spelling) \
  {ModGroup::k##group, static_cast<std::uint8_t>(group::k##id), spelling},
#include "ptxc/front/ptx_modifiers.def"
};
constexpr std::string_view kGroupNames[] = {
#define PTX_GROUP(group, accessor) #group,
#include "ptxc/front/ptx_modifiers.def"
};

// Suffixes that change speed, never results.
bool IsHint(ModGroup g) {
  return g == ModGroup::kCache || g == ModGroup::kL1 || g == ModGroup::kL2 ||
         g == ModGroup::kCacheHint || g == ModGroup::kL2Prefetch ||
         g == ModGroup::kNonCoherent;
}

struct SetInfo {
  std::string_view name;
  std::string_view choices;
};
constexpr SetInfo kSets[] = {
#define PTX_SET(name, choices) {#name, choices},
#include "ptxc/front/ptx_opcodes.def"
};
constexpr std::string_view kOpcodeNames[] = {
#define PTX_OPCODE(id, spelling) spelling,
#include "ptxc/front/ptx_opcodes.def"
};

struct RawRow {
  Opcode opcode;
  std::string_view syntax;
  std::string_view operands;
  std::uint16_t ptx;
  std::string_view sm;
  std::string_view lowering;
  std::string_view notes;
};
constexpr RawRow kRawRows[] = {
#define PTX_OP(id, syntax, operands, ptx, sm, lowering, notes) \
  {Opcode::k##id, syntax, operands, ptx, #sm, #lowering, notes},
#include "ptxc/front/ptx_opcodes.def"
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

// A fault in ptx_opcodes.def; unit tests build the table, so none ships.
[[noreturn]] void BadTable(std::string_view what, std::string_view where) {
  std::fprintf(stderr, "ptx_opcodes.def: %.*s: %.*s\n",
               static_cast<int>(what.size()), what.data(),
               static_cast<int>(where.size()), where.data());
  std::abort();
}

// The table in memory, made from the strings of ptx_opcodes.def: the rows of
// an opcode when a module first holds it, since a small module uses a few and
// making all of them would be most of the time of parsing it.
class Table {
 public:
  Table() : rows_(std::size(kRawRows)) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::string_view name = NameOf(kRawRows[i]);
      by_word_[name.substr(0, name.find('.'))].rows.push_back(&rows_[i]);
    }
  }

  std::span<const OpcodeRow> rows() {
    const std::lock_guard lock(mutex_);
    for (auto& [word, opcode] : by_word_) Make(opcode);
    return rows_;
  }
  const std::vector<const OpcodeRow*>* Find(std::string_view word) {
    const auto it = by_word_.find(word);
    if (it == by_word_.end()) return nullptr;
    const std::lock_guard lock(mutex_);
    Make(it->second);
    return &it->second.rows;
  }

 private:
  struct OfWord {
    std::vector<const OpcodeRow*> rows;
    bool made = false;
  };

  static std::string_view NameOf(const RawRow& raw) {
    return kOpcodeNames[static_cast<std::size_t>(raw.opcode)];
  }

  void Make(OfWord& opcode) {
    if (opcode.made) return;
    opcode.made = true;
    for (const OpcodeRow* row : opcode.rows) {
      MakeRow(static_cast<std::size_t>(row - rows_.data()));
    }
  }

  void MakeRow(std::size_t index) {
    const RawRow& raw = kRawRows[index];
    OpcodeRow& row = rows_[index];
    row.opcode = raw.opcode;
    row.name = NameOf(raw);
    row.syntax = raw.syntax;
    row.operands = raw.operands;
    row.index = static_cast<std::uint16_t>(index);
    row.ptx_version = raw.ptx;
    row.lowering = raw.lowering;
    row.notes = raw.notes;
    std::string_view sm = raw.sm;
    while (!sm.empty() && sm.front() >= '0' && sm.front() <= '9') {
      row.min_sm =
          static_cast<std::uint16_t>(row.min_sm * 10 + (sm.front() - '0'));
      sm.remove_prefix(1);
    }
    row.arch = sm;
    std::vector<SyntaxItem>& items = item_lists_.emplace_back();
    std::vector<std::string_view> words = Split(row.name, '.');
    for (std::size_t i = 1; i < words.size(); ++i)
      items.push_back(Item(std::string(".").append(words[i])));
    for (std::string_view word : Split(row.syntax, ' '))
      if (!word.empty()) items.push_back(Item(word));
    row.items = items;
    std::vector<OperandSpec>& specs = spec_lists_.emplace_back();
    if (!row.operands.empty())
      for (std::string_view text : Split(row.operands, ','))
        specs.push_back(Spec(text));
    // A predicate in front is what testp, vote and others write.
    if (!specs.empty() && specs[0].name == "p" &&
        (specs[0].classes & kOpRegister) != 0) {
      specs[0].classes |= kOpDest;
      specs[0].classes &= ~static_cast<std::uint32_t>(kOpImmediate);
    }
    row.specs = specs;
  }

  SyntaxItem Item(std::string_view text) {
    const auto found = items_.find(text);
    if (found != items_.end()) return found->second;
    SyntaxItem item{};
    std::string_view body = text;
    if (body.front() == '{') {
      if (body.back() != '}') BadTable("unbalanced {", text);
      item.optional = true;
      body = body.substr(1, body.size() - 2);
    }
    std::vector<SyntaxItem::Choice>& choices = choice_lists_.emplace_back();
    AddChoices(body, choices);
    item.choices = choices;
    item.hint = std::all_of(choices.begin(), choices.end(),
                            [](const SyntaxItem::Choice& c) {
                              return !c.is_type && IsHint(c.group);
                            });
    return items_.emplace(std::string(text), item).first->second;
  }

  void AddChoices(std::string_view text, std::vector<SyntaxItem::Choice>& out) {
    for (std::string_view choice : Split(text, '|')) {
      std::string_view group;
      const std::size_t colon = choice.find(':');
      if (choice.front() != '.' && colon != std::string_view::npos) {
        group = choice.substr(0, colon);
        choice.remove_prefix(colon + 1);
      }
      if (choice.front() != '.') {
        const auto set =
            std::find_if(std::begin(kSets), std::end(kSets),
                         [&](const SetInfo& s) { return s.name == choice; });
        if (set == std::end(kSets)) BadTable("unknown set", choice);
        AddChoices(set->choices, out);
        continue;
      }
      out.push_back(MakeChoice(choice.substr(1), group));
    }
  }

  static SyntaxItem::Choice MakeChoice(std::string_view name,
                                       std::string_view group) {
    if (group.empty()) {
      const Type type = TypeFromName(name);
      if (type != Type::kNone)
        return {kTypeInfo[static_cast<std::size_t>(type)].name, true,
                ModGroup{}, static_cast<std::uint8_t>(type)};
    }
    for (const ModInfo& mod : kMods) {
      if (mod.spelling != name) continue;
      if (!group.empty() &&
          group != kGroupNames[static_cast<std::size_t>(mod.group)])
        continue;
      return {mod.spelling, false, mod.group, mod.value};
    }
    BadTable("unknown suffix", name);
  }

  static Type FixedType(std::string_view name) {
    const Type type = TypeFromName(name);
    if (type == Type::kNone) BadTable("unknown operand type", name);
    return type;
  }

  // True if `text` was between these, which go.
  static bool Enclosed(std::string_view& text, char open, char close) {
    if (text.size() < 2 || text.front() != open || text.back() != close) {
      return false;
    }
    text = text.substr(1, text.size() - 2);
    return true;
  }

  // Of an operand that a register can be; returns its name.
  static std::string_view SpecOfRegister(std::string_view text, bool typeless,
                                         OperandSpec& spec) {
    if (Enclosed(text, '{', '}')) {
      spec.classes |= kOpVector;
    } else if (text.ends_with('*')) {
      spec.classes |= kOpScalarOrVector | kOpRegister;
      text.remove_suffix(1);
    } else {
      spec.classes |= kOpRegister;
    }
    for (;; text.remove_suffix(1)) {
      if (text.ends_with('@')) {
        spec.classes |= kOpSymbol | kOpSpecial;
      } else if (text.ends_with('^')) {
        spec.classes |= kOpVector;
      } else if (text.ends_with('~')) {
        spec.classes |= kOpAddress;
      } else {
        break;
      }
    }
    if (text.starts_with('!')) {
      spec.classes |= kOpNegatable;
      text.remove_prefix(1);
    }
    const std::size_t bar = text.find('|');
    if (bar != std::string_view::npos) {
      spec.classes |= kOpPair;
      spec.pair_type = Type::kPred;
      if (text.find('[') == std::string_view::npos)
        spec.classes &= ~static_cast<std::uint32_t>(kOpRegister);
      text = text.substr(0, text.find_first_of("[|"));
      spec.classes |= kOpDest;
    }
    if (text.starts_with('d')) spec.classes |= kOpDest;
    if (typeless && (text.starts_with('p') || text.starts_with('q') ||
                     (spec.classes & kOpNegatable) != 0)) {
      spec.from = OperandSpec::From::kFixed;
      spec.fixed = Type::kPred;
    }
    if ((spec.classes & kOpDest) != 0) spec.classes |= kOpSink;
    else if ((spec.classes & kOpRegister) != 0) spec.classes |= kOpImmediate;
    return text;
  }

  OperandSpec Spec(std::string_view text) {
    const std::string_view whole = text;
    OperandSpec spec{};
    spec.from = OperandSpec::From::kIndexed;
    if (text.ends_with('?')) {
      spec.classes |= kOpOptional;
      text.remove_suffix(1);
    }
    std::string_view type;
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      type = text.substr(colon + 1);
      text = text.substr(0, colon);
    }
    if (type == "x") {
      spec.from = OperandSpec::From::kAny;
    } else if (type == "w") {
      spec.from = OperandSpec::From::kWide;
    } else if (type.size() == 1 && type[0] >= '0' && type[0] <= '9') {
      spec.index = static_cast<std::uint8_t>(type[0] - '0');
    } else if (!type.empty()) {
      spec.from = OperandSpec::From::kFixed;
      spec.fixed = FixedType(type);
    }
    if (text == "tex") {
      spec.classes |= kOpTexture;
      spec.from = OperandSpec::From::kAny;
    } else if (text.starts_with('&')) {
      spec.classes |= kOpLabel | kOpFunction;
      spec.from = OperandSpec::From::kAny;
      text.remove_prefix(1);
    } else if (text.starts_with('#')) {
      spec.classes |= kOpImmediate;
      text.remove_prefix(1);
    } else if (Enclosed(text, '[', ']')) {
      spec.classes |= kOpAddress;
      spec.from = OperandSpec::From::kAny;
    } else if (Enclosed(text, '(', ')')) {
      spec.classes |= kOpList;
      spec.from = OperandSpec::From::kAny;
    } else {
      text = SpecOfRegister(text, type.empty(), spec);
    }
    spec.name = text;
    if (spec.name.empty()) BadTable("operand without a name", whole);
    return spec;
  }

  std::vector<OpcodeRow> rows_;
  std::map<std::string, SyntaxItem, std::less<>> items_;
  std::deque<std::vector<SyntaxItem::Choice>> choice_lists_;
  std::deque<std::vector<SyntaxItem>> item_lists_;
  std::deque<std::vector<OperandSpec>> spec_lists_;
  std::unordered_map<std::string_view, OfWord> by_word_;
  std::mutex mutex_;  // modules are parsed on several threads
};

Table& TheTable() {
  // Never destroyed: a process that has compiled is about to end.
  static Table& table = *new Table;
  return table;
}

constexpr std::size_t kMaxSuffixes = 24;

// The suffixes of one mnemonic, split.
struct Suffixes {
  std::array<std::string_view, kMaxSuffixes> text;
  std::size_t count = 0;
};

const SyntaxItem::Choice* FindChoice(const SyntaxItem& item,
                                     std::string_view suffix) {
  for (const SyntaxItem::Choice& choice : item.choices) {
    if (choice.spelling == suffix) return &choice;
    if (choice.spelling.ends_with('*') &&
        suffix.starts_with(
            choice.spelling.substr(0, choice.spelling.size() - 1)) &&
        suffix.size() >= choice.spelling.size())
      return &choice;
  }
  return nullptr;
}

// One attempt to lay suffixes over a row's syntax.
class Matcher {
 public:
  Matcher(const OpcodeRow& row, const Suffixes& suffixes)
      : row_(row), suffixes_(suffixes) {}

  bool InOrder() { return InOrder(0, 0); }

  // Modifiers in any order, types in order, and so those of one kind: of two
  // state spaces the first is where a copy goes.
  bool AnyOrder() {
    std::array<bool, 64> used{};
    std::size_t type_item = 0;
    std::array<std::size_t, kNumModGroups> group_item{};
    for (std::size_t s = 0; s < suffixes_.count; ++s) {
      chosen_[s] = nullptr;
      for (std::size_t i = 0; i < row_.items.size(); ++i) {
        if (used[i]) continue;
        const SyntaxItem::Choice* choice =
            FindChoice(row_.items[i], suffixes_.text[s]);
        if (choice == nullptr) continue;
        std::size_t& first =
            choice->is_type
                ? type_item
                : group_item[static_cast<std::size_t>(choice->group)];
        if (i < first) continue;
        first = i + 1;
        used[i] = true;
        chosen_[s] = choice;
        break;
      }
      if (chosen_[s] == nullptr) return false;
    }
    for (std::size_t i = 0; i < row_.items.size(); ++i)
      if (!used[i] && !row_.items[i].optional) return false;
    return true;
  }

  void Store(InstForm* form) const {
    form->row = &row_;
    for (std::size_t s = 0; s < suffixes_.count; ++s) {
      const SyntaxItem::Choice& choice = *chosen_[s];
      if (!choice.is_type) {
        form->mods.Add(choice.group, choice.value);
      } else if (form->num_types < kMaxFormTypes) {
        form->types[form->num_types++] = static_cast<Type>(choice.value);
      }
    }
  }

 private:
  bool InOrder(std::size_t i, std::size_t s) {
    if (i == row_.items.size()) return s == suffixes_.count;
    if (s < suffixes_.count) {
      const SyntaxItem::Choice* choice =
          FindChoice(row_.items[i], suffixes_.text[s]);
      if (choice != nullptr) {
        chosen_[s] = choice;
        if (InOrder(i + 1, s + 1)) return true;
      }
    }
    return row_.items[i].optional && InOrder(i + 1, s);
  }

  const OpcodeRow& row_;
  const Suffixes& suffixes_;
  std::array<const SyntaxItem::Choice*, kMaxSuffixes> chosen_{};
};

bool IsWord(std::string_view name, const Suffixes& suffixes) {
  // "cp.async.bulk": all words behind the first are among the suffixes.
  std::size_t at = name.find('.');
  std::size_t s = 0;
  while (at != std::string_view::npos) {
    const std::size_t next = name.find('.', at + 1);
    if (s >= suffixes.count ||
        suffixes.text[s++] != name.substr(at + 1, next - at - 1))
      return false;
    at = next;
  }
  return true;
}

// What PTX has beyond the table, by its begin or by a modifier that no row of
// the opcode has, and why it is not compiled.
struct NamedOnly {
  std::string_view word;
  std::string_view modifier;  // its begin; none: the word says it
  std::string_view reason;
};
constexpr NamedOnly kNamedOnly[] = {
    {"fabric", "",
     "the fabric between NVIDIA's GPUs is hardware that AMD GPUs do not have"},
    {"spdecompress", "",
     "it expands sparse operands of NVIDIA's tensor cores, and its forms are "
     "not known here"},
    {"mbarrier", "multicast::cluster",
     "it arrives at barriers of several blocks of a cluster, and AMD GPUs have "
     "no clusters"},
    {"cp", "override::",
     "bulk tensor copies by other sizes than the map's are not known here"},
};

// Why nothing of an opcode's is compiled, if that is so.
std::string_view WhyNone(const std::vector<const OpcodeRow*>& rows) {
  for (const OpcodeRow* row : rows) {
    if (row->is_supported()) return "";
  }
  return rows.empty() ? "" : rows.front()->notes;
}

std::string_view WhyNamedOnly(std::string_view word, const Suffixes& suffixes) {
  for (const NamedOnly& row : kNamedOnly) {
    if (row.word != word) continue;
    if (row.modifier.empty()) return row.reason;
    for (std::size_t i = 0; i < suffixes.count; ++i) {
      if (suffixes.text[i].starts_with(row.modifier)) return row.reason;
    }
  }
  return "";
}

std::string Describe(std::string_view spelling, std::string_view word,
                     const Suffixes& suffixes,
                     const std::vector<const OpcodeRow*>& rows) {
  // The longest opcode that the spelling starts with is the one meant.
  std::string_view meant;
  for (const OpcodeRow* row : rows)
    if (IsWord(row->name, suffixes) && row->name.size() >= meant.size())
      meant = row->name;
  std::vector<const OpcodeRow*> of_opcode;
  for (const OpcodeRow* row : rows)
    if (meant.empty() || row->name == meant) of_opcode.push_back(row);
  if (meant.empty()) meant = word;
  std::string message;
  std::string_view why = WhyNamedOnly(word, suffixes);
  if (why.empty()) why = WhyNone(of_opcode);
  if (!why.empty()) {
    return "'" + std::string(spelling) +
           "' is not supported: " + std::string(why);
  }
  for (std::size_t s = 0; s < suffixes.count && message.empty(); ++s) {
    const bool known = std::any_of(
        of_opcode.begin(), of_opcode.end(), [&](const OpcodeRow* row) {
          return std::any_of(row->items.begin(), row->items.end(),
                             [&](const SyntaxItem& item) {
                               return FindChoice(item, suffixes.text[s]) !=
                                      nullptr;
                             });
        });
    if (!known)
      message = "'" + std::string(meant) + "' has no modifier '." +
                std::string(suffixes.text[s]) + "'";
  }
  if (message.empty())
    message = "this combination of modifiers and types is not a form of '" +
              std::string(meant) + "'";
  message += "; expected ";
  std::size_t shown = 0;
  for (const OpcodeRow* row : of_opcode) {
    if (shown == 4) {
      message += ", …";
      break;
    }
    message += (shown++ == 0 ? "'" : ", '") + std::string(row->name) +
               (row->syntax.empty() ? "" : " ") + std::string(row->syntax) +
               "'";
  }
  return message;
}

}  // namespace

std::string_view TypeName(Type type) {
  return kTypeInfo[static_cast<std::size_t>(type)].name;
}
TypeKind KindOf(Type type) {
  return kTypeInfo[static_cast<std::size_t>(type)].kind;
}
int BitsOf(Type type) { return kTypeInfo[static_cast<std::size_t>(type)].bits; }

Type TypeFromName(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kTypeInfo); ++i)
    if (kTypeInfo[i].name == name) return static_cast<Type>(i);
  return Type::kNone;
}

std::string_view ModifierName(ModGroup group, std::uint8_t value) {
  for (const ModInfo& mod : kMods)
    if (mod.group == group && mod.value == value) return mod.spelling;
  return "";
}

std::span<const OpcodeRow> OpcodeTable() { return TheTable().rows(); }

std::string_view OpcodeName(Opcode opcode) {
  return kOpcodeNames[static_cast<std::size_t>(opcode)];
}

std::vector<const OpcodeRow*> RowsOf(std::string_view first_word) {
  const std::vector<const OpcodeRow*>* rows = TheTable().Find(first_word);
  return rows == nullptr ? std::vector<const OpcodeRow*>() : *rows;
}

OperandCount CountOperands(const OpcodeRow& row) {
  OperandCount count{0, 0};
  for (const OperandSpec& spec : row.specs) {
    ++count.max;
    if ((spec.classes & kOpOptional) == 0) ++count.min;
  }
  return count;
}

bool ResolveForm(std::string_view spelling, int operands, InstForm* form,
                 std::string* error) {
  const std::size_t dot = spelling.find('.');
  const std::string_view word = spelling.substr(0, dot);
  const std::vector<const OpcodeRow*>* rows = TheTable().Find(word);
  if (rows == nullptr) {
    const std::string_view why = WhyNamedOnly(word, {});
    *error = why.empty() ? "unknown instruction '" + std::string(word) + "'"
                         : "'" + std::string(spelling) +
                               "' is not supported: " + std::string(why);
    return false;
  }
  Suffixes suffixes;
  for (std::size_t at = dot; at != std::string_view::npos;) {
    const std::size_t next = spelling.find('.', at + 1);
    if (suffixes.count == kMaxSuffixes) {
      *error = "more than " + std::to_string(kMaxSuffixes) + " modifiers on '" +
               std::string(word) + "'";
      return false;
    }
    suffixes.text[suffixes.count++] = spelling.substr(
        at + 1, next == std::string_view::npos ? next : next - at - 1);
    at = next;
  }
  const OpcodeRow* wrong_count = nullptr;
  bool wrong_count_in_order = false;
  for (const bool in_order : {true, false}) {
    for (const OpcodeRow* row : *rows) {
      Matcher matcher(*row, suffixes);
      if (!(in_order ? matcher.InOrder() : matcher.AnyOrder())) continue;
      const OperandCount count = CountOperands(*row);
      if (operands >= 0 && (operands < count.min || operands > count.max)) {
        if (wrong_count == nullptr) {
          wrong_count = row;
          wrong_count_in_order = in_order;
        }
        continue;
      }
      *form = InstForm();
      form->spelling = spelling;
      matcher.Store(form);
      return true;
    }
  }
  if (wrong_count != nullptr) {
    // The mnemonic is right; sema reports the operands.
    Matcher matcher(*wrong_count, suffixes);
    if (wrong_count_in_order) matcher.InOrder();
    else matcher.AnyOrder();
    *form = InstForm();
    form->spelling = spelling;
    matcher.Store(form);
    return true;
  }
  *error = Describe(spelling, word, suffixes, *rows);
  return false;
}

namespace {

void Enumerate(const OpcodeRow& row, bool all_hints, std::size_t item,
               int hints, std::string& spelling,
               const std::function<void(std::string_view)>& fn) {
  if (item == row.items.size()) {
    fn(spelling);
    return;
  }
  const SyntaxItem& it = row.items[item];
  if (it.optional) Enumerate(row, all_hints, item + 1, hints, spelling, fn);
  if (it.hint && it.optional && !all_hints && hints != 0) return;
  for (const SyntaxItem::Choice& choice : it.choices) {
    const std::size_t size = spelling.size();
    spelling.append(".").append(choice.spelling);
    // The smallest of the shapes that a * stands for.
    if (spelling.back() == '*')
      spelling.replace(spelling.size() - 1, 1, "n8k16");
    Enumerate(row, all_hints, item + 1,
              hints + (it.hint && it.optional ? 1 : 0), spelling, fn);
    spelling.resize(size);
  }
}

}  // namespace

void ForEachSpelling(const OpcodeRow& row, bool all_hints,
                     const std::function<void(std::string_view)>& fn) {
  std::string spelling(row.name.substr(0, row.name.find('.')));
  Enumerate(row, all_hints, 0, 0, spelling, fn);
}

}  // namespace cerberus::ptx
