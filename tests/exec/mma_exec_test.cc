// mma, mma.sp and mma.sp::ordered_metadata: every spelling, with fragments
// laid out by the manual's formulas, on three kinds of data.
//
// PTX ISA 9.0, "Matrix Fragments for mma.…", "Sparse matrix storage" and
// "Block Scaling for mma.sync".
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
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
    ".version 9.0\n.target sm_120a\n.address_size 64\n";
constexpr int kWarps = 2;
// Slots of 8 bytes, a register each.
constexpr int kSlots = 32;

struct Cell {
  int row, column;
};

// One spelling: its shape and types.
struct Mma {
  ptx::InstForm form;
  int m = 0, n = 0, k = 0;
  Type a, b, c, d;
  bool sparse = false, ordered = false, scaled = false;
  int bits = 0;  // of an element of A or B in a register
  int blocks = 1;
  bool ue4m3 = false;

  int stored_k() const { return sparse ? k / 2 : k; }
  int in_register() const { return bits == 64 ? 1 : 32 / bits; }
  bool quad_pairs() const { return m == 8 && k == 4 && a == Type::kF16; }
  int a_elements() const { return quad_pairs() ? 4 : m * stored_k() / 32; }
  int b_elements() const { return quad_pairs() ? 4 : n * k / 32; }
  int c_elements() const { return quad_pairs() ? 8 : m * n / 32; }
  int a_registers() const { return a_elements() / in_register(); }
  int b_registers() const { return b_elements() / in_register(); }
  int c_registers(Type type) const {
    return type == Type::kF16 ? c_elements() / 2 : c_elements();
  }
  // Products that a warp computes.
  int products() const { return quad_pairs() ? 4 : 1; }
};

Mma Parse(const LoweredSpelling& s) {
  Mma mma;
  std::string error;
  EXPECT_TRUE(ptx::ResolveForm(s.text, -1, &mma.form, &error)) << error;
  const std::string shape(ptx::ModifierName(
      ptx::ModGroup::kShape, mma.form.mods.first(ptx::ModGroup::kShape)));
  EXPECT_EQ(std::sscanf(shape.c_str(), "m%dn%dk%d", &mma.m, &mma.n, &mma.k), 3)
      << shape;
  mma.d = mma.form.type(0);
  mma.a = mma.form.type(1);
  mma.b = mma.form.type(2);
  mma.c = mma.form.type(3);
  mma.ordered = s.text.find("ordered") != std::string::npos;
  mma.sparse = s.text.starts_with("mma.sp");
  mma.scaled = s.Has("block_scale");
  const bool packed = s.text.find("kind::mxf4") != std::string::npos;
  mma.bits = mma.a == Type::kE2M1 && !packed ? 8 : ptx::BitsOf(mma.a);
  // Elements of 8, 6 and 4 bits share containers of 8 bits.
  if (s.text.find("f8f6f4") != std::string::npos) mma.bits = 8;
  if (s.text.find("scale_vec::4X") != std::string::npos) {
    mma.blocks = 4;
  } else if (packed) {
    mma.blocks = 2;
  }
  mma.ue4m3 = s.Has("ue4m3");
  return mma;
}

// ---- The manual's formulas --------------------------------------------------

// Element i of A's fragment (of the stored elements, if A is sparse).
Cell CellOfA(const Mma& mma, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  if (mma.quad_pairs()) {
    const int high = lane < 16 ? 0 : 4;
    return mma.form.mods.layout() == ptx::Layout::kRow
               ? Cell{lane % 4 + high, i}
               : Cell{i % 4 + high, lane % 4};
  }
  if (mma.a == Type::kF64) {
    if (mma.m == 8) return {group, thread};
    return i % 2 == 0 ? Cell{group, i * 2 + thread}
                      : Cell{group + 8, i * 2 - 2 + thread};
  }
  const int per = mma.in_register();
  const int column = thread * per + i % per;
  if (mma.m == 8) return {group, column};
  const bool upper = !(i < per || (2 * per <= i && i < 3 * per));
  return {upper ? group + 8 : group, i >= 2 * per ? column + 4 * per : column};
}

Cell CellOfB(const Mma& mma, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  if (mma.quad_pairs()) {
    const int high = lane < 16 ? 0 : 4;
    return mma.form.mods.layout2() == ptx::Layout::kRow
               ? Cell{lane % 4, i + high}
               : Cell{i, lane % 4 + high};
  }
  const int per = mma.in_register();
  return {thread * per + i % per + i / per * 4 * per, group};
}

