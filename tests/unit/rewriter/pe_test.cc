#include "rewriter/pe/pe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <optional>

#include "rewriter/extract.h"
#include "rewriter/plan.h"
#include "rewriter/verify.h"
#include "tests/unit/rewriter/conversion.h"
#include "tests/unit/rewriter/pe_builder.h"

namespace cerberus::rewriter {
namespace {

using testing::ApplyPlan;
using testing::BuildPe;
using testing::Convert;
using ::testing::HasSubstr;
using testing::kPeBase;
using testing::Options;
using testing::PeChecksum;
using testing::PeSpec;
using testing::TestPe;

// A fatbin that fills several units of 512 bytes.
std::vector<testing::EntrySpec> Large() {
  return {{.content = std::string(testing::kPtx) + std::string(3000, '\n')}};
}

std::string ErrorOf(const Bytes& bytes) {
  const auto binary = Binary::FromBytes(bytes, "app");
  if (!binary) return binary.error().ToString();
  const auto plan = PlanConversion(*binary, Options());
  return plan ? std::string() : plan.error().ToString();
}

// What the loader of Windows makes of the file: bytes by RVA.
Bytes Loaded(const Bytes& bytes) {
  const auto pe = PeFile::Parse(bytes, "app");
  Bytes memory(pe->optional_header().image_size);
  for (const PeFile::Section& section : pe->sections()) {
    std::copy_n(bytes.data() + section.header.raw_offset, section.loaded_size(),
                memory.data() + section.header.rva);
  }
  return memory;
}

TEST(Pe, ReadsWhatItNeeds) {
  const TestPe made = BuildPe({});
  const auto binary = Binary::FromBytes(made.bytes, "app.dll");
  ASSERT_TRUE(binary) << binary.error().ToString();
  EXPECT_TRUE(binary->is_pe());
  EXPECT_FALSE(binary->is_executable());
  EXPECT_FALSE(binary->is_converted());
  ASSERT_EQ(binary->wrappers().size(), 1u);
  ASSERT_EQ(binary->fatbins().size(), 1u);
  EXPECT_EQ(binary->fatbins()[0].section, ".nv_fatb");
  EXPECT_EQ(binary->fatbins()[0].vaddr, kPeBase + made.at.at(".nv_fatb").rva);
  const auto modules = ExtractModules(*binary);
  ASSERT_TRUE(modules);
  EXPECT_EQ(modules->size(), 1u);

  PeSpec program;
  program.is_dll = false;
  program.has_symbols = true;
  const TestPe exe = BuildPe(program);
  const auto other = Binary::FromBytes(exe.bytes, "app.exe");
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->is_executable());
  EXPECT_NE(other->pe().FindSection(".a_long_name"), nullptr);
}

TEST(Pe, RefusesWhatItCannotTake) {
  struct Row {
    const char* message;
    std::function<void(TestPe&)> change;
  } const rows[] = {
      {"no PE header at 0x80", [](TestPe& pe) { pe.bytes[0x80] = 'X'; }},
      {"no PE header at 0xffffff",
       [](TestPe& pe) { StoreLe(pe.bytes.data() + 0x3c, 0xffffff); }},
      {"is a PE file for x86, expected x86-64",
       [](TestPe& pe) {
         StoreLe<std::uint16_t>(pe.bytes.data() + 0x84, 0x14c);
       }},
      {"an optional header of 96 bytes",
       [](TestPe& pe) {
         StoreLe<std::uint16_t>(pe.bytes.data() + 0x84 + 16, 96);
       }},
      {"of type 0x10b", [](TestPe& pe) { pe.optional()->magic = 0x10b; }},
      {"wraps around",
       [](TestPe& pe) { pe.optional()->image_base = ~std::uint64_t{0xfff}; }},
      {"section headers at",
       [](TestPe& pe) {
         StoreLe<std::uint16_t>(pe.bytes.data() + 0x84 + 2, 0xffff);
       }},
      {"section .text needs",
       [](TestPe& pe) { pe.section(".text")->raw_size = 0x7fffffff; }},
      {"section .rdata overlaps the one before",
       [](TestPe& pe) { pe.section(".text")->virtual_size = 0x5000; }},
      {"bad wrapper magic 0x00000001",
       [](TestPe& pe) { StoreLe<std::uint32_t>(pe.data(".nvFatBi"), 1); }},
      {"which is not in the file",
       [](TestPe& pe) { StoreLe<std::uint64_t>(pe.data(".nvFatBi", 8), 1); }},
      {"fatbin size",
       [](TestPe& pe) {
         StoreLe<std::uint64_t>(pe.data(".nv_fatb", 8), 1 << 20);
       }},
      {"aligned to 256 bytes",
       [](TestPe& pe) { pe.optional()->file_alignment = 256; }},
      {"section .text begins at 0x1000, expected 0x2000",
       [](TestPe& pe) { pe.optional()->headers_size = 0x1200; }},
      {"has bytes of the file in common with .text",
       [](TestPe& pe) {
         pe.section(".text")->raw_offset = pe.section(".rdata")->raw_offset;
       }},
      {"a block of base relocations of 4 bytes",
       [](TestPe& pe) { StoreLe<std::uint32_t>(pe.data(".reloc", 4), 4); }},
      {"a base relocation of type 3, expected 10",
       [](TestPe& pe) {
         StoreLe<std::uint16_t>(pe.data(".reloc", 8), 0x3000);
       }},
      {"base relocations at",
       [](TestPe& pe) { pe.directory(kPeRelocations)->size = 0x10000; }},
      {"the export directory at",
       [](TestPe& pe) { pe.directory(kPeExports)->rva = 0x77777; }},
      {"exports at",
       [](TestPe& pe) {
         StoreLe<std::uint32_t>(pe.data(".rdata", 28 + 20), 1 << 30);
       }},
      {"the debug directory at",
       [](TestPe& pe) { pe.directory(kPeDebug)->rva = 0x77777; }},
      {"certificates at",
       [](TestPe& pe) { *pe.directory(kPeCertificates) = {0x200, 0x200}; }},
  };
  EXPECT_EQ(ErrorOf(BuildPe({}).bytes), "");
  for (const Row& row : rows) {
    TestPe pe = BuildPe({});
    row.change(pe);
    EXPECT_THAT(ErrorOf(pe.bytes), HasSubstr(row.message));
  }
}

TEST(Pe, RefusesEveryTruncation) {
  const TestPe pe = BuildPe({});
  for (std::size_t size = 2; size < pe.bytes.size(); ++size) {
    const Bytes cut(pe.bytes.begin(),
                    pe.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(ErrorOf(cut), "") << size;
  }
}

struct Shape {
  const char* name;
  PeSpec spec;
  const char* tactic;
};

std::vector<Shape> Shapes() {
  static constexpr char kBehind[] = "a section header behind the others";
  static constexpr char kUp[] = "the headers move up";
  std::vector<Shape> shapes;
  const auto add = [&](const char* name, const char* tactic,
                       const std::function<void(PeSpec&)>& change) {
    shapes.push_back({name, {}, tactic});
    change(shapes.back().spec);
  };
  add("dll", kBehind, [](PeSpec&) {});
  add("exe", kBehind, [](PeSpec& s) { s.is_dll = false; });
  add("fixed", kBehind, [](PeSpec& s) { s.is_relocatable = false; });
  add("checksum", kBehind, [](PeSpec& s) { s.has_checksum = true; });
  add("full", kUp, [](PeSpec& s) { s.header_room = 0; });
  add("full, checksum", kUp, [](PeSpec& s) {
    s.header_room = 16;
    s.dos_program = 24;
    s.has_checksum = true;
  });
  add("overlay", kBehind, [](PeSpec& s) {
    s.overlay = Bytes(1001, 0x55);
    s.has_checksum = true;
  });
  add("symbols", kBehind, [](PeSpec& s) { s.has_symbols = true; });
  add("signed", kBehind, [](PeSpec& s) {
    s.certificates = Bytes(264, 0x66);
    s.has_checksum = true;
  });
  add("signed, overlay", kBehind, [](PeSpec& s) {
    s.overlay = Bytes(99, 0x55);
    s.certificates = Bytes(264, 0x66);
  });
  add("large", kBehind, [](PeSpec& s) {
    s.fatbins = {Large(), Large(), Large()};
    s.has_checksum = s.has_symbols = true;
    s.overlay = Bytes(99, 0x55);
  });
  add("loose", kBehind, [](PeSpec& s) {
    s.fatbins = {Large(), Large()};
    s.loose = {{{}}};
  });
  add("none", kBehind, [](PeSpec& s) { s.fatbins = {}; });
  return shapes;
}

TEST(PePlan, EveryShapeConvertsAndVerifies) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(shape.name);
    const TestPe pe = BuildPe(shape.spec);
    const auto done = Convert(pe.bytes);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->plan.tactic.substr(0, 18),
              std::string(shape.tactic).substr(0, 18));
    EXPECT_EQ(done->info.kernel_name, "app");
    EXPECT_EQ(done->info.records.size(), shape.spec.fatbins.size());
    for (const ConvertedInfo::Record& record : done->info.records) {
      EXPECT_TRUE(record.repointed);
    }
    const auto after = PeFile::Parse(done->after, "app.amd");
    ASSERT_TRUE(after);
    const PeFile::Section* marker = after->FindSection(".kpackrf");
    ASSERT_NE(marker, nullptr);
    EXPECT_EQ(kPeBase + marker->header.rva, done->plan.segment_vaddr);
    EXPECT_EQ(marker->header.characteristics, 0x40000040u);
    EXPECT_EQ(after->optional_header().image_size, marker->header.rva + 0x1000);
    // In memory nothing changed but pointers and what was cut.
    const Bytes before = Loaded(pe.bytes), now = Loaded(done->after);
    std::size_t different = 0;
    const auto code = pe.at.find(".nv_fatb")->second;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool in_code = i >= code.rva && i < code.rva + code.size;
      if (before[i] != now[i] && !in_code) ++different;
    }
    const std::size_t debug = shape.spec.overlay.empty() ? 4 : 8;
    EXPECT_LE(different, 8 * shape.spec.fatbins.size() + debug);
    // What stands behind the sections is still there, but for a signature.
    const auto debug_at = pe.at.at(".rdata");
    const auto moved = LoadLe<std::uint32_t>(now.data() + debug_at.rva + 24);
    EXPECT_EQ(
        AsText(ByteSpan(done->after).subspan(moved, shape.spec.overlay.size())),
        AsText(shape.spec.overlay));
    EXPECT_EQ(after->directory(kPeCertificates).size, 0u);
    EXPECT_EQ(done->plan.notes.empty(),
              shape.spec.certificates.empty() && shape.spec.loose.empty());
    if (shape.spec.has_symbols) {
      EXPECT_NE(after->FindSection(".a_long_name"), nullptr);
    }
    const std::size_t field =
        after->signature_offset() + 24 + offsetof(PeOptionalHeader, checksum);
    EXPECT_EQ(after->optional_header().checksum,
              shape.spec.has_checksum ? PeChecksum(done->after, field) : 0);
    EXPECT_THAT(ErrorOf(done->after), HasSubstr("already converted"));
  }
}

