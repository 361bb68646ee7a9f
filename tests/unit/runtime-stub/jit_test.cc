// The JIT fallback and its cache, linked into the test.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/jit_cache.h"
#include "driver.h"
#include "runtime-stub/module/code_object.h"
#include "runtime-stub/module/jit_fallback.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

TargetId Gfx1100() { return *TargetId::Parse("gfx1100"); }

Bytes Content(char c, std::size_t size = 100) {
  return Bytes(size, static_cast<std::uint8_t>(c));
}

void SetAge(const std::string& path, int seconds) {
  fs::last_write_time(
      path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

std::size_t FilesIn(const std::string& folder) {
  if (!fs::exists(folder)) return 0;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(JitCache, KeyDependsOnEveryInput) {
  const std::string key = cache::JitCache::Key("ptx", Gfx1100(), "");
  EXPECT_EQ(key, cache::JitCache::Key("ptx", Gfx1100(), ""));
  EXPECT_EQ(
      key, cache::JitCache::Key(std::string_view("ptx\0\0", 5), Gfx1100(), ""));
  EXPECT_NE(key, cache::JitCache::Key("ptx ", Gfx1100(), ""));
  EXPECT_NE(key, cache::JitCache::Key("ptx", *TargetId::Parse("gfx1101"), ""));
  EXPECT_NE(key, cache::JitCache::Key("ptx", Gfx1100(), "keep-going"));
  // Parts must not run into each other.
  EXPECT_NE(cache::JitCache::Key("bptx", Gfx1100(), "a"),
            cache::JitCache::Key("ptx", Gfx1100(), "ab"));
}

TEST(JitCache, KeepsWhatWasStored) {
  TempFolder folder;
  const cache::JitCache cache(folder.path() + "/a/b", 1 << 20);
  EXPECT_FALSE(cache.Load("k"));
  cache.Store("k", Content('x'));
  ASSERT_TRUE(cache.Load("k"));
  EXPECT_EQ(*cache.Load("k"), Content('x'));
  cache.Store("k", Content('y'));
  EXPECT_EQ(*cache.Load("k"), Content('y'));
  EXPECT_EQ(FilesIn(folder.path() + "/a/b"), 1u);
}

TEST(JitCache, DamagedEntriesAreNotBelieved) {
  TempFolder folder;
  const cache::JitCache cache(folder.path(), 1 << 20);
  StderrCapture capture;
  cache.Store("k", Content('x'));
  const std::string path = cache.PathOf("k");
  for (const char* damage : {"", "garbage", "CERBJIT1"}) {
    std::ofstream(path, std::ios::trunc) << damage;
    EXPECT_FALSE(cache.Load("k")) << damage;
    EXPECT_FALSE(fs::exists(path));
    cache.Store("k", Content('x'));
  }
  // One byte changed in the middle, and one byte missing.
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.put('!');
  }
  EXPECT_FALSE(cache.Load("k"));
  cache.Store("k", Content('x'));
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_FALSE(cache.Load("k"));
}

TEST(JitCache, LongestUnusedGoFirst) {
  TempFolder folder;
  // Room for three entries of 100 bytes and their headers.
  const cache::JitCache cache(folder.path(), 3 * 130);
  cache.Store("a", Content('a'));
  cache.Store("b", Content('b'));
  cache.Store("c", Content('c'));
  SetAge(cache.PathOf("a"), 30);
  SetAge(cache.PathOf("b"), 20);
  SetAge(cache.PathOf("c"), 10);
  EXPECT_TRUE(cache.Load("a"));  // now the youngest
  cache.Store("d", Content('d'));
  EXPECT_FALSE(cache.Load("b"));
  EXPECT_TRUE(cache.Load("a"));
  EXPECT_TRUE(cache.Load("c"));
  EXPECT_TRUE(cache.Load("d"));
  // What is larger than the whole cache is not kept, and removes nothing.
  cache.Store("e", Content('e', 1000));
  EXPECT_FALSE(cache.Load("e"));
  EXPECT_EQ(FilesIn(folder.path()), 3u);
}

TEST(JitCache, FolderThatCannotBeWrittenIsNoError) {
  StderrCapture capture;
  const cache::JitCache cache("/proc/no/such/folder", 1 << 20);
  cache.Store("k", Content('x'));
  EXPECT_FALSE(cache.Load("k"));
}

struct FolderCase {
  const char* cuda;
  const char* xdg;
  const char* home;
  const char* disable;
  const char* expected;  // of PathOf("k"); null: disabled
};

TEST(JitCache, FolderFollowsTheEnvironment) {
  const auto set = [](const char* name, const char* value) {
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  };
  const std::string old_home = std::getenv("HOME") ? std::getenv("HOME") : "";
  for (const FolderCase& c :
       {FolderCase{"/c", "/x", "/h", nullptr, "/c/k.cerbjit"},
        FolderCase{nullptr, "/x", "/h", "0", "/x/cerberus/k.cerbjit"},
        FolderCase{nullptr, "relative", "/h", nullptr,
                   "/h/.cache/cerberus/k.cerbjit"},
        FolderCase{nullptr, nullptr, "/h", nullptr,
                   "/h/.cache/cerberus/k.cerbjit"},
        FolderCase{nullptr, nullptr, nullptr, nullptr, nullptr},
        FolderCase{"/c", "/x", "/h", "1", nullptr}}) {
    set("CUDA_CACHE_PATH", c.cuda);
    set("XDG_CACHE_HOME", c.xdg);
    set("HOME", c.home);
    set("CUDA_CACHE_DISABLE", c.disable);
    const cache::JitCache cache = cache::JitCache::FromEnvironment();
    EXPECT_EQ(cache.enabled(), c.expected != nullptr);
    if (c.expected != nullptr) {
      EXPECT_EQ(cache.PathOf("k"), c.expected);
    }
  }
  set("HOME", old_home.c_str());
  for (const char* name :
       {"CUDA_CACHE_PATH", "XDG_CACHE_HOME", "CUDA_CACHE_DISABLE"}) {
    unsetenv(name);
  }
}

class JitFallback : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("CERBERUS_JIT", FakeJitIn(folder_.path()).c_str(), 1);
    setenv("CUDA_CACHE_PATH", (folder_.path() + "/cache").c_str(), 1);
    setenv("FAKE_JIT_LOG", log_path().c_str(), 1);
    unsetenv("CUDA_CACHE_DISABLE");
  }
  void TearDown() override {
    for (const char* name : {"CERBERUS_JIT", "CUDA_CACHE_PATH", "FAKE_JIT_LOG",
                             "CERBERUS_JIT_TIMEOUT", "CERBERUS_LOG"}) {
      unsetenv(name);
    }
    ResetLogForTesting();
  }
  std::string log_path() const { return folder_.path() + "/log"; }
  // The arguments of each compilation.
  std::vector<std::string> Starts() const {
    std::ifstream file(log_path());
    std::vector<std::string> lines;
    pid_t process;
    for (std::string line; file >> process && std::getline(file, line);) {
      lines.push_back(line.substr(1));
    }
    return lines;
  }
  // The process of each compilation.
  std::vector<pid_t> Processes() const {
    std::ifstream file(log_path());
    std::vector<pid_t> processes;
    pid_t process;
    for (std::string line; file >> process && std::getline(file, line);) {
      processes.push_back(process);
    }
    return processes;
  }
  JitResult Compile(const std::string& ptx, bool keep_going = false,
                    PtxFrom from = PtxFrom::kFile) {
    const std::string name = "module";
    const TargetId target = Gfx1100();
    return CompilePtx({.ptx = ptx,
                       .target = target,
                       .name = name,
                       .keep_going = keep_going,
                       .from = from});
  }

  TempFolder folder_;
};