Cell CellOfC(const Mma& mma, Type type, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  if (mma.quad_pairs()) {
    const int high = lane < 16 ? 0 : 4;
    if (type == Type::kF16) return {lane % 4 + high, i};
    return {(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
  }
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

// The product of those that the warp computes to which a lane belongs.
int ProductOf(const Mma& mma, int lane) {
  return mma.quad_pairs() ? lane / 4 % 4 : 0;
}

// ---- Inputs -----------------------------------------------------------------

struct Selectors {
  int sparsity = 0;
  int byte_a = 0, thread_a = 0, byte_b = 0, thread_b = 0;
};

struct Warp {
  std::vector<Matrix> a, b, c, d;  // by product
  ProductRules rules;
  std::uint64_t slots[32][kSlots] = {};
};

// A place in a register for element i.
void PutElement(const Mma& mma, Type type, std::uint64_t* registers, int i,
                Code code) {
  // .kind::f8f6f4 keeps the four bits of an e2m1 in the middle of the byte.
  if (type == Type::kE2M1 && mma.bits == 8) code <<= 2;
  const int bits = mma.bits == 64 ? 64 : 32;
  const int per = bits / mma.bits;
  registers[i / per] |= code << (i % per * mma.bits);
}

double ScaleNumber(const Mma& mma, std::uint32_t code) {
  if (mma.ue4m3) return ToDouble(kE4M3, code);
  if (code == 0xff) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1, static_cast<int>(code) - 127);
}

std::uint32_t RandomScale(const Mma& mma, Data data, std::mt19937_64& random) {
  if (mma.ue4m3) {
    // Ones and twos, or anything but zero.
    return static_cast<std::uint32_t>(
        data == Data::kSmall ? 0x38 + 8 * (random() % 2) : 8 + random() % 0x77);
  }
  if (data == Data::kSmall) {
    return static_cast<std::uint32_t>(127 + random() % 2);
  }
  if (data == Data::kEdges && random() % 16 == 0) return 0xff;
  if (data == Data::kEdges && random() % 4 == 0) {
    return static_cast<std::uint32_t>(random() % 2 == 0 ? 0 : 160);
  }
  return static_cast<std::uint32_t>(117 + random() % 20);
}

// Chooses which elements of A the stored ones are; returns the full matrix
// and the indices of every four bits by row.
Matrix Expand(const Mma& mma, const Matrix& stored,
              std::vector<std::vector<unsigned>>* indices,
              std::mt19937_64& random) {
  Matrix full(mma.m, mma.k, mma.a);
  const bool pairs = mma.bits == 4;
  const int per_group = mma.a == Type::kTF32 ? 1 : pairs ? 4 : 2;
  for (int row = 0; row < mma.m; ++row) {
    std::vector<unsigned> of_row;
    for (int g = 0; g < stored.columns / per_group; ++g) {
      if (mma.a == Type::kTF32) {
        const bool second = random() % 2 != 0;
        of_row.push_back(second ? 0b1110 : 0b0100);
        full.at(row, 2 * g + second) = stored.at(row, g);
        continue;
      }
      constexpr unsigned kOrdered[] = {0b0100, 0b1000, 0b1001,
                                       0b1100, 0b1101, 0b1110};
      unsigned index = kOrdered[random() % 6];
      if (!mma.ordered && random() % 2 == 0) {
        index = (index >> 2) | (index & 3) << 2;
      }
      of_row.push_back(index);
      const int width = pairs ? 2 : 1;
      for (int e = 0; e < 2; ++e) {
        const int place = static_cast<int>(index >> (2 * e) & 3);
        for (int w = 0; w < width; ++w) {
          full.at(row, (4 * g + place) * width + w) =
              stored.at(row, (2 * g + e) * width + w);
        }
      }
    }
    indices->push_back(std::move(of_row));
  }
  return full;
}

// Figures "Sparse MMA … metadata layout": 16-bit and tf32 elements need 16
// bits for a row's part of A, kept with those of the row 8 below; narrower
// ones need 32 bits, kept one row to a thread.
void PutMetadata(const Mma& mma,
                 const std::vector<std::vector<unsigned>>& indices,
                 const Selectors& selectors, int slot, Warp* warp) {
  const int groups = static_cast<int>(indices[0].size());
  const bool wide = mma.bits >= 16;
  const int parts = groups / (wide ? 4 : 8);
  for (int row = 0; row < 16; ++row) {
    for (int part = 0; part < parts; ++part) {
      std::uint32_t bits = 0;
      const int count = wide ? 4 : 8;
      for (int i = 0; i < count; ++i) {
        bits |= indices[static_cast<std::size_t>(row)]
                       [static_cast<std::size_t>(part * count + i)]
                << (4 * i);
      }
      int thread;
      if (wide) {
        thread =
            parts == 1 ? selectors.sparsity : 2 * selectors.sparsity + part;
        if (row >= 8) bits <<= 16;
      } else {
        thread = (parts == 1 ? 2 * selectors.sparsity : 2 * part) + row / 8;
      }
      std::uint64_t& word = warp->slots[4 * (row % 8) + thread][slot];
      if (wide) {
        const std::uint64_t keep = row < 8 ? 0xffff0000u : 0xffffu;
        word = (word & keep) | bits;
      } else {
        word = bits;
      }
    }
  }
}

void PutScales(const Mma& mma, Data data, const Selectors& s, int slot,
               Warp* warp, std::mt19937_64& random) {
  for (int row = 0; row < 16 + 8; ++row) {
    const bool is_a = row < 16;
    const int line = is_a ? row : row - 16;
    const int lane = is_a ? 4 * (line % 8) + 2 * s.thread_a + line / 8
                          : 4 * line + s.thread_b;
    std::uint64_t& word = warp->slots[lane][is_a ? slot : slot + 1];
    std::vector<double> factors;
    for (int block = 0; block < mma.blocks; ++block) {
      const std::uint32_t code = RandomScale(mma, data, random);
      const int shift = 8 * ((is_a ? s.byte_a : s.byte_b) + block);
      word = (word & ~(std::uint64_t{0xff} << shift)) |
             static_cast<std::uint64_t>(code) << shift;
      factors.push_back(ScaleNumber(mma, code));
    }
    (is_a ? warp->rules.scale_a : warp->rules.scale_b)
        .push_back(std::move(factors));
  }
}

Warp MakeWarp(const Mma& mma, Data data, const Selectors& selectors,
              std::mt19937_64& random) {
  Warp warp;
  warp.rules.result = mma.d;
  warp.rules.satfinite = mma.form.mods.sat() == ptx::Sat::kFinite;
  warp.rules.xor_popc = mma.form.mods.op() == ptx::Op::kXor;
  switch (mma.form.mods.rounding()) {
    case ptx::Rounding::kRz: warp.rules.rounding = Round::kZero; break;
    case ptx::Rounding::kRm: warp.rules.rounding = Round::kDown; break;
    case ptx::Rounding::kRp: warp.rules.rounding = Round::kUp; break;
    default: break;
  }
  const int c_slot = mma.a_registers() + mma.b_registers();
  const int rest = c_slot + mma.c_registers(mma.c);
  // What no formula mentions must not matter.
  for (auto& lane : warp.slots) {
    for (int slot = rest; slot < rest + 3; ++slot) {
      lane[slot] = random() & 0xffffffffu;
    }
  }
  for (int p = 0; p < mma.products(); ++p) {
    Matrix stored(mma.m, mma.stored_k(), mma.a);
    Matrix b(mma.k, mma.n, mma.b);
    Matrix c(mma.m, mma.n, mma.c);
    Fill(stored, data, random);
    Fill(b, data, random);
    Fill(c, data, random);
    for (int lane = 0; lane < 32; ++lane) {
      if (ProductOf(mma, lane) != p) continue;
      std::uint64_t* slots = warp.slots[lane];
      for (int i = 0; i < mma.a_elements(); ++i) {
        const Cell cell = CellOfA(mma, lane, i);
        PutElement(mma, mma.a, slots, i, stored.at(cell.row, cell.column));
      }
      for (int i = 0; i < mma.b_elements(); ++i) {
        const Cell cell = CellOfB(mma, lane, i);
        PutElement(mma, mma.b, slots + mma.a_registers(), i,
                   b.at(cell.row, cell.column));
      }
      for (int i = 0; i < mma.c_elements(); ++i) {
        const Cell cell = CellOfC(mma, mma.c, lane, i);
        const Code code = c.at(cell.row, cell.column);
        if (mma.c == Type::kF16) {
          slots[c_slot + i / 2] |= code << (16 * (i % 2));
        } else {
          slots[c_slot + i] = code;
        }
      }
    }
    Matrix full = stored;
    if (mma.sparse) {
      std::vector<std::vector<unsigned>> indices;
      full = Expand(mma, stored, &indices, random);
      PutMetadata(mma, indices, selectors, rest, &warp);
    }
    warp.a.push_back(std::move(full));
    warp.b.push_back(std::move(b));
    warp.c.push_back(std::move(c));
    warp.d.emplace_back(mma.m, mma.n, mma.d);
  }
  if (mma.scaled) PutScales(mma, data, selectors, rest + 1, &warp, random);
  return warp;
}

// ---- The kernel -------------------------------------------------------------

std::string List(const std::string& name, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + name + std::to_string(first + i);
  }
  return text + "}";
}

std::string Kernel(const Mma& mma, const LoweredSpelling& s,
                   const std::string& name, const Selectors& selectors) {
  const bool wide = mma.bits == 64;
  const std::string type = wide ? ".b64" : ".b32";
  const int a = mma.a_registers(), b = mma.b_registers();
  const int c = mma.c_registers(mma.c), d = mma.c_registers(mma.d);
  std::string text = ".visible .entry " + name +
                     "(.param .u64 in, .param .u64 out)\n{\n"
                     "  .reg .b64 %in, %out;\n  .reg .b32 %thread;\n"
                     "  .reg " +
                     type + " %r<32>;\n  .reg " + type +
                     " %d<8>;\n"
                     "  .reg .b16 %h<4>;\n"
                     "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
                     "  mov.u32 %thread, %tid.x;\n"
                     "  mad.wide.u32 %in, %thread, " +
                     std::to_string(8 * kSlots) +
                     ", %in;\n  mad.wide.u32 %out, %thread, 64, %out;\n";
  for (int i = 0; i < a + b + c + 3; ++i) {
    text += "  ld.global" + type + " %r" + std::to_string(i) + ", [%in+" +
            std::to_string(8 * i) + "];\n";
  }
  text += "  " + s.text + " " + List("%d", 0, d) + ", " + List("%r", 0, a) +
          ", " + List("%r", a, b) + ", " + List("%r", a + b, c);
  const auto reg = [&](int i) { return "%r" + std::to_string(a + b + c + i); };
  if (mma.sparse) {
    text += ", " + reg(0) + ", " + std::to_string(selectors.sparsity);
  }
  if (mma.scaled) {
    // The selectors in registers, the scales with and without braces.
    text.insert(text.rfind("  " + s.text),
                "  mov.b16 %h0, " + std::to_string(selectors.byte_a) +
                    ";\n  mov.b16 %h1, " + std::to_string(selectors.thread_a) +
                    ";\n");
    text += ", " + reg(1) + ", {%h0, %h1}, {" + reg(2) + "}, {" +
            std::to_string(selectors.byte_b) + ", " +
            std::to_string(selectors.thread_b) + "}";
  }
  text += ";\n";
  for (int i = 0; i < d; ++i) {
    text += "  st.global" + type + " [%out+" + std::to_string(8 * i) + "], %d" +
            std::to_string(i) + ";\n";
  }
  return text + "  ret;\n}\n";
}

std::string Describe(Data data) {
  return data == Data::kSmall    ? "small integers"
         : data == Data::kRandom ? "random numbers"
                                 : "edge values";
}

void RunMma(PtxModule& module, const std::string& kernel, const Mma& mma,
            const Selectors& selectors) {
  std::mt19937_64 random(static_cast<unsigned>(mma.m * mma.k) + 17u);
  for (Data data : kAllData) {
    std::vector<Warp> warps;
    Buffer in(module.device(), kWarps * sizeof(Warp::slots));
    Buffer out(module.device(), kWarps * 32 * 64);
    for (int w = 0; w < kWarps; ++w) {
      warps.push_back(MakeWarp(mma, data, selectors, random));
      std::copy_n(&warps.back().slots[0][0], 32 * kSlots,
                  in.as<std::uint64_t>() + w * 32 * kSlots);
    }
    Launch launch;
    launch.block = {32 * kWarps, 1, 1};
    launch.params = {in.address(), out.address()};
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    for (int w = 0; w < kWarps; ++w) {
      Warp& warp = warps[static_cast<std::size_t>(w)];
      for (int lane = 0; lane < 32; ++lane) {
        const std::uint64_t* d = out.as<std::uint64_t>() + (w * 32 + lane) * 8;
        for (int i = 0; i < mma.c_elements(); ++i) {
          const Cell cell = CellOfC(mma, mma.d, lane, i);
          Code code = mma.d == Type::kF16 ? d[i / 2] >> (16 * (i % 2)) : d[i];
          code &= mma.d == Type::kF16   ? 0xffffu
                  : mma.d == Type::kF64 ? ~Code{0}
                                        : 0xffffffffu;
          warp.d[static_cast<std::size_t>(ProductOf(mma, lane))].at(
              cell.row, cell.column) = code;
        }
      }
      for (std::size_t p = 0; p < warp.d.size(); ++p) {
        const std::string wrong = CheckProduct(warp.a[p], warp.b[p], warp.c[p],
                                               warp.d[p], warp.rules, data);
        ASSERT_EQ(wrong, "")
            << Describe(data) << ", warp " << w << ", product " << p;
      }
    }
  }
}

// Choices of the selectors in which each takes all its values; where there are
// many spellings of a kind, every other one for each.
std::vector<Selectors> SelectorsFor(const Mma& mma, int ordinal) {
  // A register holds 8 elements of 16 bits along K with its quad, or 4 of
  // tf32, or 16 or 32 narrower ones: one of them makes a part.
  const int parts = mma.stored_k() / (4 * mma.in_register());
  const int sparsities = !mma.sparse      ? 1
                         : mma.bits >= 16 ? 4 / parts
                                          : 2 / parts;
  // The bytes of a scale lie at multiples of their number.
  const int bytes = 4 / mma.blocks;
  std::vector<Selectors> all;
  const int step = mma.scaled && mma.bits == 8 ? 2 : 1;
  for (int i = ordinal % step; i < std::max(sparsities, mma.scaled ? 4 : 1);
       i += step) {
    Selectors s;
    s.sparsity = i % sparsities;
    if (mma.scaled) {
      s.byte_a = i % bytes * mma.blocks;
      s.byte_b = (i + 1) % bytes * mma.blocks;
      s.thread_a = (i >> 1) % 2;
      s.thread_b = i;
    }
    all.push_back(s);
  }
  return all;
}

void RunAll(std::string_view opcode) {
  const std::vector<LoweredSpelling> spellings = LoweredSpellingsOf(opcode);
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  int ordinal = 0;
  for (const LoweredSpelling& s : spellings) {
    const Mma mma = Parse(s);
    for (const Selectors& selectors : SelectorsFor(mma, ordinal++)) {
      batch.Add(s.text, Kernel(mma, s, batch.NextName(), selectors),
                [=](PtxModule& module, const std::string& name) {
                  RunMma(module, name, mma, selectors);
                });
    }
  }
}

// The same product on both sides of a branch that parts the warps: what one
// side computes for a whole wave must not touch the other's.
TEST(MmaExec, WarpsOnBothSidesOfABranch) {
  KernelBatch batch{std::string(kHeader)};
  std::set<Type> seen;
  for (const std::string_view opcode : {"mma", "mma.sp"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      const Mma mma = Parse(s);
      if (!mma.sparse && !seen.insert(mma.a).second) continue;
      if (mma.sparse && !seen.erase(mma.a)) continue;
      std::string text = Kernel(mma, s, batch.NextName(), {});
      const std::size_t begin = text.rfind("  " + s.text);
      const std::size_t end = text.find(";\n", begin) + 2;
      const std::string product = text.substr(begin, end - begin);
      text.replace(begin, end - begin,
                   "  .reg .pred %first;\n  setp.lt.u32 %first, %thread, 32;\n"
                   "  @%first bra FIRST;\n" +
                       product + "  bra BEHIND;\nFIRST:\n" + product +
                       "BEHIND:\n");
      batch.Add(s.text, text, [=](PtxModule& module, const std::string& name) {
        RunMma(module, name, mma, {});
      });
    }
  }
}

TEST(MmaExec, Dense) { RunAll("mma"); }
TEST(MmaExec, Sparse) { RunAll("mma.sp"); }
TEST(MmaExec, SparseOrdered) { RunAll("mma.sp::ordered_metadata"); }

}  // namespace
}  // namespace cerberus::exec
