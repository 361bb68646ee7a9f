// Any bytes as a HIP image: what is found must lie within it, or within what
// was compressed in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "rewriter/hip_code.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;            // NOLINT
  using namespace cerberus::rewriter;  // NOLINT
  const ByteSpan all(data, size);
  const auto inside = [](ByteSpan part, ByteSpan whole) {
    return part.empty() ||
           (part.data() >= whole.data() &&
            part.data() + part.size() <= whole.data() + whole.size());
  };
  const Result<images::HipImage> image = images::ParseHipImage(all);
  if (!image) return 0;
  if (image->bytes.data() != data || !inside(image->bytes, all)) std::abort();
  const Result<CodeObjects> objects = UnpackHipImage(*image, "fuzz", 0);
  if (!objects) return 0;
  const ByteSpan whole = image->kind == images::HipImageKind::kCompressedBundle
                             ? ByteSpan(objects->unpacked)
                             : image->bytes;
  for (const CodeObjects::Row& row : objects->rows) {
    if (!inside(row.bytes, whole)) std::abort();
  }
  return 0;
}
