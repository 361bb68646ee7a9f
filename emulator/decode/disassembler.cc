#include "emulator/decode/disassembler.h"

#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

// LLVM declares these in a header that lists every target.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace cerberus::emulator {

std::string_view StripEncoding(std::string_view mnemonic,
                               std::string* encoding);  // text.cc

namespace {

// LLVM crashes on an operand of 255, "a literal follows", in an encoding that
// has no room for one, and on SDWA's reserved selections. Such words are no
// instructions: SDWA (GFX9 ISA and RDNA2 ISA, "SDWA"), VOP3 and the buffer
// formats before gfx10, and gfx12's barriers.
bool CrashesLlvm(unsigned major, std::uint32_t first, std::uint32_t second) {
  constexpr std::uint32_t kLiteral = 255, kSdwa = 249;
  const auto field = [](std::uint32_t word, unsigned at, unsigned bits) {
    return word >> at & ((1u << bits) - 1);
  };
  const std::uint32_t encoding = first >> 26;
  if (major <= 10 && encoding < 0x20 && field(first, 0, 9) == kSdwa) {
    // The sources' S bits make their numbers scalar operands.
    const bool scalar0 = field(second, 23, 1) != 0;
    const bool scalar1 = field(second, 31, 1) != 0;
    const bool compare = first >> 25 == 0x3e;  // VOPC has an sdst there
    return (scalar0 && field(second, 0, 8) == kLiteral) ||
           (scalar1 && field(first, 9, 8) == kLiteral) ||
           field(second, 16, 3) == 7 || field(second, 24, 3) == 7 ||
           (!compare &&
            (field(second, 8, 3) == 7 || field(second, 11, 2) == 3));
  }
  if (major == 9 && encoding == 0x34) {  // VOP3, VOP3P
    const bool compare = field(first, 16, 10) < 0x100;
    return (compare && field(first, 0, 8) == kLiteral) ||
           field(second, 0, 9) == kLiteral || field(second, 9, 9) == kLiteral ||
           field(second, 18, 9) == kLiteral;
  }
  if (major == 9 && (encoding == 0x38 || encoding == 0x3a)) {
    return field(second, 24, 8) == kLiteral;  // MUBUF, MTBUF: soffset
  }
  if (major >= 12 && first >> 23 == 0x17d) {  // SOP1: s_barrier_*
    const std::uint32_t opcode = field(first, 8, 8);
    return opcode >= 0x4e && opcode <= 0x53 && field(first, 0, 8) == kLiteral;
  }
  return false;
}

// LLVM also crashes on the constant of v_fmamk_f16, v_fmaak_f16 and, on gfx9,
// v_madmk_f16 and v_madak_f16 where that is 255: it takes the constant for an
// operand's number.
bool HoldsConstant255(unsigned major, std::uint32_t first,
                      std::uint32_t second) {
  const std::uint32_t opcode = first >> 25;
  const std::uint32_t first_of_two = major >= 10 ? 0x37 : 0x24;
  return second == 255 &&
         (opcode == first_of_two || opcode == first_of_two + 1);
}

}  // namespace

