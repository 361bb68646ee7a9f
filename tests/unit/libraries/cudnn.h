// Calls of cuDNN as a program makes them: functions are found by their names,
// and what is passed is declared here, after NVIDIA's documentation.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUDNN_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUDNN_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libraries/cudnn/descriptor.h"
#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {

using cudnn::Index;
using cudnn::Sizes;
using Values = std::vector<double>;

// cudnnStatus_t of version 9.
inline constexpr int kBadParam = 2000, kUnsupported = 3000;
// cudnnDataType_t.
enum {
  kF32 = 0,
  kF64 = 1,
  kF16 = 2,
  kI8 = 3,
  kI32 = 4,
  kU8 = 6,
  kBf16 = 9,
  kI64 = 10,
  kBits = 11,
};

void* DnnSymbol(const std::string& name);  // remembers that it was asked
const std::set<std::string>& CalledDnn();
template <typename R = int, typename... A>
R Dnn(const std::string& name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(DnnSymbol("cudnn" + name))(arguments...);
}
void* DnnHandle();  // one for all tests, on the default stream

// Device memory.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* get() const { return memory_; }
  std::vector<std::uint8_t> Read() const;
  void Write(const std::vector<std::uint8_t>& bytes);

 private:
  std::size_t size_;
  void* memory_;
};

Sizes Packed(const Sizes& sizes);
Sizes ChannelsLast(const Sizes& sizes);
Index Count(const Sizes& sizes);
// Random numbers that every type has: eighths from -1 to 1, whole ones for
// integers.
Values Draw(int type, Index count, unsigned seed);

// A tensor of the device, with numbers by rows, whatever its strides.
class Field {
 public:
  Field(int type, Sizes sizes, Sizes strides = {}, unsigned seed = 1);
  int type() const { return type_; }
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides() const { return strides_; }
  void* get() const { return memory_->get(); }
  const Values& values() const { return values_; }  // as they were set
  void Set(Values values);
  Values Get() const;
  // A descriptor of the functions before graphs, given back with the field.
  void* desc();
  void* filter();  // the same of a filter, packed or channels last

 private:
  Index PlaceOf(Index i) const;
  int type_;
  Sizes sizes_, strides_;
  Values values_;
  std::shared_ptr<DeviceBytes> memory_;
  std::shared_ptr<void> desc_, filter_;
};

// A descriptor of a function before graphs, made and given back.
class Desc {
 public:
  explicit Desc(std::string kind) : kind_(std::move(kind)) {
    EXPECT_EQ(Dnn("Create" + kind_ + "Descriptor", &made_), 0);
  }
  ~Desc() { EXPECT_EQ(Dnn("Destroy" + kind_ + "Descriptor", made_), 0); }
  Desc(const Desc&) = delete;
  Desc& operator=(const Desc&) = delete;
  void* get() const { return made_; }

 private:
  const std::string kind_;
  void* made_ = nullptr;
};
inline std::vector<int> Narrow(const Sizes& sizes) {
  return {sizes.begin(), sizes.end()};
}

// Scaling factors: f64 for tensors of f64, else f32.
inline constexpr float kOne = 1, kZero = 0, kTwo = 2, kMinus = -1;
inline constexpr double kWideOne = 1, kWideZero = 0, kWideTwo = 2;
inline const void* OneOf(int type) {
  return type == kF64 ? static_cast<const void*>(&kWideOne) : &kOne;
}
inline const void* ZeroOf(int type) {
  return type == kF64 ? static_cast<const void*>(&kWideZero) : &kZero;
}

// Within so many units of the type's last place of the largest number.
double Precision(int type);
void ExpectNear(const Values& got, const Values& want, double allowed,
                const std::string& what);

// A descriptor of the graph API that is finalized, or the status that it was
// refused with.
class Graph {
 public:
  using Kind = cudnn::Kind;
  using Name = cudnn::Name;
  // An attribute: numbers of a type, or descriptors.
  struct Attribute {
    Name name;
    cudnn::Type type;
    std::vector<std::uint8_t> bytes;
    Index count;
  };
  static Attribute Ints(Name name, const Sizes& values);
  static Attribute Enum(Name name, cudnn::Type type, int value);
  static Attribute Real(Name name, double value);
  static Attribute Single(Name name, float value);
  static Attribute Flag(Name name, bool value);
  static Attribute Of(Name name, void* descriptor);
  static Attribute All(Name name, const std::vector<void*>& descriptors);
  static Attribute Pointers(Name name, const std::vector<void*>& pointers);
  static Attribute Handle();  // a graph of operations has it

  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void* Make(Kind kind, const std::vector<Attribute>& attributes);
  int status() const { return status_; }
  // Tensors by their fields; virtual ones have none.
  void* Tensor(const Field& field, bool by_value = false);
  // One whose first dimension's parts begin at those places.
  void* Ragged(const Field& field, void* starts, Index unit);
  void* Virtual(int type, const Sizes& sizes);
  // An operation of the graph.
  void* Add(Kind kind, const std::vector<Attribute>& attributes);
  // Plans and executes what was added; the status.
  int Run();
  // What was executed.
  void* plan() const { return plan_; }
  void* pack() const { return pack_; }

 private:
  std::vector<void*> made_, operations_;
  Sizes ids_;
  std::vector<void*> pointers_;
  void *plan_ = nullptr, *pack_ = nullptr;
  int status_ = 0;
};

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUDNN_H_
