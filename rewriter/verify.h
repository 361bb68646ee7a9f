// Is a converted file what its plan says, and can the loader use it?
//
// Two questions, asked apart, since the second one can be asked of a file
// alone:
//
//   against the input   every byte that the plan names is as planned, every
//                       other is the input's: nothing was lost or moved
//   by itself           header, checksum, records and marker agree with each
//                       other, wrappers lead to them, and what the loader
//                       reads is as it demands
//
// What was written is read again as a stranger's file. A plan's bytes are
// compared and not believed; that the plan itself is right follows from the
// second question and from the tests that run what was converted.
#ifndef CERBERUS_REWRITER_VERIFY_H_
#define CERBERUS_REWRITER_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rewriter/binary.h"
#include "rewriter/plan.h"

namespace cerberus::rewriter {

// What a converted file says of itself.
struct ConvertedInfo {
  struct Record {
    std::uint32_t index;
    std::uint32_t flags;
    std::uint64_t wrapper_vaddr;
    std::uint64_t fatbin_vaddr;
    std::uint64_t fatbin_size;
    bool repointed;  // the wrapper's data leads here (not with --keep-fatbin)
  };
  std::vector<std::string> search_paths;
  std::string kernel_name;
  std::string converter_version;
  int launch_abi = 0;
  std::uint64_t segment_vaddr = 0;
  std::uint64_t segment_size = 0;
  std::vector<Record> records;
};

// Reads a converted file on its own and checks all that needs no input file:
// header, checksum, records, marker, wrappers, program headers. Errors: not
// converted; whatever is inconsistent.
Result<ConvertedInfo> ReadConverted(ByteSpan output, const std::string& name);
Result<ConvertedInfo> ReadConvertedFile(const std::string& path);

// What a split HIP file says of itself; also one that upstream's tools made.
struct SplitInfo {
  std::vector<std::string> search_paths;
  std::string kernel_name;
  std::uint64_t marker_vaddr = 0;
  std::vector<std::uint32_t> numbers;  // of the wrappers, in their order
};

// Errors: not split; a wrapper that leads to no marker, or to another than the
// first one's.
Result<SplitInfo> ReadSplit(const Binary& binary);

// Holds a converted file against its input and the plan: every planned byte is
// as planned, every other equals the input's, and ReadConverted() or
// ReadSplit() finds what was meant.
Status VerifyConversion(const Binary& input, const Plan& plan, ByteSpan output,
                        const std::string& name);
Status VerifyConversionFile(const Binary& input, const Plan& plan,
                            const std::string& path);
// The same for what Rewrite() has just written. That it copied the input was
// the kernel's work, and that the input stayed the same is checked there: read
// is what was written over the copy, and a page before and behind.
Status VerifyWritten(const Binary& input, const Plan& plan,
                     const OutputFile& output);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_VERIFY_H_
