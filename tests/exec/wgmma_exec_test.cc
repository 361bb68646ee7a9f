// wgmma: every spelling, with A in registers and in shared memory, in each
// layout and swizzle mode of it, against matrices multiplied on the host.
//
// PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions", its register
// fragments, "Shared Memory Matrix Layout" and "Strides", and "Sparse matrix
// storage".
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/matrix_reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

using ptx::Type;

constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_90a\n.address_size 64\n";
constexpr int kThreads = 128;
constexpr int kRows = 64;
constexpr int kBytesOfA = 16384, kBytesOfB = 40960;

// A matrix's place in shared memory.
struct Layout {
  int swizzle = 0;  // lines of 16 << swizzle bytes
  bool transposed = false;
  int start = 0;  // in bytes, from a multiple of 1,024
  int leading = 0, stride = 0;
  int size = 0;  // bytes of an element

  // Of element k of line mn.
  int At(int mn, int k) const {
    const int per = 16 / size;  // elements in 16 bytes
    int at = start;
    if (transposed) {
      const int chunk = per << swizzle;
      const int of_chunk = swizzle == 0 ? stride : leading;
      const int of_k = swizzle == 0 ? leading : stride;
      at += mn % chunk * size + mn / chunk * of_chunk +
            k % 8 * (16 << swizzle) + k / 8 * of_k;
    } else {
      const int along = k / per;  // sixteen bytes
      at += mn % 8 * (16 << swizzle) + mn / 8 * stride + k % per * size;
      at += swizzle == 0 ? along * leading : along * 16;
    }
    return at ^ ((at >> 7 & ((1 << swizzle) - 1)) << 4);
  }
  // But for the address.
  std::uint64_t Descriptor() const {
    const std::uint64_t mode = swizzle == 0 ? 0 : 4 - swizzle;
    return static_cast<std::uint64_t>(leading >> 4) << 16 |
           static_cast<std::uint64_t>(stride >> 4) << 32 | mode << 62;
  }
};

// One that holds `lines` of `k` elements.
Layout MakeLayout(int swizzle, bool transposed, int lines, int k, int size) {
  Layout layout;
  layout.swizzle = swizzle;
  layout.transposed = transposed;
  layout.size = size;
  const int width = 16 << swizzle;
  if (transposed) {
    if (swizzle == 0) {
      layout.stride = 128;
      layout.leading = 128 * (lines / 8) + 16 * 8;
    } else {
      layout.stride = 8 * width;
      layout.leading = layout.stride * (k / 8);
    }
  } else if (swizzle == 0) {
    layout.stride = 128 * (k * size / 16) + 128;
    layout.leading = 128;
  } else {
    layout.stride = 8 * width;
    layout.leading = 16;
    // A further step of K within the same lines.
    if (width >= 2 * k * size) layout.start = k * size;
  }
  return layout;
}

struct Case {
  std::string spelling;
  ptx::InstForm form;
  int n = 0, k = 0;
  Type a = Type::kNone, b = Type::kNone, d = Type::kNone;
  bool sparse = false, in_registers = false, keeps = true;
  int selector = 0;
  int sign_a = 1, sign_b = 1;
  Layout at_a, at_b;

  int bits() const { return ptx::BitsOf(a); }
  int size() const { return std::max(1, bits() / 8); }
  int stored_k() const { return sparse ? k / 2 : k; }
  bool floats() const { return IsFloatElement(a); }
  int d_registers() const { return d == Type::kF16 ? n / 4 : n / 2; }
};

// Elements that a byte address names: b1 has eight in a byte.
int Scaled(const Case& c, int elements) {
  return c.bits() == 1 ? elements / 8 : elements;
}

void Put(const Case& c, const Layout& layout, std::uint8_t* bytes, int line,
         int k, Code code) {
  std::uint8_t* at = bytes + layout.At(line, Scaled(c, k));
  if (c.bits() == 1) {
    *at = static_cast<std::uint8_t>(*at | code << (k % 8));
  } else {
    std::memcpy(at, &code, static_cast<std::size_t>(c.size()));
  }
}

