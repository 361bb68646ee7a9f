// From the bytes of .text to Ops.
//
// An instruction is decoded when a wave first comes to it, by LLVM's
// disassembler: its text, "v_add_f32_dpp v0, v1, v2 row_shr:1", is cut into
// name, operands and modifiers, and the name found in the tables of meanings
// (semantics.h) or by a family's decoder below. So a generation's encodings are
// LLVM's business, and what stands here is one name for what has several, and
// what the operands are. It takes some microseconds, once for each instruction
// of a code object; executing it again takes none of that.
//
// The Ops of a code object are one array with a slot for each word of .text, so
// that the next one of a wave, and the target of a branch, follow from the
// address without a search. A slot that was not decoded has a handler that does
// so and then runs what came out; who gets there at the same time finds it done
// (Decode() takes the lock). An Op is complete before its handler is set, which
// is the last write. Words that are no instruction of the target get a handler
// that faults, and so do instructions that nothing is known of: data between
// functions is not looked at before somebody jumps there.
#ifndef CERBERUS_EMULATOR_DECODE_DECODE_H_
#define CERBERUS_EMULATOR_DECODE_DECODE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/decode/disassembler.h"
#include "emulator/decode/op.h"
#include "emulator/execute/wave.h"

namespace cerberus::emulator {

struct Semantic;

// An instruction's text in parts:
// "v_add_f32_dpp v0, v1, v2 row_shr:1 fi:1".
struct Text {
  std::string mnemonic;  // "v_add_f32"
  std::string encoding;  // "dpp"
  std::vector<std::string> operands;
  std::vector<std::pair<std::string, std::string>> modifiers;
  std::string rest;  // all behind the mnemonic
  u32 word = 0;      // the first of its encoding

  static Text Parse(std::string_view line);
  // The value of a modifier; null if it is not there.
  const std::string* Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  i64 Number(std::string_view name, i64 otherwise) const;
};

// A number as LLVM prints it: decimal, 0x…, or empty.
bool ParseInt(std::string_view text, i64* value);
// "[1,0,1]" to numbers.
std::vector<int> ParseList(std::string_view text);

// The same instruction has other names in other generations; this is the one
// the tables use.
std::string_view CanonicalName(std::string_view mnemonic, Gen gen);
// Takes "_e32", "_e64", "_dpp", "_sdwa", … off a mnemonic.
std::string_view StripEncoding(std::string_view mnemonic,
                               std::string* encoding);

// The instructions of one code object, decoded for one wave size.
class Program {
 public:
  Program(std::uint64_t begin, std::uint64_t end, Gen gen, u32 lanes,
          std::unique_ptr<Disassembler> disassembler);
  ~Program();

  bool Contains(std::uint64_t address) const {
    return address >= begin_ && address < end_;
  }
  // The Op at an address of this program, decoded or not.
  const Op* At(std::uint64_t address) const {
    return ops_ + (address - begin_) / 4;
  }
  std::uint64_t AddressOf(const Op* op) const {
    return begin_ + static_cast<std::uint64_t>(op - ops_) * 4;
  }
  // Decodes the instruction of a slot. A slot whose bytes are no instruction
  // gets a handler that faults.
  void Decode(const Op* slot);
  // The instruction's text, for reports.
  std::string TextAt(std::uint64_t address);

  Gen gen() const { return gen_; }
  u32 lanes() const { return lanes_; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  // --- for the decoders of instruction families ---
  Operand ParseOperand(std::string_view text, Type type);
  // `value` in every lane, two rows for 64-bit types.
  const u32* ConstantRow(u64 value, bool wide);
  template <typename T>
  const T* Keep(T value) {
    auto holder = std::make_shared<T>(std::move(value));
    const T* p = holder.get();
    kept_.push_back(std::move(holder));
    return p;
  }

 private:
  std::string Disassemble(std::uint64_t address, std::uint32_t* size);
  void DecodeText(const Text& text, Op* op);
  void DecodeSemantic(const Text& text, const Semantic& semantic, Op* op);
  void DecodeModifiers(const Text& text, Op* op);
  bool DecodeVopd(std::string_view line, Op* op);
  void ChooseHandler(const Semantic& semantic, const Text& text, Op* op);

  std::uint64_t begin_, end_;
  Gen gen_;
  u32 lanes_;
  std::unique_ptr<Disassembler> disassembler_;
  std::mutex mutex_;
  Op* ops_ = nullptr;  // one per word, and a few behind the end
  std::size_t slots_ = 0;
  std::size_t mapped_ = 0;
  std::map<std::pair<u64, bool>, std::unique_ptr<u32[]>> constants_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::unique_ptr<Op>> seconds_;
};

// Decoders of families; each returns false if the mnemonic is not theirs.
bool DecodeScalarMemory(const Text& text, Program& program, Op* op);
bool DecodeLds(const Text& text, Program& program, Op* op);
bool DecodeFlat(const Text& text, Program& program, Op* op);
bool DecodeBuffer(const Text& text, Program& program, Op* op);
bool DecodeMatrix(const Text& text, Program& program, Op* op);
bool DecodeSmallFloat(const Text& text, Program& program, Op* op);
// True, with no Op written, if a decoder above would take the mnemonic.
bool KnowsFamily(std::string_view mnemonic, Gen gen);

void ExecIllegal(Wave& w, const Op& op);
void ExecUnimplemented(Wave& w, const Op& op);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DECODE_DECODE_H_