struct Disassembler::Impl {
  std::mutex mutex;
  unsigned major = 0;
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Disassembler::Disassembler(std::shared_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
Disassembler::~Disassembler() = default;

Result<std::unique_ptr<Disassembler>> Disassembler::Create(
    const std::string& processor, const std::string& features) {
  // LLVM's context keeps what it has printed: now and then a new one.
  constexpr unsigned kUses = 1000;
  struct Shared {
    std::shared_ptr<Impl> impl;
    unsigned uses = 0;
  };
  static std::mutex mutex;
  static auto* made = new std::map<std::pair<std::string, std::string>, Shared>;
  std::lock_guard<std::mutex> lock(mutex);
  Shared& shared = (*made)[{processor, features}];
  if (shared.impl == nullptr || ++shared.uses == kUses) {
    Result<std::shared_ptr<Impl>> impl = Make(processor, features);
    if (!impl) return Err(std::move(impl).error());
    shared = {std::move(*impl), 0};
  }
  return std::unique_ptr<Disassembler>(new Disassembler(shared.impl));
}

Result<std::shared_ptr<Disassembler::Impl>> Disassembler::Make(
    const std::string& processor, const std::string& features) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  auto impl = std::make_shared<Impl>();
  // "gfx90a" is 9.0.a, "gfx1201" 12.0.1.
  for (std::size_t i = 3; i + 2 < processor.size(); ++i) {
    impl->major = impl->major * 10 + static_cast<unsigned>(processor[i] - '0');
  }
  std::string error;
  const llvm::Target* target =
      llvm::TargetRegistry::lookupTarget(impl->triple, error);
  if (target == nullptr) return Err(DiagCode::kInternal, error);
  impl->registers.reset(target->createMCRegInfo(impl->triple));
  impl->asm_info.reset(
      target->createMCAsmInfo(*impl->registers, impl->triple, impl->options));
  impl->instructions.reset(target->createMCInstrInfo());
  impl->subtarget.reset(
      target->createMCSubtargetInfo(impl->triple, processor, features));
  if (impl->subtarget == nullptr ||
      !impl->subtarget->isCPUStringValid(processor)) {
    return Err(DiagCode::kUnsupported,
               "LLVM does not know the processor '" + processor + "'");
  }
  impl->context = std::make_unique<llvm::MCContext>(
      impl->triple, impl->asm_info.get(), impl->registers.get(),
      impl->subtarget.get());
  impl->disassembler.reset(
      target->createMCDisassembler(*impl->subtarget, *impl->context));
  impl->printer.reset(target->createMCInstPrinter(
      impl->triple, 0, *impl->asm_info, *impl->instructions, *impl->registers));
  if (impl->disassembler == nullptr || impl->printer == nullptr) {
    return Err(DiagCode::kInternal, "LLVM has no AMDGPU disassembler");
  }
  return impl;
}

std::string Disassembler::Decode(ByteSpan bytes, std::uint64_t address,
                                 std::uint32_t* size) {
  if (bytes.size() >= 8 &&
      CrashesLlvm(impl_->major, LoadLe<std::uint32_t>(bytes.data()),
                  LoadLe<std::uint32_t>(bytes.data() + 4))) {
    *size = 4;
    return "";
  }
  if (bytes.size() >= 8 &&
      HoldsConstant255(impl_->major, LoadLe<std::uint32_t>(bytes.data()),
                       LoadLe<std::uint32_t>(bytes.data() + 4))) {
    // As with another constant, then.
    const std::uint8_t other[8] = {bytes[0], bytes[1], bytes[2], bytes[3],
                                   0xff,     0x7f,     0,        0};
    std::string text = Decode(other, address, size);
    if (const std::size_t at = text.find("0x7fff"); at != text.npos) {
      text.replace(at, 6, "0xff");
    }
    return text;
  }
  std::lock_guard<std::mutex> lock(impl_->mutex);
  llvm::MCInst inst;
  std::uint64_t length = 0;
  const llvm::ArrayRef<std::uint8_t> data(bytes.data(), bytes.size());
  const auto status = impl_->disassembler->getInstruction(
      inst, length, data, address, llvm::nulls());
  if (status == llvm::MCDisassembler::Fail || length == 0 ||
      length > bytes.size()) {
    *size = 4;
    return "";
  }
  *size = static_cast<std::uint32_t>(length);
  std::string printed;
  llvm::raw_string_ostream out(printed);
  impl_->printer->printInst(&inst, address, "", *impl_->subtarget, out);
  out.flush();
  // "\tv_add_f32_e32 v0, v1, v2 ; comment" to words with single spaces.
  std::string text;
  for (const char c : printed) {
    if (c == ';') break;
    const bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<std::string> Disassembler::Mnemonics() {
  std::set<std::string> names;
  // Operand words that some encoding or other accepts: registers v0 and v1 in
  // the places of VOP3, null offsets of SMEM, a few mixed ones.
  static constexpr std::uint32_t kSecond[] = {
      0x00000000, 0x04020100, 0xf8000000, 0x00000100, 0x04000100, 0x02040100,
      0x7c000000, 0x007c0000, 0x00060402, 0x80000200, 0x1c020100, 0x04040408,
      0x1c221108, 0x04020000, 0x00010203, 0x7c7c0000};
  const auto add = [&](std::uint32_t first, std::uint32_t second) {
    std::uint32_t words[5] = {first, second, 0x04020100, 0, 0};
    std::uint32_t size = 0;
    const std::string line = Decode(
        ByteSpan(reinterpret_cast<const std::uint8_t*>(words), sizeof words), 0,
        &size);
    if (line.empty()) return false;
    std::string_view rest = line;
    while (!rest.empty()) {
      const std::size_t split = rest.find(" :: ");
      std::string_view part = rest.substr(0, split);
      part = part.substr(0, part.find(' '));
      names.emplace(StripEncoding(part, nullptr));
      if (split == std::string_view::npos) break;
      rest.remove_prefix(split + 4);
    }
    return true;
  };
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    // VOP1 and SOP1 have opcode bits in the lower half of the word; elsewhere
    // its top three bits are the most that an opcode reaches down to.
    const bool vop1 = (high >> 9) == 0x3f;
    const bool sop1 = (high >> 7) == 0x17d;
    const std::uint32_t step = vop1 || sop1 ? 0x100 : 0x2000;
    for (std::uint32_t low = 0; low < 0x10000; low += step) {
      for (const std::uint32_t bits : {0x00u, 0x02u, 0x101u}) {
        bool done = false;
        for (const std::uint32_t second : kSecond) {
          done = add(high << 16 | low | bits, second);
          if (done && (high >> 12) < 0xc) break;
        }
        if (done && step == 0x100) break;
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace cerberus::emulator
