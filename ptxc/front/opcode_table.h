// The PTX instruction set as a table.
//
// One row (ptx_opcodes.def) is one form of an instruction: its syntax as the
// manual writes it, its operands, since when it exists, and what lowers it.
// Parser, checks, lowering dispatch, docs and tests all read this table.
//
// A mnemonic as spelled ("ld.global.nc.v4.f32") is resolved once per spelling
// to an InstForm: the row, the modifiers decoded into typed values, and the
// types in the order written.
#ifndef CERBERUS_PTXC_FRONT_OPCODE_TABLE_H_
#define CERBERUS_PTXC_FRONT_OPCODE_TABLE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cerberus::ptx {

enum class TypeKind : std::uint8_t {
  kNone,
  kPred,
  kBit,
  kUnsigned,
  kSigned,
  kFloat,
  kAltFloat,  // bits in a .bX register read as bf16, tf32, fp8, …
  kPackedInt,
  kPackedFloat,  // also usable as .b32/.b64
  kSubByte,
  kOpaque,
};

enum class Type : std::uint8_t {
  kNone,
#define PTX_TYPE(id, spelling, kind, bits) k##id,
#include "ptxc/front/ptx_types.def"
};
#define PTX_TYPE(id, spelling, kind, bits) +1
inline constexpr int kNumTypes = 1
#include "ptxc/front/ptx_types.def"
    ;

std::string_view TypeName(Type type);  // "f32", "" for kNone
TypeKind KindOf(Type type);
int BitsOf(Type type);  // 0 for kNone
inline int BytesOf(Type type) { return (BitsOf(type) + 7) / 8; }
Type TypeFromName(std::string_view name);  // kNone if unknown
inline bool IsInteger(Type t) {
  return KindOf(t) == TypeKind::kUnsigned || KindOf(t) == TypeKind::kSigned;
}
inline bool IsSigned(Type t) {
  return KindOf(t) == TypeKind::kSigned || t == Type::kS2 || t == Type::kS4 ||
         t == Type::kS16x2 || t == Type::kS8x4;
}
inline bool IsFloat(Type t) { return KindOf(t) == TypeKind::kFloat; }

// The groups of modifiers, and per group an enum of its suffixes whose
// value 0, kNone, means that the instruction has none:
//   mods.rounding() == Rounding::kRn;  mods.space() == Space::kGlobal
enum class ModGroup : std::uint8_t {
#define PTX_GROUP(group, accessor) k##group,
#include "ptxc/front/ptx_modifiers.def"
};
#define PTX_GROUP(group, accessor) +1
inline constexpr int kNumModGroups = 0
#include "ptxc/front/ptx_modifiers.def"
    ;

enum class ModifierEnumsBegin : std::uint8_t {
#define PTX_GROUP(group, accessor) \
  }                                \
  ;                                \
  enum class group : std::uint8_t { kNone,
#define PTX_MOD(group, id, spelling) k##id,
#include "ptxc/front/ptx_modifiers.def"
};

