// Finished files get their names one after the other, those last that lead to
// the others. If one cannot, those that were new under their names go again;
// what took the place of an older file stays, whole.
#ifndef CERBERUS_CLI_CONVERT_COMMIT_IN_ORDER_H_
#define CERBERUS_CLI_CONVERT_COMMIT_IN_ORDER_H_

#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "support/result.h"

namespace cerberus::cli {

class CommitInOrder {
 public:
  CommitInOrder() = default;
  CommitInOrder(const CommitInOrder&) = delete;
  CommitInOrder& operator=(const CommitInOrder&) = delete;
  ~CommitInOrder() {
    for (const std::string& path : appeared_) ::unlink(path.c_str());
  }

  // An OutputFile or what is written by means of one.
  template <typename File>
  Status Add(File& file) {
    const std::string path = file.path();
    const bool is_new = ::access(path.c_str(), F_OK) != 0;
    CERB_TRY_VOID(file.Commit());
    if (is_new) appeared_.push_back(path);
    return {};
  }
  // What was there before and must not be found any more.
  Status Remove(const std::string& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return Err(ErrnoDiag(path, "cannot remove", errno));
  }
  // All have their names.
  void Done() { appeared_.clear(); }

 private:
  std::vector<std::string> appeared_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_COMMIT_IN_ORDER_H_
