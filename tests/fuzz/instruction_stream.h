// Valid instructions of a target from arbitrary bytes.
//
// Random words are rarely instructions, and instructions with random
// registers are rarely worth running: nearly every address faults. So a
// record of 14 bytes chooses an encoding class, whose fixed bits are put over
// its words, and whether the operands that hold addresses become the
// registers that the prologue has filled with good ones. LLVM's disassembler
// decides whether the result is an instruction; what is none is left out.
#ifndef CERBERUS_TESTS_FUZZ_INSTRUCTION_STREAM_H_
#define CERBERUS_TESTS_FUZZ_INSTRUCTION_STREAM_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/decode/disassembler.h"
#include "support/bytes.h"

namespace cerberus::emulator {

enum class AddressKind { kPlain, kScalarMemory, kLds, kFlat, kBuffer };
// An encoding class: its fixed upper bits, and the generations it is of.
struct Encoding {
  unsigned bits;
  std::uint32_t value;
  unsigned first, last;
  AddressKind kind = AddressKind::kPlain;
};
inline constexpr Encoding kEncodings[] = {
    {2, 0b10, 9, 12},                                   // SOP2
    {4, 0b1011, 9, 12},                                 // SOPK
    {9, 0b101111101, 9, 12},                            // SOP1
    {9, 0b101111110, 9, 12},                            // SOPC
    {9, 0b101111111, 9, 12},                            // SOPP
    {1, 0b0, 9, 12},                                    // VOP2
    {7, 0b0111111, 9, 12},                              // VOP1
    {7, 0b0111110, 9, 12},                              // VOPC
    {6, 0b110100, 9, 9},                                // VOP3
    {6, 0b110101, 10, 12},                              // VOP3
    {9, 0b110100111, 9, 9},                             // VOP3P
    {8, 0b11001100, 10, 12},                            // VOP3P
    {6, 0b110010, 11, 12},                              // VOPD
    {6, 0b110000, 9, 9, AddressKind::kScalarMemory},    // SMEM
    {6, 0b111101, 10, 12, AddressKind::kScalarMemory},  // SMEM
    {6, 0b110110, 9, 12, AddressKind::kLds},            // DS
    {6, 0b110111, 9, 11, AddressKind::kFlat},           // FLAT
    {6, 0b111011, 12, 12, AddressKind::kFlat},          // VFLAT, VGLOBAL
    {6, 0b111000, 9, 11, AddressKind::kBuffer},         // MUBUF
    {6, 0b111010, 9, 11, AddressKind::kBuffer},         // MTBUF
    {6, 0b110001, 12, 12, AddressKind::kBuffer},        // VBUFFER
    {1, 0b0, 9, 12},                                    // VOP2 is most of code
    {9, 0b110100111, 9, 9},                             // MFMA is among VOP3P
    {8, 0b11001100, 11, 12},                            // WMMA, dot
};

class InstructionStream {
 public:
  static constexpr std::size_t kRecord = 14;

  // `major`, `wave64`: what Device::info() says of the target, and the choice.
  static std::unique_ptr<InstructionStream> Create(const std::string& target,
                                                   unsigned major,
                                                   bool wave64) {
    std::string features;
    if (major >= 10) {
      features = wave64 ? "+wavefrontsize64,-wavefrontsize32"
                        : "+wavefrontsize32,-wavefrontsize64";
    }
    auto made = Disassembler::Create(target, features);
    if (!made) return nullptr;
    return std::unique_ptr<InstructionStream>(
        new InstructionStream(std::move(*made), major, wave64 ? 64 : 32));
  }

