// What the stub makes of the words that kernels print, against C's printf,
// whose conversions CUDA takes over (CUDA C++ Programming Guide, "Formatted
// Output").
#include "runtime-stub/launch/printf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace cerberus::stub {
namespace {

using Words = std::vector<std::uint64_t>;

std::uint64_t Real(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Length and bytes, as in the ring.
Words Text(const std::string& text) {
  Words words(1 + (text.size() + 7) / 8);
  words[0] = text.size();
  std::memcpy(words.data() + 1, text.data(), text.size());
  return words;
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::string Format(std::string_view format, const Words& arguments = {}) {
  std::string out;
  FormatPrintf(format, arguments, &out);
  return out;
}

TEST(StubPrintf, Conversions) {
  struct {
    const char* format;
    Words arguments;
    const char* text;
  } kCases[] = {
      {"", {}, ""},
      {"plain\n", {}, "plain\n"},
      {"100%%", {}, "100%"},
      {"%5%|", {}, "%|"},
      {"%d %i", {0xffffffff, 12}, "-1 12"},
      // Only the low half of an int's word counts.
      {"%d", {0xabcdef0000000005}, "5"},
      {"%u %o %x %X", {0xffffffff, 8, 255, 255}, "4294967295 10 ff FF"},
      {"%#o %#x %#X", {8, 255, 255}, "010 0xff 0XFF"},
      {"%+d|% d|%05d|%-5d|%5d|", {1, 2, 3, 4, 5}, "+1| 2|00003|4    |    5|"},
      {"%.3d|%6.3d|%-6.3d|", {7, 7, 7}, "007|   007|007   |"},
      {"%hd %hhd %hu %hhu", {65537, 257, 65537, 257}, "1 1 1 1"},
      {"%ld %lld %llu",
       {~0ull, 1ull << 63, ~0ull},
       "-1 -9223372036854775808 18446744073709551615"},
      {"%zu %jd %td %lx", {5, 6, 7, 0xabcdef0123}, "5 6 7 abcdef0123"},
      {"%f %F %.2f %8.3f|%-8.1f|%08.2f",
       {Real(1.5), Real(1.5), Real(3.14159), Real(2), Real(1.25), Real(-3.5)},
       "1.500000 1.500000 3.14    2.000|1.2     |-0003.50"},
      {"%e %E %g %G",
       {Real(12345.678), Real(0.5), Real(1e-5), Real(1e20)},
       "1.234568e+04 5.000000E-01 1e-05 1E+20"},
      {"%a %A", {Real(1), Real(-2)}, "0x1p+0 -0X1P+1"},
      {"%Lf %lf", {Real(0.5), Real(0.25)}, "0.500000 0.250000"},
      {"%f %f %f",
       {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000},
       "inf -inf nan"},
      {"%c%c|%3c|%-3c|", {'o', 'k', 'x', 'y'}, "ok|  x|y  |"},
      {"%p", {0x1234abcd}, "0x1234abcd"},
      {"%*d|%-*d|%.*f", {5, 7, 5, 7, 1, Real(0.25)}, "    7|7    |0.2"},
      // A negative width is a flag, a negative precision is none.
      {"%*d|%.*f", {0xfffffffb, 7, 0xffffffff, Real(0.5)}, "7    |0.500000"},
      // Not a conversion: no argument belongs to it.
      {"%n%k %d", {3}, "%n%k 3"},
      {"end %", {}, "end %"},
      {"end %-5", {}, "end %-5"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Format(c.format, c.arguments), c.text) << c.format;
  }
}

TEST(StubPrintf, Strings) {
  EXPECT_EQ(Format("%s|%8s|%-8s|", Text("") + Text("right") + Text("left")),
            "|   right|left    |");
  EXPECT_EQ(Format("%s %d", Text("exactly 8 bytes.") + Words{1}),
            "exactly 8 bytes. 1");
  EXPECT_EQ(Format("%.2s|%.*s", Text("cut") + Words{1} + Text("cut")), "cu|c");
  EXPECT_EQ(Format("%s", {kNullString}), "(null)");
}

// A kernel may have written anything.
TEST(StubPrintf, MissingAndWildArguments) {
  EXPECT_EQ(Format("a %d b %d c", {1}), "a 1 b ");
  EXPECT_EQ(Format("a %s b", {}), "a ");
  EXPECT_EQ(Format("%s", {1000, 0x4141414141414141}), "AAAAAAAA");
  EXPECT_EQ(Format("%.3s", {~1ull, 0x4141414141414141}), "AAA");
  EXPECT_LE(Format("%*d", {0x7fffffff, 1}).size(), 1u << 16);
  EXPECT_LE(Format("%99999999999d", {1}).size(), 1u << 16);
  EXPECT_LE(Format("%.*f", {0x7fffffff, Real(1)}).size(), (1u << 16) + 2);
  EXPECT_EQ(Format("%*d", {0x80000000, 1}).size(), 1u << 16);
}

class RingTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kWords = 16;

  formats::PrintfRing* ring() {
    return reinterpret_cast<formats::PrintfRing*>(memory_);
  }
  // As a kernel does: reserves, writes, and the first word last.
  void Write(const std::string& format, const Words& arguments) {
    const std::uint64_t size = 1 + (format.size() + 7) / 8 + arguments.size();
    Words record(1 + (format.size() + 7) / 8);
    record[0] = format.size() << 32 | size * 8;
    std::memcpy(record.data() + 1, format.data(), format.size());
    for (std::uint64_t word : record + arguments) {
      ring()->words()[ring()->written++ % kWords] = word;
    }
  }
  std::string Drain() {
    KernelOutput out;
    DrainRing(ring(), kWords, &out);
    assertions_ += out.assertions;
    return out.text;
  }

  std::uint64_t memory_[4 + kWords] = {};
  std::string assertions_;
};

TEST_F(RingTest, RecordsComeOutInOrderAndAroundTheEnd) {
  EXPECT_FALSE(HasOutput(*ring()));
  for (std::uint64_t round = 0; round < 20; ++round) {
    Write("%d and ", {round});
    Write("%d\n", {round + 1});
    EXPECT_TRUE(HasOutput(*ring()));
    EXPECT_EQ(Drain(), std::to_string(round) + " and " +
                           std::to_string(round + 1) + "\n");
    EXPECT_FALSE(HasOutput(*ring()));
  }
  // All that was read is zero again: a record whose first word is not there
  // yet is not taken for one.
  for (std::uint64_t i = 0; i < kWords; ++i) EXPECT_EQ(ring()->words()[i], 0u);
}

TEST_F(RingTest, UnfinishedRecordsWait) {
  Write("one ", {});
  Write("two ", {});
  const std::uint64_t first = ring()->words()[2];
  ring()->words()[2] = 0;
  EXPECT_EQ(Drain(), "one ");
  EXPECT_EQ(Drain(), "");
  ring()->words()[2] = first;
  EXPECT_EQ(Drain(), "two ");
}

TEST_F(RingTest, FailedAssertionsAreKeptApart) {
  constexpr std::uint64_t kText = 'x';
  // File, line, function, block, thread, assertion.
  const Words arguments = {1, kText, 7, 1, kText, 1, 2, 3, 4, 5, 6, 1, kText};
  Write("one", {});
  EXPECT_EQ(Drain(), "one");
  const std::uint64_t at = ring()->written;
  Write("", arguments);
  ring()->words()[at % kWords] |= formats::kAssertionRecord;
  EXPECT_EQ(Drain(), "");
  EXPECT_EQ(assertions_,
            "x:7: x: block: [1,2,3], thread: [4,5,6] Assertion `x` failed.\n");
  ring()->dropped_assertions = 3;
  EXPECT_TRUE(HasOutput(*ring()));
  Drain();
  EXPECT_FALSE(HasOutput(*ring()));
}

TEST_F(RingTest, ABrokenRecordEndsTheRound) {
  Write("good ", {});
  Write("bad ", {});
  ring()->words()[2] = 4096;  // longer than what was written
  EXPECT_EQ(Drain(), "good ");
  Write("next", {});
  EXPECT_EQ(Drain(), "next");
  Write("bad ", {});
  ring()->words()[ring()->read % kWords] = std::uint64_t{500} << 32 | 16;
  EXPECT_EQ(Drain(), "");
  ring()->written = ring()->read + kWords + 1;  // more than there is room for
  EXPECT_EQ(Drain(), "");
}

}  // namespace
}  // namespace cerberus::stub
