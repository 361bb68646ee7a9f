// The parser's state, shared by parser.cc (module scope), parser_function.cc,
// parser_variable.cc, parser_body.cc (function bodies), parser_operand.cc and
// parser_expr.cc (constants).
#ifndef CERBERUS_PTXC_FRONT_PARSE_PARSER_IMPL_H_
#define CERBERUS_PTXC_FRONT_PARSE_PARSER_IMPL_H_

#include <string>
#include <string_view>
#include <vector>

#include "ptxc/front/ast.h"
#include "ptxc/front/name_table.h"
#include "ptxc/front/parse/lexer.h"
#include "ptxc/front/parse/parser.h"

namespace cerberus::ptx {

// "%r12" → "%r" and 12. Leading zeros do not matter: %r012 is the same.
bool SplitRangeName(std::string_view name, std::string_view* base,
                    std::uint64_t* number);
// ".param .align 8 .b8 [16]", as messages say it.
std::string TypeText(const Variable& v);

// A constant expression's value (PTX ISA, "Constant Expressions").
struct Constant {
  enum class Kind : std::uint8_t { kInt, kFloat32, kFloat64 } kind = Kind::kInt;
  bool is_unsigned = false;
  std::uint64_t bits = 0;
};

class Parser {
 public:
  Parser(std::string_view text, Module& module, const DiagSink& sink);
  void Run();
  int errors() const { return errors_; }
  int module_errors() const { return module_errors_; }

 private:
  struct Symbol {
    enum class Kind : std::uint8_t {
      kRegister,
      kVariable,
      kFunction,
      kPrototype
    } kind = Kind::kRegister;
    std::uint32_t index = kNoId;
  };
  // A name that may be a label's, which stands behind it.
  struct PendingName {
    std::uint32_t operand;    // in Function::operands, or a list's target
    std::uint32_t prototype;  // the list of branch targets, or kNoId
    std::uint32_t next;       // of the same name and before it, or kNoId
  };
  // What precedes a variable's name.
  struct DeclHead {
    Variable variable;
    bool ok = false;
  };

  // parser.cc
  void Header();
  bool AtLinkage(Linkage* linkage) const;
  void TopLevelItem();
  void SkipWord();
  void Version();
  void Target();
  void AddressSize();
  void FileDirective();
  void SectionDirective();
  void IntermediateSource();
  void AliasDirective();
  bool PragmaDirective(std::vector<std::string_view>& out);

  // parser_function.cc
  void FunctionItem(Linkage linkage, bool is_entry);
  bool FunctionHead(bool is_entry);
  void EnterFunction();
  void LeaveFunction();
  void MergeWithDeclaration(std::uint32_t first_id);
  void NameFunctionOutside();
  void CompareDeclarations(const Function& first, const Function& again);
  bool IsParameterHere(std::string_view name) const;
  bool ParameterList(std::vector<std::uint32_t>& out, char close,
                     bool declares);
  void TuningDirectives(Function& function);
  bool Numbers(std::uint32_t* out, std::uint8_t max, std::uint8_t* count);

  // parser_variable.cc
  bool AtQualifier() const {
    return AtDirective(".align") || AtDirective(".attribute");
  }
  bool AtVariable() const;
  bool AtSpace(VarSpace* space) const;
  bool Qualifier(Variable& variable);
  DeclHead VariableHead();
  bool VariableAttributes(Variable& variable);
  void VariableItem(Linkage linkage);
  bool Declarators(const Variable& head, std::vector<std::uint32_t>* ids);
  bool NumberedVariables(const Variable& v, std::vector<std::uint32_t>* ids);
  bool BindVariable(const Variable& v, std::uint32_t* id, bool* replaces);
  bool VariableInitialiser(Variable& v);
  bool ArrayDims(Variable& variable);
  bool Initialiser(Variable& variable, std::size_t depth, std::uint64_t base,
                   std::uint64_t stride, std::uint64_t end, int nesting);
  bool InitialiserElement(Variable& variable, std::uint64_t byte);
  bool SamplerInitialiser(SamplerState* state);
  std::uint32_t AddVariable(Variable variable);
  std::uint32_t AddFunction(Function function);

  // parser_body.cc
  void Body(Function& function);
  void BodyStatement();
  void RegisterDirective(const DeclHead& head);
  bool HoldsElementOf(std::string_view base, std::uint32_t count) const;
  bool IsElementOfRange(std::string_view name) const;
  void DeclareRegisters(std::string_view name, std::uint32_t offset,
                        std::uint32_t count, bool ranged, Type type,
                        std::uint8_t vector);
  void LocDirective();
  void LabelStatement(const Token& name);
  void PrototypeStatement(const Token& name, Prototype::Kind kind);
  void InstructionStatement();
  void NameLabel(Operand* operand);
  bool CallOperands();

