// Products with matrices of which half is zero: pruned, compressed, multiplied,
// against sums over the pruned matrix.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libraries/cublas/typed.h"
#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

using cublas::DataType;
using cublas::Index;

#define CUSPARSELT_ANSWERED(name) #name,
const char* const kNames[] = {
#include "libraries/cusparselt/cusparselt.def"
};
std::set<std::string>& Called() {
  static std::set<std::string> names;
  return names;
}
template <typename R = int, typename... A>
R Lt(const std::string& name, A... arguments) {
  static void* const library = dlopen("libcusparseLt.so.0", RTLD_NOW);
  const std::string whole = "cusparseLt" + name;
  void* const symbol = library ? dlsym(library, whole.c_str()) : nullptr;
  if (symbol == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  Called().insert(whole);
  return reinterpret_cast<R (*)(A...)>(symbol)(arguments...);
}
constexpr int kInvalid = 3;
constexpr int kColumns = 1, kRows = 2;

using Opaque = std::array<std::uint64_t, 64>;
void* Handle() {
  static Opaque handle = {};
  static const bool made = [] {
    CublasHandle();  // makes a context
    EXPECT_EQ(Lt("Init", static_cast<void*>(&handle)), 0);
    return true;
  }();
  return made ? &handle : nullptr;
}

// A matrix of the device, with its descriptor.
struct Matrix {
  DataType type;
  Index rows, columns, ld;
  int order;
  Index batches;
  std::vector<std::uint8_t> bytes;
  Opaque descriptor = {};
  Device<std::uint8_t> device;

  Matrix(DataType of, Index m, Index n, int by, bool structured, unsigned seed,
         Index count = 1)
      : type(of),
        rows(m),
        columns(n),
        ld((by == kRows ? n : m) + 8),
        order(by),
        batches(count),
        bytes(Draw(seed)),
        device(bytes) {
    if (structured) {
      EXPECT_EQ(Lt("StructuredDescriptorInit", Handle(), get(), m, n, ld, 16u,
                   type, by, 0),
                0);
    } else {
      EXPECT_EQ(
          Lt("DenseDescriptorInit", Handle(), get(), m, n, ld, 16u, type, by),
          0);
    }
    const int many = static_cast<int>(count);
    const std::int64_t step = Stride();
    EXPECT_EQ(Lt("MatDescSetAttribute", Handle(), get(), 0,
                 static_cast<const void*>(&many), sizeof many),
              0);
    EXPECT_EQ(Lt("MatDescSetAttribute", Handle(), get(), 1,
                 static_cast<const void*>(&step), sizeof step),
              0);
  }
  void* get() { return &descriptor; }
  Index Stride() const { return ld * (order == kRows ? rows : columns); }
  std::vector<std::uint8_t> Draw(unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> values(-8, 8);
    const Index count = Stride() * batches;
    std::vector<std::uint8_t> out(static_cast<std::size_t>(count) *
                                  cublas::SizeOf(type));
    const bool whole = type == cublas::kR8I || type == cublas::kR32I;
    for (Index i = 0; i < count; ++i) {
      cublas::Store(type, out.data(), i,
                    whole ? values(random) : values(random) / 8.0);
    }
    return out;
  }
  double At(const std::vector<std::uint8_t>& of, Index i, Index j,
            Index batch = 0) const {
    const Index at = order == kRows ? i * ld + j : i + j * ld;
    return cublas::Load(type, of.data(), batch * Stride() + at).real();
  }
  std::vector<std::uint8_t> Read() const { return device.Read(); }
};

struct Case {
  DataType in, out;
  int a_op, b_op, a_order, b_order, d_order;
  bool a_is_sparse;
};
constexpr Index kM = 16, kN = 24, kK = 32, kBatches = 2;

class Work {
 public:
  explicit Work(const Case& c)
      : case_(c),
        a(c.in, c.a_op == 0 ? kM : kK, c.a_op == 0 ? kK : kM, c.a_order,
          c.a_is_sparse, 1, kBatches),
        b(c.in, c.b_op == 0 ? kK : kN, c.b_op == 0 ? kN : kK, c.b_order,
          !c.a_is_sparse, 2, kBatches),
        in_c(c.out, kM, kN, c.d_order, false, 3, kBatches),
        d(c.out, kM, kN, c.d_order, false, 4, kBatches) {
    EXPECT_EQ(Lt("MatmulDescriptorInit", Handle(), P(&product), c.a_op, c.b_op,
                 a.get(), b.get(), in_c.get(), d.get(), 0),
              0);
    EXPECT_EQ(
        Lt("MatmulAlgSelectionInit", Handle(), P(&algorithm), P(&product), 0),
        0);
  }
  static void* P(Opaque* place) { return place; }
  Matrix& sparse() { return case_.a_is_sparse ? a : b; }
  template <typename T>
  void Set(int number, T value) {
    EXPECT_EQ(Lt("MatmulDescSetAttribute", Handle(), P(&product), number,
                 static_cast<const void*>(&value), sizeof value),
              0);
  }
  // Prunes in place, compresses and multiplies.
  void Multiply(int prune, const void* alpha, const void* beta) {
    void* const memory = sparse().device.get();
    Device<int> valid({7});
    EXPECT_EQ(Lt("SpMMAPruneCheck", Handle(), P(&product), memory, valid.get(),
                 kDefault),
              0);
    EXPECT_EQ(valid.Read()[0], 1);
    EXPECT_EQ(Lt("SpMMAPrune", Handle(), P(&product), memory, memory, prune,
                 kDefault),
              0);
    EXPECT_EQ(Lt("SpMMAPruneCheck", Handle(), P(&product), memory, valid.get(),
                 kDefault),
              0);
    EXPECT_EQ(valid.Read()[0], 0);
    EXPECT_EQ(
        Lt("MatmulPlanInit", Handle(), P(&plan), P(&product), P(&algorithm)),
        0);
    std::size_t size = 0, buffer = 1, room = 1;
    EXPECT_EQ(Lt("SpMMACompressedSize", Handle(), P(&plan), &size, &buffer), 0);
    EXPECT_EQ(Lt("MatmulGetWorkspace", Handle(), P(&plan), &room), 0);
    EXPECT_LT(size, sparse().bytes.size());
    Device<std::uint8_t> compressed(std::vector<std::uint8_t>(size + 4, 0xaa));
    EXPECT_EQ(Lt("SpMMACompress", Handle(), P(&plan), memory, compressed.get(),
                 kDefault, kDefault),
              0);
    void* const zeros = compressed.get();
    EXPECT_EQ(Lt("Matmul", Handle(), P(&plan), alpha,
                 case_.a_is_sparse ? zeros : a.device.get(),
                 case_.a_is_sparse ? b.device.get() : zeros, beta,
                 in_c.device.get(), d.device.get(), kDefault, kDefault, 0),
              0);
    EXPECT_EQ(compressed.Read().back(), 0xaa) << "written behind its end";
    EXPECT_EQ(Lt("MatmulPlanDestroy", P(&plan)), 0);
  }
  double Sum(const std::vector<std::uint8_t>& left,
             const std::vector<std::uint8_t>& right, Index i, Index j,
             Index batch) const {
    double sum = 0;
    for (Index k = 0; k < kK; ++k) {
      sum += (case_.a_op == 0 ? a.At(left, i, k, batch)
                              : a.At(left, k, i, batch)) *
             (case_.b_op == 0 ? b.At(right, k, j, batch)
                              : b.At(right, j, k, batch));
    }
    return sum;
  }
  // `want` of the sum and C.
  void Expect(const std::function<double(double, double, Index)>& want) const {
    const auto left = a.Read(), right = b.Read(), c = in_c.bytes;
    const auto got = d.Read();
    for (Index batch = 0; batch < kBatches; ++batch) {
      for (Index i = 0; i < kM; ++i) {
        for (Index j = 0; j < kN; ++j) {
          const double exact =
              want(Sum(left, right, i, j, batch), in_c.At(c, i, j, batch), i);
          std::array<std::uint8_t, 8> rounded = {};
          cublas::Store(d.type, rounded.data(), 0, exact);
          ASSERT_NEAR(d.At(got, i, j, batch),
                      cublas::Load(d.type, rounded.data(), 0).real(),
                      1e-2 * (1 + std::abs(exact)) *
                          (d.type == cublas::kR32F ? 1e-4 : 1))
              << i << " " << j;
        }
      }
    }
  }

  static constexpr void* kDefault = nullptr;
  const Case case_;
  Matrix a, b, in_c, d;
  Opaque product = {}, algorithm = {}, plan = {};
};

TEST(CusparseLt, TypesOrdersTransposesBatches) {
  const Case cases[] = {
      {cublas::kR16F, cublas::kR16F, 0, 0, kRows, kRows, kRows, true},
      {cublas::kR16F, cublas::kR16F, 1, 0, kColumns, kRows, kColumns, true},
      {cublas::kR16BF, cublas::kR16BF, 0, 1, kColumns, kColumns, kRows, false},
      {cublas::kR8I, cublas::kR8I, 0, 1, kRows, kRows, kRows, true},
      {cublas::kR8I, cublas::kR32I, 1, 0, kColumns, kColumns, kRows, false},
      {cublas::kR32F, cublas::kR32F, 0, 0, kColumns, kRows, kRows, true},
      {cublas::kR8E4M3, cublas::kR32F, 1, 1, kRows, kColumns, kColumns, false},
  };
  for (const Case& c : cases) {
    for (const int prune : {0, 1}) {
      Work run(c);
      const float alpha = 0.5F, beta = 2;
      run.Multiply(prune, &alpha, &beta);
      run.Expect(
          [](double sum, double old, Index) { return 0.5 * sum + 2 * old; });
    }
  }
}

// The largest sum of a tile's absolute values of which each row and column has
// two, by trying all.
double BestTile(const std::array<double, 16>& sizes) {
  double best = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    double sum = 0;
    std::array<int, 4> rows = {}, columns = {};
    for (unsigned at = 0; at < 16; ++at) {
      if ((bits >> at & 1) == 0) continue;
      ++rows[at / 4], ++columns[at % 4];
      sum += sizes[at];
    }
    const std::array<int, 4> two = {2, 2, 2, 2};
    if (rows == two && columns == two) best = std::max(best, sum);
  }
  return best;
}

