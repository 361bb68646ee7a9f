#include "cli/name_filter.h"

#include <fmt/format.h>
#include <regex.h>

#include <array>

#include "support/demangle.h"

namespace cerberus::cli {

void NameFilter::Free::operator()(regex_t* regex) const {
  ::regfree(regex);
  delete regex;
}

Result<NameFilter> NameFilter::Parse(const std::string& expression) {
  NameFilter filter;
  if (expression.empty()) return filter;
  auto regex = std::make_unique<regex_t>();
  const int error =
      ::regcomp(regex.get(), expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 256> why;
    ::regerror(error, regex.get(), why.data(), why.size());
    return Err(DiagCode::kUsage,
               fmt::format("'{}' is no regular expression: {}", expression,
                           why.data()));
  }
  filter.regex_.reset(regex.release());
  return filter;
}

bool NameFilter::Matches(const std::string& name) const {
  const auto found = [&](const std::string& text) {
    return ::regexec(regex_.get(), text.c_str(), 0, nullptr, 0) == 0;
  };
  return regex_ == nullptr || found(name) || found(Demangle(name));
}

std::vector<std::string> NameFilter::Of(std::vector<std::string> names) const {
  std::erase_if(names, [&](const std::string& n) { return !Matches(n); });
  return names;
}

}  // namespace cerberus::cli
