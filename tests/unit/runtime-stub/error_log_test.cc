// cuLogs…: what the driver said of calls that failed.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emulated.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::stub {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kWords[] = "an image is neither a fatbin";

class ErrorLogTest : public EmulatedTest {
 protected:
  // A call that fails, and one error in the log.
  static void Fail() {
    CUmodule module = nullptr;
    EXPECT_EQ(CU(cuModuleLoadData)(&module, "neither code nor text"),
              CUDA_ERROR_INVALID_IMAGE);
  }
  // All that the iterator has before it.
  static std::string Dump(CUlogIterator* iterator, std::size_t room = 25600) {
    std::vector<char> buffer(room, '?');
    std::size_t size = room;
    EXPECT_EQ(CU(cuLogsDumpToMemory)(iterator, buffer.data(), &size, 0),
              CUDA_SUCCESS);
    EXPECT_LT(size, room);
    EXPECT_EQ(buffer[size], '\0');
    return std::string(buffer.data(), size);
  }
};

TEST_F(ErrorLogTest, IteratorsAdvance) {
  CUlogIterator at = 0;
  ASSERT_EQ(CU(cuLogsCurrent)(&at, 0), CUDA_SUCCESS);
  EXPECT_EQ(Dump(&at), "");
  Fail();
  const std::string text = Dump(&at);
  EXPECT_THAT(text, StartsWith(kWords));
  EXPECT_THAT(text, EndsWith("\n"));
  EXPECT_EQ(Dump(&at), "");
  EXPECT_THAT(Dump(nullptr), EndsWith(text));
  EXPECT_EQ(CU(cuLogsCurrent)(&at, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorLogTest, ASmallBufferGetsTheNewest) {
  CUlogIterator at = 0;
  ASSERT_EQ(CU(cuLogsCurrent)(&at, 0), CUDA_SUCCESS);
  Fail();
  const CUlogIterator begin = at;
  const std::string one = Dump(&at);
  Fail();
  Fail();
  CUlogIterator copy = begin;
  EXPECT_EQ(Dump(&copy), one + one + one);
  copy = begin;
  const std::string some = Dump(&copy, 2 * one.size() + 40);
  EXPECT_THAT(some, StartsWith("(older messages do not fit)\n"));
  EXPECT_THAT(some, EndsWith(one + one));
  // Not one message.
  char small[8] = "?";
  std::size_t size = sizeof small;
  copy = begin;
  EXPECT_EQ(CU(cuLogsDumpToMemory)(&copy, small, &size, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(copy, begin);
}

TEST_F(ErrorLogTest, TheOldestAreLost) {
  CUlogIterator at = 0;
  ASSERT_EQ(CU(cuLogsCurrent)(&at, 0), CUDA_SUCCESS);
  for (int i = 0; i < 150; ++i) Fail();
  EXPECT_THAT(Dump(&at), StartsWith("(older messages are lost)\n"));
}

TEST_F(ErrorLogTest, Files) {
  const TempFolder folder;
  const std::string path = folder.path() + "/log";
  CUlogIterator at = 0;
  ASSERT_EQ(CU(cuLogsCurrent)(&at, 0), CUDA_SUCCESS);
  Fail();
  ASSERT_EQ(CU(cuLogsDumpToFile)(&at, path.c_str(), 0), CUDA_SUCCESS);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), StartsWith(kWords));
  EXPECT_EQ(Dump(&at), "");
  EXPECT_EQ(CU(cuLogsDumpToFile)(&at, (folder.path() + "/no/log").c_str(), 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorLogTest, CallbacksAreCalledUntilTheyAreRemoved) {
  struct Seen {
    std::vector<std::string> messages;
    std::vector<int> levels;
  } seen;
  const auto note = [](void* data, int level, char* message,
                       std::size_t length) {
    auto* seen = static_cast<Seen*>(data);
    seen->messages.emplace_back(message, length);
    seen->levels.push_back(level);
  };
  CUlogsCallbackHandle handle = nullptr;
  ASSERT_EQ(CU(cuLogsRegisterCallback)(note, &seen, &handle), CUDA_SUCCESS);
  Fail();
  ASSERT_THAT(seen.messages, SizeIs(1));
  EXPECT_THAT(seen.messages[0], HasSubstr(kWords));
  EXPECT_EQ(seen.levels[0], 0);  // CU_LOG_LEVEL_ERROR
  EXPECT_EQ(CU(cuLogsUnregisterCallback)(handle), CUDA_SUCCESS);
  Fail();
  EXPECT_THAT(seen.messages, SizeIs(1));
  EXPECT_EQ(CU(cuLogsUnregisterCallback)(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuLogsRegisterCallback)(nullptr, nullptr, &handle),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cerberus::stub
