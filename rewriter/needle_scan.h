// Finds what stands in a file without anything that leads to it: one pass over
// the bytes for two things to look for at once.
//
// A file is read through a small buffer. That costs less than to map it, and
// memory does not grow with it.
#ifndef CERBERUS_REWRITER_NEEDLE_SCAN_H_
#define CERBERUS_REWRITER_NEEDLE_SCAN_H_

#include <cstdint>
#include <string_view>

#include "support/bytes.h"
#include "support/input_file.h"
#include "support/result.h"

namespace cerberus::rewriter {

// Eight bytes as they stand in a file.
using Needle = std::uint64_t;

class NeedleScan {
 public:
  // Of `bytes`, which are those of `file` if that is not null. Both must
  // outlive the scan.
  NeedleScan(ByteSpan bytes, const InputFile* file, Needle first, Needle second)
      : bytes_(bytes), file_(file), first_(first), second_(second) {}

  // Where the next of the two begins, at `from` or behind it and before `to`;
  // `to` if there is none. Calls go forward.
  Result<std::uint64_t> Next(std::uint64_t from, std::uint64_t to);

 private:
  Status Load(std::uint64_t from);

  const ByteSpan bytes_;
  const InputFile* const file_;
  const Needle first_, second_;
  Bytes buffer_;
  ByteSpan window_;              // a part of the bytes
  std::uint64_t window_at_ = 0;  // its offset
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_NEEDLE_SCAN_H_
