// Copies by tensor map other than of boxes: four rows anywhere, pixels as
// convolutions want them, reductions into a tensor; and changes of a map.
//
// PTX ISA 9.0, "Tensors: Tiled mode, im2col mode", "tensormap.replace".
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "formats/tensor_map.h"
#include "support/bytes.h"
#include "tests/exec/async_exec_test.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

using formats::TensorMap;

constexpr std::size_t kSharedBytes = 8192;

// What an instruction names.
struct Place {
  std::array<std::int32_t, 5> at = {};
  std::array<std::int32_t, 3> offsets = {};
};

using Row = std::optional<std::array<std::int64_t, 4>>;  // dimensions 1 to 4

Row RowAt(const TensorMap& map, const std::array<std::int64_t, 4>& x) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (x[i] < 0 || x[i] > map.last[i + 1]) return std::nullopt;
  }
  return x;
}

// The rows of a copy in the order of shared memory.
std::vector<Row> RowsOf(const LoweredSpelling& s, const TensorMap& map,
                        const Place& place) {
  std::vector<Row> rows;
  const auto& c = place.at;
  if (s.Has("tile::gather4") || s.Has("tile::scatter4")) {
    for (std::size_t i = 1; i < 5; ++i) rows.push_back(RowAt(map, {c[i]}));
    return rows;
  }
  if (!s.Has("im2col") && !s.Has("im2col_no_offs")) {
    std::array<int, 4> i = {};
    for (i[3] = 0; i[3] < map.box[4]; ++i[3]) {
      for (i[2] = 0; i[2] < map.box[3]; ++i[2]) {
        for (i[1] = 0; i[1] < map.box[2]; ++i[1]) {
          for (i[0] = 0; i[0] < map.box[1]; ++i[0]) {
            rows.push_back(RowAt(
                map, {c[1] + i[0], c[2] + i[1], c[3] + i[2], c[4] + i[3]}));
          }
        }
      }
    }
    return rows;
  }
  // All pixels of the box in order, from the one that is named on.
  const std::size_t spatial = map.rank - 2u;
  std::array<std::int64_t, 4> x = {c[1], c[2], c[3], c[4]};
  while (rows.size() < map.pixels) {
    std::array<std::int64_t, 4> moved = x;
    for (std::size_t i = 0; i < spatial; ++i) moved[i] += place.offsets[i];
    rows.push_back(RowAt(map, moved));
    std::size_t i = 0;
    for (; i < spatial; ++i) {
      x[i] += map.steps[i + 1];
      if (x[i] <= std::int64_t{map.last[i + 1]} + map.upper[i]) break;
      x[i] = map.lower[i];
    }
    if (i == spatial) ++x[i];
  }
  return rows;
}

// Calls fn with each byte of the copy: its place in shared memory, and in the
// tensor unless outside.
void ForBytes(const LoweredSpelling& s, const TensorMap& map,
              const Place& place,
              const std::function<void(std::size_t, std::int64_t)>& fn) {
  const std::int64_t element = std::int64_t{1} << map.element_log2;
  std::size_t at = 0;
  for (const Row& row : RowsOf(s, map, place)) {
    for (int e = 0; e < map.box[0]; ++e) {
      const std::int64_t x = std::int64_t{place.at[0]} + e;
      std::int64_t offset = x * element;
      if (row) {
        for (std::size_t i = 0; i < 4; ++i) {
          offset += (*row)[i] * static_cast<std::int64_t>(map.strides[i]);
        }
      }
      const bool inside = row && x >= 0 && x <= map.last[0];
      for (std::int64_t b = 0; b < element; ++b, ++at) {
        const std::size_t mask = ((std::size_t{1} << map.swizzle) - 1) << 4;
        fn(at ^ (at >> 3 & mask), inside ? offset + b : -1);
      }
    }
  }
}

std::string Vector(const char* prefix, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) {
    list += (i == 0 ? "%" : ", %") + std::string(prefix) + std::to_string(i);
  }
  return list + "}";
}

