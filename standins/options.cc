#include "standins/options.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace cerberus::standins {
namespace {

// Words of an options file; quotes keep blanks together.
std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == '\0' && blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

const OptionRow* FindRow(std::span<const OptionRow> rows,
                         std::string_view name) {
  for (const OptionRow& row : rows) {
    if (row.name == name || row.short_name == name) return &row;
  }
  return nullptr;
}

// "-O3", "-m64", "-lcudadevrt": a short name of one letter with its value.
const OptionRow* FindJoined(std::span<const OptionRow> rows,
                            std::string_view word) {
  if (word.size() < 2) return nullptr;
  const OptionRow* row = FindRow(rows, word.substr(0, 1));
  return row != nullptr && row->has_value ? row : nullptr;
}

}  // namespace

std::string CommandLine::Value(std::string_view name,
                               std::string otherwise) const {
  const auto found = options.find(name);
  return found != options.end() ? found->second.back() : otherwise;
}

std::string ParseCommandLine(std::vector<std::string> arguments,
                             std::span<const OptionRow> rows, CommandLine* out,
                             std::vector<std::string>* unknown) {
  constexpr int kMostFiles = 64;  // a file may name itself
  int files = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-') {
      out->inputs.push_back(argument);
      continue;
    }
    const bool two_dashes = argument[1] == '-';
    std::string word = argument.substr(two_dashes ? 2 : 1);
    std::string value;
    bool has_value = false;
    const OptionRow* row = FindRow(rows, word);
    if (row == nullptr) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        has_value = true;
        value = word.substr(equals + 1);
        word.resize(equals);
        row = FindRow(rows, word);
      }
    }
    if (row == nullptr && !two_dashes) {
      if (const OptionRow* joined = FindJoined(rows, argument.substr(1))) {
        row = joined;
        has_value = true;
        value = argument.substr(2);
      }
    }
    if (row == nullptr) {
      unknown->push_back(word);
      // What follows is its value if it can be nothing else.
      if (!has_value && i + 1 < arguments.size() &&
          arguments[i + 1][0] != '-' &&
          ::access(arguments[i + 1].c_str(), F_OK) != 0) {
        ++i;
      }
      continue;
    }
    if (row->has_value && !has_value) {
      if (i + 1 == arguments.size()) {
        return "Missing value for option '" + std::string(row->name) + "'";
      }
      value = arguments[++i];
    }
    if (row->name == "options-file") {
      std::ifstream file(value, std::ios::binary);
      if (!file || ++files > kMostFiles) {
        return "Options file '" + value + "' could not be opened";
      }
      const std::vector<std::string> words =
          SplitWords(std::string(std::istreambuf_iterator<char>(file), {}));
      arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       words.begin(), words.end());
      continue;
    }
    out->options[row->name].push_back(value);
  }
  return "";
}

}  // namespace cerberus::standins