// Strips keep their largest; tiles as many in rows and columns.
TEST(CusparseLt, WhatPruningKeeps) {
  for (const int prune : {0, 1}) {
    Work run({cublas::kR16F, cublas::kR16F, 0, 0, kRows, kRows, kRows, true});
    const float one = 1, zero = 0;
    run.Multiply(prune, &one, &zero);
    const auto after = run.a.Read();
    for (Index first = 0; first < kK; first += 4) {
      std::array<double, 16> sizes = {};
      std::array<double, 4> of_row = {};
      std::array<int, 4> rows = {}, columns = {};
      for (Index at = 0; at < 16; ++at) {
        const double old = run.a.At(run.a.bytes, at / 4, first + at % 4);
        const double now = run.a.At(after, at / 4, first + at % 4);
        EXPECT_TRUE(now == 0 || now == old);
        const auto row = static_cast<std::size_t>(at / 4);
        sizes[static_cast<std::size_t>(at)] = std::abs(old);
        of_row[row] += std::abs(now);
        rows[row] += now != 0 ? 1 : 0;
        columns[static_cast<std::size_t>(at % 4)] += now != 0 ? 1 : 0;
      }
      for (const int count : rows) EXPECT_LE(count, 2);
      if (prune == 0) {
        for (const int count : columns) EXPECT_LE(count, 2);
        EXPECT_EQ(of_row[0] + of_row[1] + of_row[2] + of_row[3],
                  BestTile(sizes));
        continue;
      }
      for (std::size_t row = 0; row < 4; ++row) {
        std::sort(sizes.begin() + static_cast<std::ptrdiff_t>(row * 4),
                  sizes.begin() + static_cast<std::ptrdiff_t>(row * 4 + 4));
        EXPECT_EQ(of_row[row], sizes[row * 4 + 2] + sizes[row * 4 + 3]);
      }
    }
  }
}

