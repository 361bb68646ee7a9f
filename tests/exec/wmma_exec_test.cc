// wmma.load, wmma.mma and wmma.store. The manual leaves the fragments' layout
// open, so each spelling is executed in a chain from memory to memory:
// three loads, a product, a store.
//
// PTX ISA 9.0, "Matrix multiply-accumulate operation using wmma".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/matrix_reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

using ptx::Type;

constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";
constexpr int kBytes = 4096;  // of memory for a matrix

// One instruction of the chain.
struct Access {
  std::string spelling;
  bool row_major = true;
  bool shared = false;
  bool has_stride = true;
};

struct Chain {
  int m = 0, n = 0, k = 0;
  Type a, b, c, d;
  Access load_a, load_b, load_c, store_d;
  std::string mma;
  ProductRules rules;
};

std::string ShapeText(const Chain& chain) {
  return ".m" + std::to_string(chain.m) + "n" + std::to_string(chain.n) + "k" +
         std::to_string(chain.k);
}

std::string Name(Type type) { return "." + std::string(ptx::TypeName(type)); }

void ReadShape(const ptx::InstForm& form, Chain* chain) {
  const std::string shape(ptx::ModifierName(
      ptx::ModGroup::kShape, form.mods.first(ptx::ModGroup::kShape)));
  EXPECT_EQ(
      std::sscanf(shape.c_str(), "m%dn%dk%d", &chain->m, &chain->n, &chain->k),
      3)
      << shape;
}

ptx::InstForm FormOf(const std::string& spelling) {
  ptx::InstForm form;
  std::string error;
  EXPECT_TRUE(ptx::ResolveForm(spelling, -1, &form, &error)) << error;
  return form;
}

// The types that a chain with this type of A, or of C if `of_c`, has.
Chain ChainFor(const ptx::InstForm& form, Type type, bool of_c) {
  Chain chain;
  ReadShape(form, &chain);
  Type a = type;
  if (of_c) {
    switch (type) {
      case Type::kF64: a = Type::kF64; break;
      case Type::kS32:
        a = chain.k == 32 ? Type::kS4 : chain.k == 128 ? Type::kB1 : Type::kS8;
        break;
      default: a = chain.k == 8 ? Type::kTF32 : Type::kF16; break;
    }
  }
  chain.a = chain.b = a;
  chain.c = of_c                ? type
            : a == Type::kF64   ? Type::kF64
            : IsFloatElement(a) ? Type::kF32
                                : Type::kS32;
  chain.d = chain.c;
  return chain;
}

// Fills in what the chain leaves open: global memory, rows for A, columns for
// B, and a padded stride.
void Complete(Chain* chain) {
  const std::string shape = ShapeText(*chain);
  const auto access = [&](Access* to, const char* verb, const char* layout,
                          Type type) {
    if (!to->spelling.empty()) return;
    to->spelling = std::string("wmma.") + verb + ".sync.aligned." + layout +
                   shape + ".global" + Name(type);
    to->row_major = std::string(layout) == "row";
  };
  access(&chain->load_a, "load.a", "row", chain->a);
  access(&chain->load_b, "load.b", "col", chain->b);
  access(&chain->load_c, "load.c", "row", chain->c);
  access(&chain->store_d, "store.d", "row", chain->d);
  chain->rules.result = chain->d;
  if (!chain->mma.empty()) return;
  // Products of types below a byte are spelled for rows and columns alone.
  const std::string layouts =
      ptx::BitsOf(chain->a) < 8
          ? ".row.col"
          : std::string(chain->load_a.row_major ? ".row" : ".col") +
                (chain->load_b.row_major ? ".row" : ".col");
  if (chain->a == Type::kB1) {
    chain->mma =
        "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32";
  } else if (chain->a == Type::kF16) {
    chain->mma = "wmma.mma.sync.aligned" + layouts + shape + Name(chain->d) +
                 Name(chain->c);
  } else {
    chain->mma = "wmma.mma.sync.aligned" + layouts + shape + Name(chain->d) +
                 Name(chain->a) + Name(chain->b) + Name(chain->c);
  }
}

