#include "tests/unit/libraries/cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/unit/libraries/exported.h"
#include "tests/unit/libraries/small_float.h"

namespace cerberus::libraries::tests {
namespace {

#define CUDNN_ANSWERED(part, name) {#part, #name},
#define CUDNN_REFUSED(part, name) {#part, #name},
const struct {
  std::string part;
  const char* name;
} kTable[] = {
#include "libraries/cudnn/cudnn.def"
};
#undef CUDNN_ANSWERED
#undef CUDNN_REFUSED

std::set<std::string>& Called() {
  static std::set<std::string> names;
  return names;
}

void* Open(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return library;
}

std::size_t BitsOf(int type) {
  switch (type) {
    case kBits: return 1;
    case kI8:
    case kU8: return 8;
    case kF16:
    case kBf16: return 16;
    case kF64:
    case kI64: return 64;
    default: return 32;
  }
}
template <typename T>
void StoreAs(std::uint8_t* memory, Index i, double value) {
  const auto stored = static_cast<T>(value);
  std::memcpy(memory + i * static_cast<Index>(sizeof(T)), &stored, sizeof(T));
}
template <typename T>
double LoadAs(const std::uint8_t* memory, Index i) {
  T stored;
  std::memcpy(&stored, memory + i * static_cast<Index>(sizeof(T)), sizeof(T));
  return static_cast<double>(stored);
}
void Store(int type, std::uint8_t* memory, Index i, double value) {
  switch (type) {
    case kF64: return StoreAs<double>(memory, i, value);
    case kF16:
      return StoreAs<std::uint16_t>(memory, i, Binary16().Round(value, false));
    case kBf16:
      return StoreAs<std::uint16_t>(memory, i, Bfloat16().Round(value, false));
    case kI8: return StoreAs<std::int8_t>(memory, i, value);
    case kU8: return StoreAs<std::uint8_t>(memory, i, value);
    case kI32: return StoreAs<std::int32_t>(memory, i, value);
    case kI64: return StoreAs<std::int64_t>(memory, i, value);
    case kBits:
      if (value != 0) memory[i / 8] |= static_cast<std::uint8_t>(1 << i % 8);
      return;
    default: return StoreAs<float>(memory, i, value);
  }
}
double Load(int type, const std::uint8_t* memory, Index i) {
  switch (type) {
    case kF64: return LoadAs<double>(memory, i);
    case kF16:
      return Binary16().Decode(
          static_cast<std::uint32_t>(LoadAs<std::uint16_t>(memory, i)));
    case kBf16:
      return Bfloat16().Decode(
          static_cast<std::uint32_t>(LoadAs<std::uint16_t>(memory, i)));
    case kI8: return LoadAs<std::int8_t>(memory, i);
    case kU8: return LoadAs<std::uint8_t>(memory, i);
    case kI32: return LoadAs<std::int32_t>(memory, i);
    case kI64: return LoadAs<std::int64_t>(memory, i);
    case kBits: return memory[i / 8] >> (i % 8) & 1;
    default: return LoadAs<float>(memory, i);
  }
}

std::shared_ptr<void> Owned(const std::string& kind) {
  void* made = nullptr;
  EXPECT_EQ(Dnn("Create" + kind + "Descriptor", &made), 0);
  return {made, [kind](void* desc) {
            EXPECT_EQ(Dnn("Destroy" + kind + "Descriptor", desc), 0);
          }};
}

// Each version has all of the table, each part its own.
TEST(CudnnTable, IsExportedByEachVersion) {
  DnnHandle();
  for (const std::string file : {"libcudnn.so.8", "libcudnn.so.9"}) {
    void* library = Open(file.c_str());
    for (const auto& row : kTable) {
      EXPECT_NE(libraries::ExportedBy(library, file, row.name), nullptr)
          << file << ": " << row.name;
    }
    const auto version =
        reinterpret_cast<std::size_t (*)()>(dlsym(library, "cudnnGetVersion"));
    EXPECT_EQ(version(), file.back() == '8' ? 8907u : 92800u);
    dlclose(library);
  }
  for (const std::string part : {"graph", "ops", "cnn", "adv", "ext"}) {
    const std::string file = "libcudnn_" + part + ".so.9";
    void* library = Open(file.c_str());
    for (const auto& row : kTable) {
      EXPECT_EQ(libraries::ExportedBy(library, file, row.name) != nullptr,
                row.part == part)
          << file << ": " << row.name;
    }
    dlclose(library);
  }
  for (const std::string part : {"ops", "cnn", "adv"}) {
    for (const std::string use : {"infer", "train"}) {
      const std::string file = "libcudnn_" + part + "_" + use + ".so.8";
      void* library = Open(file.c_str());
      for (const auto& row : kTable) {
        EXPECT_EQ(libraries::ExportedBy(library, file, row.name) != nullptr,
                  row.part == part || row.part == std::string("graph") ||
                      row.part == std::string("old"))
            << file << ": " << row.name;
      }
      dlclose(library);
    }
  }
  for (const char* part : {"heuristic", "engines_precompiled",
                           "engines_runtime_compiled", "engines_tensor_ir"}) {
    const std::string file = "libcudnn_" + std::string(part) + ".so.9";
    void* library = Open(file.c_str());
    for (const char* name :
         {"dummyBackendEnginesPreCompiledSymbol",
          "dummyBackendEnginesRuntimeCompiledSymbol",
          "dummyBackendEnginesTensorIRSymbol", "dummyHeuristicSymbol",
          "registerRuntimeCompiled"}) {
      void* const symbol = libraries::ExportedBy(library, file, name);
      ASSERT_NE(symbol, nullptr) << file << ": " << name;
      EXPECT_EQ(reinterpret_cast<int (*)()>(symbol)(), kUnsupported);
    }
    dlclose(library);
  }
}

// What is refused says so, in each version's own number.
TEST(CudnnTable, RefusesByName) {
#define CUDNN_ANSWERED(part, name)
#define CUDNN_REFUSED(part, name) #name,
  const char* const refused[] = {
#include "libraries/cudnn/cudnn.def"
  };
  void* old = Open("libcudnn.so.8");
  for (const char* name : refused) {
    EXPECT_EQ(Dnn(std::string(name).substr(5)), kUnsupported) << name;
    EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(old, name))(), 9) << name;
  }
  dlclose(old);
}