TEST_F(JitFallback, SaysAtOnceWhatIsInAFile) {
  const auto said = [&](const std::string& ptx, PtxFrom from) {
    StderrCapture capture;
    EXPECT_EQ(Compile(ptx, false, from).status, CUDA_SUCCESS);
    return capture.Text();
  };
  EXPECT_THAT(said(".entry a()", PtxFrom::kFile), HasSubstr("compiling"));
  EXPECT_EQ(said(".entry b()", PtxFrom::kProgram), "");
  setenv("CERBERUS_LOG", "info", 1);
  ResetLogForTesting();
  EXPECT_THAT(said(".entry c()", PtxFrom::kProgram), HasSubstr("compiling"));
}

TEST_F(JitFallback, SecondTimeCompilesNothing) {
  setenv("CERBERUS_LOG", "info", 1);
  ResetLogForTesting();
  JitResult first, second;
  {
    StderrCapture capture;
    first = Compile(".entry k()");
    EXPECT_THAT(capture.Text(), HasSubstr("compiling module for gfx1100"));
  }
  {
    StderrCapture capture;
    second = Compile(".entry k()");
    EXPECT_THAT(capture.Text(), Not(HasSubstr("compiling")));
    EXPECT_THAT(capture.Text(), HasSubstr("jit: cache hit"));
  }
  EXPECT_EQ(first.status, CUDA_SUCCESS);
  EXPECT_EQ(second.status, CUDA_SUCCESS);
  EXPECT_FALSE(first.code.empty());
  EXPECT_EQ(first.code, second.code);
  ASSERT_EQ(Starts().size(), 1u);
  EXPECT_THAT(
      Starts()[0],
      ::testing::MatchesRegex(
          "--arch gfx1100 -o - --compile-seconds=300 --processor-seconds=300 "
          "(--memory-bytes=17179869184 )?--parts=" +
          folder_.path() + "/cache --progress-fd=3 -"));
}

