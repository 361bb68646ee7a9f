// --filter: which kernels a verb is to speak of.
#ifndef CERBERUS_CLI_NAME_FILTER_H_
#define CERBERUS_CLI_NAME_FILTER_H_

#include <regex.h>

#include <memory>
#include <string>
#include <vector>

#include "support/result.h"

namespace cerberus::cli {

// An extended regular expression of POSIX that is searched for in names, as
// they are and demangled. Without one all names match.
class NameFilter {
 public:
  // Errors: kUsage, with what is wrong with the expression.
  static Result<NameFilter> Parse(const std::string& expression);

  bool empty() const { return regex_ == nullptr; }
  bool Matches(const std::string& name) const;
  std::vector<std::string> Of(std::vector<std::string> names) const;

 private:
  struct Free {
    void operator()(regex_t* regex) const;
  };
  std::unique_ptr<regex_t, Free> regex_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_NAME_FILTER_H_