  // Registers before the random part: s[2:3] and s[4:7] point at `buffer` (an
  // address, a buffer resource), v[2:3] at a place of its own for each lane,
  // the last lane's close to the buffer's end; v4 is a small offset; the
  // others, VCC, M0 and EXEC hold values from `seed`, mostly ones with
  // something special to them.
  void Prologue(std::uint64_t buffer, std::uint32_t buffer_size,
                std::uint64_t exec, std::uint64_t seed) {
    const auto low = static_cast<std::uint32_t>(buffer);
    const auto high = static_cast<std::uint32_t>(buffer >> 32);
    Scalar(0, 0x40000000);
    Scalar(1, 0);
    Scalar(2, low);
    Scalar(3, high);
    Scalar(4, low);
    Scalar(5, high & 0xffff);
    Scalar(6, buffer_size);
    // DATA_FORMAT 32 bits where the field exists; gfx10 on: bounds check 2.
    Scalar(7, major_ == 9 ? 4u << 15 : 20u << 12 | 2u << 28);
    for (unsigned r = 8; r < 24; ++r) Scalar(r, Value(&seed));
    Scalar(106, Value(&seed));
    Scalar(107, Value(&seed));
    Scalar(major_ >= 11 ? 125 : 124, Value(&seed) & 0xff);
    // v4 = lane * 4, v2 = literal + v4; a literal operand is encoded as 255.
    const unsigned shift = major_ == 9 ? 0x12 : major_ == 10 ? 0x1a : 0x18;
    const unsigned add = major_ == 9 ? 0x34 : 0x25;
    const unsigned exclusive_or = major_ == 9 ? 0x15 : 0x1d;
    Put(shift << 25 | 4 << 17 | 0 << 9 | 130);
    Put(add << 25 | 2 << 17 | 4 << 9 | 255);
    Put(low + buffer_size - 4 * lanes_ - 32);
    Vector(3, high);
    for (unsigned r = 5; r < 32; ++r) {
      Vector(r, Value(&seed));
      if (r % 3 == 0) {
        Put(exclusive_or << 25 | r << 17 | 4 << 9 | (256 + r));
      }
    }
    Scalar(126, static_cast<std::uint32_t>(exec));
    Scalar(127, static_cast<std::uint32_t>(exec >> 32));
  }

  // True if the record became an instruction.
  bool Add(const std::uint8_t* record) {
    std::array<std::uint32_t, 5> words = {
        LoadLe<std::uint32_t>(record + 2), LoadLe<std::uint32_t>(record + 6),
        LoadLe<std::uint32_t>(record + 10), 0, 0};
    const Encoding& encoding = kEncodings[record[0] % std::size(kEncodings)];
    if (encoding.first > major_ || encoding.last < major_) return false;
    words[0] = (words[0] & (~0u >> encoding.bits)) |
               encoding.value << (32 - encoding.bits);
    if ((record[1] & 3) != 0) Aim(encoding.kind, record[1], &words);
    std::uint32_t size = 0;
    const std::string text = disassembler_->Decode(
        ByteSpan(reinterpret_cast<const std::uint8_t*>(words.data()),
                 sizeof words),
        code_.size() * 4, &size);
    if (text.empty() || !Wanted(text)) return false;
    if (text.starts_with("s_branch") || text.starts_with("s_cbranch")) {
      // A few words forwards, now and then back.
      const std::uint32_t by = (record[1] & 0x30) == 0x30
                                   ? 0x10000 - 1 - (words[0] & 7)
                                   : words[0] & 15;
      words[0] = (words[0] & 0xffff0000) | (by & 0xffff);
    }
    for (std::uint32_t i = 0; i < size / 4; ++i) Put(words[i]);
    repeatable_ = repeatable_ && !Unsteady(text);
    text_ += text + "\n";
    return true;
  }

  void End() {
    for (int i = 0; i < 16; ++i) Put(major_ >= 11 ? 0xbfb00000 : 0xbf810000);
  }
  void Clear() {
    code_.clear();
    text_.clear();
    repeatable_ = true;
  }

  ByteSpan bytes() const {
    return ByteSpan(reinterpret_cast<const std::uint8_t*>(code_.data()),
                    code_.size() * 4);
  }
  const std::string& text() const { return text_; }
  // No clock was read, and no address that differs between two devices.
  bool repeatable() const { return repeatable_; }

 private:
  InstructionStream(std::unique_ptr<Disassembler> disassembler, unsigned major,
                    unsigned lanes)
      : disassembler_(std::move(disassembler)), major_(major), lanes_(lanes) {}

