// The syntax tree of a PTX module.
//
// Built for speed and for vectors: names are views into the text (or into
// the module's own arena), everything else is a dense id into a flat vector.
// Names are resolved while parsing: an operand says "register 17 of this
// function", not "%r17". What could not be resolved stays as kUnresolved and
// is reported by sema.
//
//   Module ─ variables[]      every variable: module scope, parameters,
//          │                  function-local (Function::variables lists ids)
//          └ functions[] ─ registers[]     dense ids of this function
//                        ├ labels[]        with the instruction they precede
//                        ├ instructions[]  → form (row + modifiers + types)
//                        ├ operands[]      pool; instructions and composite
//                        │                 operands own ranges of it
//                        └ statements[]    everything in the order written
//
// Lowering walks `instructions` and `labels` (sorted by position), or
// `statements` where it needs scopes, pragmas and .loc in order.
#ifndef CERBERUS_PTXC_FRONT_AST_H_
#define CERBERUS_PTXC_FRONT_AST_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptxc/front/opcode_table.h"
#include "support/diag.h"

namespace cerberus::ptx {

inline constexpr std::uint32_t kNoId = 0xffffffff;

// Half-open range of indices into a pool.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t end() const { return first + count; }
};

// 1-based position in the PTX text.
struct Position {
  int line = 0;
  int column = 0;
};

enum class Linkage : std::uint8_t { kLocal, kVisible, kExtern, kWeak, kCommon };

// State space of a variable. Differs from the modifier group `Space` in that
// it has no generic and no ::cta forms.
enum class VarSpace : std::uint8_t {
  kReg,
  kGlobal,
  kConst,
  kShared,
  kLocal,
  kParam,
  kTex,
  kSreg,
};
std::string_view VarSpaceName(VarSpace space);  // ".reg", ".global", …

// ---- Operands ---------------------------------------------------------------

enum class SpecialReg : std::uint16_t {
  kNone,
#define PTX_SREG(id, spelling, type, vec, ptx, sm) k##id,
#include "ptxc/front/ptx_sregs.def"
};
std::string_view SpecialRegName(SpecialReg reg);  // "%tid"
Type SpecialRegType(SpecialReg reg);              // of one component
bool SpecialRegIsVector(SpecialReg reg);

enum class OperandKind : std::uint8_t {
  kNone,
  kRegister,    // index: register id
  kVariable,    // index: variable id; value: byte offset (sym+off)
  kFunction,    // index: function id
  kLabel,       // index: label id
  kSpecial,     // index: SpecialReg
  kInt,         // value
  kFloat32,     // bits: low 32 are an IEEE single (0f…)
  kFloat64,     // bits: an IEEE double (0d…, or decimal digits)
  kAddress,     // [base+value]: base, index, value
  kVector,      // {…}: children
  kPair,        // d|p: two children
  kList,        // (…) of call: children
  kTexture,     // [t, {c…}] or [t, s, {c…}], tensor addresses: children
  kPrototype,   // index: prototype id (call's last operand)
  kSink,        // _
  kUnresolved,  // name
};

// Which part of a register or special register is meant: %tid.x, %r1.b0.
enum class Component : std::uint8_t {
  kWhole,
  kX,
  kY,
  kZ,
  kW,
  kB0,
  kB1,
  kB2,
  kB3,
  kH0,
  kH1,
  kSelector,  // .b3210, .h10: a SIMD video selector, digits in `value`
};

struct Operand {
  OperandKind kind = OperandKind::kNone;
  OperandKind base = OperandKind::kNone;  // kAddress: kRegister, kVariable,
                                          // kInt (absolute), kUnresolved
  Component part = Component::kWhole;
  bool negated : 1 = false;      // !p
  bool is_unsigned : 1 = false;  // kInt: type .u64 by the manual's rules
  bool unified : 1 = false;      // .unified on an address
  bool element : 1 = false;      // array[%r+1]: `count` is one more than the
                                 // id of the register that counts elements,
                                 // 0 if there is none
  std::uint32_t offset = 0;      // where it stands in the text
  std::uint32_t index = kNoId;   // id, or first child in Function::operands
  std::uint32_t count = 0;       // number of children; kUnresolved: length of
                                 // the name at `offset`
  union {
    std::int64_t value = 0;
    std::uint64_t bits;
  };

  // %r+4 as a value.
  bool adds() const {
    return kind == OperandKind::kRegister && part == Component::kWhole &&
           value != 0;
  }
  bool is_composite() const {
    return kind == OperandKind::kVector || kind == OperandKind::kPair ||
           kind == OperandKind::kList || kind == OperandKind::kTexture;
  }
  Range children() const { return {index, count}; }
};

// ---- Instructions -----------------------------------------------------------

