#include "cli/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace cerberus::cli {
namespace {

ProcessResult RunShell(const std::string& script, const std::string& input = "",
                       ProcessLimits limits = {}) {
  Result<ProcessResult> result =
      RunProcess({"/bin/sh", "-c", script}, AsBytes(input), limits);
  EXPECT_TRUE(result.has_value());
  return result ? *std::move(result) : ProcessResult();
}

TEST(Process, StreamsAndExitCode) {
  const ProcessResult result =
      RunShell("cat; echo problem >&2; exit 7", "line\nno newline");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(AsText(result.out), "line\nno newline");
  EXPECT_EQ(result.err, "problem\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(Process, LargeStreamsDoNotBlock) {
  const std::string input(3 << 20, 'x');
  const ProcessResult result =
      RunShell("cat; head -c 200000 /dev/zero >&2", input);
  EXPECT_EQ(AsText(result.out), input);
  EXPECT_EQ(result.err.size(), 200000u);
}

TEST(Process, Signal) {
  const ProcessResult result = RunShell("kill -SEGV $$");
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST(Process, TimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result =
      RunShell("while :; do :; done", "", {.seconds = 1, .memory_bytes = 0});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGXCPU);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
}

TEST(Process, MemoryLimit) {
  // The shell's own variable cannot grow to a quarter of a gibibyte.
  const ProcessResult result =
      RunShell("x=$(head -c 268435456 /dev/zero | tr '\\0' x); echo ${#x}", "",
               {.seconds = 60, .memory_bytes = 128u << 20});
  EXPECT_NE(AsText(result.out), "268435456\n");
}

TEST(Process, MissingProgram) {
  Result<ProcessResult> result = RunProcess({"/nonexistent/x"}, {}, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 127);
}

// SIGTERM to us ends the child at once and the call returns; the process
// lives on to clean up.
TEST(ProcessDeathTest, SignalEndsChildren) {
  const auto interrupted = [] {
    const InterruptScope scope;
    std::thread killer([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      ::kill(::getpid(), SIGTERM);
    });
    const Result<ProcessResult> result =
        RunProcess({"/bin/sleep", "100"}, {}, {});
    killer.join();
    // Nothing is started any more.
    const Result<ProcessResult> later = RunProcess({"/bin/true"}, {}, {});
    const bool good = result && result->signal == SIGKILL && Interrupted() &&
                      !later.has_value();
    ::_exit(good ? 42 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace cerberus::cli
