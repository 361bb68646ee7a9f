#include "libraries/cublas/rocblas.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "libraries/cublas/typed.h"
#include "support/log.h"

namespace cerberus::libraries::cublas {
namespace {

// Where rocBLAS has the code of its products: ROCm's layout, and Debian's,
// which has the version in between.
std::vector<std::filesystem::path> ProductFolders(const std::string& library) {
  if (const char* told = secure_getenv("ROCBLAS_TENSILE_LIBPATH"))
    return {told};
  const auto base = std::filesystem::path(library).parent_path() / "rocblas";
  std::vector<std::filesystem::path> folders = {base / "library"};
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(base, none)) {
    folders.push_back(entry.path() / "library");
  }
  return folders;
}

// Whether a file's name ("TensileLibrary_gfx1100.co") is for the target.
bool Names(const std::string& file, const std::string& target) {
  const std::size_t at = file.find(target);
  return at != file.npos &&
         (at + target.size() == file.size() ||
          !std::isalnum(static_cast<unsigned char>(file[at + target.size()])));
}

// Without a file of its products for the GPU rocBLAS ends the process.
std::string Lacks(const std::string& path, const std::string& target) {
  bool has_folder = false;
  for (const auto& folder : ProductFolders(path)) {
    std::error_code none;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder, none)) {
      has_folder = true;
      if (Names(entry.path().filename(), target)) {
        return LacksTarget(path, target);
      }
    }
  }
  if (has_folder) return path + " has no products for " + target;
  return LacksTarget(path, target);
}

const RocmKind& RocsolverKind() {
  static const RocmKind kind = {"factors of cuBLAS",
                                "rocSOLVER",
                                {{0, "librocsolver.so.0"}},
                                &LacksTarget};
  return kind;
}

// What was looked up of a row, for the whole process: there is one rocBLAS.
struct Slot {
  std::atomic<void*> function{nullptr};
  std::atomic<bool> asked{false};
  std::atomic<bool> said{false};  // that the host computes it
};
Slot slots[kRocblasCount][2];

constexpr int kTf32 = 3;     // CUBLAS_TF32_TENSOR_OP_MATH
constexpr int kRocXf32 = 1;  // rocblas_xf32_xdl_math_op

}  // namespace

roc::Operation RocblasArguments::operator()(Operation op) {
  switch (op) {
    case kN: return roc::Operation::kNone;
    case kT: return roc::Operation::kTranspose;
    case kC: return roc::Operation::kConjugate;
    default:  // CUBLAS_OP_CONJG is cuBLAS' own
      fit_ = false;
      return roc::Operation::kNone;
  }
}
roc::Fill RocblasArguments::operator()(Fill fill) {
  switch (fill) {
    case kLower: return roc::Fill::kLower;
    case kUpper: return roc::Fill::kUpper;
    default: return roc::Fill::kFull;
  }
}
roc::Side RocblasArguments::operator()(Side side) {
  return side == kLeft ? roc::Side::kLeft : roc::Side::kRight;
}
roc::Diagonal RocblasArguments::operator()(Diag diag) {
  return diag == kUnit ? roc::Diagonal::kUnit : roc::Diagonal::kNonUnit;
}
roc::DataType RocblasArguments::operator()(DataType type) {
  switch (type) {
    case kR16F: return roc::DataType::kF16;
    case kR32F: return roc::DataType::kF32;
    case kR64F: return roc::DataType::kF64;
    case kC16F: return roc::DataType::kF16C;
    case kC32F: return roc::DataType::kF32C;
    case kC64F: return roc::DataType::kF64C;
    case kR8I: return roc::DataType::kI8;
    case kR8U: return roc::DataType::kU8;
    case kR32I: return roc::DataType::kI32;
    case kC8I: return roc::DataType::kI8C;
    case kR16BF: return roc::DataType::kBf16;
    case kC16BF: return roc::DataType::kBf16C;
    default: fit_ = false; return roc::DataType::kInvalid;
  }
}
roc::DataType RocblasArguments::ComputeOf(int compute, DataType type) {
  const bool complex = IsComplexType(type);
  switch (Compute(compute)) {
    case k16F:
    case k16FPedantic: return roc::DataType::kF16;
    case k32F:
    case k32FPedantic:
    case k32FFast16F:
    case k32FFast16BF:
    case k32FFastTF32:
    case k32FEmulated16BFX9:
      return complex ? roc::DataType::kF32C : roc::DataType::kF32;
    case k64F:
    case k64FPedantic:
    case k64FEmulatedFixedPoint:
      return complex ? roc::DataType::kF64C : roc::DataType::kF64;
    case k32I:
    case k32IPedantic: return roc::DataType::kI32;
    default: fit_ = false; return roc::DataType::kInvalid;
  }
}

const void* RocblasArguments::Result(void* result, std::size_t bytes) {
  if (context_.pointer_mode == kDevicePointers) return result;
  fit_ &= bytes <= Rocblas::kResultBytes;
  result_ = result;
  result_bytes_ = bytes;
  return context_.rocblas->result();
}