// k(map, image, at, offsets, bytes): shared memory is as `image` before, and
// goes there behind a load.
std::string Kernel(const std::string& name, const LoweredSpelling& s) {
  const bool loads = s.Has("mbarrier::complete_tx::bytes");
  const bool rows = s.Has("tile::gather4") || s.Has("tile::scatter4");
  std::string text =
      ".visible .entry " + name +
      "(.param .align 64 .b8 map[128], .param .u64 image,\n"
      "    .param .align 4 .b8 at[20], .param .align 4 .b8 off[12], .param "
      ".u32 bytes)\n{\n  .shared .align 1024 .b8 data[8192];\n"
      "  .shared .align 8 .b64 bar;\n"
      "  .reg .b64 %map, %image, %policy, %state;\n"
      "  .reg .b32 %i, %first, %bytes, %word, %data, %c<5>;\n"
      "  .reg .b16 %h0, %o<3>;\n  .reg .pred %p0, %leader;\n"
      "  mov.b64 %policy, 0;\n  mov.b16 %h0, 1;\n"
      "  mov.b64 %map, map;\n  cvta.param.u64 %map, %map;\n"
      "  ld.param.u64 %image, [image];\n  ld.param.u32 %bytes, [bytes];\n"
      "  mov.u32 %i, %tid.x;\n  setp.eq.u32 %leader, %i, 0;\n"
      "  shl.b32 %first, %i, 2;\n" +
      InitAndMeet(1);
  for (int d = 0; d < 5; ++d) {
    text += "  ld.param.s32 %c" + std::to_string(d) + ", [at+" +
            std::to_string(4 * d) + "];\n";
  }
  for (int d = 0; d < 3; ++d) {
    text += "  ld.param.u16 %o" + std::to_string(d) + ", [off+" +
            std::to_string(4 * d) + "];\n";
  }
  const auto each = [&](const std::string& label, const std::string& body) {
    text += "  mov.u32 %i, %first;\n" + label +
            ":\n  cvt.u64.u32 %state, %i;\n  add.u64 %state, %image, %state;\n"
            "  mov.u32 %data, data;\n  add.u32 %data, %data, %i;\n" +
            body + "  add.u32 %i, %i, " + std::to_string(4 * kThreads) +
            ";\n  setp.lt.u32 %p0, %i, 8192;\n  @%p0 bra " + label + ";\n";
  };
  const std::string tensor =
      "[%map, " + Vector("c", rows ? 5 : DimensionsOf(s)) + "]";
  each("IN",
       "  ld.global.u32 %word, [%state];\n  st.shared.u32 [%data], %word;\n");
  text += "  bar.sync 0;\n";
  if (loads) {
    text +=
        "  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], "
        "%bytes;\n  @%leader " +
        s.text + " [data], " + tensor + ", [bar]" +
        (s.Has("im2col") ? ", " + Vector("o", DimensionsOf(s) - 2) : "") +
        (s.Has("multicast::cluster") ? ", %h0" : "") + PolicyOf(s) + ";\n" +
        WaitForBytes();
    each("OUT",
         "  ld.shared.u32 %word, [%data];\n"
         "  st.global.u32 [%state], %word;\n");
  } else {
    text += "  @%leader " + s.text + " " + tensor + ", [data]" + PolicyOf(s) +
            ";\n  @%leader cp.async.bulk.commit_group;\n"
            "  @%leader cp.async.bulk.wait_group 0;\n";
  }
  return text + "  ret;\n}\n";
}

// What a byte of the tensor becomes; the default is a store's.
using Change = std::function<void(std::uint8_t* tensor,
                                  const std::uint8_t* shared, int size)>;

void RunAndCheck(PtxModule& module, const std::string& kernel,
                 const LoweredSpelling& s, TensorMap map, const Place& place,
                 std::vector<std::uint8_t> bytes,
                 std::vector<std::uint8_t> image, const Change& change = {}) {
  const bool loads = s.Has("mbarrier::complete_tx::bytes");
  // A 16-bit element is changed in the word that holds it.
  Buffer memory(module.device(), AlignUp(bytes.size(), 4));
  Buffer shared(module.device(), kSharedBytes);
  std::copy(bytes.begin(), bytes.end(), memory.as<std::uint8_t>());
  std::copy(image.begin(), image.end(), shared.as<std::uint8_t>());
  std::uint32_t count = 0;
  const std::uint32_t size = 1u << map.element_log2;
  std::vector<std::uint8_t> want = bytes, want_image = image;
  ForBytes(s, map, place, [&](std::size_t at, std::int64_t offset) {
    const auto place_of = static_cast<std::size_t>(offset);
    if (loads) {
      want_image[at] = offset < 0 ? std::uint8_t{0} : bytes[place_of];
    } else if (offset >= 0 && !change) {
      want[place_of] = image[at];
    } else if (offset >= 0 && count % size == 0) {
      change(&want[place_of], &image[at], static_cast<int>(size));
    }
    ++count;
  });
  map.address = memory.address();
  Launch launch;
  launch.block = {kThreads, 1, 1};
  AppendLe(launch.raw, map);
  AppendLe(launch.raw, shared.address());
  for (const std::int32_t c : place.at) AppendLe(launch.raw, c);
  for (const std::int32_t o : place.offsets) AppendLe(launch.raw, o);
  AppendLe(launch.raw, count);
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  const auto differs = [](const Buffer& got,
                          const std::vector<std::uint8_t>& expected) {
    return std::mismatch(expected.begin(), expected.end(),
                         got.as<std::uint8_t>())
               .first -
           expected.begin();
  };
  EXPECT_EQ(differs(shared, want_image), std::ssize(want_image)) << "shared";
  EXPECT_EQ(differs(memory, want), std::ssize(want)) << "tensor";
}