  // parser_operand.cc
  bool ParseOperand(Operand* out);
  bool IsPlain(const Operand& operand);
  bool IsInteger(const Operand& operand) const;
  bool OperandAtom(Operand* out, bool in_address);
  bool BracketOperand(Operand* out);
  void TakeChildren(std::size_t base, Operand* out);
  bool OperandList(char close, OperandKind kind, Operand* out);
  bool ElementOf(Operand* array);
  bool ComponentOf(Operand* operand);
  bool ResolveName(const Token& name, Operand* out);
  std::uint32_t RangeElement(std::string_view name, std::size_t* depth);
  void AddPending(std::string_view name, std::uint32_t operand,
                  std::uint32_t prototype = kNoId);
  void LeaveScope();
  void EnterScope();
  bool ResolveWith(std::string_view modifier, std::string_view spelling,
                   int operands, InstForm* form);
  const InstForm* FormOf(std::string_view spelling, int operands,
                         std::uint32_t offset);

  // parser_expr.cc
  bool ConstantExpression(Constant* out);
  static int PrecedenceOf(const Token& token);
  static constexpr int kProduct = 11;  // the precedence of *, / and %
  bool IntBinary(const Token& op, const Constant& right, Constant* out);
  bool Binary(int min_precedence, int depth, Constant* out);
  bool Unary(int depth, Constant* out);
  bool Literal(Constant* out);
  bool Addends(std::uint64_t* sum);
  bool UnsignedNumber(std::uint64_t* out);

  // Tokens.
  void Advance() { token_ = lexer_.Next(); }
  bool At(char c) const { return token_.Is(c); }
  bool AtDirective(std::string_view text) const {
    return token_.kind == TokenKind::kDirective && token_.text == text;
  }
  bool Accept(char c) {
    if (!token_.Is(c)) return false;
    Advance();
    return true;
  }
  bool Expect(char c, const char* context);
  bool ExpectIdentifier(const char* what, Token* out);
  bool Error(std::uint32_t offset, std::string message);
  void Warn(std::uint32_t offset, std::string message);
  void Report(Severity severity, std::uint32_t offset, std::string message);
  bool Fatal(std::uint32_t offset, std::string message);
  bool ErrorHere(const std::string& expected);
  std::string Found() const;
  void StraySemicolon(const std::string& expected);
  void SkipStatement();

  std::string_view text_;
  Module& module_;
  const DiagSink& sink_;
  Lexer lexer_;
  Token token_;
  int errors_ = 0;
  int module_errors_ = 0;
  bool stop_ = false;

  NameTable<Symbol> names_;
  NameTable<std::uint32_t> ranges_;  // name of %r<100> → range_scopes_ index
  struct RangeScope {
    std::uint32_t decl;   // in register_decls
    std::uint32_t outer;  // the range of this name around it, or kNoId
    std::size_t depth;    // of its scope
  };
  std::vector<RangeScope> range_scopes_;
  NameTable<std::uint32_t> labels_;
  NameTable<SpecialReg> special_;
  struct CachedForm {
    const InstForm* form;
    int min;
    int max;
    std::uint32_t next;  // in form_cache_, or kNoId
  };
  NameTable<std::uint32_t> form_index_;
  std::vector<CachedForm> form_cache_;

  Function* function_ = nullptr;
  std::uint32_t function_id_ = kNoId;
  std::uint32_t loc_ = kNoId;
  std::size_t scope_depth_ = 0;
  std::size_t plain_digit_names_ = 0;  // registers like "r1", not ranged
  std::vector<PendingName> pending_;
  NameTable<std::uint32_t> pending_names_;  // the last one of each name
  struct ScopeMark {
    std::uint32_t pending;
    std::size_t labels;
  };
  std::vector<ScopeMark> scope_marks_;
  std::vector<std::uint32_t> scope_labels_;  // of the scopes that are open
  std::vector<Operand> scratch_;
  std::vector<Operand> operand_buffer_;
  std::vector<Instruction> instruction_buffer_;
  std::vector<Statement> statement_buffer_;
  int nesting_ = 0;
  int open_braces_ = 0;                          // of lists in the statement
  std::vector<std::uint32_t> module_registers_;  // where their .reg stand
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_PARSE_PARSER_IMPL_H_
