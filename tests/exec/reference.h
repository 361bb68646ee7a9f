// What the PTX manual says an instruction computes, for the instructions that
// turn register values into register values.
//
// Written from PTX ISA 9.0 alone: it takes a mnemonic apart by itself and
// shares no table, type or helper with ptxc, so that an error on either side
// shows as a difference.
#ifndef CERBERUS_TESTS_EXEC_REFERENCE_H_
#define CERBERUS_TESTS_EXEC_REFERENCE_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exec/soft_float.h"
#include "tests/exec/value.h"

namespace cerberus::exec {

// A PTX type: "f16x2" is two elements of 16 bits.
struct PtxType {
  enum class Kind { kPred, kBits, kUnsigned, kSigned, kFloat } kind;
  std::string_view name;
  int bits = 0;  // of the whole value
  int elements = 1;
  int element_bits() const { return bits / elements; }
  bool is_int() const {
    return kind == Kind::kUnsigned || kind == Kind::kSigned;
  }
  bool is_signed() const { return kind == Kind::kSigned; }
  bool is_float() const { return kind == Kind::kFloat; }
};
std::optional<PtxType> FindType(std::string_view name);
// The IEEE format of a floating-point type's element.
const FloatFormat& FormatOf(const PtxType& type);

// A mnemonic, cut at its dots. Copies share the text, so that words stay
// valid as long as any copy lives.
class Spelling {
 public:
  explicit Spelling(std::string_view text);
  const std::string& text() const { return *text_; }
  std::string_view opcode() const { return words_[0]; }
  bool Has(std::string_view word) const;
  // The first word, behind the opcode, that is one of these; "" if none.
  std::string_view OneOf(std::initializer_list<std::string_view> words) const;
  const std::vector<PtxType>& types() const { return types_; }
  const PtxType& type(std::size_t i = 0) const { return types_.at(i); }
  const std::vector<std::string_view>& words() const { return words_; }

 private:
  std::shared_ptr<const std::string> text_;
  std::vector<std::string_view> words_;
  std::vector<PtxType> types_;
};

// An expected value and how close the result has to be.
struct Want {
  enum class Match {
    kExact,     // bit by bit
    kAny,       // the manual leaves it open
    kEither,    // `bits` or `other`
    kUlps,      // at most `tolerance` units in the last place
    kAbsolute,  // at most `tolerance` away
    kRelative,  // at most `tolerance` times the value away
  } match = Match::kExact;
  Value bits = 0;
  Value other = 0;
  double tolerance = 0;
  // Whether a NaN has to be this one, as few instructions say, or any NaN of
  // the type will do.
  bool this_nan = false;
};

// One instruction to execute on many inputs.
struct ValueTest {
  std::shared_ptr<const Spelling> spelling;  // keeps what `expect` refers to
  // Operand types; registers of the next fitting size hold them.
  std::vector<PtxType> outputs;
  std::vector<PtxType> inputs;
  // The PTX to run: %d0, %d1, … and %a0, %a1, … are the registers. Empty:
  // "<spelling> %d0, %a0, %a1, …;".
  std::string body;
  // One expectation per output.
  std::function<std::vector<Want>(std::span<const Value>)> expect;
  // Inputs the generic edge values would miss.
  std::vector<std::vector<Value>> extra_cases;
};

// `operands`: the row's operand pattern ("d,a,b,c"), where forms of one
// spelling differ only there. Empty if there is no reference.
std::vector<ValueTest> ReferencesFor(std::string_view spelling,
                                     std::string_view operands);

// True if `got` is what `want` asks for in a register of `type`.
bool Matches(const Want& want, const PtxType& type, Value got);

// Edge values of a type: zeros, extremes, denormals, infinities, NaNs, …
std::vector<Value> EdgeValues(const PtxType& type);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_REFERENCE_H_