  void Put(std::uint32_t word) { code_.push_back(word); }
  // s_mov_b32 and v_mov_b32 with a literal.
  void Scalar(unsigned reg, std::uint32_t value) {
    Put(0xbe8000ff | reg << 16 | (major_ == 10 ? 3u : 0u) << 8);
    Put(value);
  }
  void Vector(unsigned reg, std::uint32_t value) {
    Put(0x7e0002ff | reg << 17);
    Put(value);
  }
  static std::uint32_t Value(std::uint64_t* seed) {
    static constexpr std::uint32_t kSpecial[] = {
        0,          1,          0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000,
        0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00000001, 0x807fffff,
        0x00800000, 0x7f7fffff, 0x3c007c00, 0x7c01fc00, 0x00018001, 0x4b800000,
        0x3ff00000, 0x7ff00000, 0x7ff80001, 0x000fffff, 0x80017fff, 0x5f000000};
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<std::uint32_t>(*seed >> 32);
    return bits % 3 == 0 ? bits : kSpecial[bits / 3 % std::size(kSpecial)];
  }

  // Field positions: the encoding formats of the RDNA2, RDNA3, RDNA4 and
  // CDNA3 manuals ("Microcode Formats").
  void Aim(AddressKind kind, std::uint8_t how,
           std::array<std::uint32_t, 5>* words) const {
    std::uint32_t& a = (*words)[0];
    std::uint32_t& b = (*words)[1];
    std::uint32_t& c = (*words)[2];
    const std::uint32_t null = major_ >= 11 ? 124 : 125;
    switch (kind) {
      case AddressKind::kPlain: break;
      case AddressKind::kScalarMemory: {
        const bool resource = (how & 4) != 0;
        a = (a & ~0x3fu) | (resource ? 2 : 1);
        if (major_ == 9) {
          a = (a & ~(1u << 14)) | 1 << 17;
          b &= 0xfc;
        } else {
          b = null << 25 | (b & 0xfc);
        }
        break;
      }
      case AddressKind::kLds:
        b = (b & ~0xffu) | 4;
        a &= ~0xc0c0u;
        break;
      case AddressKind::kFlat: {
        const bool by_offset = (how & 4) != 0;
        if (major_ == 12) {
          a = (a & ~0x7fu) | (by_offset ? 2 : null);
          c = (c & 0x1f00) | (by_offset ? 4 : 2);
        } else {
          const std::uint32_t off = major_ == 9 ? 127 : null;
          a &= ~0xfc0u;
          b = (b & ~0x7f00ffu) | (by_offset ? 2 : off) << 16 |
              (by_offset ? 4 : 2);
        }
        break;
      }
      case AddressKind::kBuffer:
        if (major_ == 12) {
          a = (a & ~0x7fu) | null;
          b = (b & ~0x3fe00u) | 4 << 9;
          c = (c & 0x3f00) | 4;
        } else {
          a &= ~0xfc0u;
          b = (b & ~0xff1f00ffu) | 128u << 24 | 1 << 16 | 4;
        }
        break;
    }
  }

  // What ends or leaves the stream, or what the emulator leaves out.
  static bool Wanted(std::string_view text) {
    static constexpr std::string_view kUnwanted[] = {"s_endpgm",
                                                     "s_trap",
                                                     "s_setpc",
                                                     "s_swappc",
                                                     "s_rfe",
                                                     "s_call",
                                                     "image_",
                                                     "exp",
                                                     "ds_gws",
                                                     "s_sethalt",
                                                     "tbuffer_load_format",
                                                     "lds_",
                                                     "s_set_gpr_idx_mode",
                                                     "s_cbranch_cdbg",
                                                     "s_cbranch_g",
                                                     "s_cbranch_join",
                                                     "s_barrier",
                                                     "s_sleep_var"};
    for (const std::string_view prefix : kUnwanted) {
      if (text.starts_with(prefix)) return false;
    }
    return true;
  }
  static bool Unsteady(std::string_view text) {
    static constexpr std::string_view kUnsteady[] = {
        "time",         "getreg",  "getpc",   "src_",  "sendmsg", "ttmp",
        "flat_scratch", "wave_id", "s_alloc", "xnack", "setreg"};
    for (const std::string_view word : kUnsteady) {
      if (text.find(word) != std::string_view::npos) return true;
    }
    return false;
  }

  std::unique_ptr<Disassembler> disassembler_;
  unsigned major_, lanes_;
  std::vector<std::uint32_t> code_;
  std::string text_;
  bool repeatable_ = true;
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_TESTS_FUZZ_INSTRUCTION_STREAM_H_