// Row and column of element i of a lane's fragment of D, of C's kind, and of A.
std::array<int, 2> CellOfD(int lane, int i) {
  return {lane / 4 + (i / 2 % 2) * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
}
std::array<int, 2> CellOfA(int lane, int i, int per) {
  const int reg = i / per;
  return {lane / 4 + reg % 2 * 8, lane % 4 * per + i % per + reg / 2 * 4 * per};
}

std::string Registers(const char* prefix, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) {
    list += (i == 0 ? "%" : ", %") + std::string(prefix) + std::to_string(i);
  }
  return list + "}";
}

// k(in, out): `in` has A's and B's shared memory, then for each thread 8 words
// of A and metadata, and D's registers; `out` takes D's.
std::string Kernel(const Case& c, const std::string& name) {
  const int count = c.d_registers();
  const std::string type = c.d == Type::kF32 ? "f32" : "b32";
  std::string text = ".visible .entry " + name +
                     "(.param .u64 in, .param .u64 out)\n.reqntid 128\n{\n"
                     "  .shared .align 1024 .b8 a[16384];\n"
                     "  .shared .align 1024 .b8 b[40960];\n"
                     "  .reg .b64 %in, %out, %da, %db, %l;\n"
                     "  .reg .b32 %t, %i, %at, %x, %a<4>, %meta;\n"
                     "  .reg ." +
                     type + " %d<" + std::to_string(count) +
                     ">;\n  .reg .pred %p, %keeps;\n"
                     "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
                     "  mov.u32 %t, %tid.x;\n  shl.b32 %i, %t, 2;\n"
                     "COPY:\n  cvt.u64.u32 %l, %i;\n  add.u64 %l, %l, %in;\n"
                     "  ld.global.b32 %x, [%l];\n  mov.u32 %at, a;\n"
                     "  add.u32 %at, %at, %i;\n"
                     "  setp.lt.u32 %p, %i, 16384;\n"
                     "  @%p st.shared.b32 [%at], %x;\n  mov.u32 %at, b;\n"
                     "  add.u32 %at, %at, %i;\n  sub.u32 %at, %at, 16384;\n"
                     "  @!%p st.shared.b32 [%at], %x;\n"
                     "  add.u32 %i, %i, 512;\n"
                     "  setp.lt.u32 %p, %i, 57344;\n  @%p bra COPY;\n"
                     "  fence.proxy.async;\n  bar.sync 0;\n";
  const auto descriptor = [&](const char* to, const char* variable,
                              const Layout& layout) {
    text += "  mov.u32 %at, " + std::string(variable) + ";\n  add.u32 %at, " +
            "%at, " + std::to_string(layout.start) +
            ";\n  and.b32 %at, %at, 0x3ffff;\n  shr.u32 %at, %at, 4;\n"
            "  cvt.u64.u32 %l, %at;\n  or.b64 %" +
            to + ", %l, " + std::to_string(layout.Descriptor()) + ";\n";
  };
  descriptor("da", "a", c.at_a);
  descriptor("db", "b", c.at_b);
  const int words = 8 + count;
  text += "  mad.wide.u32 %in, %t, " + std::to_string(4 * words) +
          ", %in;\n  add.u64 %in, %in, 57344;\n";
  for (int i = 0; i < 4; ++i) {
    text += "  ld.global.b32 %a" + std::to_string(i) + ", [%in+" +
            std::to_string(4 * i) + "];\n";
  }
  text += "  ld.global.b32 %meta, [%in+16];\n";
  for (int i = 0; i < count; ++i) {
    text += "  ld.global." + type + " %d" + std::to_string(i) + ", [%in+" +
            std::to_string(32 + 4 * i) + "];\n";
  }
  text += std::string("  setp.") + (c.keeps ? "eq" : "ne") +
          ".u32 %keeps, 0, 0;\n  wgmma.fence.sync.aligned;\n  " + c.spelling +
          " " + Registers("d", count) + ", " +
          (c.in_registers ? Registers("a", 4) : "%da") + ", %db, ";
  if (c.sparse) text += "%meta, " + std::to_string(c.selector) + ", ";
  text += "%keeps";
  if (c.floats()) {
    text += ", " + std::to_string(c.sign_a) + ", " + std::to_string(c.sign_b);
    if (c.bits() == 16) {
      if (!c.in_registers) text += c.at_a.transposed ? ", 1" : ", 0";
      text += c.at_b.transposed ? ", 1" : ", 0";
    }
  }
  text +=
      ";\n  wgmma.commit_group.sync.aligned;\n"
      "  wgmma.wait_group.sync.aligned 0;\n  mad.wide.u32 %out, %t, " +
      std::to_string(4 * count) + ", %out;\n";
  for (int i = 0; i < count; ++i) {
    text += "  st.global." + type + " [%out+" + std::to_string(4 * i) +
            "], %d" + std::to_string(i) + ";\n";
  }
  return text + "  ret;\n}\n";
}