// ---- Memory -----------------------------------------------------------------

// The leading dimension: a whole number of 16 bytes more than is needed, so
// that the stride matters.
int StrideOf(const Access& access, const Matrix& matrix) {
  const int needed = access.row_major ? matrix.columns : matrix.rows;
  return access.has_stride ? needed + 128 / ptx::BitsOf(matrix.type) : needed;
}

std::uint64_t IndexOf(const Access& access, const Matrix& matrix, int r,
                      int c) {
  const int stride = StrideOf(access, matrix);
  return static_cast<std::uint64_t>(access.row_major ? r * stride + c
                                                     : c * stride + r);
}

void Store(const Access& access, const Matrix& matrix, std::uint8_t* memory) {
  const auto bits = static_cast<std::uint64_t>(ptx::BitsOf(matrix.type));
  for (int r = 0; r < matrix.rows; ++r) {
    for (int c = 0; c < matrix.columns; ++c) {
      const std::uint64_t at = IndexOf(access, matrix, r, c) * bits;
      for (std::uint64_t i = 0; i < bits; ++i) {
        memory[(at + i) / 8] |= static_cast<std::uint8_t>(
            (matrix.at(r, c) >> i & 1) << ((at + i) % 8));
      }
    }
  }
}

void Load(const Access& access, Matrix* matrix, const std::uint8_t* memory) {
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(ptx::BitsOf(matrix->type)) / 8;
  for (int r = 0; r < matrix->rows; ++r) {
    for (int c = 0; c < matrix->columns; ++c) {
      const std::uint64_t at = IndexOf(access, *matrix, r, c) * bytes;
      Code code = 0;
      for (std::uint64_t i = 0; i < bytes; ++i) {
        code |= static_cast<Code>(memory[at + i]) << (8 * i);
      }
      matrix->at(r, c) = code;
    }
  }
}

// ---- The kernel -------------------------------------------------------------

// Registers of a fragment, by the manual's table of fragments.
int RegistersOf(const Chain& chain, char which, Type type) {
  if (which == 'c' || which == 'd') {
    return type == Type::kF16 ? 4 : chain.m * chain.n / 32;
  }
  if (type == Type::kF16) return 8;  // elements twice or more often
  if (type == Type::kF64) return 1;
  const int lines = which == 'a' ? chain.m : chain.n;
  return lines * chain.k * ptx::BitsOf(type) / (32 * 32);
}

std::string List(const std::string& name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + name + std::to_string(i);
  }
  return text + "}";
}