Rocblas::Rocblas(const Driver& driver, const RocmLibrary& library)
    : driver_(driver),
      library_(library),
      handles_(driver, library, "rocblas_") {
  library.Find("rocblas_set_pointer_mode", &set_pointer_mode_);
  library.Find("rocblas_set_atomics_mode", &set_atomics_);
  library.Find("rocblas_set_math_mode", &set_math_mode_);
}

RocmKind Rocblas::Kind(const char* nvidia) {
  return {nvidia,
          "rocBLAS",
          {{7, "librocblas.so.5"},
           {6, "librocblas.so.4"},
           {5, "librocblas.so.3"},
           {5, "librocblas.so.0"}},
          &Lacks,
          [](const RocmLibrary& library) {
            return VersionByText(library, "rocblas_get_version_string");
          }};
}

bool Rocblas::Make(const Driver& driver, const RocmKind& kind,
                   std::shared_ptr<Rocblas>* made) {
  const RocmLibrary* library = nullptr;
  if (!ChooseRocm(driver, kind, &library)) return false;
  if (library == nullptr) return true;
  std::shared_ptr<Rocblas> rocblas(new Rocblas(driver, *library));
  if (rocblas->handles_.Choose(nullptr) == nullptr ||
      driver.allocate(&rocblas->result_, kResultBytes) != 0) {
    Log(LogLevel::kWarning, "%s computes on the host: %s makes no handle",
        kind.nvidia, library->path().c_str());
    return true;
  }
  *made = std::move(rocblas);
  return true;
}

Rocblas::~Rocblas() {
  if (result_ != 0) driver_.free(result_);
}

bool Rocblas::Follow(const Context& context, PointerMode mode) {
  OfStream* const one = handles_.Choose(context.stream);
  if (one == nullptr) return false;
  const auto tell = [&](auto* set, int value, int* told) {
    if (value == *told) return true;
    if (set == nullptr || set(one->handle, value) != roc::Status::kSuccess) {
      return false;
    }
    *told = value;
    return true;
  };
  // Faster products are a leave, not a wish.
  if (set_math_mode_ != nullptr) {
    tell(set_math_mode_, context.math_mode == kTf32 ? kRocXf32 : 0,
         &one->math_mode);
  }
  return tell(set_pointer_mode_, mode, &one->pointer_mode) &&
         tell(set_atomics_, context.atomics, &one->atomics);
}

void* Rocblas::Find(int row, bool wide) const {
  Slot& slot = slots[row][wide ? 1 : 0];
  if (slot.asked.load(std::memory_order_acquire)) return slot.function;
  const RocblasRow& of = kRocblasRows[row];
  const std::string symbol = SymbolOf(of, wide);
  const RocmLibrary* library = &library_;
  if (IsOfSolver(of.how)) {
    ChooseRocm(*FindDriver(), RocsolverKind(), &library);
  }
  void* found = nullptr;
  if (library != nullptr && of.how == How::kTrmm) {
    found = library->Find((symbol + "_outofplace").c_str());
  }
  if (library != nullptr && found == nullptr) {
    found = library->Find(symbol.c_str());
  }
  slot.function = found;
  slot.asked.store(true, std::memory_order_release);
  return found;
}

bool IsTaken(roc::Status status, Status* out) {
  switch (status) {
    // With reasons of its own, and of arguments that cuBLAS allows.
    case roc::Status::kNotImplemented:
    case roc::Status::kInvalidPointer:
    case roc::Status::kInvalidSize:
    case roc::Status::kMemoryError:
    case roc::Status::kInvalidValue:
    case roc::Status::kExcludedFromBuild:
    case roc::Status::kArchitectureMismatch: return false;
    case roc::Status::kSuccess:
    case roc::Status::kPerformanceDegraded:
    case roc::Status::kSizeIncreased:
    case roc::Status::kSizeUnchanged:
    case roc::Status::kContinue: *out = kSuccess; return true;
    case roc::Status::kInvalidHandle: *out = kInternalError; return true;
    default: *out = kExecutionFailed; return true;
  }
}

bool RocblasCall::WaitForScalars() const {
  const Driver& driver = *context_.driver;
  return !IsCaptured(driver, context_.stream) &&
         driver.synchronize(context_.stream) == 0;
}

Status RocblasCall::CopyResult() const {
  const Driver& driver = *context_.driver;
  const auto to = reinterpret_cast<std::uint64_t>(of_.result());
  const auto from = reinterpret_cast<std::uint64_t>(context_.rocblas->result());
  return driver.copy(to, from, of_.result_bytes(), context_.stream) == 0 &&
                 driver.synchronize(context_.stream) == 0
             ? kSuccess
             : kExecutionFailed;
}

void SayHostComputes(int row) {
  if (slots[row][0].said.exchange(true)) return;
  Log(LogLevel::kInfo, "cublas%s: the host computes what rocBLAS does not take",
      std::string(kRocblasRows[row].name).c_str());
}

}  // namespace cerberus::libraries::cublas
