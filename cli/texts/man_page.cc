// The man page, in mdoc(7): prose from docs/man, options from the parser.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "cli/texts/describe.h"
#include "cli/verb.h"
#include "support/input_file.h"

namespace cerberus::cli {
namespace {

constexpr std::string_view kListEnd = ".El\n";

// Text that mdoc is not to read as a request or an escape.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-' && !out.empty() && out.back() == ' ') out += "\\-";
    else out += c;
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string Wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t column = 0;
  while (words >> word) {
    if (column != 0 && column + 1 + word.size() > 80) {
      out += '\n';
      column = 0;
    }
    if (column != 0) out += ' ';
    out += word;
    column += word.size() + 1;
  }
  return out + '\n';
}

// ".Cm list Ar FILE Op Ar options": words in capitals are the user's.
std::string UsageInMdoc(const VerbText& verb) {
  std::string out = ".Nm cerberus\n.Bk -words\n";
  out += ".Cm " + verb.name + "\n";
  std::istringstream words(verb.usage.substr(verb.name.size()));
  std::string word;
  while (words >> word) {
    if (word[0] == '-') {
      out += ".Fl " + word.substr(1) + "\n";
    } else if (word == "[options]") {
      out += ".Op Ar options\n";
    } else {
      out += ".Ar " + word + "\n";
    }
  }
  return out + ".Ek\n";
}

std::string Item(const OptionText& option) {
  std::string out = ".It";
  for (const std::string& name : option.short_names) {
    out += out == ".It" ? " Fl " + name : " , Fl " + name;
  }
  for (const std::string& name : option.long_names) {
    out += out == ".It" ? " Fl -" + name : " , Fl -" + name;
  }
  if (!option.value.empty()) out += " Ar " + option.value;
  std::string text = option.description;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(text[0]));
  return out + "\n" + Wrapped(Escaped(text) + ".");
}

// Options that prose has an item for: ".It Fl o , Fl -output Ar out".
std::set<std::string> Explained(const std::string& prose) {
  static const std::regex kItem(R"(^\.It (.*)$)", std::regex::multiline);
  static const std::regex kFlag(R"(Fl -?([A-Za-z0-9-]+))");
  std::set<std::string> names;
  for (std::sregex_iterator item(prose.begin(), prose.end(), kItem), end;
       item != end; ++item) {
    const std::string line = (*item)[1];
    for (std::sregex_iterator flag(line.begin(), line.end(), kFlag);
         flag != std::sregex_iterator(); ++flag) {
      names.insert((*flag)[1]);
    }
  }
  return names;
}

std::vector<std::string> NamesOf(const OptionText& option) {
  std::vector<std::string> names = option.short_names;
  names.insert(names.end(), option.long_names.begin(), option.long_names.end());
  return names;
}

Result<std::string> ReadText(const std::string& path) {
  CERB_TRY(const InputFile file, InputFile::Open(path));
  CERB_TRY(const Bytes bytes, file.Read(0, file.size()));
  return std::string(bytes.begin(), bytes.end());
}

// The section of one verb: its prose, and a line for each option that the
// prose says nothing of.
Result<std::string> Section(const VerbText& verb, const std::string& path) {
  std::string prose = verb.summary + ".\n";
  prose[0] = static_cast<char>(std::toupper(prose[0]));
  if (std::filesystem::exists(path)) {
    CERB_TRY(prose, ReadText(path));
  }
  std::set<std::string> explained = Explained(prose);
  const std::vector<std::string> common = CommonOptionNames();
  std::string items;
  for (const OptionText& option : verb.options) {
    bool said = false;
    for (const std::string& name : NamesOf(option)) {
      said |= explained.erase(name) != 0 ||
              std::find(common.begin(), common.end(), name) != common.end();
    }
    if (!said) items += Item(option);
  }
  if (!explained.empty()) {
    return Err(DiagCode::kBadFormat,
               fmt::format("{}: explains '{}', which `cerberus {}` does not "
                           "take",
                           path, *explained.begin(), verb.name));
  }
  if (const std::size_t end = prose.rfind(kListEnd); end != std::string::npos) {
    prose.insert(end, items);
  } else if (!items.empty()) {
    prose += fmt::format(".Bl -tag -width Ds\n{}{}", items, kListEnd);
  }
  return fmt::format(".Ss cerberus {}\n{}", verb.name, prose);
}

}  // namespace

Result<std::string> ManPage(const std::vector<VerbText>& verbs,
                            const std::string& folder) {
  CERB_TRY(std::string page, ReadText(folder + "/name.mdoc"));
  page += ".Sh SYNOPSIS\n";
  for (const VerbText& verb : verbs) page += UsageInMdoc(verb);
  CERB_TRY(const std::string head, ReadText(folder + "/head.mdoc"));
  page += head;
  std::set<std::string> known = {"name", "head", "tail", "all-verbs"};
  for (const VerbText& verb : verbs) {
    // A group's own prose stands before its first verb.
    const VerbGroup* group = GroupOf(verb.name);
    if (group != nullptr && known.insert(group->name).second) {
      CERB_TRY(const std::string prose,
               ReadText(folder + "/" + group->name + ".mdoc"));
      page += fmt::format(".Ss cerberus {}\n{}", group->name, prose);
    }
    const std::string file = HyphenedName(verb.name);
    known.insert(file);
    CERB_TRY(const std::string section,
             Section(verb, folder + "/" + file + ".mdoc"));
    page += section;
  }
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".mdoc" &&
        known.count(file.path().stem()) == 0) {
      return Err(
          DiagCode::kBadFormat,
          fmt::format("{}: `cerberus` has no such verb", file.path().string()));
    }
  }
  CERB_TRY(const std::string all, ReadText(folder + "/all-verbs.mdoc"));
  page += ".Ss All verbs\n" + all;
  CERB_TRY(const std::string tail, ReadText(folder + "/tail.mdoc"));
  return page + tail;
}

}  // namespace cerberus::cli
