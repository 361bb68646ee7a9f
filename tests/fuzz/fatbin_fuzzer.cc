// Any bytes as a fatbin: parsed, unpacked, kernels listed; and as a cubin, of
// NVIDIA's or with PTX.
#include <cstddef>
#include <cstdint>

#include "images/cubin.h"
#include "images/fatbin.h"
#include "images/ptx_cubin.h"
#include "rewriter/extract.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;  // NOLINT
  (void)images::PtxOfCubin({data, size});
  (void)images::ReadCubin({data, size});
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
  (void)images::BlockBounds(fatbin->entries, 86);
  return 0;
}
