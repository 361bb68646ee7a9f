// Instructions through which lanes and warps speak to each other: shfl, vote,
// match, redux, activemask, elect, bar and barrier.
//
// The expectations follow PTX ISA 9.0, "Data Movement: shfl.sync" and
// "Parallel Synchronization and Communication Instructions".
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 96;  // three warps

// A kernel k(in, out): thread t has 32 bytes of input at %in (u32 words x0
// to x7 as %x0…), and 16 bytes of output at %out.
std::string Kernel(const std::string& body) {
  std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %in, %out;\n  .reg .b32 %thread, %x<8>, %y<8>;\n"
      "  .reg .b64 %l<8>;\n  .reg .pred %p<8>;\n"
      "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
      "  mov.u32 %thread, %tid.x;\n"
      "  mad.wide.u32 %in, %thread, 32, %in;\n"
      "  mad.wide.u32 %out, %thread, 16, %out;\n";
  for (int i = 0; i < 8; ++i) {
    text += "  ld.global.u32 %x" + std::to_string(i) + ", [%in+" +
            std::to_string(4 * i) + "];\n";
  }
  return text + body + "  ret;\n}\n";
}

struct Lane {
  std::uint32_t x[8] = {};
};
struct Out {
  std::uint32_t y[4] = {};
};

std::vector<Out> Execute(const std::string& text, const std::vector<Lane>& in) {
  std::vector<Out> out(in.size());
  auto module = PtxModule::Compile(text);
  if (!module) {
    ADD_FAILURE() << module.error().ToString() << text;
    return out;
  }
  Buffer in_buffer((*module)->device(), sizeof(Lane) * in.size());
  Buffer out_buffer((*module)->device(), sizeof(Out) * in.size());
  std::copy(in.begin(), in.end(), in_buffer.as<Lane>());
  std::fill_n(out_buffer.as<Out>(), in.size(), Out{{~0u, ~0u, ~0u, ~0u}});
  Launch launch;
  launch.block = {static_cast<std::uint32_t>(in.size()), 1, 1};
  launch.params = {in_buffer.address(), out_buffer.address()};
  const Status status = (*module)->Run("k", launch);
  if (!status) ADD_FAILURE() << status.error().ToString() << text;
  std::copy_n(out_buffer.as<Out>(), in.size(), out.begin());
  return out;
}

std::vector<Lane> RandomLanes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Lane> lanes(kThreads);
  for (Lane& lane : lanes) {
    for (std::uint32_t& x : lane.x) x = static_cast<std::uint32_t>(random());
  }
  return lanes;
}

// ---- shfl -------------------------------------------------------------------

struct Shuffled {
  std::uint32_t lane;
  bool in_range;
};
Shuffled ShuffleSource(const LoweredSpelling& s, std::uint32_t lane,
                       std::uint32_t b, std::uint32_t c) {
  const int bval = static_cast<int>(b & 31), cval = static_cast<int>(c & 31);
  const int segment = static_cast<int>((c >> 8) & 31);
  const int l = static_cast<int>(lane);
  const int max_lane = (l & segment) | (cval & ~segment);
  const int min_lane = l & segment;
  int j;
  bool in_range;
  if (s.Has("up")) {
    j = l - bval;
    in_range = j >= max_lane;
  } else if (s.Has("down")) {
    j = l + bval;
    in_range = j <= max_lane;
  } else if (s.Has("bfly")) {
    j = l ^ bval;
    in_range = j <= max_lane;
  } else {
    j = min_lane | (bval & ~segment);
    in_range = j <= max_lane;
  }
  return {static_cast<std::uint32_t>(in_range ? j : l), in_range};
}

