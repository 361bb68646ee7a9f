// Calls of cuSPARSE as a program makes them, and sparse matrices in every
// format that it knows, for tests that compare with dense matrices.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUSPARSE_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUSPARSE_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/typed.h"

namespace cerberus::libraries::tests::sparse {

// cusparseStatus_t.
enum {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 3,
  kMatrixTypeNotSupported = 8,
  kZeroPivot = 9,
  kNotSupported = 10,
};
// cusparseFormat_t, cusparseOrder_t, cusparseIndexType_t.
enum { kCsr = 1, kCsc, kCoo, kBlockedEll = 5, kBsr, kSlicedEll };
enum { kByColumns = 1, kByRows };
enum { kInt = 2, kLong };

void* Symbol(const std::string& name);  // remembers that it was asked
const std::set<std::string>& AskedNames();
template <typename R = int, typename... A>
R Call(const std::string& name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(Symbol(name))(arguments...);
}
// The name of a function with a letter for its type.
template <typename T>
std::string Typed(const std::string& base) {
  return std::string("cusparse") + kLetter<T> + base;
}
Handle SparseHandle();
void Synchronize();

using Object = void*;  // a descriptor, an info, …
template <typename... A>
Object Made(const std::string& name, A... arguments) {
  Object object = nullptr;
  EXPECT_EQ(Call(name, &object, arguments...), kSuccess) << name;
  return object;
}

// A matrix with zeros, of which `full` of four elements are not. Values are
// integers that all types have.
Matrix RandomSparse(Numbers& numbers, int type, long rows, long columns,
                    int full = 1);

// How a format keeps a matrix: for each value its row and column, or -1 where
// it is only padded.
struct Layout {
  std::vector<long> major, minor;
  std::vector<std::pair<long, long>> places;
  long nnz = 0;  // as cusparseCreate… is told
  std::vector<Complex64> Values(const Matrix& a) const;
};
struct Shape {
  int format = kCsr;
  int order = kByRows;  // within blocks
  long block_rows = 1, block_columns = 1, slice = 1;
  std::string Name() const;
};
// Elements that are not zero, and what their blocks hold besides.
Layout LayOut(const Matrix& a, const Shape& shape);

Bytes EncodedIndices(int index_type, const std::vector<long>& indices,
                     long base);
std::vector<long> DecodedIndices(int index_type, const Bytes& bytes, long base);
std::vector<Complex64> Decoded(int type, const Bytes& bytes);

// A matrix in device memory with its descriptor.
class SparseMatrix {
 public:
  SparseMatrix(const Matrix& a, int type, const Shape& shape = {},
               int index_type = kInt, int base = 0);
  ~SparseMatrix();
  SparseMatrix(const SparseMatrix&) = delete;
  SparseMatrix& operator=(const SparseMatrix&) = delete;

  Object get() const { return object_; }
  const Layout& layout() const { return layout_; }
  const Device<std::uint8_t>& major() const { return *major_; }
  const Device<std::uint8_t>& minor() const { return *minor_; }
  const Device<std::uint8_t>& values() const { return *values_; }
  // Sets a fill mode and a diagonal type.
  void SetTriangle(int fill, int diag) const;

 private:
  const Layout layout_;
  std::unique_ptr<Device<std::uint8_t>> major_, minor_, values_;
  Object object_ = nullptr;
};

class DenseVector {
 public:
  DenseVector(int type, const std::vector<Complex64>& values);
  ~DenseVector();
  DenseVector(const DenseVector&) = delete;
  DenseVector& operator=(const DenseVector&) = delete;
  Object get() const { return object_; }
  const Device<std::uint8_t>& memory() const { return memory_; }
  std::vector<Complex64> Read() const { return Decoded(type_, memory_.Read()); }

 private:
  const int type_;
  const Device<std::uint8_t> memory_;
  Object object_ = nullptr;
};

// With a gap of `gap` elements between rows or columns, which must stay.
class DenseMatrix {
 public:
  DenseMatrix(int type, const Matrix& a, int order = kByColumns, long gap = 2);
  ~DenseMatrix();
  DenseMatrix(const DenseMatrix&) = delete;
  DenseMatrix& operator=(const DenseMatrix&) = delete;
  Object get() const { return object_; }
  const Device<std::uint8_t>& memory() const { return memory_; }
  Matrix Read() const;  // fails if a gap changed

 private:
  Bytes Lay(const Matrix& a) const;
  const int type_, order_;
  const long rows_, columns_, ld_;
  const Device<std::uint8_t> memory_;
  Object object_ = nullptr;
};

// A matrix descriptor of the functions with a letter for their type.
class MatDescr {
 public:
  explicit MatDescr(int base = 0, int fill = 0, int diag = 0);
  ~MatDescr();
  MatDescr(const MatDescr&) = delete;
  MatDescr& operator=(const MatDescr&) = delete;
  Object get() const { return object_; }

 private:
  const Object object_ = Made("cusparseCreateMatDescr");
};
// An info of any kind: Bsrsv2Info, …
class Info {
 public:
  explicit Info(const std::string& kind)
      : kind_(kind), object_(Made("cusparseCreate" + kind)) {}
  ~Info() { EXPECT_EQ(Call("cusparseDestroy" + kind_, object_), kSuccess); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  Object get() const { return object_; }

 private:
  const std::string kind_;
  const Object object_;
};
// The type of T's elements.
template <typename T>
inline constexpr int kTypeOf = std::is_same_v<T, float>       ? kR32
                               : std::is_same_v<T, double>    ? kR64
                               : std::is_same_v<T, Complex32> ? kC32
                                                              : kC64;
// Scalars and results of the host, then of the device.
template <typename Test>
void ForPointerModes(const Test& test) {
  for (const int mode : {0, 1}) {
    EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), mode), kSuccess);
    test(mode == 1);
    EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 0), kSuccess);
  }
}
// One value where such a call wants it.
template <typename T>
class Single {
 public:
  Single(bool on_device, T value) : host_(value), device_({value}) {
    on_device_ = on_device;
  }
  T* get() { return on_device_ ? device_.get() : &host_; }
  T Read() const { return on_device_ ? device_.Read()[0] : host_; }

 private:
  T host_;
  const Device<T> device_;
  bool on_device_;
};
// The matrix that arrays hold.
Matrix Assembled(const Shape& shape, long rows, long columns,
                 const std::vector<long>& major, const std::vector<long>& minor,
                 const std::vector<Complex64>& values);

// A scalar as a function of that compute type takes it.
class Factor {
 public:
  Factor(int type, Complex64 value) : bytes_(Encoded(type, {value})) {}
  const void* get() const { return bytes_.data(); }

 private:
  const Bytes bytes_;
};

// `numbers` as they come out of an array of that type.
std::vector<Complex64> Rounded(int type, const std::vector<Complex64>& numbers);
Matrix Rounded(int type, const Matrix& a);
Matrix Scaled(Complex64 factor, const Matrix& a);
Matrix Plus(const Matrix& a, const Matrix& b);
void ExpectEqual(const std::vector<Complex64>& got,
                 const std::vector<Complex64>& want, const std::string& what);
void ExpectEqual(const Matrix& got, const Matrix& want,
                 const std::string& what);

// The types of A, of what it is multiplied with, of the result, and of sums.
struct Types {
  int a, x, y, compute;
  std::string Name() const;
};
extern const std::vector<Types> kTypes;
inline constexpr int kUniform[] = {kR32, kR64, kC32, kC64};

}  // namespace cerberus::libraries::tests::sparse

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUSPARSE_H_
