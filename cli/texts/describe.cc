#include "cli/texts/describe.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "cli/option_list.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "support/targets/nearest_targets.h"

namespace cerberus::cli {
namespace {

ValueKind KindOf(const std::string& value) {
  if (value == "A[,B...]") return ValueKind::kTargets;
  if (value == "A") return ValueKind::kTarget;
  if (value == "DEVICE") return ValueKind::kDevice;
  if (value == "DIR" || value == "FOLDER") return ValueKind::kFolder;
  if (value == "OUT" || value == "FILE") return ValueKind::kFile;
  return ValueKind::kOther;
}

OptionText Describe(const Option& option) {
  OptionText text;
  text.short_names = option.short_names();
  text.long_names = option.long_names();
  text.choices = option.choices();
  text.description = option.description();
  std::replace(text.description.begin(), text.description.end(), '\n', ' ');
  text.value = option.value_name();
  if (text.value.empty()) return text;
  text.kind = text.choices.empty() ? KindOf(text.value) : ValueKind::kChoice;
  return text;
}

}  // namespace

std::vector<VerbText> DescribeVerbs() {
  std::vector<VerbText> texts;
  for (const std::unique_ptr<Verb>& verb : MakeVerbs()) {
    OptionList list;
    CommonOptions common;
    AddAllOptions(list, *verb, common);
    VerbText text;
    text.name = verb->name();
    text.summary = verb->summary();
    text.usage = UsageLine(list, *verb);
    for (const Option& option : list.options()) {
      if (option.positional()) continue;
      text.options.push_back(Describe(option));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> CommonOptionNames() {
  return {"quiet", "verbose", "json", "color", "help", "help-all"};
}

std::vector<std::string> TargetNames() {
  std::string all = NearestTargets("gfx");
  all.erase(std::remove(all.begin(), all.end(), ','), all.end());
  std::istringstream words(all);
  std::vector<std::string> names(std::istream_iterator<std::string>(words), {});
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cerberus::cli