// A row's modifiers, decoded. `first` and `second` hold, per group, the
// suffix met first and second (two state spaces, two layouts).
class Modifiers {
 public:
  std::uint8_t first(ModGroup g) const { return first_[Index(g)]; }
  std::uint8_t second(ModGroup g) const { return second_[Index(g)]; }
  void Add(ModGroup g, std::uint8_t value) {
    (first_[Index(g)] == 0 ? first_ : second_)[Index(g)] = value;
  }

#define PTX_GROUP(group, accessor)                        \
  group accessor() const {                                \
    return static_cast<group>(first(ModGroup::k##group)); \
  }
#include "ptxc/front/ptx_modifiers.def"
  Space space2() const { return static_cast<Space>(second(ModGroup::kSpace)); }
  Layout layout2() const {
    return static_cast<Layout>(second(ModGroup::kLayout));
  }
  int vector_width() const {  // 1, 2, 4 or 8
    return 1 << static_cast<int>(vec());
  }

 private:
  static std::size_t Index(ModGroup g) { return static_cast<std::size_t>(g); }
  std::array<std::uint8_t, kNumModGroups> first_{};
  std::array<std::uint8_t, kNumModGroups> second_{};
};

std::string_view ModifierName(ModGroup group, std::uint8_t value);

enum class Opcode : std::uint16_t {
#define PTX_OPCODE(id, spelling) k##id,
#include "ptxc/front/ptx_opcodes.def"
};
#define PTX_OPCODE(id, spelling) +1
inline constexpr int kNumOpcodes = 0
#include "ptxc/front/ptx_opcodes.def"
    ;

// What an operand of a row may be; several bits may be set.
enum OperandClass : std::uint32_t {
  kOpRegister = 1 << 0,   // a register of the operand's type
  kOpImmediate = 1 << 1,  // a constant (or a symbol's address for mov)
  kOpAddress = 1 << 2,    // [reg+imm], [sym], …
  kOpVector = 1 << 3,     // {a, b}
  kOpPair = 1 << 4,       // d|p
  kOpLabel = 1 << 5,
  kOpFunction = 1 << 6,
  kOpList = 1 << 7,       // call's parenthesised lists
  kOpTexture = 1 << 8,    // [tex, sampler, {coordinates}]
  kOpNegatable = 1 << 9,  // a predicate that may be written !p
  kOpDest = 1 << 10,      // written by the instruction; may be _
  kOpOptional = 1 << 11,
  kOpSymbol = 1 << 12,          // the name of a variable
  kOpSpecial = 1 << 13,         // a special register
  kOpSink = 1 << 14,            // _ allowed
  kOpScalarOrVector = 1 << 15,  // a vector exactly if the row says .vN
};

// How the operand's type follows from the instruction's types.
struct OperandSpec {
  std::string_view name;  // as in the manual: d, a, b, p, …
  std::uint32_t classes;  // OperandClass bits
  enum class From : std::uint8_t {
    kFixed,    // `fixed`
    kIndexed,  // the instruction's type number `index`
    kWide,     // twice as wide as type `index` (mul.wide)
    kAny,      // not checked by type (addresses, handles, labels)
  } from;
  std::uint8_t index;
  Type fixed;
  Type pair_type;  // second half of d|p
};

struct SyntaxItem {
  // One suffix that the syntax allows here.
  struct Choice {
    std::string_view spelling;
    bool is_type;
    ModGroup group;
    std::uint8_t value;  // in `group`, or a Type
  };
  bool optional;
  bool hint;  // every choice is a performance hint without meaning
  std::span<const Choice> choices;
};

struct OpcodeRow {
  Opcode opcode;
  std::string_view name;      // "cp.async.bulk"
  std::string_view syntax;    // column 2 of ptx_opcodes.def
  std::string_view operands;  // column 3
  std::uint16_t index;        // in ptx_opcodes.def, from 0
  std::uint16_t ptx_version;  // 86: PTX 8.6
  std::uint16_t min_sm;       // 75: sm_75; 0: every target
  std::string_view arch;      // "a", "f" if only such targets have it
  std::string_view lowering;  // "LowerAdd", "Unsupported"
  std::string_view notes;     // the reason, where unsupported
  std::span<const SyntaxItem> items;
  std::span<const OperandSpec> specs;
  bool is_supported() const { return lowering != "Unsupported"; }
};

inline constexpr int kMaxFormTypes = 6;

// One resolved spelling.
struct InstForm {
  const OpcodeRow* row = nullptr;
  Modifiers mods;
  std::array<Type, kMaxFormTypes> types{};
  std::uint8_t num_types = 0;
  std::string_view spelling;  // "ld.global.nc.v4.f32"

  Opcode opcode() const { return row->opcode; }
  Type type(int i = 0) const { return types[static_cast<std::size_t>(i)]; }
};

std::span<const OpcodeRow> OpcodeTable();
std::string_view OpcodeName(Opcode opcode);
// All rows of the opcodes whose name is `name` up to its first dot.
std::vector<const OpcodeRow*> RowsOf(std::string_view first_word);

// Resolves a spelling against the table: first with the suffixes in the
// manual's order, then, as ptxas does, in any order (types stay in order).
// Returns false and says in `error` what was wrong and what is legal.
// `operands`: how many operands follow, to choose between rows that differ
// only there; -1 if not known. `spelling` must outlive the form.
bool ResolveForm(std::string_view spelling, int operands, InstForm* form,
                 std::string* error);

// Calls `fn` with every full spelling a row allows ("add.rn.ftz.sat.f32"),
// in the manual's order. With `all_hints` false, performance hints (cache
// operators, L2 prefetch sizes, …) appear one at a time rather than in all
// their combinations.
void ForEachSpelling(const OpcodeRow& row, bool all_hints,
                     const std::function<void(std::string_view)>& fn);

// How many operands the row takes: {required, at most}.
struct OperandCount {
  int min;
  int max;
};
OperandCount CountOperands(const OpcodeRow& row);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_OPCODE_TABLE_H_
