#include "cli/option_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

namespace cerberus::cli {
namespace {

// How the check of an option is named that takes one of some words.
constexpr std::string_view kOneOf = "one of ";

}  // namespace

Option Option::Required() {
  option_->required();
  return *this;
}

Option Option::Group(const char* group) {
  option_->group(group);
  return *this;
}

Option Option::ValueName(const char* name) {
  option_->type_name(name);
  return *this;
}

Option Option::Delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option Option::OneOf(const std::vector<std::string>& choices) {
  const auto check = [choices](const std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
      return "";
    }
    return fmt::format("'{}' is not {} or {}", text,
                       fmt::join(choices.begin(), choices.end() - 1, ", "),
                       choices.back());
  };
  option_->check(CLI::Validator(
      check, "", fmt::format("{}{}", kOneOf, fmt::join(choices, " "))));
  return *this;
}

Option Option::Range(int low, int high) {
  option_->check(CLI::Range(low, high).description(""));
  return *this;
}

Option Option::Size() {
  option_->transform(CLI::AsSizeValue(false).description(""));
  return *this;
}

Option Option::Environment(const char* variable) {
  option_->envname(variable);
  return *this;
}

Option Option::Excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::Excludes(const char* name) {
  option_->excludes(name);
  return *this;
}

bool Option::positional() const { return option_->get_positional(); }

bool Option::required() const { return option_->get_required(); }

const std::string& Option::group() const { return option_->get_group(); }

const std::string& Option::description() const {
  return option_->get_description();
}

std::vector<std::string> Option::short_names() const {
  return option_->get_snames();
}

std::vector<std::string> Option::long_names() const {
  return option_->get_lnames();
}

std::string Option::value_name() const {
  return option_->get_type_size() != 0 ? option_->get_type_name() : "";
}

std::vector<std::string> Option::choices() const {
  std::string name;
  try {
    name = option_->get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return {};  // it has no check at all
  }
  if (name.rfind(kOneOf, 0) != 0) return {};
  std::istringstream words(name.substr(kOneOf.size()));
  return {std::istream_iterator<std::string>(words), {}};
}

std::string Option::Names() const {
  if (positional()) return option_->get_name(true, false);
  std::string names;
  for (const std::string& name : short_names()) {
    names += (names.empty() ? "-" : ", -") + name;
  }
  for (const std::string& name : long_names()) {
    names += (names.empty() ? "    --" : ", --") + name;
  }
  const std::string value = value_name();
  if (!value.empty()) names += " " + value;
  return names;
}

OptionList::OptionList() : app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();  // a verb's help is not CLI11's
}

OptionList::~OptionList() = default;

Option OptionList::Add(const std::string& names, std::string& value,
                       const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option OptionList::Add(const std::string& names,
                       std::vector<std::string>& value,
                       const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option OptionList::Add(const std::string& names, int& value,
                       const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option OptionList::Add(const std::string& names, unsigned& value,
                       const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option OptionList::Add(const std::string& names, std::uint64_t& value,
                       const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option OptionList::Add(const std::string& names,
                       std::optional<std::uint64_t>& value,
                       const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option OptionList::AddFlag(const std::string& names, bool& value,
                           const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}

std::vector<Option> OptionList::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) options.emplace_back(option);
  return options;
}

Status OptionList::Parse(const std::vector<std::string>& args,
                         bool has_command) {
  app_->prefix_command(has_command);
  try {
    // CLI11 takes the arguments last first.
    app_->parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return Err(DiagCode::kUsage, error.what());
  }
  return {};
}

std::vector<std::string> OptionList::remaining() const {
  return app_->remaining();
}

}  // namespace cerberus::cli