TEST(WarpExec, Shfl) {
  const auto spellings = LoweredSpellingsOf("shfl");
  ASSERT_FALSE(spellings.empty());
  for (const LoweredSpelling& s : spellings) {
    const bool sync = s.Has("sync");
    for (int width : {32, 16, 8, 4, 2, 1}) {
      const std::uint32_t clamp = s.Has("up") ? 0 : 31;
      const std::uint32_t c =
          (static_cast<std::uint32_t>(32 - width) << 8) | clamp;
      for (int mode = 0; mode < 3; ++mode) {
        // b: a constant, the same register in all lanes, or its own in each.
        std::vector<Lane> lanes = RandomLanes(static_cast<unsigned>(width));
        const std::uint32_t fixed = static_cast<std::uint32_t>(width) / 2 + 1;
        if (mode < 2) {
          for (Lane& lane : lanes) lane.x[1] = fixed;
        }
        const std::string b = mode == 0 ? std::to_string(fixed) : "%x1";
        const std::string mask = sync ? ", 0xffffffff" : "";
        const std::string text = Kernel(
            "  " + s.text + " %y0|%p0, %x0, " + b + ", " + std::to_string(c) +
            mask + ";\n  selp.u32 %y1, 1, 0, %p0;\n" + "  " + s.text +
            " %y2, %x0, " + b + ", " + std::to_string(c) + mask + ";\n" +
            "  st.global.u32 [%out], %y0;\n  st.global.u32 [%out+4], %y1;\n"
            "  st.global.u32 [%out+8], %y2;\n");
        const std::vector<Out> out = Execute(text, lanes);
        for (std::uint32_t t = 0; t < kThreads; ++t) {
          const Shuffled from = ShuffleSource(s, t % 32, lanes[t].x[1], c);
          const std::uint32_t want = lanes[t / 32 * 32 + from.lane].x[0];
          ASSERT_EQ(out[t].y[0], want)
              << s.text << " width " << width << " b " << b << " thread " << t;
          ASSERT_EQ(out[t].y[1], from.in_range ? 1u : 0u)
              << s.text << " width " << width << " thread " << t;
          ASSERT_EQ(out[t].y[2], want);
        }
      }
    }
  }
}

// Where lanes and segments are constants, shuffles may be DPP or the like: all
// 32 of them in one kernel, which mixes what they give.
TEST(WarpExec, ShflByEveryConstant) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("shfl")) {
    for (int width : {32, 16, 4}) {
      const std::uint32_t c = (static_cast<std::uint32_t>(32 - width) << 8) |
                              (s.Has("up") ? 0 : 31);
      std::string body = "  mov.u32 %y0, 0;\n";
      for (int b = 0; b < 32; ++b) {
        body += "  " + s.text + " %y1|%p0, %x0, " + std::to_string(b) + ", " +
                std::to_string(c) + (s.Has("sync") ? ", 0xffffffff" : "") +
                ";\n  mad.lo.u32 %y0, %y0, 31, %y1;\n"
                "  selp.u32 %y1, 1, 0, %p0;\n"
                "  add.u32 %y0, %y0, %y1;\n";
      }
      const std::vector<Lane> lanes = RandomLanes(11);
      const std::vector<Out> out =
          Execute(Kernel(body + "  st.global.u32 [%out], %y0;\n"), lanes);
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        std::uint32_t want = 0;
        for (std::uint32_t b = 0; b < 32; ++b) {
          const Shuffled from = ShuffleSource(s, t % 32, b, c);
          want =
              want * 31 + lanes[t / 32 * 32 + from.lane].x[0] + from.in_range;
        }
        ASSERT_EQ(out[t].y[0], want)
            << s.text << " width " << width << " thread " << t;
      }
    }
  }
}

TEST(WarpExec, ShflAmongTheLanesOfABranch) {
  const std::string text = Kernel(
      "  and.b32 %y3, %thread, 31;\n  setp.lt.u32 %p1, %y3, 16;\n"
      "  mov.u32 %y0, 7;\n"
      "  @!%p1 bra DONE;\n"
      "  shfl.sync.down.b32 %y0|%p0, %x0, 1, 0x100f, 0xffff;\n"
      "DONE:\n  st.global.u32 [%out], %y0;\n");
  const std::vector<Lane> lanes = RandomLanes(3);
  const std::vector<Out> out = Execute(text, lanes);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint32_t l = t % 32;
    const std::uint32_t want =
        l >= 16 ? 7 : lanes[t - l + (l < 15 ? l + 1 : l)].x[0];
    EXPECT_EQ(out[t].y[0], want) << t;
  }
}

// ---- vote, match, redux -----------------------------------------------------

