// Random bytes as what a HIP program hands to hipModuleLoadData. The chosen
// object must lie within the image, or what was compressed in it.
#include <cstdint>
#include <cstdlib>

#include "emulator/hip/offload_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const cerberus::ByteSpan image(data, size);
  for (const char* target : {"gfx1100", "gfx90a:xnack-"}) {
    cerberus::Bytes unpacked;
    cerberus::Result<cerberus::ByteSpan> found =
        cerberus::emulator::hip::SelectCodeObject(image, target, &unpacked);
    if (!found) continue;
    const cerberus::ByteSpan whole =
        unpacked.empty() ? image : cerberus::ByteSpan(unpacked);
    if (found->data() < whole.data() ||
        found->data() + found->size() > whole.data() + whole.size()) {
      std::abort();
    }
  }
  return 0;
}
