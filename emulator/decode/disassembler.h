// LLVM's AMDGPU disassembler, and nothing else of LLVM.
#ifndef CERBERUS_EMULATOR_DECODE_DISASSEMBLER_H_
#define CERBERUS_EMULATOR_DECODE_DISASSEMBLER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::emulator {

// Making LLVM's takes longer than decoding a kernel with it, so that those of
// the same processor and features share one. Decode() may be called from
// several threads at once.
class Disassembler {
 public:
  static Result<std::unique_ptr<Disassembler>> Create(
      const std::string& processor, const std::string& features);
  ~Disassembler();

  // The text of the first instruction, one space between words; empty if the
  // bytes are not an instruction. `size`: its bytes.
  std::string Decode(ByteSpan bytes, std::uint64_t address,
                     std::uint32_t* size);

  // Every mnemonic the disassembler prints for this processor, without
  // encoding suffix, sorted: found by disassembling all opcode fields.
  std::vector<std::string> Mnemonics();

 private:
  struct Impl;
  explicit Disassembler(std::shared_ptr<Impl> impl);
  static Result<std::shared_ptr<Impl>> Make(const std::string& processor,
                                            const std::string& features);
  std::shared_ptr<Impl> impl_;
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DECODE_DISASSEMBLER_H_
