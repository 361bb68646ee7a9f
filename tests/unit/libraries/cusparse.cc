#include "tests/unit/libraries/cusparse.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>

namespace cerberus::libraries::tests::sparse {
namespace {

std::set<std::string>& Asked() {
  static std::set<std::string> names;
  return names;
}

template <typename N>
N At(const Bytes& bytes, std::size_t i) {
  N number;
  std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
  return number;
}

double DecodedPart(int type, const Bytes& bytes, std::size_t i) {
  switch (type) {
    case kR32: return At<float>(bytes, i);
    case kR64: return At<double>(bytes, i);
    case kR16: return Binary16().Decode(At<std::uint16_t>(bytes, i));
    case kB16: return Bfloat16().Decode(At<std::uint16_t>(bytes, i));
    case kI8: return At<std::int8_t>(bytes, i);
    default: return At<std::int32_t>(bytes, i);
  }
}

std::unique_ptr<Device<std::uint8_t>> OnDevice(const Bytes& bytes) {
  return std::make_unique<Device<std::uint8_t>>(bytes);
}

// Blocks of a matrix that hold an element, by rows.
std::vector<std::vector<long>> BlocksOf(const Matrix& a, long block_rows,
                                        long block_columns) {
  std::vector<std::vector<long>> out;
  for (long i = 0; i < a.rows / block_rows; ++i) {
    out.emplace_back();
    for (long j = 0; j < a.columns / block_columns; ++j) {
      bool any = false;
      for (long r = 0; r < block_rows; ++r) {
        for (long c = 0; c < block_columns; ++c) {
          any |= a(i * block_rows + r, j * block_columns + c) != Complex64(0);
        }
      }
      if (any) out.back().push_back(j);
    }
  }
  return out;
}

Layout LayOutCompressed(const Matrix& a, int format) {
  Layout out;
  const bool by_columns = format == kCsc;
  const long majors = by_columns ? a.columns : a.rows;
  const long minors = by_columns ? a.rows : a.columns;
  if (format != kCoo) out.major.push_back(0);
  for (long i = 0; i < majors; ++i) {
    for (long j = 0; j < minors; ++j) {
      const auto place = by_columns ? std::pair(j, i) : std::pair(i, j);
      if (a(place.first, place.second) == Complex64(0)) continue;
      out.places.push_back(place);
      out.minor.push_back(j);
      if (format == kCoo) out.major.push_back(i);
    }
    if (format != kCoo) {
      out.major.push_back(static_cast<long>(out.minor.size()));
    }
  }
  out.nnz = static_cast<long>(out.places.size());
  return out;
}

Layout LayOutBsr(const Matrix& a, const Shape& s) {
  Layout out;
  out.major.push_back(0);
  long i = 0;
  for (const auto& row : BlocksOf(a, s.block_rows, s.block_columns)) {
    for (const long j : row) {
      out.minor.push_back(j);
      for (long k = 0; k < s.block_rows * s.block_columns; ++k) {
        const bool by_rows = s.order == kByRows;
        const long r = by_rows ? k / s.block_columns : k % s.block_rows;
        const long c = by_rows ? k % s.block_columns : k / s.block_rows;
        out.places.emplace_back(i * s.block_rows + r, j * s.block_columns + c);
      }
    }
    out.major.push_back(static_cast<long>(out.minor.size()));
    ++i;
  }
  out.nnz = static_cast<long>(out.minor.size());
  return out;
}

Layout LayOutBlockedEll(const Matrix& a, long side) {
  Layout out;
  const auto blocks = BlocksOf(a, side, side);
  std::size_t width = 0;
  for (const auto& row : blocks) width = std::max(width, row.size());
  for (const auto& row : blocks) {
    for (std::size_t e = 0; e < width; ++e) {
      out.minor.push_back(e < row.size() ? row[e] : -1);
    }
  }
  for (long i = 0; i < a.rows; ++i) {
    for (std::size_t e = 0; e < width; ++e) {
      const long j = out.minor[static_cast<std::size_t>(i / side) * width + e];
      for (long k = 0; k < side; ++k) {
        out.places.emplace_back(j < 0 ? -1 : i, j * side + k);
      }
    }
  }
  out.nnz = static_cast<long>(width) * side;  // columns of the values
  return out;
}

Layout LayOutSlices(const Matrix& a, long slice) {
  const Layout rows = LayOutCompressed(a, kCsr);
  Layout out;
  out.nnz = rows.nnz;
  out.major.push_back(0);
  for (long first = 0; first < a.rows; first += slice) {
    long width = 0;
    for (long i = first; i < std::min(first + slice, a.rows); ++i) {
      const auto at = static_cast<std::size_t>(i);
      width = std::max(width, rows.major[at + 1] - rows.major[at]);
    }
    for (long k = 0; k < width; ++k) {
      for (long i = first; i < first + slice; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool has = i < a.rows && rows.major[at] + k < rows.major[at + 1];
        const long column =
            has ? rows.minor[static_cast<std::size_t>(rows.major[at] + k)] : -1;
        out.minor.push_back(column);
        out.places.emplace_back(has ? i : -1, column);
      }
    }
    out.major.push_back(static_cast<long>(out.minor.size()));
  }
  return out;
}

}  // namespace

void* Symbol(const std::string& name) {
  static void* const library = dlopen("libcusparse.so.12", RTLD_NOW);
  void* symbol = library != nullptr ? dlsym(library, name.c_str()) : nullptr;
  if (symbol == nullptr) {
    ADD_FAILURE() << name << ": " << dlerror();
    std::abort();
  }
  Asked().insert(name);
  return symbol;
}
const std::set<std::string>& AskedNames() { return Asked(); }

Handle SparseHandle() {
  static const Handle handle = [] {
    GiveBackDevice(TakeDevice(1));  // makes a context current
    Handle made = nullptr;
    EXPECT_EQ(Call("cusparseCreate", &made), kSuccess);
    return made;
  }();
  return handle;
}
void Synchronize() {
  ASSERT_EQ(Cuda("cuStreamSynchronize", Object{nullptr}), 0);
}

Matrix RandomSparse(Numbers& numbers, int type, long rows, long columns,
                    int full) {
  Matrix out(rows, columns);
  // Numbers' values are one of 17.
  for (Complex64& value : out.v) {
    const bool is_there = (numbers.Next() + 2) * 4 < 17 * full / 4.0;
    const Complex64 element = Integers(numbers, type, 1)[0];
    if (is_there) value = element != Complex64(0) ? element : Complex64(1);
  }
  return out;
}

std::vector<Complex64> Layout::Values(const Matrix& a) const {
  std::vector<Complex64> out;
  out.reserve(places.size());
  for (const auto& [i, j] : places) out.push_back(i < 0 ? 0 : a(i, j));
  return out;
}

std::string Shape::Name() const {
  return "format " + std::to_string(format) + ", order " +
         std::to_string(order) + ", blocks " + std::to_string(block_rows) +
         " by " + std::to_string(block_columns) + ", slices of " +
         std::to_string(slice);
}

Layout LayOut(const Matrix& a, const Shape& shape) {
  switch (shape.format) {
    case kBsr: return LayOutBsr(a, shape);
    case kBlockedEll: return LayOutBlockedEll(a, shape.block_rows);
    case kSlicedEll: return LayOutSlices(a, shape.slice);
    default: return LayOutCompressed(a, shape.format);
  }
}

Bytes EncodedIndices(int index_type, const std::vector<long>& indices,
                     long base) {
  Bytes out;
  for (const long index : indices) {
    const long value = index < 0 ? index : index + base;
    if (index_type == kLong) Append(std::int64_t{value}, &out);
    else Append(static_cast<std::int32_t>(value), &out);
  }
  return out;
}
std::vector<long> DecodedIndices(int index_type, const Bytes& bytes,
                                 long base) {
  std::vector<long> out;
  const std::size_t count = bytes.size() / (index_type == kLong ? 8 : 4);
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back((index_type == kLong ? At<std::int64_t>(bytes, i)
                                       : At<std::int32_t>(bytes, i)) -
                  base);
  }
  return out;
}
std::vector<Complex64> Decoded(int type, const Bytes& bytes) {
  std::vector<Complex64> out;
  const bool is_complex = IsComplexType(type);
  for (std::size_t i = 0; i < bytes.size() / SizeOf(type); ++i) {
    if (is_complex) {
      out.emplace_back(DecodedPart(PartOf(type), bytes, 2 * i),
                       DecodedPart(PartOf(type), bytes, 2 * i + 1));
    } else {
      out.emplace_back(DecodedPart(type, bytes, i));
    }
  }
  return out;
}

