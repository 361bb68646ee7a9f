// What becomes of work that the host's memory does not do for.
#include "libraries/common/work.h"

#include <gtest/gtest.h>

#include <new>

#include "tests/unit/libraries/fake_driver.h"

namespace cerberus::libraries {
namespace {

void NeedTooMuch() { throw std::bad_alloc(); }

TEST(Work, TellsWhoWaitsThatMemoryIsOut) {
  const Driver driver = FakeDriver(/*shares_memory=*/false);
  float x = 1;
  Work work(driver, nullptr);
  work.InOut(&x, sizeof x);
  EXPECT_THROW(work.Run(NeedTooMuch, /*wait=*/true), std::bad_alloc);
}

TEST(WorkDeathTest, EndsTheProcessWhereNobodyWaits) {
  const Driver driver = FakeDriver(/*shares_memory=*/true);
  EXPECT_DEATH(Work(driver, nullptr).Run(NeedTooMuch, /*wait=*/false),
               "needs more memory than the host has");
}

}  // namespace
}  // namespace cerberus::libraries
