#include "kpack/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/kpack/archive_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::kpack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FeatureSubsets, ByFallingSize) {
  EXPECT_THAT(FeatureSubsets("gfx1100"), ElementsAre("gfx1100"));
  EXPECT_THAT(FeatureSubsets("gfx90a:sramecc+:xnack-"),
              ElementsAre("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+",
                          "gfx90a:xnack-", "gfx90a"));
  EXPECT_THAT(FeatureSubsets("amdgcn-amd-amdhsa--gfx942:xnack+"),
              ElementsAre("gfx942:xnack+", "gfx942"));
  EXPECT_THAT(FeatureSubsets(""), ElementsAre());
  // Not from AMD, and not worth 2^20 names.
  EXPECT_THAT(FeatureSubsets("p:a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q:r:s:t"),
              testing::SizeIs(1));
}

TEST(ExpandSearchPath, RelativeToTheBinary) {
  EXPECT_EQ(ExpandSearchPath("../.kpack/t_@GFXARCH@.kpack", "/opt/x/bin/app",
                             "gfx942:xnack-"),
            "/opt/x/.kpack/t_gfx942:xnack-.kpack");
  EXPECT_EQ(ExpandSearchPath("/a/@GFXARCH@/@GFXARCH@", "/opt/app", "gfx1100"),
            "/a/gfx1100/@GFXARCH@");
  EXPECT_EQ(ExpandSearchPath(".kpack/a.kpack", "app", "gfx1100"),
            ".kpack/a.kpack");
}

class ResolverTest : public testing::Test {
 protected:
  void SetUp() override {
    request_.binary_path = folder_ + "/app";
    request_.search_paths = {"t-@GFXARCH@.kpack"};
    request_.key = "p#0";
    request_.arches = {"gfx1100"};
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // An archive that holds one entry.
  std::string Write(const std::string& name, const std::string& arch,
                    const std::string& key, const std::string& blob) {
    return Write(
        name,
        PlainArchive({blob}, mp::Map({{key, mp::Map({{arch, Row(0, 1)}})}}),
                     {arch}));
  }

  std::string Load() {
    Resolver resolver(options_);
    KpackResult<Resolver::Found> found = resolver.Load(request_);
    if (found) {
      code_ = 0;
      return std::string(AsText(found->bytes));
    }
    code_ = static_cast<int>(found.error().kpack_code);
    notes_ = found.error().notes;
    return found.error().ToString();
  }

  const TempFolder temporary_;
  const std::string folder_ =
      std::filesystem::path(temporary_.path()).lexically_normal().string();
  ResolveOptions options_;
  Resolver::Request request_;
  int code_ = -1;
  std::vector<std::string> notes_;
};

TEST_F(ResolverTest, ExactTarget) {
  Write("t-gfx1100.kpack", "gfx1100", "p#0", "exact");
  EXPECT_EQ(Load(), "exact");
}

TEST_F(ResolverTest, FewerFeaturesThenGeneric) {
  request_.arches = {"gfx942:sramecc+:xnack-", "gfx9-4-generic"};
  Write("t-gfx9-4-generic.kpack", "gfx9-4-generic", "p#0", "generic");
  EXPECT_EQ(Load(), "generic");
  Write("t-gfx942.kpack", "gfx942", "p#0", "bare");
  EXPECT_EQ(Load(), "bare");
  Write("t-gfx942:xnack-.kpack", "gfx942:xnack-", "p#0", "xnack-");
  EXPECT_EQ(Load(), "xnack-");
}

// A more specific archive that lacks the key does not end the search, nor
// does one that is broken: torch's gfx90a:xnack- archive lacked kernels that
// only the gfx90a one had.
TEST_F(ResolverTest, AllMatchesAreTried) {
  request_.arches = {"gfx90a:xnack-"};
  Write("t-gfx90a.kpack", "gfx90a", "p#0", "bare");
  Write("t-gfx90a:xnack-.kpack", "gfx90a:xnack-", "other#0", "x");
  EXPECT_EQ(Load(), "bare");
  Write("t-gfx90a:xnack-.kpack", "not an archive");
  EXPECT_EQ(Load(), "bare");
  Write("t-gfx90a:xnack-.kpack",
        ZstdArchive({"not a frame"},
                    mp::Map({{"p#0", mp::Map({{"gfx90a:xnack-", Row(0, 5)}})}}),
                    {"gfx90a:xnack-"}));
  EXPECT_EQ(Load(), "bare");
  std::filesystem::remove(folder_ + "/t-gfx90a.kpack");
  EXPECT_THAT(Load(), HasSubstr("cannot unpack"));
  EXPECT_EQ(code_, 6);
}

// What is passed over because it cannot be opened is said once nothing else
// has been found.
TEST_F(ResolverTest, SaysWhatCannotBeOpened) {
  request_.arches = {"gfx90a:xnack-"};
  Write("t-gfx90a:xnack-.kpack", "not an archive");
  EXPECT_THAT(Load(), HasSubstr("no archive for gfx90a:xnack-"));
  EXPECT_EQ(code_, 13);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("t-gfx90a:xnack-.kpack: offset 0x0: is not "
                                   "a kpack archive"));
  Write("t-gfx90a.kpack", "gfx90a", "p#1", "bare");
  EXPECT_THAT(Load(), HasSubstr("hold no usable 'p#0'"));
  EXPECT_EQ(notes_.size(), 1u);
}

