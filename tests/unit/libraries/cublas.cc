#include "tests/unit/libraries/cublas.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>

#include "tests/unit/libraries/fake_rocblas.h"

namespace cerberus::libraries::tests {
namespace {

constexpr std::size_t kArena = std::size_t{32} << 20;

void* Open(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return library;
}
void* CublasLibrary() {
  static void* const library = Open("libcublas.so.13");
  return library;
}

struct Called {
  std::mutex mutex;
  std::set<std::string> names;
};
Called& AllCalled() {
  static Called called;
  return called;
}

// The first device's primary context, and memory in it.
struct Memory {
  Memory() {
    void* context = nullptr;
    std::uint64_t address = 0;
    if (Cuda("cuInit", 0u) != 0 ||
        Cuda("cuDevicePrimaryCtxRetain", &context, 0) != 0 ||
        Cuda("cuCtxSetCurrent", context) != 0 ||
        Cuda("cuMemAlloc_v2", &address, kArena) != 0) {
      ADD_FAILURE() << "no device";
      std::abort();
    }
    first = next = reinterpret_cast<char*>(address);
  }
  char *first, *next;
};
Memory& DeviceMemory() {
  static Memory memory;
  return memory;
}

template <typename T>
std::vector<Complex64> Wide(const std::vector<T>& v) {
  std::vector<Complex64> out;
  out.reserve(v.size());
  for (const T& value : v) out.emplace_back(value);
  return out;
}

bool IsNear(double got, double want, double allowed) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got);
  }
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= allowed;
}

}  // namespace

void* CudaSymbol(const char* name) {
  static void* const library = Open("libcuda.so.1");
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    ADD_FAILURE() << name;
    std::abort();
  }
  return symbol;
}
bool HasCublas(const std::string& name) {
  return dlsym(CublasLibrary(), name.c_str()) != nullptr;
}
void* CublasSymbol(const std::string& name) {
  void* symbol = dlsym(CublasLibrary(), name.c_str());
  if (symbol == nullptr) {
    ADD_FAILURE() << name;
    std::abort();
  }
  const std::lock_guard<std::mutex> lock(AllCalled().mutex);
  AllCalled().names.insert(name);
  return symbol;
}
const std::set<std::string>& CalledNames() { return AllCalled().names; }

Handle CublasHandle() {
  static const Handle handle = [] {
    DeviceMemory();
    Handle made = nullptr;
    EXPECT_EQ(Cublas("cublasCreate_v2", &made), kSuccess);
    return made;
  }();
  return handle;
}
Handle XtHandle() {
  static const Handle handle = [] {
    DeviceMemory();
    Handle made = nullptr;
    EXPECT_EQ(Cublas("cublasXtCreate", &made), kSuccess);
    int device = 0;
    EXPECT_EQ(Cublas("cublasXtDeviceSelect", made, 1, &device), kSuccess);
    return made;
  }();
  return handle;
}
void InitOld() {
  static const int status = Cublas("cublasInit");
  ASSERT_EQ(status, kSuccess);
}

void* NewStream(unsigned flags) {
  void *stream = nullptr, *hip = nullptr;
  if (Cuda("cuStreamCreate", &stream, flags) != 0) return nullptr;
  if (const FakeRocblas* fake = FindFakeRocblas()) {
    EXPECT_EQ(Cuda("cuCerberusHipStream", stream, &hip), 0);
    fake->fake_rocblas_stream(hip, stream);
  }
  return stream;
}
const FakeRocblas* FindFakeRocblas() {
  static const FakeRocblas* const found = []() -> const FakeRocblas* {
    const char* wanted = std::getenv("CERBERUS_LIBRARY_PROVIDER");
    if (wanted == nullptr || std::strcmp(wanted, "rocm") != 0) return nullptr;
    void* const library = Open("librocblas.so.5");
    static FakeRocblas fake;
    const auto look = [library](const char* name, auto* function) {
      *function =
          reinterpret_cast<std::remove_reference_t<decltype(*function)>>(
              dlsym(library, name));
      EXPECT_NE(*function, nullptr) << name;
    };
#define FAKE_LOOK(name) look(#name, &fake.name)
    FAKE_LOOK(fake_rocblas_stream);
    FAKE_LOOK(fake_rocblas_calls);
    FAKE_LOOK(fake_rocblas_last);
    FAKE_LOOK(fake_rocblas_answer);
    FAKE_LOOK(fake_rocblas_hip_stream);
    FAKE_LOOK(fake_rocblas_handle);
    FAKE_LOOK(fake_rocblas_setting);
#undef FAKE_LOOK
    return &fake;
  }();
  return found;
}

void* TakeDevice(std::size_t bytes) {
  Memory& memory = DeviceMemory();
  char* const taken = memory.next;
  memory.next += (bytes + 255) / 256 * 256;
  if (memory.next > memory.first + kArena) {
    ADD_FAILURE() << "the tests' device memory is full";
    std::abort();
  }
  return taken;
}
void GiveBackDevice(void* memory) {
  DeviceMemory().next =
      std::min(DeviceMemory().next, static_cast<char*>(memory));
}
void Upload(void* device, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  ASSERT_EQ(Cuda("cuMemcpyHtoD_v2", reinterpret_cast<std::uint64_t>(device),
                 host, bytes),
            0);
}
void Download(void* host, const void* device, std::size_t bytes) {
  if (bytes == 0) return;
  ASSERT_EQ(Cuda("cuMemcpyDtoH_v2", host,
                 reinterpret_cast<std::uint64_t>(device), bytes),
            0);
}

