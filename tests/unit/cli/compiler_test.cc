#include "cli/convert/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace cerberus::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Status = CompileOutcome::Status;

// A shell script in cerberus-jit's place.
class ChildCompiler : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/jit." + std::to_string(::getpid());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  CompileOutcome Compile(const std::string& script, ProcessLimits limits = {}) {
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path_.c_str(), 0755);
    CompileRequest request;
    request.ptx = "the PTX";
    request.arch = "gfx1100";
    request.where.file = "app";
    request.where.section = ".nv_fatbin";
    request.where.offset = 0x40;
    return MakeChildCompiler(path_, limits)(request);
  }

  std::string path_;
};

TEST_F(ChildCompiler, PtxInCodeOut) {
  const CompileOutcome outcome =
      Compile(R"(echo "$@" >&2; printf 'code:'; cat)");
  EXPECT_EQ(outcome.status, Status::kDone);
  EXPECT_EQ(AsText(outcome.code), "code:the PTX");
  ASSERT_EQ(outcome.diags.size(), 1u);
  EXPECT_THAT(outcome.diags[0].message, HasSubstr("--arch gfx1100"));
}

TEST_F(ChildCompiler, DiagnosticsGetThePlace) {
  const CompileOutcome outcome = Compile(
      R"(echo '{"severity":"error","code":7,"message":"no","kernel":"_Z1kPi",)"
      R"("ptx_line":57,"ptx_column":3,"source_file":"k.cu","source_line":9,)"
      R"("text":"x"}' >&2; exit 1)");
  EXPECT_EQ(outcome.status, Status::kFailed);
  ASSERT_EQ(outcome.diags.size(), 1u);
  EXPECT_EQ(outcome.diags[0].code, DiagCode::kUnsupportedPtx);
  EXPECT_EQ(outcome.diags[0].ToString(),
            "app: .nv_fatbin+0x40: ptx:57:3: kernel 'k(int*)' (k.cu:9): no");
}

TEST_F(ChildCompiler, SomeKernelsLeftOut) {
  EXPECT_EQ(Compile("echo code; exit 3").status, Status::kSomeFailed);
}

// However it ends, there is at least one error that says so.
TEST_F(ChildCompiler, Failures) {
  struct {
    const char* script;
    const char* message;
  } const cases[] = {
      {"kill -SEGV $$", "the compiler crashed (Segmentation fault)"},
      {"kill -KILL $$", "the compiler crashed (Killed)"},
      {"exit 1", "the compiler failed with exit code 1 and no message"},
      {"exit 127", "the compiler failed with exit code 127 and no message"},
      {"echo 'cerberus-jit: error: <stdin>: it crashed' >&2; exit 1",
       "it crashed"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.script);
    const CompileOutcome outcome = Compile(c.script);
    EXPECT_EQ(outcome.status, Status::kFailed);
    ASSERT_FALSE(outcome.diags.empty());
    EXPECT_EQ(outcome.diags.back().severity, Severity::kError);
    EXPECT_THAT(outcome.diags.back().ToString(),
                HasSubstr(std::string("app: .nv_fatbin+0x40: ") + c.message));
  }
  const CompileOutcome slow =
      Compile("while :; do :; done", {.seconds = 1, .memory_bytes = 0});
  EXPECT_EQ(slow.status, Status::kFailed);
  ASSERT_EQ(slow.diags.size(), 1u);
  EXPECT_THAT(slow.diags[0].message,
              HasSubstr("took more than 1 s of processor time; a larger "
                        "--compile-seconds"));
}

TEST(TaskPool, RunsEachTaskOnce) {
  std::vector<std::atomic<int>> runs(100);
  std::vector<TaskPool::Task> tasks;
  for (auto& run : runs) tasks.push_back([&run] { ++run; });
  TaskPool pool(4, std::move(tasks));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_TRUE(pool.Wait(i));
    EXPECT_EQ(runs[i], 1);
  }
}

TEST(TaskPool, StopDropsWhatHasNotBegun) {
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  std::vector<TaskPool::Task> tasks(50, [&] {
    ++begun;
    while (!go) std::this_thread::yield();
  });
  TaskPool pool(2, std::move(tasks));
  while (begun < 2) std::this_thread::yield();
  pool.Stop();
  go = true;
  EXPECT_TRUE(pool.Wait(0));
  EXPECT_TRUE(pool.Wait(1));
  EXPECT_FALSE(pool.Wait(2));
  EXPECT_FALSE(pool.Wait(49));
  EXPECT_EQ(begun, 2);
}

TEST(TaskPool, NoTasks) { TaskPool pool(4, {}); }

}  // namespace
}  // namespace cerberus::cli
