// Who computes: ROCm's library or the host, and why.
#include "libraries/common/rocm.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "libraries/common/rocm_code.h"

namespace cerberus::libraries {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
std::string Corpus(const std::string& name) {
  return CERBERUS_CORPUS "/" + name;
}

TEST(RocmCode, TargetsOfTheFirstBundle) {
  const auto targets = TargetsOfLibraryFile(Corpus("bundle"));
  ASSERT_TRUE(targets) << targets.error().message;
  EXPECT_THAT(*targets, ElementsAre("gfx90a", "gfx1100"));
  const auto compressed = TargetsOfLibraryFile(Corpus("compressed"));
  ASSERT_TRUE(compressed) << compressed.error().message;
  EXPECT_EQ(*compressed, *targets);
  const auto none = TargetsOfLibraryFile(Corpus("without"));
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_THAT(*none, IsEmpty());
}
TEST(RocmCode, EachByteLessIsAnError) {
  const std::string whole = ReadFile(Corpus("bundle"));
  ASSERT_GT(whole.size(), 64u);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(TargetsOfLibrary(AsBytes({whole.data(), size}))) << size;
  }
  EXPECT_FALSE(TargetsOfLibraryFile("/nonexistent"));
}
TEST(RocmCode, WhatIsNoLibrary) {
  std::string bytes = ReadFile(Corpus("bundle"));
  std::string other = bytes;
  other[4] = 1;  // for 32 bits
  EXPECT_FALSE(TargetsOfLibrary(AsBytes(other)));
  other = bytes;
  other.replace(other.find("__CLANG_OFFLOAD"), 15, "__OTHER_OFFLOAD");
  EXPECT_FALSE(TargetsOfLibrary(AsBytes(other)));
}
TEST(RocmCode, ATargetIsLackedUnlessItIsNamed) {
  EXPECT_EQ(LacksTarget(Corpus("bundle"), "gfx1100"), "");
  EXPECT_EQ(LacksTarget(Corpus("bundle"), "gfx90a"), "");
  EXPECT_EQ(LacksTarget(Corpus("without"), "gfx1030"), "");
  EXPECT_EQ(LacksTarget(Corpus("bundle"), "gfx1030"),
            Corpus("bundle") + " has no code for gfx1030");
  EXPECT_EQ(LacksTarget(Corpus("bundle"), "gfx11"),
            Corpus("bundle") + " has no code for gfx11");
}

void* const kDeviceCount = reinterpret_cast<void*>(std::intptr_t{64});
bool g_on_hip, g_emulated;
int g_major;
std::string g_target, g_lacks;

int Describe(HipOfContext* out) {
  if (!g_on_hip) return 1;
  out->device_count = kDeviceCount;
  out->major = g_major;
  out->emulated = g_emulated ? 1 : 0;
  std::strcpy(out->file, CERBERUS_ROCM_LIBRARIES "/libamdhip64.so.6");
  std::strcpy(out->target, g_target.c_str());
  return 0;
}
std::string Lacks(const std::string&, const std::string& target) {
  return target == g_lacks ? "it lacks " + target : "";
}

class RocmChoice : public testing::Test {
 protected:
  RocmChoice() {
    driver_.describe_hip = &Describe;
    driver_.hip_stream = [](Stream, void**) { return 0; };
    g_on_hip = true;
    g_emulated = false;
    g_major = 6;
    g_target = "gfx90a:sramecc+:xnack-";
    g_lacks = "";
    unsetenv("CERBERUS_LIBRARY_PROVIDER");
  }
  // What is told, too.
  bool Choose(const RocmKind& kind) {
    library_ = nullptr;
    testing::internal::CaptureStderr();
    const bool fine = ChooseRocm(driver_, kind, &library_);
    told_ = testing::internal::GetCapturedStderr();
    return fine;
  }
  static void Want(const char* provider) {
    setenv("CERBERUS_LIBRARY_PROVIDER", provider, 1);
  }

  Driver driver_ = {};
  const RocmLibrary* library_ = nullptr;
  std::string told_;
};

