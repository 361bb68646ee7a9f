#include "rewriter/binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rewriter/extract.h"
#include "tests/unit/rewriter/elf_builder.h"

namespace cerberus::rewriter {
namespace {

using testing::BuildElf;
using ::testing::ElementsAre;
using testing::ElfSpec;
using testing::Fill;
using ::testing::HasSubstr;
using testing::TestElf;

std::string ErrorOf(const Bytes& bytes) {
  const auto binary = Binary::FromBytes(bytes, "app");
  return binary ? "" : binary.error().ToString();
}

TEST(Binary, KnowsFilesByTheirStart) {
  const auto kind = [](std::string_view text) {
    return DetectFileKind(AsBytes(text));
  };
  EXPECT_EQ(kind(""), FileKind::kEmpty);
  EXPECT_EQ(kind("\x7f"
                 "ELF"),
            FileKind::kElf);
  EXPECT_EQ(kind("MZ\x90"), FileKind::kPe);
  EXPECT_EQ(kind("KPAK"), FileKind::kKpack);
  EXPECT_EQ(kind("!<arch>\nx"), FileKind::kStaticLibrary);
  EXPECT_EQ(kind("PK\x03\x04"), FileKind::kZip);
  EXPECT_EQ(kind("\x50\xed\x55\xba"), FileKind::kFatbin);
  EXPECT_EQ(kind("//\n// c\n\n/* d */ .version 8.0"), FileKind::kPtx);
  EXPECT_EQ(kind("// only a comment"), FileKind::kUnknown);
  EXPECT_EQ(kind("hello"), FileKind::kUnknown);
}

TEST(Binary, SaysWhatAFileIsInstead) {
  struct Row {
    std::string content;
    const char* message;
  } const rows[] = {
      {"", "app: is empty"},
      {"hello world", "is neither an ELF nor a PE file (it starts with 68 65"},
      {"MZ", "PE file is cut short: 2 bytes"},
      {"!<arch>\n", "is a static library"},
      {"KPAK", "is a kpack archive"},
      {"PK\x03\x04", "is a zip file"},
      {".version 8.0", "is PTX text"},
      {"\x7f"
       "ELF",
       "cut short"},
      {std::string("\x7f"
                   "ELF\x02\x01\x01",
                   7),
       "cut short"},
      {"\x7f"
       "ELF\x02\x01\x01" +
           std::string(20, '\0'),
       "cut short"},
      {"\x7f"
       "ELF\x01\x01\x01" +
           std::string(90, '\0'),
       "32-bit"},
      {"\x7f"
       "ELF\x02\x02\x01" +
           std::string(90, '\0'),
       "byte order 2"},
  };
  for (const Row& row : rows) {
    const Bytes bytes(row.content.begin(), row.content.end());
    EXPECT_THAT(ErrorOf(bytes), HasSubstr(row.message));
  }
}

TEST(Binary, RefusesElfFilesItCannotTake) {
  struct Row {
    std::function<void(TestElf&)> change;
    const char* message;
  } const rows[] = {
      {[](TestElf& e) { e.header()->e_machine = EM_AARCH64; },
       "for AArch64, expected x86-64"},
      {[](TestElf& e) { e.header()->e_machine = EM_CUDA; },
       "for NVIDIA CUDA, expected x86-64"},
      {[](TestElf& e) { e.header()->e_machine = 9999; }, "machine 9999"},
      {[](TestElf& e) { e.header()->e_type = ET_REL; }, "object file"},
      {[](TestElf& e) { e.header()->e_type = ET_CORE; }, "type 4"},
      {[](TestElf& e) { e.header()->e_phnum = 0; }, "no program headers"},
      {[](TestElf& e) { e.header()->e_phentsize = 40; },
       "program headers of 40 bytes"},
      {[](TestElf& e) { e.header()->e_phoff = 1 << 20; }, "run past its end"},
      {[](TestElf& e) { e.header()->e_phoff = ~0ull - 8; }, "run past its end"},
      {[](TestElf& e) { e.header()->e_shoff = 1 << 20; }, "section headers at"},
      {[](TestElf& e) { e.header()->e_shentsize = 1; },
       "section headers of 1 bytes"},
      {[](TestElf& e) { e.header()->e_shstrndx = 200; },
       "cannot hold the section names"},
      {[](TestElf& e) { e.phdr_of(PT_LOAD)->p_filesz = 1 << 24; },
       "is cut short: program header"},
      {[](TestElf& e) { e.phdr_of(PT_LOAD)->p_offset = ~0ull; },
       "is cut short: program header"},
      {[](TestElf& e) { e.phdr_of(PT_LOAD)->p_memsz = 1; },
       "more bytes in the file"},
      {[](TestElf& e) { e.phdr_of(PT_LOAD)->p_vaddr = ~0ull - 4; },
       "wraps around"},
      {[](TestElf& e) { e.phdr_of(PT_LOAD)->p_vaddr = 1 << 20; },
       "out of the order"},
      {[](TestElf& e) { e.section(".nv_fatbin")->sh_size = 1 << 24; },
       "runs past the end of the file"},
      {[](TestElf& e) {
         for (std::size_t i = 0; i < e.at[".dynamic"].size; i += 16) {
           StoreLe<std::int64_t>(e.data(".dynamic", i), DT_DEBUG);
         }
       },
       "does not end in DT_NULL"},
      {[](TestElf& e) { StoreLe(e.data(".nvFatBinSegment"), 0x1234u); },
       "bad wrapper magic 0x00001234"},
      {[](TestElf& e) {
         StoreLe<std::uint64_t>(e.data(".rela.dyn", 16), 0x7000000);
       },
       "points to 0x7000000, which is not in the file"},
      {[](TestElf& e) {
         StoreLe<std::uint64_t>(e.data(".rela.dyn", 16), e.at[".dynstr"].vaddr);
       },
       "where there is no fatbin"},
      {[](TestElf& e) { StoreLe<std::uint64_t>(e.data(".rela.dyn", 16), 0); },
       "points to no fatbin"},
      {[](TestElf& e) {
         StoreLe<std::uint64_t>(
             e.data(".rela.dyn", 8),
             ELF64_R_INFO(1ul, std::uint64_t{R_X86_64_PC32}));
       },
       "relocation type 2 fills the pointer"},
      {[](TestElf& e) {
         StoreLe<std::uint64_t>(e.data(".nv_fatbin", 8), ~0ull);
       },
       ".nv_fatbin+0x0: fatbin size 18446744073709551615 runs past"},
      {[](TestElf& e) {
         StoreLe<std::uint64_t>(e.data(".nv_fatbin", 16 + 8), 4096);
       },
       ".nv_fatbin+0x10: entry size 4096 runs past the fatbin end"},
  };
  for (const Row& row : rows) {
    TestElf elf = BuildElf({});
    ASSERT_EQ(ErrorOf(elf.bytes), "");
    row.change(elf);
    EXPECT_THAT(ErrorOf(elf.bytes), HasSubstr(row.message));
    EXPECT_THAT(ErrorOf(elf.bytes), HasSubstr("app: "));
  }
}

TEST(Binary, RefusesEveryTruncation) {
  const TestElf elf = BuildElf({});
  for (std::size_t size = 0; size < elf.bytes.size(); ++size) {
    const Bytes cut(elf.bytes.begin(),
                    elf.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(ErrorOf(cut), "") << size;
  }
}

TEST(Binary, FollowsWrappersHoweverTheyAreFilled) {
  for (const Fill fill :
       {Fill::kInPlace, Fill::kRelative, Fill::kRelativeAndInPlace,
        Fill::kSymbol, Fill::kRelr, Fill::kRel, Fill::kRelSymbol}) {
    for (const bool sections : {true, false}) {
      ElfSpec spec;
      spec.fill = fill;
      spec.sections = sections;
      if (fill == Fill::kInPlace) {
        spec.type = ET_EXEC;
        spec.base = 0x400000;
      }
      spec.fatbins = {{{.sm = 70}}, {{.sm = 80}}, {{.sm = 90}}};
      const TestElf elf = BuildElf(spec);
      const auto binary = Binary::FromBytes(elf.bytes, "app");
      ASSERT_TRUE(binary) << binary.error().ToString();
      ASSERT_EQ(binary->wrappers().size(), 3u);
      ASSERT_EQ(binary->fatbins().size(), 3u);
      for (std::uint32_t i = 0; i < 3; ++i) {
        const Wrapper& wrapper = binary->wrappers()[i];
        EXPECT_EQ(wrapper.index, i);
        EXPECT_EQ(wrapper.version, 1u);
        const LocatedFatbin& fatbin = binary->fatbins()[*wrapper.fatbin];
        EXPECT_EQ(fatbin.fatbin.entries[0].sm, 70 + 10 * i);
        EXPECT_THAT(fatbin.wrappers, ElementsAre(i));
      }
    }
  }
}

TEST(Binary, FindsFatbinsWithoutWrapper) {
  ElfSpec spec;
  spec.fatbins = {};
  spec.fill = Fill::kInPlace;
  spec.loose = {{".rodata", {{.sm = 70}}},
                {".cask_resource", {{.sm = 80}}},
                {"__nv_relfatbin", {{.sm = 90}}}};
  const TestElf elf = BuildElf(spec);
  const auto binary = Binary::FromBytes(elf.bytes, "app");
  ASSERT_TRUE(binary) << binary.error().ToString();
  ASSERT_EQ(binary->fatbins().size(), 3u);
  EXPECT_EQ(binary->fatbins()[0].section, ".rodata");
  EXPECT_EQ(binary->fatbins()[1].fatbin.entries[0].sm, 80u);
  EXPECT_TRUE(binary->wrappers().empty());
}

TEST(Binary, WhatOnlyLooksLikeAFatbinIsIgnoredInOtherSections) {
  ElfSpec spec;
  spec.loose = {{".rodata", {{.sm = 70}}}};
  TestElf elf = BuildElf(spec);
  StoreLe<std::uint64_t>(elf.data(".rodata", 8), ~0ull);
  const auto binary = Binary::FromBytes(elf.bytes, "app");
  ASSERT_TRUE(binary) << binary.error().ToString();
  EXPECT_EQ(binary->fatbins().size(), 1u);
}

TEST(Binary, FindsPtxThatIsInNoFatbin) {
  // Anything that is a string will do. The fatbins hold PTX too, one behind a
  // wrapper and one without.
  const std::string text = ".version 7.0\n.target sm_52\n.entry k(){ret;}";
  ElfSpec spec;
  spec.runpath = "\n" + text + "\n";
  spec.loose = {{".rodata", {{.sm = 70}}}};
  for (const bool sections : {true, false}) {
    spec.sections = sections;
    const TestElf elf = BuildElf(spec);
    const auto binary = Binary::FromBytes(elf.bytes, "app");
    ASSERT_TRUE(binary) << binary.error().ToString();
    EXPECT_EQ(binary->fatbins().size(), 2u);
    ASSERT_EQ(binary->texts().size(), 1u);
    EXPECT_EQ(binary->texts()[0].text, text);
    EXPECT_EQ(binary->texts()[0].text.data(),
              AsText(elf.bytes).data() + binary->texts()[0].offset);
  }
}

// A program's own files and those of its runtime, some without a kernel.
TEST(EmbeddedPtx, FilesOfGccAreLinked) {
  const std::string file =
      "// BEGIN PREAMBLE\n.version 6.0\n.target sm_30\n.address_size 64\n";
  const std::string kernel = file + ".entry k(){ret;}\n";
  const std::string function = file + ".func f(){ret;}\n";
  const std::string nvcc = ".version 7.0\n.target sm_52\n.entry n(){}";
  const auto texts_in = [](const std::string& bytes) {
    EmbeddedPtxFinder finder(AsBytes(bytes));
    for (std::size_t at = bytes.find(".version"); at != std::string::npos;
         at = bytes.find(".version", at + 1)) {
      finder.See(at);
    }
    std::vector<std::string> texts;
    for (const EmbeddedPtx& found : std::move(finder).Take()) {
      texts.push_back(found.Linked());
      EXPECT_EQ(found.size() + found.linked_with.size(), texts.back().size());
    }
    return texts;
  };
  const std::string end(1, '\0'), padding(32, '\0'), apart(80, '\0');
  EXPECT_THAT(texts_in(kernel + padding + function + end + function + end),
              ElementsAre(kernel + '\n' + function + '\n' + function));
  EXPECT_THAT(texts_in(function + end + kernel + padding + nvcc + '\n' + end),
              ElementsAre(function + '\n' + kernel, nvcc));
  EXPECT_THAT(texts_in(kernel + apart + kernel + end),
              ElementsAre(kernel, kernel));
  EXPECT_THAT(texts_in(kernel + end + "\x7f" + function + end),
              ElementsAre(kernel));
  EXPECT_THAT(texts_in(function + end + function + end), ::testing::IsEmpty());
  EXPECT_THAT(texts_in(kernel + end + function), ElementsAre(kernel));
}

TEST(Binary, TellsHowTheDriverIsReached) {
  struct Row {
    std::vector<std::string> needed;
    bool cudart, driver;
  } const rows[] = {{{"libc.so.6"}, false, false},
                    {{"libcudart.so.13", "libc.so.6"}, true, false},
                    {{"libcudart.so.11.0"}, true, false},
                    {{"libcuda.so.1"}, false, true},
                    {{"libcudart.so.12", "libcuda.so.1"}, true, true}};
  for (const Row& row : rows) {
    ElfSpec spec;
    spec.needed = row.needed;
    const TestElf elf = BuildElf(spec);
    const auto binary = Binary::FromBytes(elf.bytes, "app");
    ASSERT_TRUE(binary);
    EXPECT_EQ(binary->links_shared_cudart(), row.cudart);
    EXPECT_EQ(binary->links_cuda_driver(), row.driver);
  }
}

// The section says to be eight bytes in front of a segment: the wrapper's
// pointer is in the file, and the wrapper would begin before the file does.
TEST(Binary, HipWrapperInFrontOfItsSegment) {
  ElfSpec spec;
  spec.type = ET_EXEC;
  spec.base = 0x400000;
  spec.fatbins.clear();
  spec.loose = {{".hipFatBinSegment", {{}}}};
  TestElf elf = BuildElf(spec);
  const TestElf::Place& place = elf.at[".hipFatBinSegment"];
  std::fill_n(elf.data(".hipFatBinSegment"), place.size, std::uint8_t{0});
  StoreLe<std::uint32_t>(elf.data(".hipFatBinSegment"), 0x48495046);
  StoreLe<std::uint32_t>(elf.data(".hipFatBinSegment", 4), 1);
  elf.section(".hipFatBinSegment")->sh_addr = spec.base - 8;
  EXPECT_THAT(ErrorOf(elf.bytes), HasSubstr("wrapper 0 runs past its segment"));
}

TEST(Extract, ListsWrappersThenTheRest) {
  ElfSpec spec;
  // A cubin that is no ELF file: kernels unknown, so not "empty".
  spec.fatbins = {{{.kind = 2, .sm = 75}}, {{.sm = 80}, {.sm = 90}}};
  spec.loose = {{".rodata", {{.sm = 70}}}};
  const TestElf elf = BuildElf(spec);
  const auto binary = Binary::FromBytes(elf.bytes, "app");
  ASSERT_TRUE(binary) << binary.error().ToString();
  const auto modules = ExtractModules(*binary);
  ASSERT_TRUE(modules);
  ASSERT_EQ(modules->size(), 3u);
  EXPECT_EQ((*modules)[0].index, 0u);
  EXPECT_FALSE((*modules)[0].has_ptx());
  EXPECT_FALSE((*modules)[0].is_empty_device_link);
  EXPECT_EQ((*modules)[1].index, 1u);
  EXPECT_EQ((*modules)[1].entries.size(), 2u);
  EXPECT_FALSE((*modules)[2].index.has_value());
  EXPECT_THAT((*modules)[2].where.ToString(), HasSubstr("app: .rodata+0x0"));
}

TEST(Extract, EmptyDeviceLinkHasNothingToCompile) {
  ElfSpec spec;
  spec.fatbins = {{}, {{}}};
  spec.wrapper_versions = {2, 1};
  const TestElf elf = BuildElf(spec);
  const auto binary = Binary::FromBytes(elf.bytes, "app");
  ASSERT_TRUE(binary);
  const auto modules = ExtractModules(*binary);
  ASSERT_TRUE(modules);
  EXPECT_TRUE((*modules)[0].is_empty_device_link);
  EXPECT_FALSE((*modules)[0].is_device_link());
  EXPECT_FALSE((*modules)[1].is_empty_device_link);
}

TEST(Extract, DeviceLinkNamesItsMembers) {
  ElfSpec spec;
  spec.fatbins = {{{.kind = 2}}};
  spec.wrapper_versions = {2};
  spec.loose = {{"__nv_relfatbin", {{.sm = 75}}}};
  const TestElf elf = BuildElf(spec);
  const auto binary = Binary::FromBytes(elf.bytes, "app");
  ASSERT_TRUE(binary) << binary.error().ToString();
  const auto modules = ExtractModules(*binary);
  ASSERT_TRUE(modules);
  ASSERT_EQ(modules->size(), 1u);
  EXPECT_TRUE((*modules)[0].is_device_link());
  ASSERT_EQ((*modules)[0].link_members.size(), 1u);
  EXPECT_EQ(binary->fatbins()[(*modules)[0].link_members[0]].section,
            "__nv_relfatbin");
  const auto choices = ChooseMemberPtx(*binary, (*modules)[0], 89);
  ASSERT_TRUE(choices) << choices.error().ToString();
  ASSERT_EQ(choices->size(), 1u);
  EXPECT_EQ((*choices)[0].entry->sm, 75u);
}

TEST(Extract, ChoosesPtx) {
  constexpr std::uint64_t kA = 0x100011, kF = 0x200011, kDebug = 0x13;
  struct Row {
    const char* what;
    std::vector<testing::EntrySpec> entries;
    std::uint32_t cc;
    std::vector<std::uint32_t> order;  // sm of entry and what follows
    const char* note;
  } const rows[] = {
      {"only one", {{.sm = 75}}, 89, {75}, ""},
      {"newest that fits",
       {{.sm = 70}, {.sm = 80}, {.sm = 90}},
       89,
       {80, 70},
       ""},
      {"exact", {{.sm = 70}, {.sm = 89}}, 89, {89, 70}, ""},
      {"cubins do not count",
       {{.kind = 2, .sm = 86}, {.sm = 75}},
       89,
       {75},
       ""},
      {"all newer",
       {{.sm = 120}, {.sm = 100}},
       89,
       {100, 120},
       "all PTX is newer than compute capability 8.9; compute_100"},
      {"a is passed over", {{.sm = 89, .flags = kA}, {.sm = 75}}, 89, {75}, ""},
      {"f is passed over",
       {{.sm = 80, .flags = kF}, {.sm = 100}},
       89,
       {100},
       "newer"},
      {"only a",
       {{.sm = 90, .flags = kA}},
       89,
       {90},
       "compute_90a, bound to one chip"},
      {"release before debug",
       {{.sm = 75, .flags = kDebug}, {.sm = 75}},
       89,
       {75, 75},
       ""},
  };
  for (const Row& row : rows) {
    const Bytes bytes = testing::FatbinOf(row.entries);
    const auto fatbin = images::ParseFatbin(bytes);
    ASSERT_TRUE(fatbin);
    const auto choice = ChoosePtx(fatbin->entries, row.cc);
    ASSERT_TRUE(choice) << row.what;
    std::vector<std::uint32_t> order = {choice->entry->sm};
    for (const images::FatbinEntry* entry : choice->next)
      order.push_back(entry->sm);
    EXPECT_EQ(order, row.order) << row.what;
    if (*row.note == '\0') {
      EXPECT_EQ(choice->note, "") << row.what;
    } else {
      EXPECT_THAT(choice->note, HasSubstr(row.note)) << row.what;
    }
    EXPECT_FALSE(choice->entry->is_debug()) << row.what;
  }
}

TEST(Extract, WithoutPtxSaysWhatIsThere) {
  const Bytes bytes = testing::FatbinOf(
      {{.kind = 2, .sm = 80}, {.kind = 2, .sm = 90, .flags = 0x100011}});
  const auto fatbin = images::ParseFatbin(bytes);
  const auto choice = ChoosePtx(fatbin->entries, 89);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code, DiagCode::kNoPtx);
  EXPECT_THAT(choice.error().message,
              HasSubstr("only cubin for sm_80, cubin for sm_90a"));
}

}  // namespace
}  // namespace cerberus::rewriter
