#include "libraries/cusolver/rocsolver.h"

#include "support/log.h"

namespace cerberus::libraries::cusolver {
namespace {

constexpr char kLetters[] = "sdcz";

// What was looked up, for the whole process: there is one rocSOLVER.
struct Slot {
  std::atomic<void*> function{nullptr};
  std::atomic<bool> asked{false};
  std::atomic<bool> said{false};  // that the host computes it
};
Slot slots[kRocsolverCount][4];

const RocmKind& Kind() {
  static const RocmKind kind = {"cuSOLVER",
                                "rocSOLVER",
                                {{0, "librocsolver.so.0"}},
                                &LacksTarget,
                                [](const RocmLibrary& library) {
                                  return VersionByText(
                                      library, "rocsolver_get_version_string");
                                }};
  return kind;
}

}  // namespace

bool Rocsolver::Make(const Driver& driver, std::shared_ptr<Rocsolver>* made) {
  // Whose handles it works in.
  static const RocmKind blas_kind = cublas::Rocblas::Kind("cuSOLVER");
  const RocmLibrary* library = nullptr;
  if (!ChooseRocm(driver, Kind(), &library)) return false;
  if (library == nullptr) return true;
  std::shared_ptr<cublas::Rocblas> rocblas;
  if (!cublas::Rocblas::Make(driver, blas_kind, &rocblas)) return false;
  if (rocblas != nullptr) {
    *made = std::make_shared<Rocsolver>(*library, std::move(rocblas));
  }
  return true;
}

std::string Rocsolver::Describe() { return DescribeProvider(Kind()); }

void* Rocsolver::Find(Roc row, int letter) const {
  const auto at = static_cast<std::size_t>(row);
  Slot& slot = slots[at][letter];
  if (!slot.asked.load(std::memory_order_acquire)) {
    slot.function =
        library_.Find(SymbolOf(kRocsolverRows[at], kLetters[letter]).c_str());
    slot.asked.store(true, std::memory_order_release);
  }
  return slot.function;
}

void SayHostComputes(Roc row, int letter) {
  const auto at = static_cast<std::size_t>(row);
  if (slots[at][letter].said.exchange(true)) return;
  Log(LogLevel::kInfo, "cuSOLVER: the host computes what %s does not take",
      SymbolOf(kRocsolverRows[at], kLetters[letter]).c_str());
}

namespace {
bool CopyLowWords(Handle h, const void* from, std::size_t step_from, void* to,
                  std::size_t step_to, Index count) {
  if (count == 0) return true;
  Copy2d copy = {};
  copy.source_kind = copy.target_kind = kUnified;
  copy.source_device = reinterpret_cast<std::uint64_t>(from);
  copy.target_device = reinterpret_cast<std::uint64_t>(to);
  copy.source_pitch = step_from;
  copy.target_pitch = step_to;
  copy.width = sizeof(int);
  copy.height = static_cast<std::size_t>(count);
  return h->driver->copy_2d(&copy, h->stream) == 0;
}
}  // namespace

bool Widen(Handle h, const int* from, Index* to, Index count) {
  return h->driver->set_words != nullptr &&
         h->driver->set_words(reinterpret_cast<std::uint64_t>(to), 0,
                              2 * static_cast<std::size_t>(count),
                              h->stream) == 0 &&
         CopyLowWords(h, from, sizeof(int), to, sizeof(Index), count);
}
bool Narrow(Handle h, const Index* from, int* to, Index count) {
  return CopyLowWords(h, from, sizeof(Index), to, sizeof(int), count);
}

bool ClearInfo(Handle h, int* info) {
  return info == nullptr ||
         (h->driver->set_words != nullptr &&
          h->driver->set_words(reinterpret_cast<std::uint64_t>(info), 0, 1,
                               h->stream) == 0);
}

}  // namespace cerberus::libraries::cusolver