TEST(PePlan, DeviceCodeLeavesFromTheEndOfItsSection) {
  PeSpec spec;
  spec.fatbins = {Large(), Large(), Large()};
  const auto all = Convert(BuildPe(spec).bytes);
  ASSERT_TRUE(all);
  const auto pe = PeFile::Parse(all->after, "app");
  const PeFile::Section* section = pe->FindSection(".nv_fatb");
  EXPECT_EQ(section->header.raw_size, 0u);
  EXPECT_EQ(section->header.raw_offset, 0u);
  EXPECT_GT(section->header.virtual_size, 9000u);
  for (const auto& record : all->info.records) EXPECT_EQ(record.flags, 2u);
  const auto binary = Binary::FromBytes(all->after, "app");
  ASSERT_TRUE(binary);
  EXPECT_TRUE(binary->fatbins().empty());
  EXPECT_EQ(binary->wrappers().size(), 3u);

  // Code that something leads to holds what stands before it.
  TestPe held = BuildPe(spec);
  StoreLe<std::uint32_t>(
      held.data(".rdata", 28 + 40),
      held.at.at(".nv_fatb").rva + 3300);  // exports the second fatbin
  const auto some = Convert(held.bytes);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->info.records[0].flags, 0u);
  EXPECT_EQ(some->info.records[1].flags, 0u);
  EXPECT_EQ(some->info.records[2].flags, 2u);
  EXPECT_LT(all->after.size(), some->after.size());
  const auto left = Binary::FromBytes(some->after, "app");
  ASSERT_TRUE(left) << left.error().ToString();
  EXPECT_EQ(left->fatbins().size(), 2u);
}