// A function that no test has called is a failure of the whole.
class Coverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const auto& row : kTable) {
      if (Called().count(row.name) == 0) {
        missing += std::string(" ") + row.name;
      }
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace

void* DnnSymbol(const std::string& name) {
  static void* const library = Open("libcudnn.so.9");
  Called().insert(name);
  void* symbol = dlsym(library, name.c_str());
  if (symbol == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return symbol;
}

void* DnnHandle() {
  static void* const handle = [] {
    void* made = nullptr;
    EXPECT_EQ(Dnn("Create", &made), 0);
    return made;
  }();
  return handle;
}

DeviceBytes::DeviceBytes(std::size_t bytes) : size_(bytes), memory_(nullptr) {
  DnnHandle();  // makes a context current
  EXPECT_EQ(Cuda("cuMemAlloc_v2", reinterpret_cast<std::uint64_t*>(&memory_),
                 std::max<std::size_t>(1, bytes)),
            0);
}
DeviceBytes::~DeviceBytes() {
  EXPECT_EQ(Cuda("cuMemFree_v2", reinterpret_cast<std::uint64_t>(memory_)), 0);
}
std::vector<std::uint8_t> DeviceBytes::Read() const {
  std::vector<std::uint8_t> bytes(size_);
  EXPECT_EQ(Cuda("cuMemcpyDtoH_v2", static_cast<void*>(bytes.data()),
                 reinterpret_cast<std::uint64_t>(memory_), size_),
            0);
  return bytes;
}
void DeviceBytes::Write(const std::vector<std::uint8_t>& bytes) {
  EXPECT_EQ(Cuda("cuMemcpyHtoD_v2", reinterpret_cast<std::uint64_t>(memory_),
                 static_cast<const void*>(bytes.data()), bytes.size()),
            0);
}

Sizes Packed(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * sizes[d];
  }
  return strides;
}
Sizes ChannelsLast(const Sizes& sizes) {
  Sizes strides = sizes;
  strides[1] = 1;
  Index step = sizes[1];
  for (std::size_t d = sizes.size(); d-- > 2; step *= sizes[d]) {
    strides[d] = step;
  }
  strides[0] = step;
  return strides;
}
Index Count(const Sizes& sizes) {
  Index count = 1;
  for (const Index size : sizes) count *= size;
  return count;
}
Values Draw(int type, Index count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> eighths(-8, 8);
  const bool whole =
      type == kI8 || type == kI32 || type == kI64 || type == kBits;
  Values out(static_cast<std::size_t>(count));
  for (double& value : out) {
    value = eighths(random) / 8.0;
    if (whole) value = std::trunc(value * 8 / 3);
    if (type == kBits) value = value > 0 ? 1 : 0;
  }
  return out;
}

Field::Field(int type, Sizes sizes, Sizes strides, unsigned seed)
    : type_(type), sizes_(std::move(sizes)), strides_(std::move(strides)) {
  if (strides_.empty()) strides_ = Packed(sizes_);
  Index last = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    last += (sizes_[d] - 1) * strides_[d];
  }
  memory_ = std::make_shared<DeviceBytes>(
      (static_cast<std::size_t>(last + 1) * BitsOf(type) + 7) / 8);
  Set(Draw(type, Count(sizes_), seed));
}
Index Field::PlaceOf(Index i) const {
  Index at = 0;
  for (std::size_t d = sizes_.size(); d-- > 0; i /= sizes_[d]) {
    at += i % sizes_[d] * strides_[d];
  }
  return at;
}
void Field::Set(Values values) {
  values_ = std::move(values);
  std::vector<std::uint8_t> bytes(memory_->Read().size(), 0);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Store(type_, bytes.data(), PlaceOf(static_cast<Index>(i)), values_[i]);
  }
  memory_->Write(bytes);
}
Values Field::Get() const {
  const std::vector<std::uint8_t> bytes = memory_->Read();
  Values out(values_.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = Load(type_, bytes.data(), PlaceOf(static_cast<Index>(i)));
  }
  return out;
}
void* Field::desc() {
  if (desc_ == nullptr) {
    desc_ = Owned("Tensor");
    const std::vector<int> sizes = Narrow(sizes_), strides = Narrow(strides_);
    EXPECT_EQ(Dnn("SetTensorNdDescriptor", desc_.get(), type_,
                  static_cast<int>(sizes.size()), sizes.data(), strides.data()),
              0);
  }
  return desc_.get();
}
void* Field::filter() {
  if (filter_ == nullptr) {
    filter_ = Owned("Filter");
    const std::vector<int> sizes = Narrow(sizes_);
    EXPECT_EQ(Dnn("SetFilterNdDescriptor", filter_.get(), type_,
                  strides_ == Packed(sizes_) ? 0 : 1,
                  static_cast<int>(sizes.size()), sizes.data()),
              0);
  }
  return filter_.get();
}