struct Instruction {
  const InstForm* form = nullptr;  // null if the mnemonic did not resolve
  std::uint32_t offset = 0;        // where the mnemonic starts in the text
  std::uint32_t loc = kNoId;       // index into Module::locs in force here
  std::uint32_t guard = kNoId;     // register id of @p
  bool guard_negated = false;      // @!p
  std::uint16_t num_operands = 0;
  std::uint32_t first_operand = 0;  // into Function::operands
  Range operands() const { return {first_operand, num_operands}; }
};
// call has always four operands: the list of returned values, the callee
// (kFunction, kRegister or kUnresolved), the list of arguments, and the
// prototype, call targets or kNone.

struct RegisterDecl {
  std::string_view name;  // "%r" for %r<100>, else the whole name
  std::uint32_t offset = 0;
  std::uint32_t first = 0;  // id of the first register
  std::uint32_t count = 1;
  Type type = Type::kNone;
  std::uint8_t vector = 1;  // .v2, .v4
  bool ranged = false;      // declared as name<count>
};

struct Register {
  Type type = Type::kNone;
  std::uint8_t vector = 1;
  std::uint32_t decl = 0;  // index into Function::register_decls
};

struct Label {
  std::string_view name;
  std::uint32_t offset = 0;
  std::uint32_t position = kNoId;  // index of the instruction it precedes
                                   // (== instructions.size() at the end);
                                   // kNoId: used but not defined
};

// A .loc directive: the CUDA source line of the instructions behind it.
struct Loc {
  std::uint32_t file = 0;  // number in Module::files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string_view function_name;  // label in .debug_str, "" if none
  std::int64_t function_offset = 0;
  bool is_inlined = false;
  std::uint32_t inlined_file = 0;
  std::uint32_t inlined_line = 0;
  std::uint32_t inlined_column = 0;
};

// .callprototype, .calltargets and .branchtargets, by label.
struct Prototype {
  enum class Kind : std::uint8_t {
    kCallPrototype,
    kCallTargets,
    kBranchTargets
  } kind = Kind::kCallPrototype;
  std::string_view name;
  std::uint32_t offset = 0;
  std::vector<std::uint32_t> returns;  // variable ids (space kParam or kReg)
  std::vector<std::uint32_t> params;
  bool noreturn = false;
  std::vector<std::uint32_t> targets;  // function ids or label ids
  std::vector<std::string_view> unresolved;
};

enum class StatementKind : std::uint8_t {
  kInstruction,
  kLabel,
  kRegisterDecl,
  kVariable,
  kScopeBegin,
  kScopeEnd,
  kLoc,
  kPragma,
  kPrototype,
  kSection,
};
struct Statement {
  StatementKind kind;
  std::uint32_t index;  // into the vector the kind names
};

// ---- Declarations -----------------------------------------------------------

// One element of an initialiser, at `byte` in the variable.
struct InitElement {
  enum class Kind : std::uint8_t {
    kInt,
    kFloat32,
    kFloat64,
    kVariable,
    kFunction,  // the address of a symbol (+ addend)
    kUnresolved,
  } kind = Kind::kInt;
  bool generic = false;    // generic(sym): address in the generic space
  std::uint64_t mask = 0;  // 0xFF00(sym): these bits, shifted down; 0: all
  std::uint64_t byte = 0;
  std::uint64_t bits = 0;  // integer or float bits
  std::uint32_t index = kNoId;
  std::int64_t addend = 0;
  std::string_view name;
  std::uint32_t offset = 0;
};

// What `.samplerref s = { … }` says (PTX ISA 9.0, 5.3). Addressing in x, y and
// z is the number of CUaddress_mode.
struct SamplerState {
  std::uint32_t addressing[3] = {0, 0, 0};
  bool linear = false;
  bool force_unnormalized = false;
};

struct Variable {
  std::string_view name;
  std::uint32_t offset = 0;  // in the text
  VarSpace space = VarSpace::kGlobal;
  std::uint8_t bank = 0;  // .const[3]
  Linkage linkage = Linkage::kLocal;
  Type type = Type::kNone;
  std::uint8_t vector = 1;
  bool has_align = false;
  bool is_array = false;
  bool is_pointer = false;            // .ptr attribute of a kernel parameter
  VarSpace pointee = VarSpace::kReg;  // .ptr .global; kReg: not given
  bool is_param = false;              // formal parameter or return value
  bool managed = false;
  bool unified = false;
  std::uint64_t unified_uuid[2] = {0, 0};
  std::uint32_t align = 0;  // .align; 0: the natural alignment
  std::uint32_t pointee_align = 0;
  std::vector<std::uint64_t> dims;  // 0: open ("a[]")
  std::vector<InitElement> init;
  bool has_init = false;
  SamplerState sampler;            // of an initialised .samplerref
  std::string_view init_text;      // as written, for opaque types and printing
  std::uint32_t function = kNoId;  // the function it is local to