// The matrix that sparse A's stored elements are taken from, and the indices
// of each four bits of a row.
Matrix Expand(const Case& c, const Matrix& stored,
              std::vector<std::vector<unsigned>>* indices,
              std::mt19937_64& random) {
  Matrix full(stored.rows, c.k, c.a);
  for (int row = 0; row < stored.rows; ++row) {
    std::vector<unsigned> of_row;
    if (c.a == Type::kTF32) {
      for (int g = 0; g < stored.columns; ++g) {
        const bool second = random() % 2 != 0;
        of_row.push_back(second ? 0b1110 : 0b0100);
        full.at(row, 2 * g + second) = stored.at(row, g);
      }
    } else {
      constexpr unsigned kIndices[] = {0b0100, 0b1000, 0b1001,
                                       0b1100, 0b1101, 0b1110};
      for (int g = 0; g < stored.columns / 2; ++g) {
        const unsigned index = kIndices[random() % 6];
        of_row.push_back(index);
        for (int e = 0; e < 2; ++e) {
          full.at(row, 4 * g + static_cast<int>(index >> (2 * e) & 3)) =
              stored.at(row, 2 * g + e);
        }
      }
    }
    indices->push_back(std::move(of_row));
  }
  return full;
}

// A lane's word of metadata. 16-bit and tf32 elements: lanes 2s and 2s + 1 of a
// quad, each with half of a row's and of the row's 8 below; 8-bit ones: a
// row's part to each lane, lanes 0 and 1 of rows g and g + 8, then 2 and 3.
std::uint32_t MetadataOf(const Case& c, int warp, int lane,
                         const std::vector<std::vector<unsigned>>& indices) {
  const int quad = lane % 4;
  const auto bits = [&](int row, int from, int count) {
    std::uint32_t word = 0;
    const std::vector<unsigned>& of_row =
        indices.at(static_cast<unsigned>(16 * warp + row));
    for (int i = 0; i < count; ++i) {
      word |=
          of_row[static_cast<std::size_t>(from) + static_cast<std::size_t>(i)]
          << (4 * i);
    }
    return word;
  };
  if (c.bits() == 8) {
    return bits(lane / 4 + quad % 2 * 8, quad / 2 * 8, 8);
  }
  if (quad / 2 != c.selector) return 0xdeadbeef;  // takes no part
  return bits(lane / 4, quad % 2 * 4, 4) | bits(lane / 4 + 8, quad % 2 * 4, 4)
                                               << 16;
}

Matrix Negated(Matrix matrix) {
  for (Code& code : matrix.codes) {
    code ^= Code{1} << (ptx::BitsOf(matrix.type) - 1);
  }
  return matrix;
}

