// A code object made by hand: one kernel "k" around given instructions, so
// that tests and fuzzers choose every bit of it. No compiler takes part.
#ifndef CERBERUS_TESTS_UNIT_EMULATOR_CODE_OBJECT_BUILDER_H_
#define CERBERUS_TESTS_UNIT_EMULATOR_CODE_OBJECT_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "support/bytes.h"

namespace cerberus::emulator {

struct HiddenArg {
  std::string kind;  // "hidden_block_count_x"
  std::uint32_t offset, size;
};

struct KernelParts {
  std::string target = "gfx1100";
  std::uint8_t abi_version = 3;  // code object version 5
  int wavefront_size = 32;
  int kernarg_size = 64;
  int lds_size = 0;
  int private_size = 0;
  // FLOAT_DENORM modes on, DX10_CLAMP and IEEE on.
  std::uint32_t rsrc1 = 0xf << 16 | 1 << 21 | 1 << 23;
  // Two user registers (the kernarg pointer) and the workgroup ids.
  std::uint32_t rsrc2 = 2 << 1 | 7 << 7 | 2 << 11;
  std::uint16_t properties = 1 << 3;
  std::uint16_t preload = 0;
  std::uint32_t elf_flags = 0;
  bool names_target = true;  // in the metadata
  std::vector<HiddenArg> args;
  // Further names of the kernel, each with metadata in a note of its own.
  std::vector<std::string> more_names;
};

// MessagePack, as little of it as the metadata needs.
class MsgPackWriter {
 public:
  void Map(std::uint8_t n) { Byte(0x80 | n); }
  void Array(std::uint8_t n) {
    Byte(0xdc);
    Byte(0);
    Byte(n);
  }
  void Text(const std::string& s) {
    Byte(0xd9);
    Byte(static_cast<std::uint8_t>(s.size()));
    out_.insert(out_.end(), s.begin(), s.end());
  }
  void Int(std::uint32_t v) {
    Byte(0xce);
    for (int shift = 24; shift >= 0; shift -= 8) {
      Byte(static_cast<std::uint8_t>(v >> shift));
    }
  }
  void Field(const std::string& key, std::uint32_t v) {
    Text(key);
    Int(v);
  }
  const Bytes& bytes() const { return out_; }