  std::uint64_t elements() const {
    std::uint64_t n = vector;
    for (std::uint64_t d : dims) n *= d;
    return n;
  }
  // "a[]": as a function's last parameter it takes an array of any size.
  bool is_open() const { return !dims.empty() && dims[0] == 0; }
  // Bytes of the whole variable (0 for open arrays).
  std::uint64_t size() const {
    return elements() * static_cast<std::uint64_t>(BytesOf(type));
  }
  // Bytes: .align, else the size of an element, which may be a vector.
  std::uint32_t alignment() const;
  // Where it ends if it is put at the first place from `begin` on.
  std::uint64_t EndFrom(std::uint64_t begin) const;
};

// .maxntid and friends: 0 where not given.
struct PerformanceTuning {
  std::uint32_t maxntid[3] = {0, 0, 0};
  std::uint32_t reqntid[3] = {0, 0, 0};
  std::uint32_t reqnctapercluster[3] = {0, 0, 0};
  std::uint32_t minnctapersm = 0;
  std::uint32_t maxnctapersm = 0;
  std::uint32_t maxnreg = 0;
  std::uint32_t maxclusterrank = 0;
  bool explicitcluster = false;
  bool blocksareclusters = false;
  bool noreturn = false;
  std::uint32_t abi_preserve = kNoId;
  std::uint32_t abi_preserve_control = kNoId;
  std::uint8_t maxntid_dims = 0;  // how many numbers were written
  std::uint8_t reqntid_dims = 0;
  std::uint8_t reqncta_dims = 0;
};

struct Function {
  std::string_view name;
  std::uint32_t offset = 0;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::kLocal;
  PerformanceTuning tuning;
  bool managed_unified = false;
  std::vector<std::string_view> pragmas;  // in front of the body
  std::vector<std::uint32_t> returns;     // variable ids
  std::vector<std::uint32_t> params;      // variable ids
  std::vector<std::uint32_t> variables;   // local ones, in order
  std::vector<RegisterDecl> register_decls;
  std::vector<Register> registers;  // by register id
  std::vector<Label> labels;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<Prototype> prototypes;
  std::vector<std::string_view> body_pragmas;
  std::vector<Statement> statements;
  // Parse or type errors inside; such a function cannot be lowered.
  std::uint32_t errors = 0;
};

struct Alias {
  std::string_view alias;
  std::string_view aliasee;
  std::uint32_t alias_function = kNoId;
  std::uint32_t aliasee_function = kNoId;
  std::uint32_t offset = 0;
};

struct SourceFile {
  std::uint32_t number = 0;
  std::string_view name;
  std::uint64_t timestamp = 0;
  std::uint64_t size = 0;
  bool has_stamp = false;
};

struct Section {
  std::string_view name;
  std::string_view text;  // between the braces, as written
  std::uint32_t offset = 0;
};

enum class TopLevelKind : std::uint8_t {
  kVariable,
  kFunction,
  kFile,
  kSection,
  kAlias,
  kPragma,
};
struct TopLevel {
  TopLevelKind kind;
  std::uint32_t index;
};

struct Module {
  std::string_view text;      // must outlive the module
  std::uint16_t version = 0;  // 90: .version 9.0
  std::uint16_t sm = 0;       // 75: .target sm_75
  char arch_suffix = 0;       // 'a', 'f' or 0
  bool debug = false;
  bool map_f64_to_f32 = false;
  bool texmode_independent = false;
  std::vector<std::string_view> target_options;
  std::uint8_t address_size = 64;
  bool has_address_size = false;
  std::vector<SourceFile> files;
  std::vector<Variable> variables;
  std::deque<Function> functions;
  std::vector<Alias> aliases;
  std::vector<Section> sections;
  std::vector<std::string_view> pragmas;
  std::vector<Loc> locs;
  std::vector<TopLevel> order;    // everything at module scope, in order
  std::deque<InstForm> forms;     // one per distinct mnemonic
  std::deque<std::string> arena;  // names that are not in the text

  // Line and column of an offset. Counts lines up to there; for messages,
  // debug information uses LineIndex.
  Position PositionOf(std::uint32_t offset) const;
  const SourceFile* FileByNumber(std::uint32_t number) const;
  std::uint32_t FindVariable(std::string_view name) const;  // module scope
  std::uint32_t FindFunction(std::string_view name) const;
  std::string_view NameOf(const Operand& unresolved) const {
    return text.substr(unresolved.offset, unresolved.count);
  }
};

// Lines of a text by offset, for many look-ups.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  Position At(std::uint32_t offset) const;

 private:
  std::vector<std::uint32_t> starts_;
};

// What a diagnostic says about a place: line and column, the function, and
// the CUDA line if `loc` is one of the module's.
Where WhereOf(const Module& module, const Function* function,
              std::uint32_t offset, std::uint32_t loc);

// "%r12": the name a register was declared by.
std::string RegisterName(const Function& function, std::uint32_t id);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_AST_H_