void RunAndCheck(const Case& c, Data data, PtxModule& module,
                 const std::string& kernel, std::mt19937_64& random) {
  Matrix stored(kRows, c.stored_k(), c.a), b(c.k, c.n, c.b), d(kRows, c.n, c.d);
  Fill(stored, data, random);
  Fill(b, data, random);
  Fill(d, data, random);
  std::vector<std::vector<unsigned>> indices;
  const Matrix a = c.sparse ? Expand(c, stored, &indices, random) : stored;
  const int words = 8 + c.d_registers();
  Buffer in(module.device(), static_cast<std::uint64_t>(kBytesOfA + kBytesOfB +
                                                        kThreads * words * 4));
  Buffer out(module.device(),
             static_cast<std::uint64_t>(kThreads * c.d_registers() * 4));
  std::memset(in.as<std::uint8_t>(), 0, in.size());
  std::uint8_t* of_a = in.as<std::uint8_t>();
  std::uint8_t* of_b = of_a + kBytesOfA;
  for (int row = 0; row < kRows && !c.in_registers; ++row) {
    for (int k = 0; k < c.stored_k(); ++k) {
      Put(c, c.at_a, of_a, row, k, stored.at(row, k));
    }
  }
  for (int column = 0; column < c.n; ++column) {
    for (int k = 0; k < c.k; ++k)
      Put(c, c.at_b, of_b, column, k, b.at(k, column));
  }
  const int per = 32 / c.bits();
  const auto each_of_d = [&](std::uint32_t* of_thread, int lane, int warp,
                             auto&& use) {
    for (int i = 0; i < c.n / 2; ++i) {
      const auto [row, column] = CellOfD(lane, i);
      if (c.d == Type::kF16) {
        use(of_thread[i / 2], 16 * (i % 2), 0xffffu, 16 * warp + row, column);
      } else {
        use(of_thread[i], 0, 0xffffffffu, 16 * warp + row, column);
      }
    }
  };
  for (int t = 0; t < kThreads; ++t) {
    auto* own = reinterpret_cast<std::uint32_t*>(of_b + kBytesOfB) + t * words;
    const int warp = t / 32, lane = t % 32;
    for (int i = 0; i < 4 * per && c.in_registers; ++i) {
      const auto [row, column] = CellOfA(lane, i, per);
      own[i / per] |=
          static_cast<std::uint32_t>(stored.at(16 * warp + row, column))
          << (i % per * c.bits());
    }
    if (c.sparse) own[4] = MetadataOf(c, warp, lane, indices);
    each_of_d(own + 8, lane, warp,
              [&](std::uint32_t& word, int shift, std::uint32_t, int row,
                  int column) {
                word |= static_cast<std::uint32_t>(d.at(row, column)) << shift;
              });
  }
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  Matrix result(kRows, c.n, c.d);
  for (int t = 0; t < kThreads; ++t) {
    each_of_d(
        out.as<std::uint32_t>() + t * c.d_registers(), t % 32, t / 32,
        [&](std::uint32_t& word, int shift, std::uint32_t mask, int row,
            int column) { result.at(row, column) = word >> shift & mask; });
  }
  ProductRules rules;
  rules.result = c.d;
  rules.satfinite = c.form.mods.sat() == ptx::Sat::kFinite;
  if (!c.keeps) std::fill(d.codes.begin(), d.codes.end(), 0);
  EXPECT_EQ(CheckProduct(c.sign_a * c.sign_b < 0 ? Negated(a) : a, b, d, result,
                         rules, data),
            "");
}

// The spelling with another shape.
std::string WithShape(const std::string& text, int n, int k) {
  const std::size_t at = text.find(".m64");
  return text.substr(0, at) + ".m64n" + std::to_string(n) + "k" +
         std::to_string(k) + text.substr(text.find('.', at + 1));
}

class Cases {
 public:
  explicit Cases(const LoweredSpelling& s) : s_(s) {
    sparse_ = s.row->name == "wgmma.mma_async.sp";
  }