// k(a, b, c, d): each 4096 bytes; .shared accesses work on copies.
std::string Kernel(const std::string& name, const Chain& chain) {
  const std::string reg = chain.a == Type::kF64 ? ".f64" : ".b32";
  std::string text =
      ".visible .entry " + name +
      "(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
      "  .reg .b64 %ga, %gb, %gc, %gd, %p;\n"
      "  .reg .b32 %thread, %w, %sa, %sb, %sc, %sd;\n  .reg " +
      reg + " %a<8>, %b<8>, %c<8>, %d<8>;\n  mov.u32 %thread, %tid.x;\n";
  struct Part {
    char which;
    const Access* access;
    Type type;
    int rows, columns;
  };
  const Part parts[] = {{'a', &chain.load_a, chain.a, chain.m, chain.k},
                        {'b', &chain.load_b, chain.b, chain.k, chain.n},
                        {'c', &chain.load_c, chain.c, chain.m, chain.n},
                        {'d', &chain.store_d, chain.d, chain.m, chain.n}};
  const auto copy = [&](const std::string& x, bool in) {
    // 128 bytes a thread, one thread's words 128 bytes apart.
    text += "  mad.wide.u32 %p, %thread, 4, %g" + x +
            ";\n  mad.lo.u32 %w, %thread, 4, %s" + x +
            ";\n  {\n"
            "  .reg .b32 %word;\n";
    for (int i = 0; i < kBytes / 128; ++i) {
      const std::string at = std::to_string(128 * i);
      text += in ? "  ld.global.b32 %word, [%p+" + at +
                       "];\n  st.shared.b32 [%w+" + at + "], %word;\n"
                 : "  ld.shared.b32 %word, [%w+" + at +
                       "];\n  st.global.b32 [%p+" + at + "], %word;\n";
    }
    text += "  }\n  bar.sync 0;\n";
  };
  for (const Part& part : parts) {
    const std::string x(1, part.which);
    text += "  ld.param.u64 %g" + x + ", [" + x + "];\n";
    if (!part.access->shared) continue;
    text += "  .shared .align 32 .b8 s" + x + "[4096];\n  mov.u32 %s" + x +
            ", s" + x + ";\n";
    copy(x, true);
  }
  const auto address = [&](const Part& part) {
    const Matrix shape(part.rows, part.columns, part.type);
    const std::string stride =
        part.access->has_stride
            ? ", " + std::to_string(StrideOf(*part.access, shape))
            : "";
    return std::pair<std::string, std::string>(
        std::string("[") + (part.access->shared ? "%s" : "%g") + part.which +
            "]",
        stride);
  };
  for (int i = 0; i < 3; ++i) {
    const Part& part = parts[i];
    const auto [at, stride] = address(part);
    text += "  " + part.access->spelling + " " +
            List(std::string("%") + part.which,
                 RegistersOf(chain, part.which, part.type)) +
            ", " + at + stride + ";\n";
  }
  text += "  " + chain.mma;
  for (char which : {'d', 'a', 'b', 'c'}) {
    const Type type = which == 'a'   ? chain.a
                      : which == 'b' ? chain.b
                      : which == 'c' ? chain.c
                                     : chain.d;
    text += std::string(which == 'd' ? " " : ", ") +
            List(std::string("%") + which, RegistersOf(chain, which, type));
  }
  const auto [at, stride] = address(parts[3]);
  text += ";\n  " + chain.store_d.spelling + " " + at + ", " +
          List("%d", RegistersOf(chain, 'd', chain.d)) + stride + ";\n";
  if (chain.store_d.shared) {
    text += "  bar.sync 0;\n";
    copy("d", false);
  }
  return text + "  ret;\n}\n";
}

void RunChain(PtxModule& module, const std::string& kernel,
              const Chain& chain) {
  std::mt19937_64 random(static_cast<unsigned>(chain.m * chain.k));
  for (Data data : kAllData) {
    Matrix a(chain.m, chain.k, chain.a);
    Matrix b(chain.k, chain.n, chain.b);
    Matrix c(chain.m, chain.n, chain.c);
    Matrix d(chain.m, chain.n, chain.d);
    Fill(a, data, random);
    Fill(b, data, random);
    Fill(c, data, random);
    Buffer buffers[4] = {
        Buffer(module.device(), kBytes), Buffer(module.device(), kBytes),
        Buffer(module.device(), kBytes), Buffer(module.device(), kBytes)};
    for (Buffer& buffer : buffers) {
      std::fill_n(buffer.as<std::uint8_t>(), kBytes, std::uint8_t{0});
    }
    Store(chain.load_a, a, buffers[0].as<std::uint8_t>());
    Store(chain.load_b, b, buffers[1].as<std::uint8_t>());
    Store(chain.load_c, c, buffers[2].as<std::uint8_t>());
    Launch launch;
    launch.block = {32, 1, 1};
    for (Buffer& buffer : buffers) launch.params.push_back(buffer.address());
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    Load(chain.store_d, &d, buffers[3].as<std::uint8_t>());
    const std::string wrong = CheckProduct(a, b, c, d, chain.rules, data);
    ASSERT_EQ(wrong, "") << "data " << static_cast<int>(data);
    // Nothing but the matrix was written.
    std::vector<std::uint8_t> only_d(kBytes);
    Store(chain.store_d, d, only_d.data());
    ASSERT_TRUE(std::equal(only_d.begin(), only_d.end(),
                           buffers[3].as<std::uint8_t>()));
  }
}

