// Random bytes as what a HIP program hands to hipModuleLoadData. The chosen
// object must lie within the image.
#include <cstdint>
#include <cstdlib>

#include "emulator/offload_bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const cerberus::ByteSpan image(data, size);
  for (const char* target : {"gfx1100", "gfx90a:xnack-"}) {
    cerberus::Result<cerberus::ByteSpan> found =
        cerberus::emulator::hip::SelectCodeObject(image, target);
    if (!found) continue;
    if (found->data() < data || found->data() + found->size() > data + size) {
      std::abort();
    }
  }
  return 0;
}
