// From a wrapper to code: converted files, kept fatbins, archives, content
// keys, and the fallback behind them.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../rewriter/fatbin_builder.h"
#include "code_object_builder.h"
#include "driver.h"
#include "formats/launch_abi.h"
#include "kpack/content_key.h"
#include "kpack/marker.h"
#include "kpack/writer.h"
#include "rewriter/rewriter.h"
#include "runtime-stub/module/image.h"

namespace cerberus::stub {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

constexpr char kGroup[] = "gpu";

Bytes CodeWith(const std::string& kernel, int abi = formats::kLaunchAbi) {
  TestCodeObject object;
  object.kernels = {SimpleKernel(kernel)};
  object.abi = abi;
  return object.Build();
}

class ConvertedTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    jit_ = FakeJitIn(folder_.path());
    setenv("CERBERUS_JIT", jit_.c_str(), 1);
    setenv("FAKE_JIT_LOG", (folder_.path() + "/jit.log").c_str(), 1);
    fs::create_directory(folder_.path() + "/.kpack");
  }
  void TearDown() override {
    for (const char* name :
         {"FAKE_JIT_LOG", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT"}) {
      unsetenv(name);
    }
    DriverTest::TearDown();
    if (library_ != nullptr) dlclose(library_);
  }

  // Converts the library into the test's folder, opens it, and returns its
  // wrapper.
  const void* Convert(bool keep_fatbin = false) {
    auto binary = rewriter::Binary::Open(GPU_LIBRARY);
    EXPECT_TRUE(binary) << binary.error().ToString();
    rewriter::PlanOptions options;
    options.search_paths = {std::string(".kpack/") + kGroup +
                            "-@GFXARCH@.kpack"};
    options.kernel_name = kGroup;
    options.keep_fatbin = keep_fatbin;
    options.converter_version = "test";
    auto plan = rewriter::PlanConversion(*binary, options);
    EXPECT_TRUE(plan) << plan.error().ToString();
    const std::string path = folder_.path() + "/libgpu.so";
    auto out = OutputFile::Create(path, 0755);
    EXPECT_TRUE(rewriter::Rewrite(*binary, *plan, *out));
    EXPECT_TRUE(out->Commit());
    return Open(path);
  }
  const void* Open(const std::string& path) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    using GetWrapper = const void*();
    return reinterpret_cast<GetWrapper*>(dlsym(library_, "gpu_wrapper"))();
  }

  void WriteArchive(const std::string& arch, const std::string& key,
                    const std::string& type, ByteSpan bytes,
                    std::int64_t abi = formats::kLaunchAbi) {
    auto writer = kpack::ArchiveWriter::Create(
        folder_.path() + "/.kpack/" + kGroup + "-" + arch + ".kpack",
        {kGroup, arch, kpack::Compression::kZstdPerKernel});
    kpack::Metadata metadata;
    if (type == "hsaco") metadata["cerberus_abi"] = abi;
    EXPECT_TRUE(writer->Add(key, arch, type, bytes, metadata));
    EXPECT_TRUE(writer->Finish());
    EXPECT_TRUE(writer->Commit());
  }

  // Loads the image; the kernel's answer.
  CUresult FindKernel(const void* image, const char* kernel) {
    CUlibrary library = nullptr;
    CUresult result = CU(cuLibraryLoadData)(&library, image, nullptr, nullptr,
                                            0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return result;
    CUkernel found = nullptr;
    result = CU(cuLibraryGetKernel)(&found, library, kernel);
    CU(cuLibraryUnload)(library);
    return result;
  }
  std::vector<std::string> JitStarts() {
    std::ifstream file(folder_.path() + "/jit.log");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TempFolder folder_;
  std::string jit_;
  void* library_ = nullptr;
};

std::string Key() { return kpack::ModuleKey(kGroup, 0); }

TEST_F(ConvertedTest, PrebuiltCodeIsUsed) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const void* wrapper = Convert();
  EXPECT_EQ(FindKernel(wrapper, "prebuilt"), CUDA_SUCCESS);
  EXPECT_EQ(FindKernel(wrapper, "from_ptx"), CUDA_ERROR_NOT_FOUND);
  EXPECT_THAT(JitStarts(), IsEmpty());
}