  // `which` turns the wheel of shapes, layouts and data.
  Case Make(int which) const {
    Case c;
    c.sparse = sparse_;
    std::string error;
    EXPECT_TRUE(
        ptx::ResolveForm(WithShape(s_.text, 8, 16), -1, &c.form, &error))
        << error;
    c.d = c.form.type(0);
    c.a = c.form.type(1);
    c.b = c.form.type(2);
    c.k = 256 / c.bits() * (sparse_ ? 2 : 1);
    constexpr int kColumns[] = {8, 32, 24, 16, 64, 96};
    c.n = kColumns[which % 6];
    // The largest once, where it is fast.
    if (which == 7) c.n = 256;
    c.spelling = WithShape(s_.text, c.n, c.k);
    c.in_registers = which % 4 == 3;
    c.keeps = which % 5 != 4;
    if (c.floats()) {
      c.sign_a = which % 3 == 1 ? -1 : 1;
      c.sign_b = which % 7 >= 5 ? -1 : 1;
    }
    if (sparse_ && c.bits() >= 16) c.selector = which % 2;
    const bool may = c.bits() == 16;
    const auto bytes = [&](int elements) { return Scaled(c, elements); };
    c.at_a = MakeLayout(which % 4, may && which / 2 % 2 != 0, kRows,
                        bytes(c.stored_k()), c.size());
    // Rows of 64 bytes need lines as long.
    const int b_swizzle = sparse_ ? (which % 3 == 0 ? 0 : 2 + which % 2)
                                  : (which + which / 4) % 4;
    c.at_b = MakeLayout(b_swizzle, may && which / 3 % 2 != 0, c.n, bytes(c.k),
                        c.size());
    // A transposed line has whole lines of columns.
    if (c.at_b.transposed && c.n % (8 << b_swizzle) != 0) {
      c.at_b = MakeLayout(b_swizzle, false, c.n, bytes(c.k), c.size());
    }
    return c;
  }

 private:
  const LoweredSpelling& s_;
  bool sparse_;
};

void RunAll(const char* opcode, int turns) {
  KernelBatch batch{std::string(kHeader)};
  std::mt19937_64 random(41);
  std::set<std::string> rows;
  int which = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
    for (int turn = 0; turn < turns; ++turn) {
      const Case c = Cases(s).Make(which++);
      const Data data = kAllData[which % 3];
      batch.Add(
          c.spelling + (c.in_registers ? ", A in registers" : "") + ", A " +
              std::to_string(c.at_a.swizzle) + (c.at_a.transposed ? "t" : "") +
              ", B " + std::to_string(c.at_b.swizzle) +
              (c.at_b.transposed ? "t" : ""),
          Kernel(c, batch.NextName()),
          [c, data, &random](PtxModule& module, const std::string& kernel) {
            RunAndCheck(c, data, module, kernel, random);
          });
    }
  }
  EXPECT_GT(which, 0);
}

TEST(WgmmaExec, Dense) { RunAll("wgmma.mma_async", 3); }
TEST(WgmmaExec, Sparse) { RunAll("wgmma.mma_async.sp", 2); }

// All layouts of one product.
TEST(WgmmaExec, Layouts) {
  KernelBatch batch{std::string(kHeader)};
  std::mt19937_64 random(42);
  for (int i = 0; i < 64; ++i) {
    Case c;
    c.spelling = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16";
    std::string error;
    ASSERT_TRUE(ptx::ResolveForm(c.spelling, -1, &c.form, &error)) << error;
    c.d = Type::kF32;
    c.a = c.b = Type::kBF16;
    c.n = 64;
    c.k = 16;
    c.at_a = MakeLayout(i % 4, i / 4 % 2 != 0, kRows, c.k, 2);
    c.at_b = MakeLayout(i / 8 % 4, i / 32 != 0, c.n, c.k, 2);
    batch.Add("layouts " + std::to_string(i), Kernel(c, batch.NextName()),
              [c, &random](PtxModule& module, const std::string& kernel) {
                RunAndCheck(c, Data::kSmall, module, kernel, random);
              });
  }
}

TEST(WgmmaExec, ShapesThatDoNotExist) {
  for (const char* shape : {"m64n12k16", "m64n264k16", "m64n0k16", "m64n8k8"}) {
    const auto refused = PtxModule::Compile(
        std::string(kHeader) +
        ".visible .entry k()\n{\n  .reg .f32 %d<4>;\n  .reg .b64 %l;\n"
        "  .reg .pred %p;\n  wgmma.mma_async.sync.aligned." +
        shape +
        ".f32.f16.f16 {%d0, %d1, %d2, %d3}, %l, %l, %p, 1, 1, 0, 0;\n"
        "  ret;\n}\n");
    ASSERT_FALSE(refused) << shape;
    EXPECT_NE(refused.error().ToString().find("no such shape"),
              std::string::npos)
        << refused.error().ToString();
  }
}

}  // namespace
}  // namespace cerberus::exec