double Precision(int type) {
  switch (type) {
    case kF64: return 1e-13;
    case kF32: return 2e-6;
    case kF16: return 1e-3;
    case kBf16: return 1e-2;
    default: return 0.5;
  }
}
void ExpectNear(const Values& got, const Values& want, double allowed,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (const double value : want) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]) && std::isnan(got[i])) continue;
    if (got[i] == want[i]) continue;
    ASSERT_LE(std::abs(got[i] - want[i]), allowed * largest)
        << what << " at " << i << ": " << got[i] << ", not " << want[i];
  }
}

namespace {
template <typename T>
std::vector<std::uint8_t> BytesOf(const T* values, std::size_t count) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values);
  return {first, first + count * sizeof(T)};
}
}  // namespace

Graph::Attribute Graph::Ints(Name name, const Sizes& values) {
  return {name, cudnn::Type::kInt64, BytesOf(values.data(), values.size()),
          static_cast<Index>(values.size())};
}
Graph::Attribute Graph::Enum(Name name, cudnn::Type type, int value) {
  return {name, type, BytesOf(&value, 1), 1};
}
Graph::Attribute Graph::Real(Name name, double value) {
  return {name, cudnn::Type::kDouble, BytesOf(&value, 1), 1};
}
Graph::Attribute Graph::Single(Name name, float value) {
  return {name, cudnn::Type::kFloat, BytesOf(&value, 1), 1};
}
Graph::Attribute Graph::Flag(Name name, bool value) {
  return {name, cudnn::Type::kBoolean, BytesOf(&value, 1), 1};
}
Graph::Attribute Graph::Of(Name name, void* descriptor) {
  return {name, cudnn::Type::kDescriptor, BytesOf(&descriptor, 1), 1};
}
Graph::Attribute Graph::All(Name name, const std::vector<void*>& descriptors) {
  return {name, cudnn::Type::kDescriptor,
          BytesOf(descriptors.data(), descriptors.size()),
          static_cast<Index>(descriptors.size())};
}
Graph::Attribute Graph::Pointers(Name name,
                                 const std::vector<void*>& pointers) {
  return {name, cudnn::Type::kVoidPointer,
          BytesOf(pointers.data(), pointers.size()),
          static_cast<Index>(pointers.size())};
}

