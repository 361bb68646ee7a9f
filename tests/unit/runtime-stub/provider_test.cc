// Which GPU a program gets; each case is a process of its own.
#include <filesystem>

#include "driver.h"

namespace cerberus::stub {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A folder of the loader in which HIP's name leads to the fake.
class ProviderTest : public ::testing::Test {
 protected:
  // No HIP of this machine is found through the default names.
  std::string Probe(const std::string& environment,
                    const std::string& arguments = "") {
    return RunCommand("-i " + environment + " " PROBE " " STUB " " + arguments)
        .output;
  }
  std::string FolderWithHip() {
    std::filesystem::create_symlink(FAKE_HIP,
                                    folder_.path() + "/libamdhip64.so.6");
    return folder_.path();
  }
  TempFolder folder_;
};

TEST_F(ProviderTest, AmdGpuComesFirst) {
  const std::string out = Probe("LD_LIBRARY_PATH=" + FolderWithHip() +
                                " CERBERUS_NVIDIA_DRIVER=" FAKE_NVIDIA);
  EXPECT_THAT(out, HasSubstr("init 0"));
  EXPECT_THAT(out, HasSubstr("1 devices, Fake GPU 0"));
  EXPECT_THAT(out, Not(HasSubstr("emulated")));
}

TEST_F(ProviderTest, ThenNvidia) {
  for (const char* arguments : {"", "proc"}) {
    const std::string out =
        Probe("CERBERUS_NVIDIA_DRIVER=" FAKE_NVIDIA, arguments);
    EXPECT_THAT(out, HasSubstr("version 12345, 3 devices, NVIDIA Fake"));
    EXPECT_THAT(out, Not(HasSubstr("emulated")));
  }
}

TEST_F(ProviderTest, ThenTheEmulatorWhichSaysSo) {
  const std::string out =
      Probe("FAKE_NVIDIA_NO_GPU=1 CERBERUS_NVIDIA_DRIVER=" FAKE_NVIDIA
            " CERBERUS_EMULATOR=" FAKE_HIP);
  EXPECT_THAT(out, HasSubstr("init 0"));
  EXPECT_THAT(out,
              HasSubstr("cerberus: no AMD GPU found; running on the emulated "
                        "gfx1100 (slow). Set CERBERUS_DEVICE to choose.\n"));
}

TEST_F(ProviderTest, WithoutAnyDeviceCuInitSaysSo) {
  const std::string out =
      Probe("FAKE_NVIDIA_NO_GPU=1 CERBERUS_NVIDIA_DRIVER=" FAKE_NVIDIA
            " CERBERUS_EMULATOR=/nonexistent");
  EXPECT_THAT(out, HasSubstr("init 100"));
  EXPECT_THAT(out, HasSubstr("version 13050"));
  EXPECT_THAT(out, HasSubstr("no AMD GPU found"));
}

TEST_F(ProviderTest, LibrariesThatAreNoHip) {
  struct Row {
    const char* library;
    const char* why;
  };
  for (const Row& row :
       {Row{FAKE_NVIDIA, "has no hipInit"}, Row{"/etc/passwd", "/etc/passwd: "},
        Row{"/nonexistent", "No such file"}}) {
    const std::string out =
        Probe(std::string("CERBERUS_DEVICE=emulator CERBERUS_EMULATOR=") +
              row.library);
    EXPECT_THAT(out, HasSubstr("init 100"));
    EXPECT_THAT(out, HasSubstr(row.why));
  }
}

TEST_F(ProviderTest, EnvironmentDecides) {
  const std::string all = "LD_LIBRARY_PATH=" + FolderWithHip() +
                          " CERBERUS_NVIDIA_DRIVER=" FAKE_NVIDIA
                          " CERBERUS_EMULATOR=" FAKE_HIP " ";
  EXPECT_THAT(Probe(all + "CERBERUS_DEVICE=nvidia"), HasSubstr("NVIDIA Fake"));
  EXPECT_THAT(Probe(all + "CERBERUS_DEVICE=hip"), HasSubstr("Fake GPU 0"));
  const std::string emulated =
      Probe(all + "CERBERUS_LOG=info CERBERUS_DEVICE=gfx1100");
  EXPECT_THAT(emulated, HasSubstr("running on the emulated gfx1100"));
  const std::string wrong = Probe(all + "CERBERUS_DEVICE=voodoo");
  EXPECT_THAT(wrong, HasSubstr("CERBERUS_DEVICE=voodoo"));
  EXPECT_THAT(wrong, HasSubstr("init 100"));
}

TEST_F(ProviderTest, OnlyHipWithoutAGpuIsAnError) {
  const std::string out =
      Probe("CERBERUS_DEVICE=hip CERBERUS_EMULATOR=" FAKE_HIP);
  EXPECT_THAT(out, HasSubstr("init 100"));
}

// A link to the stub is no NVIDIA driver.
TEST_F(ProviderTest, StubDoesNotHandOverToItself) {
  const std::string link = folder_.path() + "/libcuda.so.1";
  std::filesystem::create_symlink(STUB, link);
  const std::string out =
      Probe("CERBERUS_NVIDIA_DRIVER=" + link + " CERBERUS_EMULATOR=" FAKE_HIP);
  EXPECT_THAT(out, HasSubstr("Fake GPU 0"));
}

}  // namespace
}  // namespace cerberus::stub