 private:
  void Byte(std::uint8_t b) { out_.push_back(b); }
  Bytes out_;
};

inline Bytes MetadataOf(const KernelParts& parts, const std::string& name) {
  MsgPackWriter m;
  m.Map(parts.names_target ? 2 : 1);
  if (parts.names_target) {
    m.Text("amdhsa.target");
    m.Text("amdgcn-amd-amdhsa--" + parts.target);
  }
  m.Text("amdhsa.kernels");
  m.Array(1);
  m.Map(9);
  m.Text(".name");
  m.Text(name);
  m.Text(".symbol");
  m.Text("k.kd");
  m.Field(".kernarg_segment_size",
          static_cast<std::uint32_t>(parts.kernarg_size));
  m.Field(".kernarg_segment_align", 8);
  m.Field(".group_segment_fixed_size",
          static_cast<std::uint32_t>(parts.lds_size));
  m.Field(".private_segment_fixed_size",
          static_cast<std::uint32_t>(parts.private_size));
  m.Field(".wavefront_size", static_cast<std::uint32_t>(parts.wavefront_size));
  m.Field(".max_flat_workgroup_size", 1024);
  m.Text(".args");
  m.Array(static_cast<std::uint8_t>(parts.args.size()));
  for (const HiddenArg& a : parts.args) {
    m.Map(3);
    m.Text(".value_kind");
    m.Text(a.kind);
    m.Field(".offset", a.offset);
    m.Field(".size", a.size);
  }
  return m.bytes();
}

// Layout: headers, dynamic table, symbols, names, hash, the descriptor and the
// metadata in the first two pages; the code in the third.
inline Bytes BuildCodeObject(const KernelParts& parts, ByteSpan code) {
  constexpr std::uint64_t kText = 0x2000, kDynamic = 0x200, kSymbols = 0x280,
                          kNames = 0x300, kHash = 0x320, kDescriptor = 0x340,
                          kNote = 0x400;
  std::vector<Bytes> notes = {MetadataOf(parts, "k")};
  for (const std::string& name : parts.more_names) {
    notes.push_back(MetadataOf(parts, name));
  }
  Bytes out(kText + code.size(), 0);
  const auto put = [&out](std::uint64_t at, auto value) {
    StoreLe(out.data() + at, value);
  };
  const auto put_text = [&out](std::uint64_t at, std::string_view s) {
    std::memcpy(out.data() + at, s.data(), s.size());
  };
  put_text(0,
           "\x7f"
           "ELF");
  out[4] = 2, out[5] = 1, out[6] = 1, out[7] = 64;
  out[8] = parts.abi_version;
  put(16, std::uint16_t{3});    // ET_DYN
  put(18, std::uint16_t{224});  // EM_AMDGPU
  put(20, std::uint32_t{1});
  put(32, std::uint64_t{64});  // program headers
  put(48, parts.elf_flags);
  put(52, std::uint16_t{64});
  put(54, std::uint16_t{56});
  put(56, std::uint16_t{4});
  const auto segment = [&](int i, std::uint32_t type, std::uint32_t flags,
                           std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t at = 64 + 56 * static_cast<std::uint64_t>(i);
    put(at, type);
    put(at + 4, flags);
    put(at + 8, offset);
    put(at + 16, offset);
    put(at + 24, offset);
    put(at + 32, size);
    put(at + 40, size);
    put(at + 48, std::uint64_t{4096});
  };
  std::uint64_t note_size = 0;
  for (const Bytes& note : notes) note_size += 20 + AlignUp(note.size(), 4);
  segment(0, 1, 4, 0, kNote + note_size);
  segment(1, 1, 5, kText, code.size());
  segment(2, 2, 6, kDynamic, 80);
  segment(3, 4, 4, kNote, note_size);
  const std::uint64_t dynamic[] = {6,  kSymbols, 5,     kNames, 10,
                                   16, 4,        kHash, 0,      0};
  for (int i = 0; i < 10; ++i) {
    put(kDynamic + 8 * static_cast<std::uint64_t>(i), dynamic[i]);
  }
  // Symbol 1: "k.kd", an object of 64 bytes.
  put(kSymbols + 24, std::uint32_t{1});
  out[kSymbols + 28] = 0x11;
  put(kSymbols + 30, std::uint16_t{1});
  put(kSymbols + 32, std::uint64_t{kDescriptor});
  put(kSymbols + 40, std::uint64_t{64});
  put_text(kNames + 1, "k.kd");
  put(kHash + 4, std::uint32_t{2});
  put(kDescriptor, static_cast<std::uint32_t>(parts.lds_size));
  put(kDescriptor + 4, static_cast<std::uint32_t>(parts.private_size));
  put(kDescriptor + 8, static_cast<std::uint32_t>(parts.kernarg_size));
  put(kDescriptor + 16, std::uint64_t{kText - kDescriptor});
  put(kDescriptor + 48, parts.rsrc1);
  put(kDescriptor + 52, parts.rsrc2);
  put(kDescriptor + 56, parts.properties);
  put(kDescriptor + 58, parts.preload);
  std::uint64_t at = kNote;
  for (const Bytes& note : notes) {
    put(at, std::uint32_t{7});
    put(at + 4, static_cast<std::uint32_t>(note.size()));
    put(at + 8, std::uint32_t{32});
    put_text(at + 12, "AMDGPU");
    std::memcpy(out.data() + at + 20, note.data(), note.size());
    at += 20 + AlignUp(note.size(), 4);
  }
  if (!code.empty()) std::memcpy(out.data() + kText, code.data(), code.size());
  return out;
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_TESTS_UNIT_EMULATOR_CODE_OBJECT_BUILDER_H_