TEST(CusparseLt, Epilogues) {
  const Case c = {cublas::kR16F, cublas::kR32F, 0,     0,
                  kRows,         kRows,         kRows, true};
  const float one = 1, zero = 0;
  {
    Work run(c);
    run.Set(0, 1);
    run.Set(1, 2.5F);
    run.Set(2, 0.5F);
    run.Multiply(1, &one, &zero);
    run.Expect([](double x, double, Index) {
      return x <= 0.5 ? 0 : std::min(x, 2.5);
    });
  }
  std::vector<float> numbers(kM * kBatches);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = (static_cast<float>(i % kM) - 7) / 4;
  }
  {
    Work run(c);
    const Device<float> bias(numbers);
    run.Set(8, static_cast<const void*>(bias.get()));
    run.Set(7, std::int64_t{kM});
    run.Set(4, 0.5F);
    int gelu = 0;
    EXPECT_EQ(Lt("MatmulDescGetAttribute", Handle(), Work::P(&run.product), 3,
                 static_cast<void*>(&gelu), sizeof gelu),
              0);
    EXPECT_EQ(gelu, 1);
    run.Multiply(1, &one, &one);
    run.Expect([&](double sum, double old, Index i) {
      const double x = sum + old + numbers[static_cast<std::size_t>(i)];
      return 0.25 * x *
             (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
    });
  }
  {
    Work run(c);
    const Device<float> alpha(numbers);
    run.Set(5, 1);
    run.Multiply(0, alpha.get(), &zero);
    run.Expect([&](double sum, double, Index i) {
      return numbers[static_cast<std::size_t>(i)] * sum;
    });
  }
}

