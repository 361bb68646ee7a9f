// Matrices that are spread over devices: two places on the one that there is.
#include <dlfcn.h>

#include <cstdlib>
#include <deque>

#include "tests/unit/libraries/cusolver.h"
#include "tests/unit/libraries/exported.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;

#define CUSOLVERMG_ANSWERED(name) #name,
#define CUSOLVERMG_EXPORT(name, ...) #name,
#define CUSOLVERMG_REFUSED(name)
const char* const kAnswered[] = {
#include "libraries/cusolvermg/cusolvermg.def"
};
#undef CUSOLVERMG_ANSWERED
#undef CUSOLVERMG_EXPORT
#undef CUSOLVERMG_REFUSED
#define CUSOLVERMG_ANSWERED(name)
#define CUSOLVERMG_EXPORT(name, ...)
#define CUSOLVERMG_REFUSED(name) #name,
const char* const kRefused[] = {
#include "libraries/cusolvermg/cusolvermg.def"
};

std::set<std::string>& Called() {
  static std::set<std::string> names;
  return names;
}
template <typename... A>
int Mg(const std::string& name, A... arguments) {
  static void* const library = dlopen("libcusolverMg.so.12", RTLD_NOW);
  const std::string whole = "cusolverMg" + name;
  void* const symbol = library ? dlsym(library, whole.c_str()) : nullptr;
  if (symbol == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  Called().insert(whole);
  return reinterpret_cast<int (*)(A...)>(symbol)(arguments...);
}

void* MgHandle() {
  static void* const handle = [] {
    SolverHandle();  // makes a context current
    void* made = nullptr;
    EXPECT_EQ(Mg("Create", &made), kSuccess);
    int devices[] = {0, 0};
    EXPECT_EQ(Mg("DeviceSelect", made, 2, devices), kSuccess);
    return made;
  }();
  return handle;
}

// Blocks of two columns in turns here and there.
template <typename T>
class Spread {
 public:
  explicit Spread(const Matrix& a, int type = kType<T>)
      : rows_(a.rows), columns_(a.columns) {
    const std::int32_t devices[] = {0, 0};
    EXPECT_EQ(Mg("CreateDeviceGrid", &grid_, 1, 2, devices, 1), kSuccess);
    EXPECT_EQ(Mg("CreateMatrixDesc", &descr_, std::int64_t{a.rows},
                 std::int64_t{a.columns}, std::int64_t{a.rows},
                 std::int64_t{kBlock}, type, grid_),
              kSuccess);
    std::vector<T> parts[2];
    for (long j = 0; j < columns_; ++j) {
      for (long i = 0; i < rows_; ++i) {
        parts[j / kBlock % 2].push_back(To<T>(a(i, j)));
      }
    }
    for (std::vector<T>& part : parts) {
      part.push_back(T(7));
      memory_.emplace_back(part);
      places_.push_back(memory_.back().get());
    }
  }
  ~Spread() {
    EXPECT_EQ(Mg("DestroyMatrixDesc", descr_), kSuccess);
    EXPECT_EQ(Mg("DestroyGrid", grid_), kSuccess);
  }
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;

  T** places() { return places_.data(); }
  void** get() { return reinterpret_cast<void**>(places_.data()); }
  void* descr() const { return descr_; }
  std::vector<T> Values() const {
    const std::vector<T> parts[] = {memory_[0].Read(), memory_[1].Read()};
    std::size_t next[] = {0, 0};
    std::vector<T> out;
    for (long j = 0; j < columns_; ++j) {
      for (long i = 0; i < rows_; ++i) {
        const auto part = static_cast<std::size_t>(j / kBlock % 2);
        out.push_back(parts[part][next[part]++]);
      }
    }
    return out;
  }
  Matrix Read() const {
    Matrix out(rows_, columns_);
    out.v = Widened(Values());
    return out;
  }

 private:
  static constexpr long kBlock = 2;
  const long rows_, columns_;
  void *grid_ = nullptr, *descr_ = nullptr;
  std::deque<Device<T>> memory_;
  std::vector<T*> places_;
};

TEST(CusolverMg, Lu) {
  ForAll([]<typename T>() {
    const int n = 7;
    Numbers numbers;
    const Matrix a = RandomSolvable<T>(numbers, n, n);
    const Matrix x = RandomMatrix<T>(numbers, n, 3);
    for (const int op : {kN, kC}) {
      Spread<T> lu(a), b(Times(Apply(op, a), x));
      Spread<int> pivots(Matrix(1, n), kType<T>);
      std::int64_t size = 0;
      int info = 777;
      EXPECT_EQ(Mg("Getrf_bufferSize", MgHandle(), n, n, lu.get(), 1, 1,
                   lu.descr(), pivots.places(), kType<T>, &size),
                kSuccess);
      EXPECT_GT(size, 0);
      EXPECT_EQ(Mg("Getrf", MgHandle(), n, n, lu.get(), 1, 1, lu.descr(),
                   pivots.places(), kType<T>, nullptr, size, &info),
                kSuccess);
      EXPECT_EQ(info, 0);
      EXPECT_EQ(Mg("Getrs_bufferSize", MgHandle(), op, n, 3, lu.get(), 1, 1,
                   lu.descr(), pivots.places(), b.get(), 1, 1, b.descr(),
                   kType<T>, &size),
                kSuccess);
      EXPECT_EQ(Mg("Getrs", MgHandle(), op, n, 3, lu.get(), 1, 1, lu.descr(),
                   pivots.places(), b.get(), 1, 1, b.descr(), kType<T>, nullptr,
                   size, &info),
                kSuccess);
      EXPECT_EQ(info, 0);
      ExpectMatrix<T>(b.Read(), x, 64 * kUnits, "getrs");
    }
    // A part of it, from its third row and fifth column on.
    Spread<T> part(a);
    int info = 777;
    EXPECT_EQ(Mg("Getrf", MgHandle(), 3, 2, part.get(), 3, 5, part.descr(),
                 nullptr, kType<T>, nullptr, std::int64_t{32}, &info),
              kSuccess);
    const Matrix got = part.Read(), of_part = Block(got, 2, 4, 3, 2);
    ExpectMatrix<T>(
        Times(Triangle(of_part, kLower, kUnit),
              Triangle(Block(of_part, 0, 0, 2, 2), kUpper, kNonUnit)),
        Block(a, 2, 4, 3, 2), 1 << 20, "part");
    EXPECT_EQ(Block(got, 0, 0, 7, 4).v, Block(a, 0, 0, 7, 4).v);
  });
}

TEST(CusolverMg, Cholesky) {
  ForAll([]<typename T>() {
    const int n = 5;
    for (const int fill : {kLower, kUpper}) {
      Numbers numbers;
      const Matrix a = RandomDefinite<T>(numbers, n);
      const Matrix x = RandomMatrix<T>(numbers, n, 1);
      Spread<T> memory(a), b(Times(a, x));
      std::int64_t size = 0;
      int info = 777;
      EXPECT_EQ(Mg("Potrf_bufferSize", MgHandle(), fill, n, memory.get(), 1, 1,
                   memory.descr(), kType<T>, &size),
                kSuccess);
      EXPECT_EQ(Mg("Potrf", MgHandle(), fill, n, memory.get(), 1, 1,
                   memory.descr(), kType<T>, nullptr, size, &info),
                kSuccess);
      EXPECT_EQ(info, 0);
      EXPECT_EQ(
          Mg("Potrs_bufferSize", MgHandle(), fill, n, 1, memory.get(), 1, 1,
             memory.descr(), b.get(), 1, 1, b.descr(), kType<T>, &size),
          kSuccess);
      EXPECT_EQ(Mg("Potrs", MgHandle(), fill, n, 1, memory.get(), 1, 1,
                   memory.descr(), b.get(), 1, 1, b.descr(), kType<T>, nullptr,
                   size, &info),
                kSuccess);
      ExpectMatrix<T>(b.Read(), x, 16 * kUnits, "potrs");
      EXPECT_EQ(Mg("Potri_bufferSize", MgHandle(), fill, n, memory.get(), 1, 1,
                   memory.descr(), kType<T>, &size),
                kSuccess);
      EXPECT_EQ(Mg("Potri", MgHandle(), fill, n, memory.get(), 1, 1,
                   memory.descr(), kType<T>, nullptr, size, &info),
                kSuccess);
      const Matrix whole = Mirrored(
          fill == kUpper ? memory.Read() : Apply(kC, memory.Read()), true);
      ExpectMatrix<T>(Times(a, whole), Identity(n), 32 * kUnits, "potri");
    }
  });
}

TEST(CusolverMg, Eigenvalues) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const int n = 5;
    Numbers numbers;
    const Matrix a = RandomHermitian<T>(numbers, n);
    Spread<T> memory(a);
    std::vector<R> w(n);
    std::int64_t size = 0;
    int info = 777;
    void* const values = w.data();
    EXPECT_EQ(Mg("Syevd_bufferSize", MgHandle(), 1, kLower, n, memory.get(), 1,
                 1, memory.descr(), values, kType<R>, kType<T>, &size),
              kSuccess);
    EXPECT_EQ(
        Mg("Syevd", MgHandle(), 1, kLower, n, memory.get(), 1, 1,
           memory.descr(), values, kType<R>, kType<T>, nullptr, size, &info),
        kSuccess);
    EXPECT_EQ(info, 0);
    const Matrix x = memory.Read();
    ExpectMatrix<T>(Times(a, x), Times(x, Diagonal({w.begin(), w.end()})),
                    kUnits, "syevd");
  });
}

