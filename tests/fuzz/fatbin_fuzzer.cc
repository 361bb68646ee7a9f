// Any bytes as a fatbin: parsed, unpacked, kernels listed; and as a cubin that
// may hold PTX.
#include <cstddef>
#include <cstdint>

#include "images/fatbin.h"
#include "images/ptx_cubin.h"
#include "rewriter/extract.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;  // NOLINT
  (void)images::PtxOfCubin({data, size});
  const auto fatbin = images::ParseFatbin({data, size});
  if (!fatbin) return 0;
  for (const images::FatbinEntry& entry : fatbin->entries) {
    // Small inputs may declare large contents; the cap is tested elsewhere.
    if (entry.unpacked_size > (1 << 20)) continue;
    (void)images::Unpack(entry);
    (void)images::UnpackPtx(entry);
    (void)images::EntriesWithPtx({entry});
    (void)images::KernelNames(entry);
  }
  (void)rewriter::ChoosePtx(fatbin->entries, 89);
  return 0;
}