TEST(WarpExec, Vote) {
  const auto spellings = LoweredSpellingsOf("vote");
  ASSERT_FALSE(spellings.empty());
  for (const LoweredSpelling& s : spellings) {
    for (bool negate : {false, true}) {
      const bool ballot = s.Has("ballot");
      const std::string mask = s.Has("sync") ? ", 0xffffffff" : "";
      const std::string text =
          Kernel("  setp.ne.u32 %p0, %x0, 0;\n  " + s.text +
                 (ballot ? " %y0, " : " %p1, ") + (negate ? "!%p0" : "%p0") +
                 mask + ";\n" + (ballot ? "" : "  selp.u32 %y0, 1, 0, %p1;\n") +
                 "  st.global.u32 [%out], %y0;\n");
      std::vector<Lane> lanes = RandomLanes(5);
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        // The warps: all, none, some.
        lanes[t].x[0] = t < 32 ? 1 : t < 64 ? 0 : lanes[t].x[0] & 1;
      }
      const std::vector<Out> out = Execute(text, lanes);
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        std::uint32_t bits = 0;
        for (std::uint32_t l = 0; l < 32; ++l) {
          const bool p = (lanes[t / 32 * 32 + l].x[0] != 0) != negate;
          bits |= static_cast<std::uint32_t>(p) << l;
        }
        std::uint32_t want = bits;
        if (s.Has("all")) want = bits == ~0u;
        if (s.Has("any")) want = bits != 0;
        if (s.Has("uni")) want = bits == ~0u || bits == 0;
        ASSERT_EQ(out[t].y[0], want) << s.text << " thread " << t;
      }
    }
  }
}

TEST(WarpExec, VoteAndActivemaskInABranch) {
  const std::string text = Kernel(
      "  and.b32 %y3, %thread, 3;\n  setp.eq.u32 %p1, %y3, 1;\n"
      "  mov.u32 %y0, 0;\n  mov.u32 %y1, 0;\n"
      "  @!%p1 bra DONE;\n"
      "  activemask.b32 %y0;\n"
      "  setp.ne.u32 %p0, %x0, 0;\n"
      "  vote.sync.ballot.b32 %y1, %p0, 0x22222222;\n"
      "DONE:\n  st.global.u32 [%out], %y0;\n  st.global.u32 [%out+4], %y1;\n");
  std::vector<Lane> lanes = RandomLanes(6);
  for (Lane& lane : lanes) lane.x[0] &= 1;
  const std::vector<Out> out = Execute(text, lanes);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const bool in = t % 4 == 1;
    std::uint32_t bits = 0;
    for (std::uint32_t l = 1; l < 32; l += 4) {
      bits |= lanes[t / 32 * 32 + l].x[0] << l;
    }
    EXPECT_EQ(out[t].y[0], in ? 0x22222222u : 0) << t;
    EXPECT_EQ(out[t].y[1], in ? bits : 0) << t;
  }
}

TEST(WarpExec, Match) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("match")) {
    const bool wide = s.Has("b64"), all = s.Has("all");
    std::string body = "  mov.b64 %l0, {%x0, %x1};\n";
    body += "  " + s.text + " %y0" + (all ? "|%p0" : "") + ", " +
            (wide ? "%l0" : "%x0") + ", 0xffffffff;\n";
    if (!all) body += "  setp.eq.u32 %p0, 0, 0;\n";
    body +=
        "  selp.u32 %y1, 1, 0, %p0;\n"
        "  st.global.u32 [%out], %y0;\n  st.global.u32 [%out+4], %y1;\n";
    std::vector<Lane> lanes = RandomLanes(7);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      lanes[t].x[0] = t < 32 ? 5 : lanes[t].x[0] % 4;
      lanes[t].x[1] = t < 32 ? 9 : lanes[t].x[1] % 2;
    }
    const std::vector<Out> out = Execute(Kernel(body), lanes);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      std::uint32_t same = 0;
      for (std::uint32_t l = 0; l < 32; ++l) {
        const Lane& other = lanes[t / 32 * 32 + l];
        const bool equal = other.x[0] == lanes[t].x[0] &&
                           (!wide || other.x[1] == lanes[t].x[1]);
        same |= static_cast<std::uint32_t>(equal) << l;
      }
      if (all) {
        const bool yes = same == ~0u;
        ASSERT_EQ(out[t].y[0], yes ? ~0u : 0u) << s.text << " " << t;
        ASSERT_EQ(out[t].y[1], yes ? 1u : 0u) << s.text << " " << t;
      } else {
        ASSERT_EQ(out[t].y[0], same) << s.text << " " << t;
      }
    }
  }
}

