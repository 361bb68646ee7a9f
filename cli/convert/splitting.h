// One HIP program split, step by step: its code objects go to archives, one
// for each target, and its wrappers lead to them.
//
//   open     the program, its images, the targets in them
//   plan     the bytes that will change
//   pack     the code objects into the archives of the caller
//   write    the program, and check it against the plan
#ifndef CERBERUS_CLI_CONVERT_SPLITTING_H_
#define CERBERUS_CLI_CONVERT_SPLITTING_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/report/findings.h"
#include "kpack/writer.h"
#include "rewriter/rewriter.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

// Archives by target, made as targets turn up.
using ArchivesByTarget = std::map<std::string, kpack::ArchiveWriter>;

struct SplittingOptions {
  std::string input;
  std::string input_name;  // for messages
  rewriter::SplitOptions split;
  // The targets to take, as ChooseTargets does; empty: all.
  std::vector<std::string> arches;
  // Threads that compress. The archives do not depend on it.
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
};

struct SplittingSummary {
  std::size_t images = 0;
  std::size_t wrappers = 0;
  std::map<std::string, std::size_t> code_objects;  // by target
  std::map<std::string, std::size_t> left_out;      // by target, not asked for
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  Findings findings;  // without sizes, which are the archives'

  std::size_t total() const;
  void Add(const SplittingSummary& other);
  // For people, with their names.
  std::vector<std::pair<std::string, std::string>> Numbers() const;
};

class Splitting {
 public:
  explicit Splitting(SplittingOptions options) : options_(std::move(options)) {}

  // Errors: no HIP code in the file; it is split already; no target that was
  // asked for is in it.
  Status Open();
  // The same with the input opened already.
  Status Open(rewriter::Binary binary);
  // Adds the code objects to the archives; `make` is called for each target
  // that has none yet.
  using MakeArchive =
      std::function<Result<kpack::ArchiveWriter>(const std::string& target)>;
  Status Pack(ArchivesByTarget& archives, const MakeArchive& make);
  // The split program; the caller commits it.
  Result<OutputFile> Write(const std::string& path);

  // Of Open's error: there is no HIP code.
  bool holds_nothing() const { return holds_nothing_; }
  const rewriter::Binary& binary() const { return *binary_; }
  const rewriter::Plan& plan() const { return plan_; }
  const SplittingSummary& summary() const { return summary_; }

 private:
  Status PackImage(const rewriter::LocatedHipImage& image,
                   const rewriter::CodeObjects& objects,
                   ArchivesByTarget& archives, const MakeArchive& make);

  const SplittingOptions options_;
  std::optional<rewriter::Binary> binary_;
  rewriter::Plan plan_;
  SplittingSummary summary_;
  bool holds_nothing_ = false;
};

// Whether the archives hold, for each wrapper of the original, exactly the code
// objects that it leads to; of targets that none of the archives is for, none.
// Returns how many code objects were compared.
Result<std::size_t> VerifySplitArchives(
    const rewriter::Binary& original, const std::string& kernel_name,
    const std::vector<std::string>& archives);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_SPLITTING_H_