TEST(PePlan, ReferencesOfCodeAreSeen) {
  PeSpec spec;
  spec.fatbins = {Large()};
  const auto cut = [](const TestPe& pe) {
    const auto done = Convert(pe.bytes);
    return done && !done->plan.cuts.empty();
  };
  TestPe pe = BuildPe(spec);
  EXPECT_TRUE(cut(pe));
  // lea fatbin+8(%rip), %rcx
  const std::uint32_t fatbin = pe.at.at(".nv_fatb").rva;
  const std::uint32_t code = pe.at.at(".text").rva;
  const Bytes lea = {0x48, 0x8d, 0x0d};
  std::copy(lea.begin(), lea.end(), pe.data(".text", 16));
  StoreLe(pe.data(".text", 19), fatbin + 8 - (code + 23));
  EXPECT_FALSE(cut(pe));
  // An offset from the base of the image.
  pe = BuildPe(spec);
  StoreLe(pe.data(".text", 20), fatbin);
  EXPECT_FALSE(cut(pe));
}

TEST(PePlan, HipProgramsAreSplit) {
  // A bundle with one code object, too small to be read but not to be found.
  Bytes bundle;
  for (const char c : std::string_view("__CLANG_OFFLOAD_BUNDLE__")) {
    bundle.push_back(static_cast<std::uint8_t>(c));
  }
  const std::string triple = "hipv4-amdgcn-amd-amdhsa--gfx1100";
  AppendLe<std::uint64_t>(bundle, 1);
  AppendLe<std::uint64_t>(bundle, 2048);
  AppendLe<std::uint64_t>(bundle, 4096);
  AppendLe<std::uint64_t>(bundle, triple.size());
  bundle.insert(bundle.end(), triple.begin(), triple.end());
  bundle.resize(2048 + 4096, 0x42);
  PeSpec spec;
  spec.hip_images = {bundle, bundle};
  const TestPe pe = BuildPe(spec);
  const auto binary = Binary::FromBytes(pe.bytes, "app.dll");
  ASSERT_TRUE(binary) << binary.error().ToString();
  ASSERT_EQ(binary->hip().wrappers.size(), 2u);
  SplitOptions options;
  options.search_paths = {".kpack/app-@GFXARCH@.kpack"};
  options.kernel_name = "app.dll";
  const auto plan = PlanSplit(*binary, options);
  ASSERT_TRUE(plan) << plan.error().ToString();
  EXPECT_GE(plan->bytes_cut(), 2 * bundle.size());
  const Bytes after = ApplyPlan(pe.bytes, *plan);
  const auto verified = VerifyConversion(*binary, *plan, after, "app");
  EXPECT_TRUE(verified) << verified.error().ToString();
  const auto split = Binary::FromBytes(after, "app.dll");
  ASSERT_TRUE(split);
  const auto info = ReadSplit(*split);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->numbers, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(info->kernel_name, "app.dll");
}

TEST(PeVerify, FindsAnyByteThatIsNotAsPlanned) {
  PeSpec spec;
  spec.overlay = Bytes(20, 0x55);
  const TestPe pe = BuildPe(spec);
  const auto done = Convert(pe.bytes);
  ASSERT_TRUE(done);
  const auto binary = Binary::FromBytes(pe.bytes, "app");
  Bytes changed = done->after;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    changed[i] ^= 0x40;
    EXPECT_FALSE(VerifyConversion(*binary, done->plan, changed, "x")) << i;
    changed[i] ^= 0x40;
  }
}

}  // namespace
}  // namespace cerberus::rewriter