// A mask may name lanes that have exited, or that a last warp never had: they
// are neither waited for nor counted.
TEST(WarpExec, LanesThatAreNotThere) {
  const std::string text = Kernel(
      "  and.b32 %x0, %thread, 31;\n  setp.lt.u32 %p0, %x0, 3;\n"
      "  @%p0 exit;\n  setp.ne.u32 %p0, %x0, 99;\n"
      "  match.all.sync.b32 %y0|%p1, 7, 0xffffffff;\n"
      "  selp.u32 %y1, 1, 0, %p1;\n"
      "  vote.sync.all.pred %p1, %p0, 0xffffffff;\n"
      "  @%p1 or.b32 %y1, %y1, 2;\n"
      "  vote.sync.uni.pred %p1, %p0, 0xffffffff;\n"
      "  @%p1 or.b32 %y1, %y1, 4;\n"
      "  vote.sync.any.pred %p1, !%p0, 0xffffffff;\n"
      "  @%p1 or.b32 %y1, %y1, 8;\n"
      "  elect.sync %y2|%p1, 0xffffffff;\n"
      "  @%p1 or.b32 %y1, %y1, 16;\n  shl.b32 %y2, %y2, 8;\n"
      "  or.b32 %y1, %y1, %y2;\n"
      "  match.any.sync.b32 %y2, 7, 0xffffffff;\n"
      "  redux.sync.add.u32 %y3, %x0, 0xffffffff;\n"
      "  st.global.v4.u32 [%out], {%y0, %y1, %y2, %y3};\n");
  const std::vector<Out> out = Execute(text, std::vector<Lane>(42));
  for (std::uint32_t t = 0; t < 42; ++t) {
    const std::uint32_t lane = t % 32, end = t < 32 ? 32 : 10;
    if (lane < 3) continue;
    std::uint32_t there = 0, sum = 0;
    for (std::uint32_t l = 3; l < end; ++l) {
      there |= 1u << l;
      sum += l;
    }
    EXPECT_EQ(out[t].y[0], there) << t;
    EXPECT_EQ(out[t].y[1], 0x307u + (lane == 3 ? 16 : 0)) << t;
    EXPECT_EQ(out[t].y[2], there) << t;
    EXPECT_EQ(out[t].y[3], sum) << t;
  }
}

TEST(WarpExec, Redux) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("redux")) {
    const std::string text = Kernel("  " + s.text +
                                    " %y0, %x0, 0xffffffff;\n"
                                    "  st.global.u32 [%out], %y0;\n");
    std::vector<Lane> lanes = RandomLanes(8);
    if (s.Has("f32")) {
      for (Lane& lane : lanes) {
        lane.x[0] = std::bit_cast<std::uint32_t>(
            static_cast<float>(static_cast<std::int32_t>(lane.x[0])) / 7);
      }
      if (s.Has("NaN")) lanes[40].x[0] = 0x7fc00000;
    }
    const std::vector<Out> out = Execute(text, lanes);
    for (std::uint32_t w = 0; w < kThreads; w += 32) {
      std::uint32_t want = lanes[w].x[0];
      if (s.Has("abs")) want &= 0x7fffffff;
      for (std::uint32_t l = 1; l < 32; ++l) {
        std::uint32_t x = lanes[w + l].x[0];
        if (s.Has("f32")) {
          if (s.Has("abs")) x &= 0x7fffffff;
          const float a = std::bit_cast<float>(want);
          const float b = std::bit_cast<float>(x);
          if (a != a || b != b) {
            want = 0x7fffffff;
          } else if (s.Has("min") ? b < a : b > a) {
            want = x;
          }
          continue;
        }
        const bool is_signed = s.Has("s32");
        const bool less = is_signed ? static_cast<std::int32_t>(x) <
                                          static_cast<std::int32_t>(want)
                                    : x < want;
        if (s.Has("add")) want += x;
        if (s.Has("and")) want &= x;
        if (s.Has("or")) want |= x;
        if (s.Has("xor")) want ^= x;
        if (s.Has("min") && less) want = x;
        if (s.Has("max") && !less) want = x;
      }
      for (std::uint32_t l = 0; l < 32; ++l) {
        const std::uint32_t got = out[w + l].y[0];
        if ((want & 0x7fffffff) > 0x7f800000 && s.Has("f32")) {
          ASSERT_GT(got & 0x7fffffff, 0x7f800000u) << s.text;
        } else {
          ASSERT_EQ(got, want) << s.text << " thread " << w + l;
        }
      }
    }
  }
}