SparseMatrix::SparseMatrix(const Matrix& a, int type, const Shape& shape,
                           int index_type, int base)
    : layout_(LayOut(a, shape)),
      major_(OnDevice(EncodedIndices(index_type, layout_.major, base))),
      minor_(OnDevice(EncodedIndices(index_type, layout_.minor, base))),
      values_(OnDevice(Encoded(type, layout_.Values(a)))) {
  const std::int64_t m = a.rows, n = a.columns, nnz = layout_.nnz;
  const auto make = [&](const char* name, auto... arguments) {
    object_ = Made(name, arguments...);
  };
  void *major = major_->get(), *minor = minor_->get(), *values = values_->get();
  switch (shape.format) {
    case kCsr:
    case kCsc:
      make(shape.format == kCsr ? "cusparseCreateCsr" : "cusparseCreateCsc", m,
           n, nnz, major, minor, values, index_type, index_type, base, type);
      break;
    case kCoo:
      make("cusparseCreateCoo", m, n, nnz, major, minor, values, index_type,
           base, type);
      break;
    case kBsr:
      make("cusparseCreateBsr", m / shape.block_rows, n / shape.block_columns,
           nnz, std::int64_t{shape.block_rows},
           std::int64_t{shape.block_columns}, major, minor, values, index_type,
           index_type, base, type, shape.order);
      break;
    case kBlockedEll:
      make("cusparseCreateBlockedEll", m, n, std::int64_t{shape.block_rows},
           nnz, minor, values, index_type, base, type);
      break;
    case kSlicedEll:
      make("cusparseCreateSlicedEll", m, n, nnz,
           static_cast<std::int64_t>(layout_.minor.size()),
           std::int64_t{shape.slice}, major, minor, values, index_type,
           index_type, base, type);
      break;
    default: ADD_FAILURE();
  }
}
SparseMatrix::~SparseMatrix() {
  EXPECT_EQ(Call("cusparseDestroySpMat", object_), kSuccess);
}
void SparseMatrix::SetTriangle(int fill, int diag) const {
  EXPECT_EQ(Call("cusparseSpMatSetAttribute", object_, 0, &fill, sizeof fill),
            kSuccess);
  EXPECT_EQ(Call("cusparseSpMatSetAttribute", object_, 1, &diag, sizeof diag),
            kSuccess);
}