TEST_F(JitFallback, AnotherBuildOfTheCompilerCompilesAgain) {
  const std::string compiler = folder_.path() + "/jit";
  fs::copy_file(FAKE_JIT, compiler);
  setenv("CERBERUS_JIT", compiler.c_str(), 1);
  StderrCapture capture;
  EXPECT_EQ(Compile(".entry k()").status, CUDA_SUCCESS);
  EXPECT_EQ(Compile(".entry k()").status, CUDA_SUCCESS);
  EXPECT_EQ(Starts().size(), 1u);
  fs::last_write_time(compiler,
                      fs::last_write_time(compiler) + std::chrono::seconds(1));
  EXPECT_EQ(Compile(".entry k()").status, CUDA_SUCCESS);
  EXPECT_EQ(Starts().size(), 2u);
}

TEST_F(JitFallback, DamagedCacheIsCompiledAgain) {
  StderrCapture capture;
  EXPECT_EQ(Compile(".entry k()").status, CUDA_SUCCESS);
  for (const auto& file : fs::directory_iterator(folder_.path() + "/cache")) {
    std::ofstream(file.path(), std::ios::trunc) << "garbage";
  }
  EXPECT_EQ(Compile(".entry k()").status, CUDA_SUCCESS);
  EXPECT_EQ(Starts().size(), 2u);
}