std::vector<std::uint8_t> RandomBytes(std::size_t count, std::mt19937& random) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(AsyncExec, TensorRowsAndPixels) {
  KernelBatch batch{std::string(kHeader)};
  int rows = 0, pixels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("cp.async.bulk.tensor")) {
    const bool of_rows = s.Has("tile::gather4") || s.Has("tile::scatter4");
    const bool of_pixels = s.Has("im2col") || s.Has("im2col_no_offs");
    if (!of_rows && !of_pixels) continue;
    ++(of_rows ? rows : pixels);
    batch.Add(s.text, Kernel(batch.NextName(), s),
              [s, of_rows](PtxModule& module, const std::string& kernel) {
                std::mt19937 random(7);
                for (int round = 0; round < 6; ++round) {
                  const int log2 = round % 3 + 1;
                  Place place;
                  TensorMap map;
                  const auto row = static_cast<std::uint32_t>(64 >> log2);
                  if (of_rows) {
                    map = TensorMapOf({50, 30}, {row}, log2);
                    // In any order, and also outside.
                    place.at = {round * 5 - 6, 3, -1, 29, 30 - 7 * round};
                  } else {
                    const auto n = static_cast<std::size_t>(DimensionsOf(s));
                    const std::vector<std::uint32_t> sizes = {20, 7, 5, 4, 3};
                    map = TensorMapOf(
                        {sizes.begin(), sizes.begin() + static_cast<long>(n)},
                        {row}, log2);
                    map.kind = formats::kTensorMapPixels;
                    map.pixels = static_cast<std::uint16_t>(20 + round);
                    for (std::size_t i = 0; i + 2 < n; ++i) {
                      map.lower[i] = static_cast<std::int16_t>(-1 - round % 2);
                      map.upper[i] = static_cast<std::int16_t>(-1 + round % 3);
                      map.steps[i + 1] =
                          static_cast<std::uint8_t>(1 + round / 3);
                      place.at[i + 1] = static_cast<std::int32_t>(i) - 1;
                      place.offsets[i] = round % 2 + static_cast<int>(i);
                    }
                    if (!s.Has("im2col")) place.offsets = {};
                    place.at[0] = round % 2 * 8;
                  }
                  map.swizzle = static_cast<std::uint8_t>(round % 3);
                  SCOPED_TRACE(round);
                  RunAndCheck(module, kernel, s, map, place,
                              RandomBytes(BytesOf(map), random),
                              RandomBytes(kSharedBytes, random));
                }
              });
  }
  EXPECT_GT(rows, 3);
  EXPECT_GT(pixels, 3);
}

// A hint changes nothing.
TEST(AsyncExec, TensorPrefetches) {
  KernelBatch batch{std::string(kHeader)};
  int hints = 0;
  for (const LoweredSpelling& s :
       LoweredSpellingsOf("cp.async.bulk.prefetch.tensor")) {
    ++hints;
    const bool rows = s.Has("tile::gather4");
    const bool pixels = s.text.find("im2col") != s.text.npos;
    const std::string coordinates = Vector("c", rows ? 5 : DimensionsOf(s));
    const std::string body =
        "  .reg .b32 %c<5>;\n  mov.u32 %c0, 0;\n  mov.u32 %c1, 0;\n"
        "  mov.u32 %c2, 0;\n  mov.u32 %c3, 0;\n  mov.u32 %c4, 0;\n"
        "  mov.u16 %h0, 0;\n  mov.u16 %h1, 0;\n  mov.u16 %h2, 0;\n  " +
        s.text + " [%first_in, " + coordinates + "]" +
        (pixels ? ", " + Vector("h", std::max(1, DimensionsOf(s) - 2)) : "") +
        PolicyOf(s) + ";\n" + PlaceOfThread() +
        "  cp.async.cg.shared.global [%l0], [%in], 16;\n"
        "  cp.async.wait_all;\n" +
        StoreCopied();
    batch.Add(s.text, exec::Kernel(batch.NextName(), body),
              exec::RunAndCheck(Copied(16, [](std::uint32_t) { return 16; })));
  }
  EXPECT_GT(hints, 8);
}