// PTX ISA, "redux.sync": NaN is left out, or with .NaN is the result, and is
// quiet either way; +0 is more than -0.
TEST(WarpExec, ReduxOfSpecialFloatsAndSomeLanes) {
  constexpr std::array<std::array<std::uint32_t, 4>, 4> kSets = {{
      {0x7fa00001, 0xffc12345, 0x7fffffff, 0xff800001},  // NaN alone
      {0x7fa00001, 0x3f800000, 0xff800000, 0xffc00000},
      {0x80000000, 0x00000000, 0x80000000, 0x00000000},
      {0x80000001, 0x00000001, 0x7f800000, 0x00800000},
  }};
  const auto is_nan = [](std::uint32_t x) { return (x << 1) > 0xff000000; };
  const auto order = [](std::uint32_t x) {
    return x >> 31 != 0 ? ~x : x | 0x80000000;
  };
  for (const LoweredSpelling& s : LoweredSpellingsOf("redux")) {
    if (!s.Has("f32")) continue;
    for (const std::uint32_t mask : {0x40u, 0xc3u, ~0u}) {
      const std::string number = std::to_string(mask);
      const std::string text = Kernel(
          "  mov.u32 %y1, %lanemask_eq;\n  mov.u32 %y0, 0;\n"
          "  and.b32 %y1, %y1, " +
          number +
          ";\n"
          "  setp.ne.u32 %p0, %y1, 0;\n  @%p0 " +
          s.text + " %y0, %x0, " + number +
          ";\n"
          "  st.global.u32 [%out], %y0;\n");
      for (const auto& set : kSets) {
        std::vector<Lane> lanes = RandomLanes(8);
        std::uint32_t want = 0;
        bool any = false, nan = false;
        for (std::uint32_t t = 0; t < kThreads; ++t) {
          std::uint32_t x = lanes[t].x[0] = set[t % 4];
          if (t >= 32 || (mask >> t & 1) == 0) continue;
          if (s.Has("abs")) x &= 0x7fffffff;
          nan |= is_nan(x);
          if (is_nan(x)) continue;
          const bool better =
              s.Has("min") ? order(x) < order(want) : order(x) > order(want);
          if (!any || better) want = x;
          any = true;
        }
        const bool want_nan = !any || (nan && s.Has("NaN"));
        const std::vector<Out> out = Execute(text, lanes);
        for (std::uint32_t t = 0; t < kThreads; ++t) {
          const std::uint32_t got = out[t].y[0];
          if ((mask >> t % 32 & 1) == 0) {
            ASSERT_EQ(got, 0u);
          } else if (want_nan) {
            ASSERT_EQ(got & 0x7fc00000, 0x7fc00000u)
                << s.text << " of " << number;
          } else {
            ASSERT_EQ(got, want) << s.text << " of " << number;
          }
        }
      }
    }
  }
}

// Lanes leave a loop one by one, some do not enter it: behind it each has what
// its own last round made, though every round's value is the whole warp's.
TEST(WarpExec, ReduxInALoopThatLanesLeave) {
  const std::string text = Kernel(
      "  mov.u32 %x2, %laneid;\n  mov.u32 %y0, 99;\n"
      "  mov.u32 %y1, 0;\n  setp.eq.u32 %p0, %x1, 2;\n"
      "  vote.sync.ballot.b32 %y2, !%p0, 0xffffffff;\n"
      "  @%p0 bra BEHIND;\n  setp.ne.u32 %p1, %x0, 0;\n"
      "  vote.sync.ballot.b32 %y2, %p1, %y2;\n  @!%p1 bra BEHIND;\n"
      "ROUND:\n  redux.sync.and.b32 %y0, %x2, %y2;\n"
      "  shfl.sync.idx.b32 %y1, %y0, %x2, 0x1f, %y2;\n"
      "  sub.u32 %x0, %x0, 1;\n  setp.ne.u32 %p1, %x0, 0;\n"
      "  vote.sync.ballot.b32 %y2, %p1, %y2;\n  @%p1 bra ROUND;\n"
      "BEHIND:\n  st.global.v2.u32 [%out], {%y0, %y1};\n");
  std::vector<Lane> lanes(kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    lanes[t].x[0] = t % 8;
    lanes[t].x[1] = t % 32 / 8;
  }
  const std::vector<Out> out = Execute(text, lanes);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t all = 31;  // of the lanes with as many rounds or more
    for (std::uint32_t l = 0; l < 32; ++l) {
      if (l / 8 != 2 && l % 8 >= t % 8) all &= l;
    }
    const bool entered = lanes[t].x[0] != 0 && lanes[t].x[1] != 2;
    EXPECT_EQ(out[t].y[0], entered ? all : 99) << t;
    EXPECT_EQ(out[t].y[1], entered ? all : 0) << t;
  }
}

