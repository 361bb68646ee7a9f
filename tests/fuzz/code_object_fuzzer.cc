// Reads the input as an AMD code object, as `cerberus list` does.
#include <cstdint>

#include "cli/convert/code_object.h"
#include "images/code_object.h"

using cerberus::ByteSpan;
using cerberus::cli::ReadCodeObject;
using cerberus::images::IsCodeObject;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const ByteSpan bytes(data, size);
  const bool claims = IsCodeObject(bytes);
  const auto object = ReadCodeObject(bytes, "input");
  // What reads as one must also be taken for one.
  if (object && !claims) __builtin_trap();
  return 0;
}