// ---- Reductions -------------------------------------------------------------

template <typename T>
void Reduce(const std::string& op, std::uint8_t* to, const std::uint8_t* from) {
  T a, b;
  std::memcpy(&a, to, sizeof a);
  std::memcpy(&b, from, sizeof b);
  if (op == "min") a = std::min(a, b);
  if (op == "max") a = std::max(a, b);
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if (op == "add") a = static_cast<T>(U(a) + U(b));
    if (op == "inc") a = a >= b ? T{0} : static_cast<T>(a + 1);
    if (op == "dec") a = a == 0 || a > b ? b : static_cast<T>(a - 1);
    if (op == "and") a &= b;
    if (op == "or") a |= b;
    if (op == "xor") a ^= b;
  } else if (op == "add") {
    a += b;
  }
  std::memcpy(to, &a, sizeof a);
}

struct ReducedType {
  int type, log2;
  bool floats;
  void (*reduce)(const std::string&, std::uint8_t*, const std::uint8_t*);
};
constexpr ReducedType kTypes[] = {
    {2, 2, false, Reduce<std::uint32_t>}, {3, 2, false, Reduce<std::int32_t>},
    {4, 3, false, Reduce<std::uint64_t>}, {5, 3, false, Reduce<std::int64_t>},
    {6, 1, true, Reduce<_Float16>},       {7, 2, true, Reduce<float>},
    {8, 3, true, Reduce<double>},
};

TEST(AsyncExec, TensorReductions) {
  KernelBatch batch{std::string(kHeader)};
  int reductions = 0;
  for (const LoweredSpelling& s :
       LoweredSpellingsOf("cp.reduce.async.bulk.tensor")) {
    ++reductions;
    batch.Add(
        s.text, Kernel(batch.NextName(), s),
        [s](PtxModule& module, const std::string& kernel) {
          std::mt19937 random(8);
          std::string op;
          for (const char* name :
               {"add", "min", "max", "inc", "dec", "and", "or", "xor"}) {
            if (s.Has(name)) op = name;
          }
          for (const ReducedType& t : kTypes) {
            const bool compares = op == "add" || op == "min" || op == "max";
            if (t.floats && !compares) continue;
            const auto n = static_cast<std::size_t>(DimensionsOf(s));
            const std::vector<std::uint32_t> sizes = {13, 4, 3, 3, 2};
            TensorMap map = TensorMapOf(
                {sizes.begin(), sizes.begin() + static_cast<long>(n)},
                {static_cast<std::uint32_t>(32 >> t.log2), 3, 2, 2, 2}, t.log2);
            map.type = static_cast<std::uint8_t>(t.type);
            for (std::size_t d = n; d < 5; ++d) map.box[d] = 1;
            Place place;
            place.at[0] = 4;
            if (n > 1) place.at[1] = 2;
            if (s.Has("im2col_no_offs")) {
              map.kind = formats::kTensorMapPixels;
              map.pixels = 9;
              for (std::size_t d = 1; d < 5; ++d) map.box[d] = 1;
            }
            auto bytes = RandomBytes(BytesOf(map), random);
            auto image = RandomBytes(kSharedBytes, random);
            if (t.floats) {
              // Numbers whose sums are exact: the upper byte is small.
              const std::size_t size = std::size_t{1} << t.log2;
              const auto tame = [&](std::vector<std::uint8_t>* in) {
                for (std::size_t i = 0; i + size <= in->size(); i += size) {
                  const int v = static_cast<int>((*in)[i]) - 128;
                  if (t.log2 == 1) {
                    const auto x = static_cast<_Float16>(v);
                    std::memcpy(&(*in)[i], &x, size);
                  } else if (t.log2 == 2) {
                    const auto x = static_cast<float>(v);
                    std::memcpy(&(*in)[i], &x, size);
                  } else {
                    const auto x = static_cast<double>(v);
                    std::memcpy(&(*in)[i], &x, size);
                  }
                }
              };
              tame(&bytes);
              tame(&image);
            }
            SCOPED_TRACE(t.type);
            RunAndCheck(module, kernel, s, map, place, bytes, image,
                        [&](std::uint8_t* to, const std::uint8_t* from, int) {
                          t.reduce(op, to, from);
                        });
          }
        });
  }
  EXPECT_GT(reductions, 8);
}

// ---- Changes of a map -------------------------------------------------------