TEST(WarpExec, Elect) {
  for (const LoweredSpelling& s : LoweredSpellingsOf("elect")) {
    const std::string text = Kernel("  " + s.text +
                                    " %y0|%p0, 0xffffffff;\n"
                                    "  selp.u32 %y1, 1, 0, %p0;\n"
                                    "  st.global.u32 [%out], %y0;\n"
                                    "  st.global.u32 [%out+4], %y1;\n");
    const std::vector<Out> out = Execute(text, RandomLanes(9));
    for (std::uint32_t w = 0; w < kThreads; w += 32) {
      const std::uint32_t leader = out[w].y[0];
      ASSERT_LT(leader, 32u);
      for (std::uint32_t l = 0; l < 32; ++l) {
        EXPECT_EQ(out[w + l].y[0], leader);
        EXPECT_EQ(out[w + l].y[1], l == leader ? 1u : 0u);
      }
    }
  }
}

// ---- bar, barrier -----------------------------------------------------------

// Every thread writes a word to shared memory, the barrier stands between,
// and every thread reads a word of another warp.
std::string Exchange(const std::string& barrier) {
  return "  .shared .align 4 .b32 words[96];\n"
         "  mov.u32 %y1, words;\n  mad.lo.u32 %y2, %thread, 4, %y1;\n"
         "  st.shared.u32 [%y2], %x0;\n" +
         barrier +
         "  add.u32 %y3, %thread, 40;\n  rem.u32 %y3, %y3, 96;\n"
         "  mad.lo.u32 %y3, %y3, 4, %y1;\n  ld.shared.u32 %y0, [%y3];\n"
         "  st.global.u32 [%out], %y0;\n";
}

void ExpectExchanged(const std::string& text) {
  const std::vector<Lane> lanes = RandomLanes(10);
  const std::vector<Out> out = Execute(text, lanes);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    ASSERT_EQ(out[t].y[0], lanes[(t + 40) % kThreads].x[0])
        << "thread " << t << "\n"
        << text;
  }
}

TEST(WarpExec, BarriersOrderSharedMemory) {
  int executed = 0;
  for (const char* opcode : {"bar", "barrier"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      if (s.Has("arrive")) continue;  // below
      if (s.Has("red")) {
        const bool popc = s.Has("popc");
        for (const char* operands : {"0, ", "3, 96, "}) {
          for (bool negate : {false, true}) {
            const std::string text =
                Kernel(Exchange("  setp.ne.u32 %p0, %x1, 0;\n  " + s.text +
                                (popc ? " %y4, " : " %p1, ") + operands +
                                (negate ? "!%p0" : "%p0") + ";\n" +
                                (popc ? "" : "  selp.u32 %y4, 1, 0, %p1;\n") +
                                "  st.global.u32 [%out+4], %y4;\n"));
            for (int density = 0; density < 3; ++density) {
              std::vector<Lane> lanes = RandomLanes(11);
              std::uint32_t count = 0;
              for (Lane& lane : lanes) {
                lane.x[1] = density == 0 ? 0 : density == 1 ? 1 : lane.x[1] & 1;
                count += (lane.x[1] != 0) != negate;
              }
              std::uint32_t want = count;
              if (s.Has("and")) want = count == kThreads;
              if (s.Has("or")) want = count != 0;
              const std::vector<Out> out = Execute(text, lanes);
              for (std::uint32_t t = 0; t < kThreads; ++t) {
                ASSERT_EQ(out[t].y[1], want) << text;
                ASSERT_EQ(out[t].y[0], lanes[(t + 40) % kThreads].x[0]);
              }
              ++executed;
            }
          }
        }
        continue;
      }
      for (const char* operands :
           {" 0;\n", " 5;\n", " 0, 96;\n", " 7, 96;\n"}) {
        ExpectExchanged(Kernel(Exchange("  " + s.text + operands)));
        ++executed;
      }
      // The barrier's number in a register.
      ExpectExchanged(
          Kernel(Exchange("  mov.u32 %y5, 9;\n  " + s.text + " %y5;\n")));
    }
  }
  EXPECT_GT(executed, 0);
}

