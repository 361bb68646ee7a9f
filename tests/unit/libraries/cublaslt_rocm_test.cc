// How cuBLASLt's products come to rocBLAS and to kernels of our own, and which
// of them. What comes out is compared by cublaslt_test.cc, here only what that
// does not reach.
#include "tests/unit/libraries/cublaslt_rocm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "libraries/cublas/typed.h"
#include "libraries/cublaslt/rocm_plan.h"
#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/cublaslt_ways.h"
#include "tests/unit/libraries/fake_driver.h"
#include "tests/unit/libraries/fake_rocblas.h"

namespace cerberus::libraries::cublaslt {
namespace {

using cublas::Index;
using tests::Cuda;
using tests::FindFakeRocblas;

Layout LayoutOf(DataType type, Index rows, Index columns,
                Order order = kColumns, Index batches = 1) {
  Layout layout = {};
  layout.type = type;
  layout.order = order;
  layout.rows = static_cast<std::uint64_t>(rows);
  layout.columns = static_cast<std::uint64_t>(columns);
  layout.ld = order == kRows ? columns : rows;
  layout.batches = static_cast<std::int32_t>(batches);
  layout.batch_offset = rows * columns;
  return layout;
}
Layouts LayoutsOf(DataType ab, DataType c, DataType d, Index m = 5, Index n = 3,
                  Index k = 4, Index batches = 1) {
  return {LayoutOf(ab, m, k, kColumns, batches),
          LayoutOf(ab, k, n, kColumns, batches),
          LayoutOf(c, m, n, kColumns, batches),
          LayoutOf(d, m, n, kColumns, batches)};
}

// --- What a call does
RocmPlan Plan(const MatmulDesc& desc, const Layouts& l, bool zero = false) {
  return PlanMatmul(desc, l, zero);
}

TEST(RocmPlan, IsRocblasAloneWhereItCan) {
  const struct {
    ComputeType compute;
    DataType scale, ab, d;
  } rows[] = {
      {cublas::k32F, cublas::kR32F, cublas::kR32F, cublas::kR32F},
      {cublas::k32FFastTF32, cublas::kR32F, cublas::kR32F, cublas::kR32F},
      {cublas::k32F, cublas::kR32F, cublas::kR16F, cublas::kR16F},
      {cublas::k32F, cublas::kR32F, cublas::kR16F, cublas::kR32F},
      {cublas::k32F, cublas::kR32F, cublas::kR16BF, cublas::kR16BF},
      {cublas::k16F, cublas::kR16F, cublas::kR16F, cublas::kR16F},
      {cublas::k64F, cublas::kR64F, cublas::kR64F, cublas::kR64F},
      {cublas::k32I, cublas::kR32I, cublas::kR8I, cublas::kR32I},
      {cublas::k32F, cublas::kC32F, cublas::kC32F, cublas::kC32F},
      {cublas::k64F, cublas::kC64F, cublas::kC64F, cublas::kC64F},
  };
  for (const auto& row : rows) {
    const RocmPlan plan =
        Plan(NewDesc(row.compute, row.scale), LayoutsOf(row.ab, row.d, row.d));
    EXPECT_TRUE(plan.fits && !plan.finishes) << row.ab << " " << row.d;
    EXPECT_EQ(plan.sum, row.d);
    EXPECT_EQ(plan.compute, row.compute);
    EXPECT_EQ(plan.bytes, 0u);
  }
}

TEST(RocmPlan, SumsGoToDIfTheyCan) {
  MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
  desc.epilogue = kBias;
  Layouts l = LayoutsOf(cublas::kR32F, cublas::kR32F, cublas::kR32F);
  EXPECT_TRUE(Plan(desc, l).in_place);
  EXPECT_TRUE(Plan(desc, l).has_scalars);
  // C has to be read after the sum.
  l.c.type = cublas::kR16F;
  EXPECT_FALSE(Plan(desc, l).in_place);
  EXPECT_EQ(Plan(desc, l).bytes, 256u);
  EXPECT_TRUE(Plan(desc, l, /*zero=*/true).in_place);
  EXPECT_FALSE(Plan(desc, l, /*zero=*/true).has_scalars);
  l = LayoutsOf(cublas::kR16F, cublas::kR16F, cublas::kR16F, 65, 3, 4, 2);
  EXPECT_FALSE(Plan(desc, l, true).in_place);
  EXPECT_EQ(Plan(desc, l, true).bytes, 1792u);  // 65 * 3 * 2 * 4, padded
  desc.pointer_mode = kDevice;
  l = LayoutsOf(cublas::kR32F, cublas::kR32F, cublas::kR32F);
  EXPECT_FALSE(Plan(desc, l).in_place);
}

TEST(RocmPlan, EightBitFloatsBecomeHalves) {
  const Layouts l = LayoutsOf(cublas::kR8E4M3, cublas::kR16BF, cublas::kR16BF);
  const RocmPlan plan = Plan(NewDesc(cublas::k32F, cublas::kR32F), l);
  EXPECT_TRUE(plan.fits && plan.widens);
  EXPECT_EQ(plan.sum, cublas::kR32F);
  EXPECT_EQ(plan.halves_of_a, 256u);
  EXPECT_EQ(plan.halves_of_b, 512u);
  EXPECT_EQ(plan.bytes, 768u);
}

TEST(RocmPlan, WhatTheHostComputes) {
  const auto fits = [](DataType ab, DataType d, const auto& change) {
    MatmulDesc desc = NewDesc(cublas::k32F, cublas::kR32F);
    Layouts l = LayoutsOf(ab, d, d);
    change(desc, l);
    return Plan(desc, l).fits;
  };
  using D = MatmulDesc;
  using L = Layouts;
  EXPECT_TRUE(fits(cublas::kR32F, cublas::kR32F, [](D&, L&) {}));
  // Two types of factors.
  EXPECT_FALSE(fits(cublas::kR16F, cublas::kR16F,
                    [](D&, L& l) { l.b.type = cublas::kR16BF; }));
  EXPECT_FALSE(fits(cublas::kR32F, cublas::kR32F,
                    [](D&, L& l) { l.b.batch_mode = kPointerArray; }));
  // GELU of doubles.
  EXPECT_FALSE(fits(cublas::kR64F, cublas::kR64F, [](D& d, L&) {
    d.compute = cublas::k64F;
    d.scale = cublas::kR64F;
    d.epilogue = kGelu;
  }));
  // Bits of one byte that are two columns'.
  const auto relu = [](Index ld) {
    return [ld](D& d, L&) {
      d.epilogue = kRelu | kAux;
      d.aux_ld = ld;
    };
  };
  EXPECT_TRUE(fits(cublas::kR32F, cublas::kR32F, relu(8)));
  EXPECT_FALSE(fits(cublas::kR32F, cublas::kR32F, relu(9)));
  // Complex scalars by row.
  EXPECT_FALSE(fits(cublas::kC32F, cublas::kC32F, [](D& d, L&) {
    d.scale = cublas::kC32F;
    d.pointer_mode = kDeviceVector;
  }));
}

TEST(RocmPlan, AMatrixByRowsIsItsTranspose) {
  using cublas::kC;
  using cublas::kConj;
  using cublas::kN;
  using cublas::kT;
  const Layout real = LayoutOf(cublas::kR32F, 2, 2);
  const Layout real_rows = LayoutOf(cublas::kR32F, 2, 2, kRows);
  const Layout complex_rows = LayoutOf(cublas::kC32F, 2, 2, kRows);
  EXPECT_EQ(MemoryOp(real, kC), kT);
  EXPECT_EQ(MemoryOp(real, kConj), kN);
  EXPECT_EQ(MemoryOp(real_rows, kN), kT);
  EXPECT_EQ(MemoryOp(real_rows, kT), kN);
  EXPECT_EQ(MemoryOp(real_rows, kC), kN);
  EXPECT_EQ(MemoryOp(complex_rows, kN), kT);
  EXPECT_EQ(MemoryOp(complex_rows, kC), kConj);
  EXPECT_EQ(MemoryOp(complex_rows, kConj), kC);
}

// --- Calls
struct Memory {
  Shared<float> a = Shared<float>(64, 1), b = Shared<float>(64, 2),
                c = Shared<float>(64, 3), d = Shared<float>(64, 0);
  float alpha = 1, beta = 0;
  Operands operands() const {
    return {&alpha, a.data(), b.data(),
            &beta,  c.data(), const_cast<float*>(d.data())};
  }
};
Layouts Floats(Index batches = 1) {
  return LayoutsOf(cublas::kR32F, cublas::kR32F, cublas::kR32F, 5, 3, 4,
                   batches);
}
const MatmulDesc kFloats = NewDesc(cublas::k32F, cublas::kR32F);

struct CublasLtFake : testing::Test {
  std::string Last() { return FindFakeRocblas()->fake_rocblas_last(); }
  Memory memory;
};

TEST_F(CublasLtFake, CallsOneManyAndArrays) {
  ASSERT_EQ(DoMatmul(true, kFloats, Floats(), memory.operands()), 0);
  EXPECT_EQ(Last(),
            "rocblas_gemm_ex 111 111 5 3 4 p p 151 5 p 151 4 p p 151 5 p 151 5 "
            "151");
  EXPECT_EQ(memory.d[14], 8);
  ASSERT_EQ(DoMatmul(true, kFloats, Floats(2), memory.operands()), 0);
  EXPECT_EQ(Last(),
            "rocblas_gemm_strided_batched_ex 111 111 5 3 4 p p 151 5 20 p 151 "
            "4 12 p p 151 5 15 p 151 5 15 2 151");
  Shared<const void*> as = {memory.a.data()}, bs = {memory.b.data()},
                      ds = {memory.d.data()};
  Layouts l = Floats();
  for (Layout* layout : {&l.a, &l.b, &l.c, &l.d}) {
    layout->batch_mode = kPointerArray;
  }
  ASSERT_EQ(DoMatmul(true, kFloats, l,
                     {&memory.alpha, as.data(), bs.data(), &memory.beta,
                      ds.data(), ds.data()}),
            0);
  EXPECT_EQ(Last(),
            "rocblas_gemm_batched_ex 111 111 5 3 4 p p 151 5 p 151 4 p p 151 5 "
            "p 151 5 1 151");
}

TEST_F(CublasLtFake, DByRowsIsComputedByColumns) {
  Layouts l = Floats();
  l.c = l.d = LayoutOf(cublas::kR32F, 5, 3, kRows);
  ASSERT_EQ(DoMatmul(true, kFloats, l, memory.operands()), 0);
  EXPECT_EQ(Last(),
            "rocblas_gemm_ex 112 112 3 5 4 p p 151 4 p 151 5 p p 151 3 p 151 3 "
            "151");
}

TEST_F(CublasLtFake, IsLeaveForTf32) {
  ASSERT_EQ(DoMatmul(true, NewDesc(cublas::k32FFastTF32, cublas::kR32F),
                     Floats(), memory.operands()),
            0);
  EXPECT_EQ(FindFakeRocblas()->fake_rocblas_setting("math_mode"), 1);
  ASSERT_EQ(DoMatmul(true, kFloats, Floats(), memory.operands()), 0);
  EXPECT_EQ(FindFakeRocblas()->fake_rocblas_setting("math_mode"), 0);
}

TEST_F(CublasLtFake, WhatItDoesNotTakeTheHostComputes) {
  for (const int status : {2, 4, 11, 15}) {
    for (const std::uint32_t epilogue : {1u, 2u}) {
      memory.d.assign(64, -1);
      MatmulDesc desc = kFloats;
      desc.epilogue = epilogue;
      FindFakeRocblas()->fake_rocblas_answer(status);
      EXPECT_EQ(DoMatmul(true, desc, Floats(), memory.operands()), 0);
      EXPECT_EQ(memory.d[0], 8) << status;
    }
  }
  FindFakeRocblas()->fake_rocblas_answer(6);
  EXPECT_EQ(DoMatmul(true, kFloats, Floats(), memory.operands()),
            cublas::kExecutionFailed);
}

// Each has its own handle of rocBLAS', and is captured with its kernels, or
// with the host's function where memory would have to be found.
TEST_F(CublasLtFake, Streams) {
  const Layouts l = Floats();
  const Operands o = memory.operands();
  MatmulDesc desc = kFloats;
  desc.epilogue = kRelu;
  void* const stream = tests::NewStream(1);
  void *hip = nullptr, *graph = nullptr, *executable = nullptr;
  EXPECT_EQ(Cuda("cuCerberusHipStream", stream, &hip), 0);
  const auto matmul = [&] {
    return Lt("cublasLtMatmul", LtHandle(), &desc, o.alpha, o.a, &l.a, o.b,
              &l.b, o.beta, o.c, &l.c, o.d, &l.d,
              static_cast<const void*>(nullptr), static_cast<void*>(nullptr),
              std::size_t{0}, stream);
  };
  EXPECT_EQ(matmul(), 0);
  EXPECT_EQ(FindFakeRocblas()->fake_rocblas_hip_stream(), hip);
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  EXPECT_EQ(memory.d[0], 8);
  EXPECT_EQ(Cuda("cuStreamBeginCapture_v2", stream, 0), 0);
  EXPECT_EQ(matmul(), 0);
  EXPECT_EQ(Cuda("cuStreamEndCapture", stream, &graph), 0);
  EXPECT_EQ(
      Cuda("cuGraphInstantiateWithFlags", &executable, graph, std::uint64_t{0}),
      0);
  memory.a.assign(64, 3);
  for (int i = 0; i < 2; ++i) {
    memory.d.assign(64, 0);
    EXPECT_EQ(Cuda("cuGraphLaunch", executable, stream), 0);
    EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
    EXPECT_EQ(memory.d[0], 24);
  }
  EXPECT_EQ(Cuda("cuGraphExecDestroy", executable), 0);
  EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

// Types and epilogues in batches against the host, which the same tests hold to
// NVIDIA's documentation.
struct Kind {
  ComputeType compute;
  DataType scale, ab, c, d;
  double tolerance;
};
class Sweep {
 public:
  explicit Sweep(unsigned seed) : random_(seed) {}

  void Run() {
    const Kind kinds[] = {
        {cublas::k32F, cublas::kR32F, cublas::kR32F, cublas::kR32F,
         cublas::kR32F, 1e-5},
        {cublas::k32F, cublas::kR32F, cublas::kR16F, cublas::kR16F,
         cublas::kR16F, 2e-3},
        {cublas::k16F, cublas::kR16F, cublas::kR16F, cublas::kR16F,
         cublas::kR16F, 2e-3},
        {cublas::k32F, cublas::kR32F, cublas::kR16BF, cublas::kR16BF,
         cublas::kR16BF, 1.6e-2},
        {cublas::k32F, cublas::kR32F, cublas::kR16BF, cublas::kR32F,
         cublas::kR32F, 1e-5},
        {cublas::k32F, cublas::kR32F, cublas::kR8E4M3, cublas::kR16BF,
         cublas::kR8E4M3, 0.13},
        {cublas::k32F, cublas::kR32F, cublas::kR8E5M2, cublas::kR16F,
         cublas::kR16F, 2e-3},
        {cublas::k32I, cublas::kR32F, cublas::kR8I, cublas::kR8I, cublas::kR8I,
         0},
        {cublas::k32F, cublas::kR32F, cublas::kR8I, cublas::kR32F,
         cublas::kR32F, 1e-6},
    };
    const Kind& kind = kinds[Pick(std::size(kinds))];
    const bool whole = kind.ab == cublas::kR8I;
    constexpr std::uint32_t kEpilogues[] = {1,   2,   130, 4,   6,   134,
                                            8,   136, 152, 32,  160, 36,
                                            164, 64,  192, 208, 256, 512};
    const std::uint32_t epilogue =
        whole ? kEpilogues[Pick(6)] : kEpilogues[Pick(std::size(kEpilogues))];
    const Index m = 1 + Pick(40), n = 1 + Pick(12), k = 1 + Pick(20);
    const Index batches = 1 + Pick(3);
    MatmulDesc desc = NewDesc(kind.compute, kind.scale);
    desc.epilogue = epilogue;
    desc.a = Pick(2) ? cublas::kT : cublas::kN;
    desc.b = Pick(2) ? cublas::kT : cublas::kN;
    const Layouts l = {New(kind.ab, desc.a ? k : m, desc.a ? m : k, batches),
                       New(kind.ab, desc.b ? n : k, desc.b ? k : n, batches),
                       New(kind.c, m, n, batches), New(kind.d, m, n, batches)};
    const auto a = Values(l.a), b = Values(l.b), c = Values(l.c);
    const auto gradient = epilogue & (16 | 256 | 512);
    desc.bias_type = gradient || Pick(2) ? cublas::kR32F : -1;
    desc.bias_stride = std::max(m, n);
    const bool bits = (epilogue & 10) != 0;
    desc.aux_ld = bits ? (m + 7) / 8 * 8 : m + Pick(3);
    desc.aux_stride = desc.aux_ld * n;
    desc.aux_type = cublas::kR32F;
    desc.pointer_mode = static_cast<PointerMode>(Pick(5));
    desc.alpha_stride = Pick(2) ? m : 0;
    const Layout scalars = LayoutOf(kind.scale, m * batches, 1, kColumns, 1);
    const auto alpha = Values(scalars);
    auto beta = Values(scalars);
    if (Pick(3) == 0) std::fill(beta.begin(), beta.end(), std::byte{0});
    const auto bias = Values(LayoutOf(cublas::kR32F, 40 * 3, 1));
    const auto aux = Values(LayoutOf(
        cublas::kR32F, std::max<Index>(desc.aux_stride * batches, 1), 1));
    const Shared<float> scales = {2, 0.5f, 4, 0.25f, 2};
    Shared<float> largest[2] = {{-1, -1}, {-1, -1}};
    if (!whole && Pick(2)) {
      desc.scale_of_a = &scales[0];
      desc.scale_of_b = &scales[1];
      desc.scale_of_c = &scales[2];
      desc.scale_of_d = &scales[3];
      desc.scale_of_aux = &scales[4];
    }
    Shared<std::byte> d[2] = {Values(l.d), {}}, biases[2] = {bias, bias},
                      auxs[2] = {aux, aux};
    d[1] = d[0];
    const bool in_place = Pick(2) && !std::memcmp(&l.c, &l.d, sizeof l.c);
    for (const int way : {0, 1}) {
      MatmulDesc one = desc;
      one.bias = biases[way].data();
      one.aux = auxs[way].data();
      one.amax_of_d = &largest[way][0];
      if ((epilogue & 160) == 160) one.amax_of_aux = &largest[way][1];
      const Operands o = {alpha.data(),
                          a.data(),
                          b.data(),
                          beta.data(),
                          in_place ? d[way].data() : c.data(),
                          d[way].data()};
      ASSERT_EQ(way == 0 ? DoMatmul(Pick(2), one, l, o)
                         : Matmul(FakeDriver(true), nullptr, one, l, o),
                0);
    }
    const std::string what =
        "types " + std::to_string(kind.ab) + " " + std::to_string(kind.d) +
        " epilogue " + std::to_string(epilogue) + " mode " +
        std::to_string(desc.pointer_mode) + " m n k " + std::to_string(m) +
        " " + std::to_string(n) + " " + std::to_string(k);
    Compare(kind.d, d[0], d[1], kind.tolerance, what + " D");
    Compare(cublas::kR32F, biases[0], biases[1], 1e-4, what + " bias");
    if (bits) EXPECT_EQ(auxs[0], auxs[1]) << what;
    else Compare(cublas::kR32F, auxs[0], auxs[1], 1e-5, what + " aux");
    for (const int i : {0, 1}) {
      EXPECT_NEAR(
          largest[0][static_cast<std::size_t>(i)],
          largest[1][static_cast<std::size_t>(i)],
          1e-4 * (1 + std::abs(largest[1][static_cast<std::size_t>(i)])))
          << what;
    }
  }

 private:
  std::size_t Pick(std::size_t n) { return random_() % n; }
  Layout New(DataType type, Index rows, Index columns, Index batches) {
    Layout layout =
        LayoutOf(type, rows, columns, Pick(3) == 0 ? kRows : kColumns, batches);
    layout.ld += static_cast<Index>(Pick(3));
    layout.batch_offset = layout.ld * (layout.order == kRows ? rows : columns) +
                          static_cast<Index>(Pick(2));
    return layout;
  }
  Shared<std::byte> Values(const Layout& layout) {
    const auto count =
        static_cast<std::size_t>(layout.batch_offset * layout.batches);
    Shared<std::byte> bytes(count * cublas::SizeOf(layout.type));
    const bool whole =
        layout.type == cublas::kR8I || layout.type == cublas::kR32I;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(Pick(17)) - 8;
      cublas::Store(layout.type, bytes.data(), static_cast<Index>(i),
                    whole ? value : value / 8);
    }
    return bytes;
  }
  static void Compare(DataType type, const Shared<std::byte>& got,
                      const Shared<std::byte>& want, double tolerance,
                      const std::string& what) {
    const auto count = static_cast<Index>(got.size() / cublas::SizeOf(type));
    for (Index i = 0; i < count; ++i) {
      const double x = cublas::Load(type, got.data(), i).real();
      const double y = cublas::Load(type, want.data(), i).real();
      ASSERT_NEAR(x, y, tolerance * (1 + std::abs(y))) << what << " " << i;
    }
  }

  std::mt19937 random_;
};

TEST(CublasLtRocm, RandomProducts) {
  for (unsigned seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sweep(seed).Run();
  }
}

// Every 8-bit float there and back.
TEST(CublasLtRocm, Conversions) {
  for (const DataType type : {cublas::kR8E4M3, cublas::kR8E5M2}) {
    Shared<std::byte> bits(256), back(256);
    Shared<float> floats(256);
    for (std::size_t i = 0; i < 256; ++i) bits[i] = static_cast<std::byte>(i);
    TransformDesc desc = {};
    desc.scale = cublas::kR32F;
    const float one = 1, zero = 0;
    const Layout narrow = LayoutOf(type, 256, 1),
                 wide = LayoutOf(cublas::kR32F, 256, 1);
    ASSERT_EQ(DoTransform(
                  true, desc, {narrow, narrow, wide, wide},
                  {&one, bits.data(), nullptr, &zero, nullptr, floats.data()}),
              0);
    for (std::size_t i = 0; i < 256; ++i) {
      const float want = cublas::FromFloat8(type, static_cast<std::uint8_t>(i));
      EXPECT_TRUE(floats[i] == want ||
                  (std::isnan(want) && std::isnan(floats[i])))
          << i;
    }
    // And what lies between two of them, beyond all, and below.
    for (std::size_t i = 0; i < 256; ++i) {
      floats[i] *= i % 2 == 0 ? 1.0625f : 0.96875f;
    }
    floats[7] = 1e30f;
    floats[8] = 1e-30f;
    ASSERT_EQ(DoTransform(
                  true, desc, {wide, wide, narrow, narrow},
                  {&one, floats.data(), nullptr, &zero, nullptr, back.data()}),
              0);
    for (std::size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(std::to_integer<int>(back[i]),
                cublas::ToFloat8(type, floats[i]))
          << floats[i];
    }
  }
}

TEST(CublasLtRocm, HeuristicsTellWhatMemoryIsOfUse) {
  struct Preference {
    std::uint64_t words[8];
  };
  Preference* preference = nullptr;
  ASSERT_EQ(Lt("cublasLtMatmulPreferenceCreate", &preference), 0);
  const Layouts l =
      LayoutsOf(cublas::kR16F, cublas::kR16F, cublas::kR16F, 64, 64, 4);
  MatmulDesc desc = kFloats;
  desc.epilogue = kRelu;
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{16384}}) {
    ASSERT_EQ(Lt("cublasLtMatmulPreferenceSetAttribute", preference, 1,
                 static_cast<const void*>(&most), sizeof most),
              0);
    HeuristicResult result = {};
    int found = 0;
    ASSERT_EQ(Lt("cublasLtMatmulAlgoGetHeuristic", LtHandle(), &desc, &l.a,
                 &l.b, &l.c, &l.d, preference, 1, &result, &found),
              0);
    EXPECT_EQ(result.workspace_bytes, most);
  }
  EXPECT_EQ(Lt("cublasLtMatmulPreferenceDestroy", preference), 0);
}

}  // namespace
}  // namespace cerberus::libraries::cublaslt