void Add(KernelBatch& batch, const LoweredSpelling& s, Chain chain) {
  Complete(&chain);
  const std::string name = batch.NextName();
  batch.Add(s.text, Kernel(name, chain),
            [=](PtxModule& module, const std::string& kernel) {
              RunChain(module, kernel, chain);
            });
}

Access AccessOf(const LoweredSpelling& s, bool has_stride) {
  Access access;
  access.spelling = s.text;
  access.row_major = s.Has("row");
  access.shared = s.text.find(".shared") != std::string::npos;
  access.has_stride = has_stride;
  return access;
}

// The stride may be left out; once for each type is enough.
std::vector<bool> WithAndWithoutStride(const LoweredSpelling& s) {
  return s.text.find(".global") == std::string::npos &&
                 s.text.find(".shared") == std::string::npos
             ? std::vector<bool>{true, false}
             : std::vector<bool>{true};
}

TEST(WmmaExec, Load) {
  const auto spellings = LoweredSpellingsOf("wmma.load");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const ptx::InstForm form = FormOf(s.text);
    const bool of_a = s.Has("a"), of_b = s.Has("b");
    for (bool has_stride : WithAndWithoutStride(s)) {
      Chain chain = ChainFor(form, form.type(), !of_a && !of_b);
      (of_a   ? chain.load_a
       : of_b ? chain.load_b
              : chain.load_c) = AccessOf(s, has_stride);
      Add(batch, s, chain);
    }
  }
}

TEST(WmmaExec, Store) {
  const auto spellings = LoweredSpellingsOf("wmma.store");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const ptx::InstForm form = FormOf(s.text);
    for (bool has_stride : WithAndWithoutStride(s)) {
      Chain chain = ChainFor(form, form.type(), true);
      chain.store_d = AccessOf(s, has_stride);
      Add(batch, s, chain);
    }
  }
}

TEST(WmmaExec, Mma) {
  const auto spellings = LoweredSpellingsOf("wmma.mma");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const ptx::InstForm form = FormOf(s.text);
    Chain chain;
    ReadShape(form, &chain);
    chain.mma = s.text;
    chain.d = form.type(0);
    chain.a = form.num_types == 2 ? Type::kF16 : form.type(1);
    chain.b = form.num_types == 2 ? Type::kF16 : form.type(2);
    chain.c = form.type(form.num_types == 2 ? 1 : 3);
    chain.rules.satfinite = form.mods.sat() == ptx::Sat::kFinite;
    chain.rules.xor_popc = form.mods.op() == ptx::Op::kXor;
    switch (form.mods.rounding()) {
      case ptx::Rounding::kRz: chain.rules.rounding = Round::kZero; break;
      case ptx::Rounding::kRm: chain.rules.rounding = Round::kDown; break;
      case ptx::Rounding::kRp: chain.rules.rounding = Round::kUp; break;
      default: break;
    }
    const auto load = [&](const char* which, bool row, Type type) {
      Access access;
      access.spelling = std::string("wmma.load.") + which +
                        (row ? ".sync.aligned.row" : ".sync.aligned.col") +
                        ShapeText(chain) + ".global" + Name(type);
      access.row_major = row;
      return access;
    };
    chain.load_a = load("a", form.mods.layout() == ptx::Layout::kRow, chain.a);
    chain.load_b = load("b", form.mods.layout2() == ptx::Layout::kRow, chain.b);
    Add(batch, s, chain);
  }
}

}  // namespace
}  // namespace cerberus::exec