TEST(WarpExec, BarWarpSync) {
  const auto spellings = LoweredSpellingsOf("bar.warp");
  ASSERT_FALSE(spellings.empty());
  for (const LoweredSpelling& s : spellings) {
    const std::string text = Kernel(
        "  .shared .align 4 .b32 words[96];\n"
        "  mov.u32 %y1, words;\n  mad.lo.u32 %y2, %thread, 4, %y1;\n"
        "  st.shared.u32 [%y2], %x0;\n  " +
        s.text +
        " 0xffffffff;\n  xor.b32 %y3, %thread, 31;\n"
        "  mad.lo.u32 %y3, %y3, 4, %y1;\n  ld.shared.u32 %y0, [%y3];\n"
        "  st.global.u32 [%out], %y0;\n");
    const std::vector<Lane> lanes = RandomLanes(12);
    const std::vector<Out> out = Execute(text, lanes);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(out[t].y[0], lanes[t ^ 31].x[0]) << t;
    }
  }
}

// Two groups of warps at barriers of their own, and a producer that only
// arrives: each works only if barriers are counted apart.
TEST(WarpExec, NamedBarriersCountTheirOwnThreads) {
  std::vector<std::string> arrivals;
  for (const char* opcode : {"bar", "barrier"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      if (s.Has("arrive")) arrivals.push_back(s.text);
    }
  }
  ASSERT_FALSE(arrivals.empty());
  for (const std::string& arrive : arrivals) {
    std::string sync = arrive;
    sync.replace(sync.find("arrive"), 6, "sync");
    const std::string text = Kernel(
        "  .shared .align 4 .b32 words[96];\n"
        "  mov.u32 %y1, words;\n  mad.lo.u32 %y2, %thread, 4, %y1;\n"
        "  setp.lt.u32 %p0, %thread, 32;\n  setp.lt.u32 %p1, %thread, 64;\n"
        "  mov.u32 %y0, 0;\n"
        "  @%p0 bra PRODUCER;\n"
        "  @%p1 bra CONSUMER;\n"
        // The third warp synchronises with itself alone.
        "  st.shared.u32 [%y2], %x0;\n  " +
        sync +
        " 2, 32;\n"
        "  sub.u32 %y3, 159, %thread;\n  mad.lo.u32 %y3, %y3, 4, %y1;\n"
        "  ld.shared.u32 %y0, [%y3];\n  bra DONE;\n"
        "PRODUCER:\n  st.shared.u32 [%y2], %x0;\n  " +
        arrive +
        " 1, 64;\n  bra DONE;\n"
        "CONSUMER:\n  " +
        sync +
        " 1, 64;\n"
        "  sub.u32 %y3, %thread, 32;\n  mad.lo.u32 %y3, %y3, 4, %y1;\n"
        "  ld.shared.u32 %y0, [%y3];\n"
        "DONE:\n  st.global.u32 [%out], %y0;\n");
    const std::vector<Lane> lanes = RandomLanes(13);
    const std::vector<Out> out = Execute(text, lanes);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const std::uint32_t want = t < 32   ? 0
                                 : t < 64 ? lanes[t - 32].x[0]
                                          : lanes[159 - t].x[0];
      EXPECT_EQ(out[t].y[0], want) << arrive << " thread " << t;
    }
  }
}

