// A folder under a hidden name beside its final one, until Commit.
#ifndef CERBERUS_CLI_OUTPUT_FOLDER_H_
#define CERBERUS_CLI_OUTPUT_FOLDER_H_

#include <string>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::cli {

class OutputFolder {
 public:
  // Errors: the path is there and not an empty folder.
  static Result<OutputFolder> Create(const std::string& path);

  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();  // removes what was not committed

  // `name` may have folders in it, which are made.
  Status Write(const std::string& name, ByteSpan bytes) const;
  Status Commit();

 private:
  OutputFolder() = default;

  std::string path_;
  std::string temporary_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_OUTPUT_FOLDER_H_