std::string NameIn(Form form, const std::string& name) {
  if (form == kOld) return name;
  if (form == kXt) return "cublasXt" + name.substr(std::strlen("cublas"));
  const bool wide = form == kHost64 || form == kDevice64;
  const std::string versioned = name + "_v2" + (wide ? "_64" : "");
  return HasCublas(versioned) ? versioned : name + (wide ? "_64" : "");
}
bool Exists(Form form, const std::string& name) {
  // Without a second version, the plain name takes a handle.
  if (form == kOld && !HasCublas(name + "_v2")) return false;
  return HasCublas(NameIn(form, name));
}
std::vector<Form> FormsOf(const std::string& name) {
  std::vector<Form> forms;
  for (const Form form : {kHost, kHost64, kDevice, kDevice64, kOld, kXt}) {
    if (Exists(form, name)) forms.push_back(form);
  }
  EXPECT_FALSE(forms.empty()) << name;
  return forms;
}

int InvokeOldEnd() { return Cublas("cublasGetError"); }

Passing::Passing(Form form, Handle handle) : form_(form) {
  if (form == kOld || form == kXt) return;
  // Of a handle that is none this is an error, as the call will be.
  Cublas("cublasSetPointerMode_v2", handle,
         form == kDevice || form == kDevice64 ? 1 : 0);
}
void* Passing::Pass(void* host, std::size_t bytes, bool out) {
  if (form_ != kDevice && form_ != kDevice64) return host;
  void* device = TakeDevice(bytes);
  Upload(device, host, bytes);
  held_.push_back({host, device, bytes, out});
  return device;
}
Passing::~Passing() {
  for (; !held_.empty(); held_.pop_back()) {
    const Held& held = held_.back();
    if (held.out) Download(held.host, held.device, held.bytes);
    GiveBackDevice(held.device);
  }
}

double Numbers::Next() {
  // Marsaglia's xorshift.
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<double>(state_ % 17) / 4 - 2;
}

std::vector<Complex64> Widened(const std::vector<float>& v) { return Wide(v); }
std::vector<Complex64> Widened(const std::vector<double>& v) { return Wide(v); }
std::vector<Complex64> Widened(const std::vector<Complex32>& v) {
  return Wide(v);
}
std::vector<Complex64> Widened(const std::vector<Complex64>& v) { return v; }

void ExpectNear(const std::vector<Complex64>& got,
                const std::vector<Complex64>& want, double tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (const Complex64& value : want) {
    if (std::isfinite(std::abs(value)) && value != kGuard) {
      largest = std::max(largest, std::abs(value));
    }
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!IsNear(got[i].real(), want[i].real(), tolerance * largest) ||
        !IsNear(got[i].imag(), want[i].imag(), tolerance * largest)) {
      ADD_FAILURE() << what << ": element " << i << " of " << want.size()
                    << " is " << got[i] << ", not " << want[i];
      return;
    }
  }
}

std::size_t At(long i, long n, long step) {
  return static_cast<std::size_t>(step >= 0 ? i * step : (i - n + 1) * step);
}
std::size_t Span(long n, long step) {
  return n <= 0 ? 0 : static_cast<std::size_t>((n - 1) * std::abs(step) + 1);
}

Matrix Apply(int op, const Matrix& a) {
  const bool turned = op == kT || op == kC,
             conjugated = op == kC || op == kConj;
  Matrix out(turned ? a.columns : a.rows, turned ? a.rows : a.columns);
  for (long j = 0; j < a.columns; ++j) {
    for (long i = 0; i < a.rows; ++i) {
      (turned ? out(j, i) : out(i, j)) =
          conjugated ? std::conj(a(i, j)) : a(i, j);
    }
  }
  return out;
}
Matrix Times(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (long j = 0; j < b.columns; ++j) {
    for (long i = 0; i < a.rows; ++i) {
      for (long l = 0; l < a.columns; ++l) out(i, j) += a(i, l) * b(l, j);
    }
  }
  return out;
}
Matrix Mirrored(Matrix a, bool hermitian) {
  for (long j = 0; j < a.columns; ++j) {
    if (hermitian) a(j, j) = a(j, j).real();
    for (long i = j + 1; i < a.rows; ++i) {
      a(i, j) = hermitian ? std::conj(a(j, i)) : a(j, i);
    }
  }
  return a;
}
Matrix Triangle(const Matrix& a, int fill, int diag) {
  Matrix out(a.rows, a.columns);
  for (long j = 0; j < a.columns; ++j) {
    for (long i = 0; i < a.rows; ++i) {
      if (i == j && diag == kUnit) out(i, j) = 1;
      else if (fill == kUpper ? i <= j : i >= j) out(i, j) = a(i, j);
    }
  }
  return out;
}

}  // namespace cerberus::libraries::tests