// Without a count all threads of the block take part (PTX ISA, "bar"), with
// those that arrive at the same barrier by count.
TEST(WarpExec, BarriersWithAndWithoutACountAreTheSame) {
  for (const char* number : {"0", "1", "%y5"}) {
    const std::string text = Kernel(
        "  .shared .align 4 .b32 words[96];\n"
        "  mov.u32 %y1, words;\n  mad.lo.u32 %y2, %thread, 4, %y1;\n"
        "  setp.lt.u32 %p0, %thread, 32;\n  mov.u32 %y0, 0;\n"
        "  add.u32 %y5, %x0, 3;\n  sub.u32 %y5, %y5, %x0;\n"
        "  @%p0 bra PRODUCER;\n  barrier.sync " +
        std::string(number) +
        ";\n  rem.u32 %y3, %thread, 32;\n"
        "  mad.lo.u32 %y3, %y3, 4, %y1;\n  ld.shared.u32 %y0, [%y3];\n"
        "  setp.gt.u32 %p1, %thread, 40;\n  barrier.red.popc.u32 %y4, 2, %p1;\n"
        "  add.u32 %y0, %y0, %y4;\n  bra DONE;\n"
        "PRODUCER:\n  mov.u32 %y4, 1000000;\n"
        "LATE:\n  sub.u32 %y4, %y4, 50000;\n  setp.gt.u32 %p1, %y4, 0;\n"
        "  @%p1 bra LATE;\n  add.u32 %y0, %x0, %y4;\n"
        "  st.shared.u32 [%y2], %y0;\n  mov.u32 %y0, 0;\n"
        "  barrier.arrive " +
        number +
        ", 96;\n  barrier.arrive 2, 96;\n"
        "DONE:\n  st.global.u32 [%out], %y0;\n");
    const std::vector<Lane> lanes = RandomLanes(14);
    const std::vector<Out> out = Execute(text, lanes);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(out[t].y[0], t < 32 ? 0 : lanes[t % 32].x[0] + 55)
          << number << " thread " << t;
    }
  }
}

// Threads that have ended do not take part, whether or not they have arrived
// before: the first warp ends in two places, the second arrives late and ends.
TEST(WarpExec, BarriersThatAlsoCountDoNotWaitForEndedThreads) {
  for (const char* opcode : {"bar", "barrier"}) {
    for (const char* number : {"1", "%y5"}) {
      const std::string sync = std::string("  ") + opcode + ".sync " + number;
      const std::string text = Kernel(
          "  .shared .align 4 .b32 words[96];\n"
          "  mov.u32 %y1, words;\n  mad.lo.u32 %y2, %thread, 4, %y1;\n"
          "  add.u32 %y5, %x0, 3;\n  sub.u32 %y5, %y5, %x0;\n"
          "  setp.ge.u32 %p0, %thread, 64;\n  @%p0 bra STAYS;\n"
          "  mov.u32 %y0, 0;\n  setp.lt.u32 %p0, %thread, 10;\n"
          "  st.global.u32 [%out], %y0;\n  @%p0 exit;\n"
          "  mov.u32 %y4, 1000000;\n"
          "LATE:\n  sub.u32 %y4, %y4, 50000;\n  setp.gt.u32 %p1, %y4, 0;\n"
          "  @%p1 bra LATE;\n  setp.lt.u32 %p0, %thread, 32;\n"
          "  @%p0 ret;\n  add.u32 %y0, %x0, %y4;\n"
          "  st.shared.u32 [%y2], %y0;\n  " +
          std::string(opcode) + ".arrive " + number +
          ", 96;\n  ret;\n"
          "STAYS:\n  " +
          opcode + ".sync 2, 32;\n" + sync +
          ";\n  ld.shared.u32 %y0, [%y2+-128];\n"
          "  setp.gt.u32 %p1, %thread, 70;\n  " +
          opcode + ".red.popc.u32 %y4, 2, %p1;\n" + sync + ";\n" + sync +
          ";\n  add.u32 %y0, %y0, %y4;\n  st.global.u32 [%out], %y0;\n");
      const std::vector<Lane> lanes = RandomLanes(15);
      const std::vector<Out> out = Execute(text, lanes);
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        EXPECT_EQ(out[t].y[0], t < 64 ? 0 : lanes[t - 32].x[0] + 25)
            << opcode << " " << number << " thread " << t;
      }
    }
  }
}

}  // namespace
}  // namespace cerberus::exec