TEST_F(RocmChoice, OneBesideHip) {
  const RocmKind kind = {
      "cuA", "rocA", {{5, "libnone.so"}, {6, "librocm_test.so"}}, &Lacks};
  ASSERT_TRUE(Choose(kind));
  ASSERT_NE(library_, nullptr);
  EXPECT_EQ(library_->path(), CERBERUS_ROCM_LIBRARIES "/librocm_test.so");
  EXPECT_NE(library_->Find("rocm_test_answer"), nullptr);
  EXPECT_EQ(library_->Find("rocm_test_question"), nullptr);
  EXPECT_EQ(told_, "");
  // The same one again.
  const RocmLibrary* const first = library_;
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, first);
}
TEST_F(RocmChoice, NoneForThisHip) {
  g_major = 7;
  const RocmKind kind = {"cuB", "rocB", {{6, "librocm_test.so"}}, &Lacks};
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  EXPECT_EQ(told_,
            "cerberus: cuB computes on the host, slowly: there is no rocB for "
            "HIP 7\n");
  // It is told once.
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(told_, "");
}
TEST_F(RocmChoice, NoneIsFound) {
  const RocmKind kind = {
      "cuC", "rocC", {{0, "libnone.so.1"}, {6, "libnone.so.2"}}, &Lacks};
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  EXPECT_EQ(told_,
            "cerberus: cuC computes on the host, slowly: no libnone.so.1 "
            "or libnone.so.2 was found\n");
}
TEST_F(RocmChoice, OneOnAnotherHip) {
  const RocmKind kind = {"cuD", "rocD", {{0, "librocm_other_hip.so"}}, &Lacks};
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  EXPECT_THAT(told_,
              HasSubstr("/librocm_other_hip.so is built on another HIP "
                        "than " CERBERUS_ROCM_LIBRARIES "/libamdhip64.so.6\n"));
}
TEST_F(RocmChoice, OneWithoutCodeForTheGpu) {
  const RocmKind kind = {"cuE", "rocE", {{0, "librocm_test.so"}}, &Lacks};
  g_lacks = "gfx90a";
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  EXPECT_EQ(told_,
            "cerberus: cuE computes on the host, slowly: it lacks gfx90a\n");
  // Another GPU of the same process.
  g_target = "gfx1100";
  ASSERT_TRUE(Choose(kind));
  EXPECT_NE(library_, nullptr);
}
TEST_F(RocmChoice, NotOnTheEmulatorAndElsewhere) {
  const RocmKind kind = {"cuF", "rocF", {{0, "librocm_test.so"}}, &Lacks};
  g_emulated = true;
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  g_on_hip = false;
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  driver_.describe_hip = nullptr;
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  EXPECT_EQ(told_, "");
}
TEST_F(RocmChoice, AsTheEnvironmentSays) {
  const RocmKind kind = {"cuG", "rocG", {{0, "librocm_test.so"}}, &Lacks};
  Want("host");
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  EXPECT_EQ(told_, "");
  Want("rocm");
  g_emulated = true;
  ASSERT_TRUE(Choose(kind));
  EXPECT_NE(library_, nullptr);
  Want("");
  ASSERT_TRUE(Choose(kind));
  EXPECT_EQ(library_, nullptr);
  Want("other");
  g_emulated = false;
  ASSERT_TRUE(Choose(kind));
  EXPECT_NE(library_, nullptr);
  EXPECT_EQ(
      told_,
      "cerberus: error: CERBERUS_LIBRARY_PROVIDER=other is not host, rocm "
      "or auto\n");
}
TEST_F(RocmChoice, WhatOnlyTheHostDoesIsSaidOnce) {
  const auto say = [&] {
    testing::internal::CaptureStderr();
    SayComputesOnHost(driver_, "cuI");
    return testing::internal::GetCapturedStderr();
  };
  Want("host");
  EXPECT_EQ(say(), "");
  Want("");
  g_emulated = true;
  EXPECT_EQ(say(), "");
  g_emulated = false;
  EXPECT_EQ(say(), "cerberus: cuI computes on the host, slowly\n");
  EXPECT_EQ(say(), "");
}
TEST_F(RocmChoice, WhatIsInsistedOn) {
  Want("rocm");
  const RocmKind kind = {"cuH", "rocH", {{0, "libnone.so"}}, &Lacks};
  EXPECT_FALSE(Choose(kind));
  EXPECT_EQ(told_, "cerberus: error: cuH: no rocH: no libnone.so was found\n");
  g_on_hip = false;
  EXPECT_FALSE(Choose(kind));
  EXPECT_EQ(told_, "cerberus: error: cuH: no rocH: there is no HIP\n");
}

}  // namespace
}  // namespace cerberus::libraries
