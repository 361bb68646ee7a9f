#include "cli/convert/jobserver.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "cli/convert/compiler.h"

namespace cerberus::cli {
namespace {

// make's side of it.
class Make {
 public:
  explicit Make(const std::string& tokens) {
    EXPECT_EQ(::pipe(ends_), 0);
    EXPECT_EQ(::write(ends_[1], tokens.data(), tokens.size()),
              static_cast<ssize_t>(tokens.size()));
  }
  ~Make() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  std::string Flags() const {
    return fmt::format("w -j3 --jobserver-auth={},{} -- X=1", ends_[0],
                       ends_[1]);
  }
  // All tokens that are back; more would make it wait for ever.
  std::string Read(std::size_t count) {
    std::string tokens(count, '\0');
    EXPECT_EQ(::read(ends_[0], tokens.data(), count),
              static_cast<ssize_t>(count));
    return tokens;
  }

 private:
  int ends_[2];
};

const auto kNever = [] { return false; };

TEST(Jobserver, TokensGoBackAsTheyCame) {
  Make make("ab");
  {
    const std::unique_ptr<Jobserver> jobs = Jobserver::Connect(make.Flags());
    ASSERT_NE(jobs, nullptr);
    EXPECT_TRUE(jobs->Acquire(kNever));
    EXPECT_TRUE(jobs->Acquire(kNever));
    // None is left; the caller does not wait for ever.
    int asked = 0;
    EXPECT_FALSE(jobs->Acquire([&] { return ++asked > 2; }));
    jobs->Release();
    EXPECT_TRUE(jobs->Acquire(kNever));
    jobs->Release();
    // The other goes back when it ends.
  }
  const std::string back = make.Read(2);
  EXPECT_TRUE(back == "ab" || back == "ba") << back;
}

TEST(Jobserver, Fifo) {
  const std::string path =
      testing::TempDir() + "/fifo." + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::unique_ptr<Jobserver> jobs =
      Jobserver::Connect("--jobserver-auth=fifo:" + path);
  ASSERT_NE(jobs, nullptr);
  int asked = 0;
  EXPECT_FALSE(jobs->Acquire([&] { return ++asked > 1; }));
  ::unlink(path.c_str());
}

TEST(Jobserver, NoneToBeHad) {
  for (const char* flags :
       {"", "w -j3", "--jobserver-auth=", "--jobserver-auth=3",
        "--jobserver-auth=-1,-1", "--jobserver-auth=98765,98766",
        "--jobserver-auth=x,y", "--jobserver-auth=fifo:/nonexistent/fifo"}) {
    EXPECT_EQ(Jobserver::Connect(flags), nullptr) << flags;
  }
}

// Four threads, one token: one task without it and one with it.
TEST(TaskPool, TakesTokens) {
  Make make("t");
  {
    const std::unique_ptr<Jobserver> jobs = Jobserver::Connect(make.Flags());
    ASSERT_NE(jobs, nullptr);
    std::atomic<int> running{0}, most{0};
    std::vector<TaskPool::Task> tasks(20, [&] {
      const int now = ++running;
      for (int seen = most;
           now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      ::usleep(5000);
      --running;
    });
    TaskPool pool(4, std::move(tasks), jobs.get());
    for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(pool.Wait(i));
    EXPECT_LE(most, 2);
  }
  EXPECT_EQ(make.Read(1), "t");
}

// Whoever has nothing to do leaves its job, at once or at the end.
TEST(TaskPool, LeavesJobsInSlots) {
  const std::optional<JobSlots> slots = JobSlots::Make();
  ASSERT_TRUE(slots);
  const auto take = [&] {
    std::uint64_t slot = 0;
    int taken = 0;
    while (::read(slots->descriptor(), &slot, sizeof slot) == sizeof slot) {
      ++taken;
    }
    return taken;
  };
  EXPECT_EQ(take(), 0);
  {
    std::atomic<bool> go_on{false};
    std::vector<TaskPool::Task> tasks(2, [&] {
      while (!go_on) ::usleep(1000);
    });
    TaskPool pool(5, std::move(tasks), nullptr, &*slots);
    EXPECT_EQ(take(), 3);
    go_on = true;
  }
  EXPECT_EQ(take(), 2);
}

}  // namespace
}  // namespace cerberus::cli