// The functions that are told the matrix instead of a product.
TEST(CusparseLt, ByTheMatrix) {
  Work run({cublas::kR16F, cublas::kR16F, 0, 0, kRows, kRows, kRows, false});
  Matrix& b = run.b;
  Device<int> valid({7});
  void* const memory = b.device.get();
  EXPECT_EQ(Lt("SpMMAPrune2", Handle(), b.get(), 0, 0, memory, memory, 1,
               Work::kDefault),
            0);
  EXPECT_EQ(Lt("SpMMAPruneCheck2", Handle(), b.get(), 0, 0, memory, valid.get(),
               Work::kDefault),
            0);
  EXPECT_EQ(valid.Read()[0], 0);
  std::size_t size = 0, buffer = 0;
  EXPECT_EQ(Lt("SpMMACompressedSize2", Handle(), b.get(), &size, &buffer), 0);
  Device<std::uint8_t> compressed(std::vector<std::uint8_t>(size, 0));
  EXPECT_EQ(Lt("SpMMACompress2", Handle(), b.get(), 0, 0, memory,
               compressed.get(), Work::kDefault, Work::kDefault),
            0);
  EXPECT_EQ(Lt("MatmulPlanInit", Handle(), Work::P(&run.plan),
               Work::P(&run.product), Work::P(&run.algorithm)),
            0);
  const float one = 1, zero = 0;
  EXPECT_EQ(
      Lt("MatmulSearch", Handle(), Work::P(&run.plan),
         static_cast<const void*>(&one), run.a.device.get(), compressed.get(),
         static_cast<const void*>(&zero), run.in_c.device.get(),
         run.d.device.get(), Work::kDefault, Work::kDefault, 0),
      0);
  run.Expect([](double sum, double, Index) { return sum; });
}

TEST(CusparseLt, HelpersAndErrors) {
  int version = 0, part = 0, sum = 0;
  EXPECT_EQ(Lt("GetVersion", Handle(), &version), 0);
  for (const auto& [property, factor] :
       {std::pair(0, 1000), {1, 100}, {2, 1}}) {
    EXPECT_EQ(Lt("GetProperty", property, &part), 0);
    sum += part * factor;
  }
  EXPECT_EQ(version, sum);
  EXPECT_STREQ(Lt<const char*>("GetErrorName", 10),
               "CUSPARSE_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(Lt<const char*>("GetErrorString", 3), "invalid value");
  Work run({cublas::kR16F, cublas::kR16F, 0, 0, kRows, kRows, kRows, true});
  int batches = 0, splits = 4;
  EXPECT_EQ(Lt("MatDescGetAttribute", Handle(), run.a.get(), 0,
               static_cast<void*>(&batches), sizeof batches),
            0);
  EXPECT_EQ(batches, kBatches);
  EXPECT_EQ(Lt("MatmulAlgSetAttribute", Handle(), Work::P(&run.algorithm), 3,
               static_cast<const void*>(&splits), sizeof splits),
            0);
  splits = 0;
  EXPECT_EQ(Lt("MatmulAlgGetAttribute", Handle(), Work::P(&run.algorithm), 3,
               static_cast<void*>(&splits), sizeof splits),
            0);
  EXPECT_EQ(splits, 4);
  EXPECT_EQ(Lt("MatmulAlgSetAttribute", Handle(), Work::P(&run.algorithm), 99,
               static_cast<const void*>(&splits), sizeof splits),
            kInvalid);
  Opaque none = {}, product = {};
  EXPECT_EQ(Lt("DenseDescriptorInit", Work::P(&none), run.a.get(), Index{4},
               Index{4}, Index{4}, 16u, cublas::kR16F, kRows),
            1);
  EXPECT_EQ(Lt("DenseDescriptorInit", Handle(), Work::P(&none), Index{4},
               Index{8}, Index{4}, 16u, cublas::kR16F, kRows),
            kInvalid);
  // Two that are dense, and sizes that do not fit.
  EXPECT_EQ(Lt("MatmulDescriptorInit", Handle(), Work::P(&product), 0, 0,
               run.in_c.get(), run.b.get(), run.d.get(), run.d.get(), 0),
            kInvalid);
  EXPECT_EQ(Lt("MatmulAlgSelectionDestroy", Work::P(&run.algorithm)), 0);
  EXPECT_EQ(Lt("MatDescriptorDestroy", run.a.get()), 0);
  EXPECT_EQ(Lt("MatDescriptorDestroy", run.a.get()), kInvalid);
  Opaque other = {};
  EXPECT_EQ(Lt("Init", Work::P(&other)), 0);
  EXPECT_EQ(Lt("Destroy", Work::P(&other)), 0);
}

// What is exported and nobody called here.
TEST(CusparseLtTable, AllAreCalled) {
  if (GTEST_FLAG_GET(filter) != "*") return;
  for (const char* name : kNames) EXPECT_EQ(Called().count(name), 1u) << name;
}

}  // namespace
}  // namespace cerberus::libraries::tests