TEST_F(JitFallback, RefusalsSayWhyAndAreNotKept) {
  StderrCapture capture;
  const JitResult result = Compile("// test: error");
  EXPECT_EQ(result.status, CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(result.log, HasSubstr("no such instruction"));
  EXPECT_EQ(FilesIn(folder_.path() + "/cache"), 0u);
}

TEST_F(JitFallback, WhatIsNoCodeIsNotKept) {
  StderrCapture capture;
  const JitResult result = Compile("// test: garbage");
  EXPECT_EQ(result.status, CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(result.log, HasSubstr("is not a code object of an AMD GPU"));
  EXPECT_EQ(FilesIn(folder_.path() + "/cache"), 0u);
}

TEST_F(JitFallback, CrashIsARefusal) {
  StderrCapture capture;
  const JitResult result = Compile("// test: crash");
  EXPECT_EQ(result.status, CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(result.log, HasSubstr("ended without an answer"));
}

TEST_F(JitFallback, RunawayIsStopped) {
  setenv("CERBERUS_JIT_TIMEOUT", "1", 1);
  StderrCapture capture;
  const JitResult result = Compile("// test: hang");
  EXPECT_EQ(result.status, CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(result.log, HasSubstr("CERBERUS_JIT_TIMEOUT, 1 s"));
}

TEST_F(JitFallback, LongCompilationsSayHowFarTheyAre) {
  StderrCapture capture;
  EXPECT_EQ(Compile(".entry k() // test: slow").status, CUDA_SUCCESS);
  EXPECT_THAT(capture.Text(),
              HasSubstr("still compiling module (0 kB of PTX): 3 of 10 "
                        "kernels, about "));
}

TEST_F(JitFallback, MissingCompilerIsNamed) {
  setenv("CERBERUS_JIT", "/nonexistent/cerberus-jit", 1);
  StderrCapture capture;
  EXPECT_EQ(Compile(".entry k()").status, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_THAT(capture.Text(), HasSubstr("/nonexistent/cerberus-jit"));
}

TEST_F(JitFallback, KeepGoingTakesWhatThereIs) {
  StderrCapture capture;
  const std::string ptx = ".entry k() // test: partial";
  EXPECT_EQ(Compile(ptx).status, CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(Compile(ptx, true).status, CUDA_SUCCESS);
}

// What a program preloads is not meant for the compiler.
TEST_F(JitFallback, ChildIsStartedWithoutThePreload) {
  StderrCapture capture;
  setenv("LD_PRELOAD", "/nonexistent/preload.so", 1);
  EXPECT_EQ(Compile(".entry k()").status, CUDA_SUCCESS);
  unsetenv("LD_PRELOAD");
  EXPECT_THAT(Starts().at(0), testing::EndsWith(" -"));
}

TEST_F(JitFallback, ThreadsCompileAtOnce) {
  StderrCapture capture;
  std::vector<std::thread> threads;
  std::vector<JitResult> results(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i, &results] {
      results[i] = Compile(".entry k" + std::to_string(i % 2) + "()");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(results[i].status, CUDA_SUCCESS);
    EXPECT_EQ(results[i].code, results[i % 2].code);
  }
  EXPECT_EQ(FilesIn(folder_.path() + "/cache"), 2u);
}

// Whether it has ended, at the latest after some seconds.
bool Ends(pid_t process) {
  for (int i = 0; i < 1000; ++i) {
    if (kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// A compiler that stays for the next compilation.
class JitServer : public JitFallback {
 protected:
  // Each with a text of its own, so that the cache has none of them.
  void CompileGood() {
    const std::string name = "k" + std::to_string(next_++);
    const JitResult result = Compile(".entry " + name + "()");
    ASSERT_EQ(result.status, CUDA_SUCCESS) << result.log;
    const auto info = ReadCodeObject(result.code);
    ASSERT_TRUE(info);
    ASSERT_EQ(info->kernels.size(), 1u);
    EXPECT_EQ(info->kernels[0].name, name);
  }
  // Of the last one.
  pid_t Process() const { return Processes().back(); }

  StderrCapture capture_;
  int next_ = 0;
};

TEST_F(JitServer, OneProcessCompilesABurst) {
  for (int i = 0; i < 50; ++i) CompileGood();
  EXPECT_EQ(Processes(), std::vector<pid_t>(50, Processes().front()));
}

TEST_F(JitServer, IsNoChildOfTheProgram) {
  CompileGood();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(kill(Process(), 0), 0);
}

TEST_F(JitServer, CrashCostsOneCompilation) {
  CompileGood();
  const pid_t before = Process();
  EXPECT_EQ(Compile("// test: crash").status, CUDA_ERROR_INVALID_PTX);
  CompileGood();
  EXPECT_NE(Process(), before);
  EXPECT_EQ(Compile("// test: error").status, CUDA_ERROR_INVALID_PTX);
  const pid_t refused = Process();
  CompileGood();
  EXPECT_NE(Process(), refused);
  EXPECT_TRUE(Ends(refused));
}

TEST_F(JitServer, OneThatWasKilledIsReplaced) {
  CompileGood();
  const pid_t before = Process();
  ASSERT_EQ(kill(before, SIGKILL), 0);
  ASSERT_TRUE(Ends(before));
  CompileGood();
  EXPECT_NE(Process(), before);
}

TEST_F(JitServer, EndsWithTheProgram) {
  for (const bool in_the_middle : {false, true}) {
    const std::size_t compilations = Processes().size() + 1 + in_the_middle;
    const pid_t program = fork();
    if (program == 0) {
      Compile(in_the_middle ? ".entry a()" : ".entry b()");
      if (in_the_middle) Compile("// test: hang");
      raise(SIGKILL);
    }
    while (Processes().size() < compilations) std::this_thread::yield();
    const pid_t process = Process();
    if (in_the_middle) kill(program, SIGKILL);
    EXPECT_EQ(waitpid(program, nullptr, 0), program);
    EXPECT_TRUE(Ends(process));
  }
}

TEST_F(JitServer, IsNotSharedWithAForkedProgram) {
  CompileGood();
  const pid_t before = Process();
  const pid_t program = fork();
  if (program == 0) {
    const bool fine = Compile(".entry forked()").status == CUDA_SUCCESS;
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_EQ(status, 0);
  EXPECT_NE(Process(), before);
  CompileGood();
  EXPECT_EQ(Process(), before);
}

// As programs do that become daemons.
TEST_F(JitServer, SocketThatTheProgramClosed) {
  const pid_t program = fork();
  if (program == 0) {
    Compile(".entry a()");
    for (int fd = 3; fd < 100; ++fd) close(fd);
    std::array<int, 20> files;
    for (int& file : files) file = open("/dev/null", O_RDWR);
    const bool fine = Compile(".entry b()").status == CUDA_SUCCESS;
    for (const int file : files) {
      if (fcntl(file, F_GETFD) < 0) _exit(2);
    }
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_EQ(status, 0);
  EXPECT_NE(Processes().at(0), Processes().at(1));
}

TEST_F(JitServer, ProgramWithoutStandardStreams) {
  const pid_t program = fork();
  if (program == 0) {
    for (int fd = 0; fd < 10; ++fd) close(fd);
    for (int i = 0; i < 3; ++i) {
      const std::string text = ".entry k" + std::to_string(i) + "()";
      if (Compile(text).status != CUDA_SUCCESS) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Processes(), std::vector<pid_t>(3, Processes().front()));
}

// Whoever reads waits for the last writer.
TEST_F(JitServer, KeepsNoPipeOfTheProgramOpen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  CompileGood();
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  EXPECT_EQ(kill(Process(), 0), 0);
  close(ends[0]);
}

TEST_F(JitServer, ThreadsHaveOneEach) {
  std::vector<std::thread> threads;
  threads.reserve(2);
  std::atomic<int> good{0};
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this, i, &good] {
      for (int k = 0; k < 20; ++k) {
        const std::string name =
            "t" + std::to_string(i) + '_' + std::to_string(k);
        const JitResult result = Compile(".entry " + name + "()");
        const auto info = ReadCodeObject(result.code);
        good +=
            info && info->kernels.size() == 1 && info->kernels[0].name == name;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
  std::vector<pid_t> processes = Processes();
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()),
                  processes.end());
  EXPECT_LE(processes.size(), 2u);
}

}  // namespace
}  // namespace cerberus::stub