DenseVector::DenseVector(int type, const std::vector<Complex64>& values)
    : type_(type),
      memory_(Encoded(type, values)),
      object_(Made("cusparseCreateDnVec",
                   static_cast<std::int64_t>(values.size()), memory_.get(),
                   type)) {}
DenseVector::~DenseVector() {
  EXPECT_EQ(Call("cusparseDestroyDnVec", object_), kSuccess);
}

DenseMatrix::DenseMatrix(int type, const Matrix& a, int order, long gap)
    : type_(type),
      order_(order),
      rows_(a.rows),
      columns_(a.columns),
      ld_((order == kByColumns ? a.rows : a.columns) + gap),
      memory_(Lay(a)),
      object_(Made("cusparseCreateDnMat", std::int64_t{rows_},
                   std::int64_t{columns_}, std::int64_t{ld_}, memory_.get(),
                   type, order)) {}
DenseMatrix::~DenseMatrix() {
  EXPECT_EQ(Call("cusparseDestroyDnMat", object_), kSuccess);
}
Bytes DenseMatrix::Lay(const Matrix& a) const {
  const long outer = order_ == kByColumns ? a.columns : a.rows;
  std::vector<Complex64> out(static_cast<std::size_t>(ld_ * outer), 99);
  for (long j = 0; j < a.columns; ++j) {
    for (long i = 0; i < a.rows; ++i) {
      out[static_cast<std::size_t>(
          order_ == kByColumns ? i + j * ld_ : i * ld_ + j)] = a(i, j);
    }
  }
  return Encoded(type_, out);
}
Matrix DenseMatrix::Read() const {
  const Bytes bytes = memory_.Read();
  const std::vector<Complex64> all = Decoded(type_, bytes);
  Matrix out(rows_, columns_);
  for (long j = 0; j < columns_; ++j) {
    for (long i = 0; i < rows_; ++i) {
      out(i, j) = all[static_cast<std::size_t>(
          order_ == kByColumns ? i + j * ld_ : i * ld_ + j)];
    }
  }
  EXPECT_EQ(bytes, Lay(out)) << "what lies between was changed";
  return out;
}