TEST_F(ConvertedTest, CodeThatHipRejectsIsCompiled) {
  constexpr int kNoBinaryForGpu = 209;
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("from_ptx"));
  StderrCapture capture;
  const void* wrapper = Convert();
  CUcontext context = nullptr;
  ASSERT_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
  CUlibrary library = nullptr;
  ASSERT_EQ(CU(cuLibraryLoadData)(&library, wrapper, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  CUkernel kernel = nullptr;
  ASSERT_EQ(CU(cuLibraryGetKernel)(&kernel, library, "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), IsEmpty());
  Fake().fail_once["hipModuleLoadData"] = kNoBinaryForGpu;
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  EXPECT_EQ(CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1,
                               1, 1, 0, nullptr, params, nullptr),
            CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
  EXPECT_THAT(Fake().loaded_modules, SizeIs(1));
  EXPECT_THAT(capture.Text(), HasSubstr("compiled again"));
  CU(cuLibraryUnload)(library);
  CU(cuCtxDestroy_v2)(context);
}

TEST_F(ConvertedTest, KeptFatbinIsFoundByTheWrappersAddress) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const void* wrapper = Convert(/*keep_fatbin=*/true);
  EXPECT_EQ(FindKernel(wrapper, "prebuilt"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), IsEmpty());
}

TEST_F(ConvertedTest, GenericTargetServes) {
  WriteArchive("gfx11-generic", Key(), "hsaco", CodeWith("generic"));
  EXPECT_EQ(FindKernel(Convert(), "generic"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), IsEmpty());
}

TEST_F(ConvertedTest, NothingIsLoadedBeforeAKernelIsAskedFor) {
  const void* wrapper = Convert();
  CUlibrary library = nullptr;
  ASSERT_EQ(CU(cuLibraryLoadData)(&library, wrapper, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), IsEmpty());
  EXPECT_EQ(Fake().calls["hipModuleLoadData"], 0);
  CU(cuLibraryUnload)(library);
}

TEST_F(ConvertedTest, WithoutTheArchiveThePtxIsCompiled) {
  StderrCapture capture;
  const void* wrapper = Convert();
  EXPECT_EQ(FindKernel(wrapper, "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
  EXPECT_THAT(capture.Text(), HasSubstr("compiling libgpu.so: module 0"));
}

TEST_F(ConvertedTest, ArchivedPtxComesBeforeTheFatbin) {
  const std::string ptx = ".version 9.0\n.entry archived(.param .u64 p){}\n";
  WriteArchive("ptx", Key(), "ptx", AsBytes(ptx));
  StderrCapture capture;
  EXPECT_EQ(FindKernel(Convert(), "archived"), CUDA_SUCCESS);
}

TEST_F(ConvertedTest, CodeOfAnotherAbiIsNotUsed) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("other", 1), 1);
  StderrCapture capture;
  const void* wrapper = Convert();
  EXPECT_EQ(FindKernel(wrapper, "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(capture.Text(), HasSubstr("launch ABI 1"));
}

// The archive says one thing and the code object in it another.
TEST_F(ConvertedTest, CodeThatContradictsItsArchiveIsNotUsed) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("other", 1));
  StderrCapture capture;
  EXPECT_EQ(FindKernel(Convert(), "from_ptx"), CUDA_SUCCESS);
}

TEST_F(ConvertedTest, BrokenArchiveFallsBack) {
  std::ofstream(folder_.path() + "/.kpack/gpu-gfx1100.kpack") << "garbage";
  StderrCapture capture;
  EXPECT_EQ(FindKernel(Convert(), "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
  EXPECT_THAT(capture.Text(),
              HasSubstr("gpu-gfx1100.kpack: offset 0x0: is not a kpack"));
}

// A code object with one wrong bit would hang or compute something else.
TEST_F(ConvertedTest, DamagedCodeFallsBack) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const std::string path = folder_.path() + "/.kpack/gpu-gfx1100.kpack";
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(100);
  const int byte = file.get();
  file.seekp(100);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  StderrCapture capture;
  EXPECT_EQ(FindKernel(Convert(), "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
  const std::string text = capture.Text();
  EXPECT_THAT(text, HasSubstr("gpu-gfx1100.kpack"));
  EXPECT_THAT(text, HasSubstr("'" + Key() + "' for gfx1100"));
  EXPECT_THAT(text, HasSubstr("do not match their checksum"));
}

// Cut anywhere, an archive is not used and does no harm.
TEST_F(ConvertedTest, TruncatedArchiveFallsBack) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const std::string path = folder_.path() + "/.kpack/gpu-gfx1100.kpack";
  fs::resize_file(path, fs::file_size(path) - 10);
  StderrCapture capture;
  EXPECT_EQ(FindKernel(Convert(), "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
}

// --- an archive that changes while it is in use ---

struct ArchiveChange {
  std::string_view name;
  void (*make)(const std::string& path);
  const char* kernel;  // what the next module finds
};
void PrintTo(const ArchiveChange& change, std::ostream* out) {
  *out << change.name;
}
class ArchiveChanges : public ConvertedTest,
                       public ::testing::WithParamInterface<ArchiveChange> {};

TEST_P(ArchiveChanges, NextModuleIsFoundOrCompiled) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const std::string path = folder_.path() + "/.kpack/gpu-gfx1100.kpack";
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  const void* wrapper = Convert();
  ASSERT_EQ(FindKernel(wrapper, "prebuilt"), CUDA_SUCCESS);
  GetParam().make(path);
  const StderrCapture capture;
  EXPECT_EQ(FindKernel(wrapper, GetParam().kernel), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(
    Converted, ArchiveChanges,
    ::testing::Values(
        ArchiveChange{"Emptied",
                      [](const std::string& path) { fs::resize_file(path, 0); },
                      "from_ptx"},
        ArchiveChange{"CutShort",
                      [](const std::string& path) {
                        fs::resize_file(path, fs::file_size(path) / 2);
                      },
                      "from_ptx"},
        ArchiveChange{"WrittenOver",
                      [](const std::string& path) {
                        const auto size = fs::file_size(path);
                        std::ofstream(path) << std::string(size, 'x');
                      },
                      "from_ptx"},
        ArchiveChange{"Removed",
                      [](const std::string& path) { fs::remove(path); },
                      "prebuilt"},
        ArchiveChange{"Replaced",
                      [](const std::string& path) {
                        std::ofstream(path + ".new") << "garbage";
                        fs::rename(path + ".new", path);
                      },
                      "prebuilt"},
        ArchiveChange{"Unreadable",
                      [](const std::string& path) {
                        fs::permissions(path, fs::perms::none);
                      },
                      "prebuilt"}),
    [](const auto& info) { return std::string(info.param.name); });

// --- which code a GPU gets, in this order ---

struct LookupRow {
  std::string_view name;
  const char* gpu;
  std::vector<const char*> archives;  // their targets
  bool ptx;                           // whether the fatbin is kept
  const char* found;                  // "ptx": compiled; "": refused
};
void PrintTo(const LookupRow& row, std::ostream* out) { *out << row.name; }
class Lookup : public ConvertedTest,
               public ::testing::WithParamInterface<LookupRow> {};

TEST_P(Lookup, FindsTheBest) {
  const LookupRow& row = GetParam();
  for (const char* arch : row.archives) {
    WriteArchive(arch, Key(), "hsaco", CodeWith(arch));
  }
  StderrCapture capture;
  const void* wrapper = Convert(row.ptx);
  Image image;
  ASSERT_EQ(IdentifyImage(wrapper, &image), CUDA_SUCCESS);
  if (!row.ptx) image.fatbins.clear();
  Device device;
  device.target = TargetId::Parse(row.gpu).value();
  device.cc = {8, 6};
  Code code;
  const CUresult result = FindCode(image, device, &code, nullptr);
  if (*row.found == '\0') {
    EXPECT_EQ(result, CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_THAT(code.why_none,
                HasSubstr("again with --arch " + device.target.processor));
    EXPECT_THAT(capture.Text(),
                HasSubstr("holds code for gfx1100, but gfx1201 is emulated"));
    return;
  }
  ASSERT_EQ(result, CUDA_SUCCESS);
  ASSERT_EQ(code.info.kernels.size(), 1u);
  EXPECT_EQ(code.info.kernels[0].name,
            std::string(row.found) == "ptx" ? "from_ptx" : row.found);
}

INSTANTIATE_TEST_SUITE_P(
    Converted, Lookup,
    ::testing::Values(
        LookupRow{"SpecificTarget",
                  "gfx942:sramecc+:xnack-",
                  {"gfx942:sramecc+:xnack-", "gfx942:sramecc+", "gfx942:xnack-",
                   "gfx942", "gfx9-4-generic"},
                  true,
                  "gfx942:sramecc+:xnack-"},
        LookupRow{"FirstFeature",
                  "gfx942:sramecc+:xnack-",
                  {"gfx942:sramecc+", "gfx942:xnack-", "gfx942"},
                  true,
                  "gfx942:sramecc+"},
        LookupRow{"SecondFeature",
                  "gfx942:sramecc+:xnack-",
                  {"gfx942:xnack-", "gfx942", "gfx9-4-generic"},
                  true,
                  "gfx942:xnack-"},
        LookupRow{"WithoutFeatures",
                  "gfx942:sramecc+:xnack-",
                  {"gfx942", "gfx9-4-generic"},
                  true,
                  "gfx942"},
        LookupRow{"GenericTarget",
                  "gfx942:sramecc+:xnack-",
                  {"gfx9-4-generic", "gfx90a", "gfx11-generic"},
                  true,
                  "gfx9-4-generic"},
        LookupRow{"OtherFeaturesAreNotUsed",
                  "gfx942:sramecc+:xnack-",
                  {"gfx942:xnack+", "gfx942:sramecc-"},
                  true,
                  "ptx"},
        LookupRow{"GenericBeforePtx",
                  "gfx1100",
                  {"gfx11-generic"},
                  true,
                  "gfx11-generic"},
        LookupRow{"TargetWithoutAGenericOne",
                  "gfx90a:sramecc+:xnack-",
                  {"gfx9-generic", "gfx9-4-generic", "gfx942"},
                  true,
                  "ptx"},
        // As HSA_OVERRIDE_GFX_VERSION=10.3.0 has HIP present a gfx1036.
        LookupRow{"OverriddenVersion",
                  "gfx1030",
                  {"gfx1036", "gfx1030"},
                  true,
                  "gfx1030"},
        LookupRow{"Ptx", "gfx1201", {"gfx1100"}, true, "ptx"},
        LookupRow{
            "Refused", "gfx1201", {"gfx1100", "gfx11-generic"}, false, ""}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(ConvertedTest, EnvironmentForcesOrForbidsCompiling) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const void* wrapper = Convert();
  StderrCapture capture;
  setenv("CUDA_FORCE_PTX_JIT", "1", 1);
  EXPECT_EQ(FindKernel(wrapper, "from_ptx"), CUDA_SUCCESS);
  setenv("CUDA_DISABLE_PTX_JIT", "1", 1);
  EXPECT_EQ(FindKernel(wrapper, "from_ptx"),
            CUDA_ERROR_JIT_COMPILATION_DISABLED);
  unsetenv("CUDA_FORCE_PTX_JIT");
  EXPECT_EQ(FindKernel(wrapper, "prebuilt"), CUDA_SUCCESS);
}

TEST_F(ConvertedTest, UnconvertedWrapperIsCompiled) {
  StderrCapture capture;
  EXPECT_EQ(FindKernel(Open(GPU_LIBRARY), "from_ptx"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
}

// Slots of the export table through which cudart hands over what was
// registered: cudart 9 by the first, cudart 11 by the second.
TEST_F(ConvertedTest, CudartsInterfaceLoadsWrappers) {
  WriteArchive("gfx1100", Key(), "hsaco", CodeWith("prebuilt"));
  const void* wrapper = Convert();
  CUcontext context = nullptr;
  ASSERT_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
  constexpr CUuuid kInterface = {{0x6b, -0x2b, -0x05, 0x6c, 0x5b, -0x0c, -0x19,
                                  0x4a, -0x77, -0x79, -0x27, 0x39, 0x12, -0x03,
                                  -0x63, -0x07}};
  const void* table = nullptr;
  ASSERT_EQ(CU(cuGetExportTable)(&table, &kInterface), CUDA_SUCCESS);
  using Load = CUresult(CUmodule*, const void*, void*, void*, unsigned);
  for (int slot : {1, 6}) {
    CUmodule module = nullptr;
    ASSERT_EQ(reinterpret_cast<Load*>(static_cast<void* const*>(table)[slot])(
                  &module, wrapper, nullptr, nullptr, 0),
              CUDA_SUCCESS)
        << slot;
    CUfunction function = nullptr;
    EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "prebuilt"),
              CUDA_SUCCESS)
        << slot;
    EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
  }
  CU(cuCtxDestroy_v2)(context);
}

// PTX handed over as text is found in the archives of the process by its
// content.
TEST_F(ConvertedTest, TextIsFoundByItsContent) {
  const std::string ptx =
      ".version 9.0\n.target sm_75\n.entry text(.param .u64 p) { ret; }\n";
  WriteArchive("gfx1100", kpack::ContentKey(ptx) + "#", "hsaco",
               CodeWith("text_prebuilt"));
  Convert();
  EXPECT_EQ(FindKernel(ptx.c_str(), "text_prebuilt"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), IsEmpty());
  StderrCapture capture;
  const std::string other = ptx + "//\n";
  EXPECT_EQ(FindKernel(other.c_str(), "text"), CUDA_SUCCESS);
  EXPECT_THAT(JitStarts(), SizeIs(1));
}

// --- a compiler that fails ---

TEST_F(ConvertedTest, CompilerThatFails) {
  struct Row {
    const char* what;      // the fake compiler is asked for
    const char* compiler;  // null: the fake one
    CUresult result;
    const char* message;
  };
  const std::string good =
      ".version 9.0\n.entry good(.param .u64 p) { ret; }\n";
  for (const Row& row :
       {Row{"error", nullptr, CUDA_ERROR_INVALID_PTX, "no such instruction"},
        Row{"crash", nullptr, CUDA_ERROR_INVALID_PTX, "without an answer"},
        Row{"hang", nullptr, CUDA_ERROR_INVALID_PTX,
            "CERBERUS_JIT_TIMEOUT, 1 s"},
        Row{"silent", nullptr, CUDA_ERROR_INVALID_PTX, "exit code 0"},
        Row{"garbage", nullptr, CUDA_ERROR_INVALID_PTX,
            "is not a code object of an AMD GPU"},
        Row{"", "/nonexistent/jit", CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
            "/nonexistent/jit cannot be started"},
        Row{"", "/etc/passwd", CUDA_ERROR_OPERATING_SYSTEM,
            "Permission denied"},
        Row{"", "/bin/false", CUDA_ERROR_INVALID_PTX, "exit code 1"}}) {
    const std::string ptx = ".version 9.0\n// test: " + std::string(row.what) +
                            "\n.entry k(.param .u64 p) { ret; }\n";
    setenv("CERBERUS_JIT_TIMEOUT", "1", 1);
    if (row.compiler != nullptr) setenv("CERBERUS_JIT", row.compiler, 1);
    {
      StderrCapture capture;
      EXPECT_EQ(FindKernel(ptx.c_str(), "k"), row.result) << row.what;
      EXPECT_THAT(capture.Text(), HasSubstr(row.message)) << row.what;
    }
    unsetenv("CERBERUS_JIT_TIMEOUT");
    setenv("CERBERUS_JIT", jit_.c_str(), 1);
    const StderrCapture capture;
    EXPECT_EQ(FindKernel(good.c_str(), "good"), CUDA_SUCCESS) << row.what;
  }
}

// --- which of several PTX entries ---

rewriter::testing::EntrySpec Ptx(std::uint32_t sm, std::uint64_t flags = 0x11,
                                 const std::string& more = "") {
  rewriter::testing::EntrySpec spec;
  spec.sm = sm;
  spec.flags = flags;
  spec.content = ".version 9.0\n.target sm_" + std::to_string(sm) +
                 "\n.visible .entry k" + std::to_string(sm) +
                 "(.param .u64 p) { ret; }\n" + more;
  return spec;
}

struct ChoiceCase {
  const char* what;
  std::vector<rewriter::testing::EntrySpec> entries;
  const char* kernel;
};

TEST_F(ConvertedTest, NewestPtxThatTheDeviceIsPresentedAs) {
  rewriter::testing::EntrySpec cubin = Ptx(86);
  cubin.kind = 2;
  rewriter::testing::EntrySpec lz4 = Ptx(80);
  lz4.packing = 'l';
  rewriter::testing::EntrySpec zstd = Ptx(80);
  zstd.packing = 'z';
  const std::vector<ChoiceCase> cases = {
      {"newest not above 8.6", {Ptx(75), Ptx(86), Ptx(90)}, "k86"},
      {"no cubin", {cubin, Ptx(75)}, "k75"},
      {"an older one where the newer does not compile",
       {Ptx(75), Ptx(86, 0x11, "// test: error\n")},
       "k75"},
      {"a newer one where nothing else is", {Ptx(90)}, "k90"},
      {"LZ4", {lz4}, "k80"},
      {"zstd", {zstd}, "k80"},
  };
  for (const ChoiceCase& c : cases) {
    const Bytes fatbin = rewriter::testing::FatbinOf(c.entries);
    StderrCapture capture;
    EXPECT_EQ(FindKernel(fatbin.data(), c.kernel), CUDA_SUCCESS)
        << c.what << ": " << capture.Text();
  }
}

TEST_F(ConvertedTest, FatbinsWithoutPtx) {
  rewriter::testing::EntrySpec cubin = Ptx(86);
  cubin.kind = 2;
  const Bytes fatbin = rewriter::testing::FatbinOf({cubin});
  StderrCapture capture;
  EXPECT_EQ(FindKernel(fatbin.data(), "k86"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THAT(capture.Text(),
              HasSubstr("cannot run on gfx1100: it was built without PTX, for "
                        "sm_86 alone: nothing to convert\n"));
}

// The libraries of NVIDIA's that programs load hold kernels that they do
// without.
TEST_F(ConvertedTest, WhatIsMissingIsSaidOnceAndOnlyIfItIsWanted) {
  StderrCapture capture;
  SayMissing("libmissing.so: fatbin at +0x1000", "first of libmissing.so");
  SayMissing("libmissing.so: fatbin at +0x2000", "second of libmissing.so");
  const Bytes newer = rewriter::testing::FatbinOf({Ptx(90)});
  EXPECT_EQ(FindKernel(newer.data(), "k90"), CUDA_SUCCESS);
  EXPECT_THAT(capture.Text(), HasSubstr("error: first of libmissing.so\n"));
  EXPECT_THAT(capture.Text(), ::testing::Not(HasSubstr("second of")));
  EXPECT_THAT(capture.Text(), ::testing::Not(HasSubstr("newer than")));
}

// The linked image of an -rdc program leads to its translation units.
TEST_F(ConvertedTest, SeparatelyCompiledUnits) {
  const Bytes linked = rewriter::testing::FatbinOf({});
  const Bytes one = rewriter::testing::FatbinOf({Ptx(75)});
  const Bytes two = rewriter::testing::FatbinOf({Ptx(80)});
  struct Wrapper {
    std::uint32_t magic, version;
    const void* data;
    const void* const* last;
  };
  const void* const single[] = {one.data(), nullptr};
  const void* const both[] = {one.data(), two.data(), nullptr};
  StderrCapture capture;
  const Wrapper with_one = {0x466243b1, 2, linked.data(), single};
  EXPECT_EQ(FindKernel(&with_one, "k75"), CUDA_SUCCESS);
  const Wrapper with_two = {0x466243b1, 2, linked.data(), both};
  EXPECT_EQ(FindKernel(&with_two, "k75"), CUDA_SUCCESS);
  EXPECT_EQ(FindKernel(&with_two, "k80"), CUDA_SUCCESS);
}

TEST_F(ConvertedTest, WrapperThatLeadsNowhere) {
  const std::uint64_t rubbish[4] = {};
  struct {
    std::uint32_t magic, version;
    const void* data;
    void* last;
  } wrapper = {0x466243b1, 1, rubbish, nullptr};
  StderrCapture capture;
  EXPECT_EQ(FindKernel(&wrapper, "k"), CUDA_ERROR_INVALID_IMAGE);
  wrapper.data = nullptr;
  EXPECT_EQ(FindKernel(&wrapper, "k"), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace cerberus::stub
