// The plan of a conversion: every byte that will change, and why.
//
// A binary is converted in place plus one appended segment, in a PE file a
// section (format: docs/marker-format.md). Nothing that is loaded changes its
// address. The plan is complete before a byte is written; Rewrite() only
// carries it out and VerifyConversion() holds the result against it.
#ifndef CERBERUS_REWRITER_PLAN_H_
#define CERBERUS_REWRITER_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "formats/launch_abi.h"
#include "rewriter/binary.h"
#include "support/bytes.h"
#include "support/output_file.h"
#include "support/range_map.h"
#include "support/result.h"
#include "support/version.h"

namespace cerberus::rewriter {

struct PlanOptions {
  // Into the marker, in this order: ".kpack/app-@GFXARCH@.kpack".
  std::vector<std::string> search_paths;
  // First half of the keys in the archives.
  std::string kernel_name;
  // Folders put before the program's own search path, so that cudart finds
  // the stub: "/usr/lib/…/cerberus", or "$ORIGIN" for --bundle.
  std::vector<std::string> runpath;
  // Libraries in the first of these folders that are loaded with the stub, so
  // that they are found under their names later: "libcublas.so.13".
  std::vector<std::string> beside_stub;
  // Leave the wrappers as they are (the file still runs on NVIDIA).
  bool keep_fatbin = false;
  // Cut device code that only the wrappers led to. Without it, or with
  // keep_fatbin, all stays.
  bool cut = true;
  // Into the marker's `cerberus` map.
  std::string converter_version;
  int launch_abi = formats::kLaunchAbi;
};

struct Plan {
  struct Edit {
    std::uint64_t offset;  // in the input
    Bytes bytes;           // take the place of as many
    std::string why;
  };
  // Sorted, disjoint, all inside the input.
  std::vector<Edit> edits;
  // Whole pages that leave the file: nothing needs them any more. What stands
  // behind moves up in the file and keeps its address. Sorted, disjoint, all
  // inside the input, no edit in them.
  struct Cut {
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::vector<Cut> cuts;
  // What stands behind the rest of the input, or, in a PE file, behind its
  // sections and before whatever follows them; the gap up to its aligned start
  // reads as zeros.
  std::uint64_t append_offset = 0;
  Bytes appended;
  // The first byte of the input that stands behind the appended ones.
  std::uint64_t insert_at = 0;
  // The edits and the appended parts, with their reasons; offsets of the
  // output.
  RangeMap ranges;

  std::uint64_t input_size = 0;
  std::uint64_t segment_vaddr = 0;  // its offset is append_offset
  std::uint64_t segment_size = 0;
  // How the segment got its program header: "PT_NOTE of .note.gnu.property
  // reused", …
  std::string tactic;
  // What the user should know (severity note or warning).
  std::vector<Diag> notes;

  std::uint64_t bytes_in_place() const;
  std::uint64_t bytes_cut() const;
  // Bytes of the input that stay.
  std::uint64_t kept_size() const { return input_size - bytes_cut(); }
  // The input but for what is cut, in order.
  struct Piece {
    std::uint64_t offset;  // in the input
    std::uint64_t size;
    std::uint64_t output_offset;
  };
  std::vector<Piece> pieces() const;
  // Where the gap before the appended bytes begins.
  std::uint64_t gap_offset() const;
  // Where a byte of the input will be; of one that is cut, where the next is.
  std::uint64_t OutputOffset(std::uint64_t input_offset) const;
  std::uint64_t output_size() const;

  // For whoever makes the plan. Errors: two edits of one place, or one of what
  // is cut.
  Status AddEdit(std::uint64_t offset, Bytes bytes, std::string why);
  // Edits from the first to the last byte that differs from the input's.
  Status AddEditIfChanged(ByteSpan input, std::uint64_t offset,
                          const Bytes& bytes, std::string why);
  void SortEdits();

  // One line a range: offset, size, reason.
  std::string ToText() const;
  // The same as a JSON object, for --json.
  std::string ToJson() const;
};

// Of a CUDA binary. Errors: already converted, no way to add a segment, a
// static executable, bad options. A binary without wrappers can be planned (a
// program that loads its kernels at run time, a library matched by content): it
// gets the marker and the search path.
Result<Plan> PlanConversion(const Binary& binary, const PlanOptions& options);

struct SplitOptions {
  // Into the marker, as in PlanOptions.
  std::vector<std::string> search_paths;
  std::string kernel_name;
};

// Of a HIP binary whose code objects go to archives: its wrappers lead to the
// marker, as AMD's runtime reads it, and the images leave the file. Errors: no
// HIP wrappers, split already, no way to add a segment, bad options.
Result<Plan> PlanSplit(const Binary& binary, const SplitOptions& options);

// Writes the converted file into `out`, with the binary's owner, mode and
// extended attributes; the caller commits. Memory does not grow with the file.
Status Rewrite(const Binary& binary, const Plan& plan, OutputFile& out);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_PLAN_H_