// Each field of a map in shared or global memory; then a warp moves it on.
TEST(AsyncExec, TensorMapChanges) {
  KernelBatch batch{std::string(kHeader)};
  int changes = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("tensormap.replace")) {
    for (const LoweredSpelling& move :
         LoweredSpellingsOf("tensormap.cp_fenceproxy")) {
      const bool shared = s.Has("shared::cta");
      const bool wide = s.Has("b64");
      struct Field {
        const char* name;
        std::string operands;
        std::function<void(TensorMap&)> change;
      };
      const Field fields[] = {
          {"global_address", ", %l3",
           [](TensorMap& m) { m.address = 0x123456789ab0; }},
          {"rank", ", 2",
           [](TensorMap& m) {
             m.rank = 3;
             m.box[3] = m.box[4] = 1;
             m.last[3] = m.last[4] = 0;
             m.strides[2] = m.strides[3] = 0;
           }},
          {"box_dim", ", 2, 77", [](TensorMap& m) { m.box[2] = 77; }},
          {"global_dim", ", 4, 100000",
           [](TensorMap& m) { m.last[4] = 99999; }},
          {"element_stride", ", 1, 5", [](TensorMap& m) { m.steps[1] = 5; }},
          {"global_stride", ", 3, %l3",
           [](TensorMap& m) { m.strides[3] = 0x123456789ab0; }},
          {"elemtype", ", 10",
           [](TensorMap& m) {
             m.type = 9;
             m.element_log2 = 1;
           }},
          {"interleave_layout", ", 0", [](TensorMap&) {}},
          {"swizzle_mode", ", 3", [](TensorMap& m) { m.swizzle = 3; }},
          {"swizzle_atomicity", ", 0", [](TensorMap&) {}},
          {"fill_mode", ", 0", [](TensorMap&) {}},
      };
      for (const Field& field : fields) {
        if (!s.Has(field.name)) continue;
        ++changes;
        const bool global = s.text.find(".global.b1024") != s.text.npos;
        const std::string map = shared ? "[tm]" : global ? "[%l0]" : "[%l1]";
        // Of the input: 128 bytes; the last field's value in %l3.
        const std::string text =
            ".visible .entry " + batch.NextName() +
            "(.param .u64 in, .param .u64 out)\n{\n"
            "  .shared .align 128 .b8 tm[128];\n  .reg .b64 %l<5>;\n"
            "  .reg .b32 %t, %w, %at;\n  .reg .pred %leader;\n"
            "  ld.param.u64 %l0, [in];\n  ld.param.u64 %l2, [out];\n"
            "  mov.u32 %t, %tid.x;\n  setp.eq.u32 %leader, %t, 0;\n"
            "  mul.wide.u32 %l4, %t, 4;\n  add.u64 %l4, %l0, %l4;\n" +
            (shared || !global ? ""
                               : "  @%leader " + s.text + " " + map +
                                     field.operands + ";\n  bar.sync 0;\n") +
            "  ld.global.u32 %w, [%l4];\n  mov.u32 %at, tm;\n"
            "  mad.lo.u32 %at, %t, 4, %at;\n  st.shared.u32 [%at], %w;\n"
            "  bar.sync 0;\n  mov.u64 %l1, tm;\n  cvta.shared.u64 %l1, %l1;\n" +
            (shared || !global ? "  @%leader " + s.text + " " + map +
                                     field.operands + ";\n  bar.sync 0;\n"
                               : "") +
            "  " + move.text + " [%l2], [tm], 128;\n  ret;\n}\n";
        std::string with_value = text;
        const std::string setup =
            wide ? "  mov.b64 %l3, 0x123456789ab0;\n" : "";
        with_value.insert(with_value.find("  mov.u32 %t, %tid.x"), setup);
        batch.Add(s.text + " " + move.text, with_value,
                  [field](PtxModule& module, const std::string& kernel) {
                    TensorMap map =
                        TensorMapOf({9, 8, 7, 6, 5}, {4, 3, 2, 2, 2}, 2);
                    Buffer in(module.device(), 128), out(module.device(), 128);
                    std::memcpy(in.as<std::uint8_t>(), &map, 128);
                    std::memset(out.as<std::uint8_t>(), 0xee, 128);
                    Launch launch;
                    launch.block = {32, 1, 1};
                    launch.params = {in.address(), out.address()};
                    const Status status = module.Run(kernel, launch);
                    ASSERT_TRUE(status) << status.error().ToString();
                    field.change(map);
                    EXPECT_EQ(std::memcmp(out.as<std::uint8_t>(), &map, 128), 0)
                        << field.name;
                  });
      }
    }
  }
  EXPECT_GT(changes, 10);
}

}  // namespace
}  // namespace cerberus::exec