MatDescr::MatDescr(int base, int fill, int diag) {
  EXPECT_EQ(Call("cusparseSetMatIndexBase", object_, base), kSuccess);
  EXPECT_EQ(Call("cusparseSetMatFillMode", object_, fill), kSuccess);
  EXPECT_EQ(Call("cusparseSetMatDiagType", object_, diag), kSuccess);
}
MatDescr::~MatDescr() {
  EXPECT_EQ(Call("cusparseDestroyMatDescr", object_), kSuccess);
}

Matrix Assembled(const Shape& shape, long rows, long columns,
                 const std::vector<long>& major, const std::vector<long>& minor,
                 const std::vector<Complex64>& values) {
  Matrix out(rows, columns);
  const long size = shape.block_rows * shape.block_columns;
  for (long line = 0; line + 1 < static_cast<long>(major.size()); ++line) {
    const auto at = static_cast<std::size_t>(line);
    for (long p = major[at]; p < major[at + 1]; ++p) {
      const long other = minor[static_cast<std::size_t>(p)];
      if (p > major[at]) {
        EXPECT_LT(minor[static_cast<std::size_t>(p - 1)], other);
      }
      for (long k = 0; k < size; ++k) {
        const bool by_rows = shape.order == kByRows;
        const long r = by_rows ? k / shape.block_columns : k % shape.block_rows;
        const long c = by_rows ? k % shape.block_columns : k / shape.block_rows;
        const long i = (shape.format == kCsc ? other : line) * shape.block_rows;
        const long j =
            (shape.format == kCsc ? line : other) * shape.block_columns;
        if (i + r >= rows || j + c >= columns) continue;
        out(i + r, j + c) += values[static_cast<std::size_t>(p * size + k)];
      }
    }
  }
  return out;
}

std::vector<Complex64> Rounded(int type,
                               const std::vector<Complex64>& numbers) {
  return Decoded(type, Encoded(type, numbers));
}
Matrix Rounded(int type, const Matrix& a) {
  Matrix out = a;
  out.v = Rounded(type, a.v);
  return out;
}
Matrix Scaled(Complex64 factor, const Matrix& a) {
  Matrix out = a;
  for (Complex64& value : out.v) value *= factor;
  return out;
}
Matrix Plus(const Matrix& a, const Matrix& b) {
  Matrix out = a;
  for (std::size_t i = 0; i < out.v.size(); ++i) out.v[i] += b.v[i];
  return out;
}
void ExpectEqual(const std::vector<Complex64>& got,
                 const std::vector<Complex64>& want, const std::string& what) {
  ExpectNear(got, want, 0, what);
}
void ExpectEqual(const Matrix& got, const Matrix& want,
                 const std::string& what) {
  EXPECT_EQ(got.rows, want.rows);
  ExpectEqual(got.v, want.v, what);
}

std::string Types::Name() const {
  return "types " + std::to_string(a) + ", " + std::to_string(x) + ", " +
         std::to_string(y) + ", " + std::to_string(compute);
}
const std::vector<Types> kTypes = {
    {kR32, kR32, kR32, kR32},    {kR64, kR64, kR64, kR64},
    {kC32, kC32, kC32, kC32},    {kC64, kC64, kC64, kC64},
    {kI8, kI8, kI32, kI32},      {kI8, kI8, kR32, kR32},
    {kR16, kR16, kR32, kR32},    {kB16, kB16, kR32, kR32},
    {kR16, kR16, kR16, kR32},    {kB16, kB16, kB16, kR32},
    {kR16, kR16, kR16, kR16},    {kC16, kC16, kC16, kC32},
    {kCB16, kCB16, kCB16, kC32}, {kR32, kC32, kC32, kC32},
    {kR64, kC64, kC64, kC64},    {kR32, kR64, kR64, kR64},
};

}  // namespace cerberus::libraries::tests::sparse
