// Any bytes as a fatbin: parsed, unpacked, kernels listed; and as a cubin that
// may hold PTX.
#include <cstddef>
#include <cstdint>

#include "rewriter/extract.h"
#include "rewriter/fatbin.h"
#include "rewriter/ptx_cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus::rewriter;  // NOLINT
  (void)PtxOfCubin({data, size});
  const auto fatbin = ParseFatbin({data, size});
  if (!fatbin) return 0;
  for (const FatbinEntry& entry : fatbin->entries) {
    // Small inputs may declare large contents; the cap is tested elsewhere.
    if (entry.unpacked_size > (1 << 20)) continue;
    (void)Unpack(entry);
    (void)UnpackPtx(entry);
    (void)EntriesWithPtx({entry});
    (void)KernelNames(entry);
  }
  (void)ChoosePtx(fatbin->entries, 89);
  return 0;
}