TEST(CusolverMg, Refusals) {
  Spread<double> a(Identity(4));
  std::int64_t size = 0;
  int info = 0;
  const auto potrf = [&](void* handle, int fill, int n, int column, void* descr,
                         int type) {
    return Mg("Potrf", handle, fill, n, a.get(), 1, column, descr, type,
              nullptr, size, &info);
  };
  EXPECT_EQ(potrf(MgHandle(), kLower, 4, 1, a.descr(), 1), kSuccess);
  EXPECT_EQ(potrf(nullptr, kLower, 4, 1, a.descr(), 1), kNotInitialized);
  EXPECT_EQ(potrf(MgHandle(), 3, 4, 1, a.descr(), 1), kInvalidValue);
  EXPECT_EQ(potrf(MgHandle(), kLower, 4, 2, a.descr(), 1), kInvalidValue);
  EXPECT_EQ(potrf(MgHandle(), kLower, -1, 1, a.descr(), 1), kInvalidValue);
  EXPECT_EQ(potrf(MgHandle(), kLower, 4, 1, nullptr, 1), kInvalidValue);
  EXPECT_EQ(potrf(MgHandle(), kLower, 4, 1, a.descr(), 0), kInvalidValue);
  void* made = nullptr;
  EXPECT_EQ(Mg("Create", &made), kSuccess);
  EXPECT_EQ(Mg("DeviceSelect", made, 0, &info), kInvalidValue);
  EXPECT_EQ(Mg("Destroy", made), kSuccess);
  EXPECT_EQ(Mg("Destroy", made), kNotInitialized);
}

TEST(CusolverMgTable, IsExportedByEachVersion) {
  for (const int major : {11, 12}) {
    const std::string file = "libcusolverMg.so." + std::to_string(major);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const char* name : kAnswered) {
      EXPECT_NE(libraries::ExportedBy(library, file, name), nullptr) << name;
    }
    for (const char* name : kRefused) {
      void* const found = libraries::ExportedBy(library, file, name);
      ASSERT_NE(found, nullptr) << name;
      EXPECT_EQ(reinterpret_cast<int (*)()>(found)(), kNotSupported);
    }
    dlclose(library);
  }
}

class MgCoverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    for (const char* name : kAnswered) {
      EXPECT_EQ(Called().count(name), 1u) << name << ": no test calls it";
    }
  }
};
[[maybe_unused]] const auto* const kMgCoverage =
    ::testing::AddGlobalTestEnvironment(new MgCoverage);

}  // namespace
}  // namespace cerberus::libraries::tests::solver