Graph::~Graph() {
  for (void* descriptor : made_) {
    EXPECT_EQ(Dnn("BackendDestroyDescriptor", descriptor), 0);
  }
}
void* Graph::Make(Kind kind, const std::vector<Attribute>& attributes) {
  void* made = nullptr;
  const int created =
      Dnn("BackendCreateDescriptor", static_cast<int>(kind), &made);
  if (status_ == 0) status_ = created;
  if (made == nullptr) return nullptr;
  made_.push_back(made);
  for (const Attribute& a : attributes) {
    const int set =
        Dnn("BackendSetAttribute", made, static_cast<int>(a.name),
            static_cast<int>(a.type), static_cast<std::int64_t>(a.count),
            static_cast<const void*>(a.bytes.data()));
    if (status_ == 0) status_ = set;
  }
  const int finalized = Dnn("BackendFinalize", made);
  if (status_ == 0) status_ = finalized;
  return made;
}
void* Graph::Tensor(const Field& field, bool by_value) {
  const Index id = 100 + static_cast<Index>(ids_.size());
  ids_.push_back(id);
  pointers_.push_back(field.get());
  return Make(Kind::kTensor,
              {Ints(cudnn::attribute::TENSOR_UNIQUE_ID, {id}),
               Enum(cudnn::attribute::TENSOR_DATA_TYPE, cudnn::Type::kDataType,
                    field.type()),
               Ints(cudnn::attribute::TENSOR_BYTE_ALIGNMENT, {16}),
               Ints(cudnn::attribute::TENSOR_DIMENSIONS, field.sizes()),
               Ints(cudnn::attribute::TENSOR_STRIDES, field.strides()),
               Flag(cudnn::attribute::TENSOR_IS_BY_VALUE, by_value)});
}
void* Graph::Ragged(const Field& field, void* starts, Index unit) {
  const Index id = 100 + static_cast<Index>(ids_.size());
  ids_.push_back(id);
  pointers_.push_back(field.get());
  return Make(
      Kind::kTensor,
      {Ints(cudnn::attribute::TENSOR_UNIQUE_ID, {id}),
       Enum(cudnn::attribute::TENSOR_DATA_TYPE, cudnn::Type::kDataType,
            field.type()),
       Ints(cudnn::attribute::TENSOR_BYTE_ALIGNMENT, {16}),
       Ints(cudnn::attribute::TENSOR_DIMENSIONS, field.sizes()),
       Ints(cudnn::attribute::TENSOR_STRIDES, field.strides()),
       Of(cudnn::attribute::TENSOR_RAGGED_OFFSET_DESC, starts),
       Ints(cudnn::attribute::TENSOR_RAGGED_OFFSET_MULTIPLIER, {unit})});
}
void* Graph::Virtual(int type, const Sizes& sizes) {
  const auto id = static_cast<Index>(made_.size());
  return Make(
      Kind::kTensor,
      {Ints(cudnn::attribute::TENSOR_UNIQUE_ID, {id}),
       Enum(cudnn::attribute::TENSOR_DATA_TYPE, cudnn::Type::kDataType, type),
       Ints(cudnn::attribute::TENSOR_BYTE_ALIGNMENT, {16}),
       Ints(cudnn::attribute::TENSOR_DIMENSIONS, sizes),
       Ints(cudnn::attribute::TENSOR_STRIDES, Packed(sizes)),
       Flag(cudnn::attribute::TENSOR_IS_VIRTUAL, true)});
}
void* Graph::Add(Kind kind, const std::vector<Attribute>& attributes) {
  operations_.push_back(Make(kind, attributes));
  return operations_.back();
}
Graph::Attribute Graph::Handle() {
  void* const handle = DnnHandle();
  return {cudnn::attribute::OPERATIONGRAPH_HANDLE, cudnn::Type::kHandle,
          BytesOf(&handle, 1), 1};
}
int Graph::Run() {
  if (status_ != 0) return status_;
  void* graph =
      Make(Kind::kOperationGraph,
           {Handle(), All(cudnn::attribute::OPERATIONGRAPH_OPS, operations_)});
  void* heuristics = Make(
      Kind::kEngineHeuristics,
      {Of(cudnn::attribute::ENGINEHEUR_OPERATION_GRAPH, graph),
       Enum(cudnn::attribute::ENGINEHEUR_MODE, cudnn::Type::kHeurMode, 0)});
  if (status_ != 0) return status_;
  void* config = nullptr;
  EXPECT_EQ(Dnn("BackendCreateDescriptor",
                static_cast<int>(Kind::kEngineConfig), &config),
            0);
  made_.push_back(config);
  std::int64_t count = 0;
  EXPECT_EQ(Dnn("BackendGetAttribute", heuristics,
                static_cast<int>(cudnn::attribute::ENGINEHEUR_RESULTS),
                static_cast<int>(cudnn::Type::kDescriptor), std::int64_t{1},
                &count, static_cast<void*>(&config)),
            0);
  EXPECT_EQ(count, 1);
  plan_ = Make(Kind::kExecutionPlan,
               {Of(cudnn::attribute::EXECUTION_PLAN_ENGINE_CONFIG, config)});
  pack_ =
      Make(Kind::kVariantPack,
           {Ints(cudnn::attribute::VARIANT_PACK_UNIQUE_IDS, ids_),
            Pointers(cudnn::attribute::VARIANT_PACK_DATA_POINTERS, pointers_)});
  if (status_ != 0) return status_;
  return Dnn("BackendExecute", DnnHandle(), plan_, pack_);
}

}  // namespace cerberus::libraries::tests
