// Finds what cerberus-convert appended to the files of this process
// (docs/marker-format.md): the segment, its records and its marker.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_SEGMENT_H_
#define CERBERUS_RUNTIME_STUB_MODULE_SEGMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/fatbin.h"
#include "support/bytes.h"

namespace cerberus::stub {

// An appended segment as it lies in memory.
struct Segment {
  ByteSpan bytes;    // what the header says, within one PT_LOAD
  std::string file;  // path of the executable or shared object
  ByteSpan marker;   // the MessagePack map
};

// One converted wrapper.
struct WrapperRecord {
  Segment segment;
  std::uint32_t index = 0;
  bool no_kernel = false;
  bool fatbin_removed = false;
  bool no_ptx = false;  // nor had the fatbin that was removed any
  ByteSpan fatbin;  // empty where the bytes are gone or lie outside the file
};

// The record for a wrapper: the one its `data` points at, or, in files
// converted with --keep-fatbin, the one that names this wrapper. Nothing if
// the wrapper was not converted.
std::optional<WrapperRecord> FindRecord(const formats::FatbinWrapper* wrapper);

// All segments of the objects that are loaded now.
std::vector<Segment> AllSegments();

// Whether a wrapper of some object points at its record, so that no driver
// but this one can load it.
bool ProcessHasConvertedWrapper();

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_SEGMENT_H_
