#include "cli/convert/code_object.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace cerberus::cli {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

// MessagePack's short forms, from its specification.
std::string Str(const std::string& text) {
  return static_cast<char>(0xa0 | text.size()) + text;
}
std::string Long(const std::string& text) {
  return "\xd9"s + static_cast<char>(text.size()) + text;
}
template <typename T>
std::string Le(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

const std::string kMetadata =
    "\x82"s + Str("amdhsa.target") + Long("amdgcn-amd-amdhsa--gfx942:xnack-") +
    Str("amdhsa.kernels") + "\x91\x84"s + Str(".name") + Str("_Z1kPi") +
    Str(".vgpr_count") + "\x0c"s + Str(".wavefront_size") + "\x40"s +
    Str(".group_segment_fixed_size") + "\xcd\x04\x00"s;
const std::string kInfo = "\x85"s + Str("abi") + "\x01"s + Str("ptxc") +
                          Str("0.1.0") + Str("ptx") + "\x92\x09\x00"s +
                          Str("sm") + "\x4b"s + Str("failed") + "\x81"s +
                          Str("j") + Str("why");

// Header, note, info, section names, section headers.
std::string Build(const std::string& metadata, const std::string& info) {
  const std::string names = "\0.note\0.cerberus.info\0.shstrtab\0"s;
  std::string note =
      Le(Elf64_Nhdr{7, static_cast<Elf64_Word>(metadata.size()), 32}) +
      "AMDGPU\0\0"s + metadata;
  note.resize((note.size() + 3) & ~std::size_t{3});

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 224;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  const std::uint64_t note_at = sizeof header;
  const std::uint64_t info_at = note_at + note.size();
  const std::uint64_t names_at = info_at + info.size();
  header.e_shoff = names_at + names.size();
  Elf64_Shdr sections[4]{};
  sections[1] = {1, SHT_NOTE, 0, 0, note_at, note.size(), 0, 0, 4, 0};
  sections[2] = {7, SHT_PROGBITS, 0, 0, info_at, info.size(), 0, 0, 1, 0};
  sections[3] = {22, SHT_STRTAB, 0, 0, names_at, names.size(), 0, 0, 1, 0};
  return Le(header) + note + info + names + Le(sections);
}

Result<CodeObject> Read(const std::string& bytes) {
  return ReadCodeObject(AsBytes(bytes), "k.hsaco");
}

TEST(CodeObject, MetadataAndInfo) {
  const Result<CodeObject> object = Read(Build(kMetadata, kInfo));
  ASSERT_TRUE(object.has_value()) << object.error().ToString();
  EXPECT_EQ(object->target, "gfx942:xnack-");
  ASSERT_EQ(object->kernels.size(), 1u);
  EXPECT_EQ(object->kernels[0].name, "_Z1kPi");
  EXPECT_EQ(object->kernels[0].vgprs, 12u);
  EXPECT_EQ(object->kernels[0].wave_size, 64u);
  EXPECT_EQ(object->kernels[0].lds_bytes, 1024u);
  EXPECT_EQ(object->abi, 1);
  EXPECT_EQ(object->ptxc, "0.1.0");
  EXPECT_EQ(object->ptx_version, "9.0");
  EXPECT_EQ(object->sm, 75);
  EXPECT_THAT(object->failed, testing::ElementsAre(testing::Pair("j", "why")));
}

TEST(CodeObject, OtherMakersHaveNoInfo) {
  const Result<CodeObject> object = Read(Build(kMetadata, ""));
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ(object->abi, -1);
  EXPECT_EQ(object->kernels.size(), 1u);
}

TEST(CodeObject, Malformed) {
  const std::string good = Build(kMetadata, kInfo);
  const auto with = [&](std::size_t offset, auto value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return bytes;
  };
  struct {
    const char* what;
    std::string bytes;
    const char* message;
  } const cases[] = {
      {"empty", "", "k.hsaco: offset 0x0: is not a code object"},
      {"text", std::string(100, 'x'), "is not a code object"},
      {"x86", with(offsetof(Elf64_Ehdr, e_machine), Elf64_Half{EM_X86_64}),
       "is not a code object"},
      {"cut", good.substr(0, good.size() - 1), "run past the end"},
      {"section table far away",
       with(offsetof(Elf64_Ehdr, e_shoff), ~std::uint64_t{0}),
       "run past the end"},
      {"header size", with(offsetof(Elf64_Ehdr, e_shentsize), Elf64_Half{8}),
       "section headers of 8 bytes, expected 64"},
      {"names", with(offsetof(Elf64_Ehdr, e_shstrndx), Elf64_Half{9}),
       "section names in section 9 of 4"},
      {"metadata cut", Build(kMetadata.substr(0, 60), kInfo),
       "AMDGPU metadata: MessagePack data is cut short"},
      {"metadata a list", Build("\x90", kInfo), "AMDGPU metadata is not a map"},
      {"info a number", Build(kMetadata, "\x07"),
       ".cerberus.info is not a map"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const Result<CodeObject> object = Read(c.bytes);
    ASSERT_FALSE(object.has_value());
    EXPECT_THAT(object.error().ToString(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace cerberus::cli