TEST_F(ResolverTest, RefusedEntriesAreSkipped) {
  request_.search_paths = {"old.kpack", "new.kpack"};
  Write("old.kpack", "gfx1100", "p#0", "old");
  Write("new.kpack", "gfx1100", "p#0", "new");
  request_.accept = [](const Archive& archive, const Entry&) {
    return archive.path().find("old") == std::string::npos;
  };
  EXPECT_EQ(Load(), "new");
}

TEST_F(ResolverTest, Environment) {
  Write("t-gfx1100.kpack", "gfx1100", "p#0", "embedded");
  const std::string other = Write("o.kpack", "gfx1100", "p#0", "other");
  options_.prefix = {folder_ + "/missing.kpack", other};
  EXPECT_EQ(Load(), "other");
  options_.prefix.clear();
  options_.replace = {folder_ + "/missing.kpack"};
  EXPECT_THAT(Load(), HasSubstr("no archive for gfx1100"));
  EXPECT_EQ(code_, 13);
  options_ = {};
  options_.disabled = true;
  EXPECT_THAT(Load(), HasSubstr("ROCM_KPACK_DISABLE"));
  EXPECT_EQ(code_, 8);
}

TEST_F(ResolverTest, SaysWhatIsMissing) {
  EXPECT_EQ(Load(), folder_ + "/app: no archive for gfx1100 (looked for '" +
                        folder_ + "/t-gfx1100.kpack')");
  EXPECT_EQ(code_, 13);
  Write("t-gfx1100.kpack", "gfx1201", "p#0", "x");
  EXPECT_THAT(Load(), HasSubstr("its archives hold nothing for gfx1100"));
  EXPECT_EQ(code_, 14);
  Write("t-gfx1100.kpack", "gfx1100", "p#1", "x");
  EXPECT_THAT(Load(), HasSubstr("hold no usable 'p#0' for gfx1100"));
  EXPECT_EQ(code_, 5);
}

TEST(ResolveOptions, FromEnvironment) {
  setenv("ROCM_KPACK_PATH", "/a.kpack:/b.kpack:", 1);
  setenv("ROCM_KPACK_PATH_PREFIX", "", 1);
  setenv("ROCM_KPACK_DISABLE", "0", 1);
  setenv("ROCM_KPACK_DEBUG", "1", 1);
  const ResolveOptions options = ResolveOptions::FromEnvironment();
  EXPECT_THAT(options.replace, ElementsAre("/a.kpack", "/b.kpack"));
  EXPECT_THAT(options.prefix, ElementsAre());
  EXPECT_FALSE(options.disabled);
  EXPECT_TRUE(options.debug);
  for (const char* name : {"ROCM_KPACK_PATH", "ROCM_KPACK_PATH_PREFIX",
                           "ROCM_KPACK_DISABLE", "ROCM_KPACK_DEBUG"}) {
    unsetenv(name);
  }
}

}  // namespace
}  // namespace cerberus::kpack
