// What `cerberus list` writes, by kinds of files.
#ifndef CERBERUS_CLI_VERBS_LISTING_H_
#define CERBERUS_CLI_VERBS_LISTING_H_

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/json.h"
#include "cli/name_filter.h"
#include "cli/printable.h"
#include "support/result.h"

namespace cerberus::cli {

// Lines of text or members of a JSON object; whoever lists says each thing
// once to both.
class Listing {
 public:
  Listing(bool json, bool kernels, NameFilter filter)
      : json_only_(json),
        kernels_(kernels),
        all_(json || kernels || !filter.empty()),
        filter_(std::move(filter)) {}

  JsonWriter& json() { return json_; }
  // Whether entries and kernels of binaries and fatbins are listed.
  bool all() const { return all_; }
  // Whether kernels were asked for.
  bool kernels() const { return kernels_; }
  const NameFilter& filter() const { return filter_; }
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += Printable(fmt::format(format, std::forward<Args>(args)...)) + "\n";
  }
  void Print() && {
    fmt::print("{}", json_only_ ? std::move(json_).Take() : text_);
  }

 private:
  const bool json_only_;
  const bool kernels_;
  const bool all_;
  const NameFilter filter_;
  JsonWriter json_;
  std::string text_;
};

// With what each takes of the GPU.
void ListKernels(const CodeObject& object, const NameFilter& filter,
                 const std::string& indent, Listing& out);

Status ListArchive(const std::string& path, Listing& out);
// The kernels in the archives of a converted or split file, whose marker has
// this name and these search paths; of other files' code in them nothing. What
// cannot be read is listed with the reason.
void ListArchivesOf(const std::string& file, const std::string& kernel_name,
                    const std::vector<std::string>& search_paths, Listing& out);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_VERBS_LISTING_H_
