// Completions for three shells. Each lists verbs, options and the words that
// an option takes; files where a file is expected.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "cli/texts/describe.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

constexpr std::string_view kDevices[] = {"auto", "hip", "nvidia", "emulator"};

// The words to offer for a value; empty if any text will do.
std::vector<std::string> Words(const OptionText& option) {
  switch (option.kind) {
    case ValueKind::kChoice: return option.choices;
    case ValueKind::kTargets:
    case ValueKind::kTarget: return TargetNames();
    case ValueKind::kDevice: {
      std::vector<std::string> words(std::begin(kDevices), std::end(kDevices));
      for (std::string& target : TargetNames()) {
        words.push_back(std::move(target));
      }
      return words;
    }
    default: return {};
  }
}

std::vector<std::string> Spellings(const OptionText& option) {
  std::vector<std::string> names;
  names.reserve(option.short_names.size() + option.long_names.size());
  for (const std::string& name : option.short_names)
    names.push_back("-" + name);
  for (const std::string& name : option.long_names)
    names.push_back("--" + name);
  return names;
}

// What a shell keeps as it is between single quotes.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A word that may follow `cerberus`, or the name of a group.
struct Name {
  std::string word;
  std::string summary;
};

// The verbs of a group, or, of none, what may stand behind `cerberus`: verbs
// by themselves and groups.
std::vector<Name> NamesIn(const VerbGroup* group,
                          const std::vector<VerbText>& verbs) {
  std::vector<Name> names;
  const VerbGroup* last = nullptr;
  for (const VerbText& verb : verbs) {
    const VerbGroup* own = GroupOf(verb.name);
    if (own == group) {
      names.push_back({NameInGroup(verb.name), verb.summary});
    } else if (group == nullptr && own != last) {
      names.push_back({own->name, own->summary});
    }
    last = own;
  }
  return names;
}

std::vector<const VerbGroup*> Groups(const std::vector<VerbText>& verbs) {
  std::vector<const VerbGroup*> groups;
  for (const VerbText& verb : verbs) {
    const VerbGroup* group = GroupOf(verb.name);
    if (group == nullptr) continue;
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  return groups;
}

std::string NamesOf(const VerbGroup* group,
                    const std::vector<VerbText>& verbs) {
  std::string words;
  for (const Name& name : NamesIn(group, verbs)) {
    words += (words.empty() ? "" : " ") + name.word;
  }
  return words;
}

}  // namespace

std::string BashCompletion(const std::vector<VerbText>& verbs) {
  std::string out = fmt::format(R"(# bash completion of cerberus.
_cerberus() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
  local name=${{COMP_WORDS[0]##*/}} verb=${{COMP_WORDS[1]}} before='' words=''
  if [[ $name == cerberus-* ]]; then
    verb=${{name#cerberus-}}
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$cur"))
    return
  fi
)",
                                NamesOf(nullptr, verbs));
  for (const VerbGroup* group : Groups(verbs)) {
    out += fmt::format(R"(  if [[ $verb == {0} ]]; then
    verb={0}-${{COMP_WORDS[2]}}
    if ((COMP_CWORD == 2)); then
      COMPREPLY=($(compgen -W '{1} --help' -- "$cur"))
      return
    fi
  fi
)",
                       group->name, NamesOf(group, verbs));
  }
  out += R"(  # --option=value comes as three words, a,b as one.
  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
  [[ $cur == '=' ]] && cur=''
  case $verb:$prev in
)";
  for (const VerbText& verb : verbs) {
    for (const OptionText& option : verb.options) {
      if (option.kind == ValueKind::kNone) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : Spellings(option)) {
        patterns.push_back(HyphenedName(verb.name) + ":" + name);
      }
      std::string action;
      const std::vector<std::string> words = Words(option);
      if (option.kind == ValueKind::kFolder) {
        action = R"(COMPREPLY=($(compgen -d -- "$cur")); return)";
      } else if (option.kind == ValueKind::kFile) {
        action = R"(COMPREPLY=($(compgen -f -- "$cur")); return)";
      } else if (words.empty()) {
        action = "return";
      } else {
        if (option.kind == ValueKind::kTargets) {
          action = R"([[ $cur == *,* ]] && before=${cur%,*},
      )";
        }
        action += fmt::format("words='{}'", fmt::join(words, " "));
      }
      out += fmt::format("    {})\n      {} ;;\n", fmt::join(patterns, " | "),
                         action);
    }
  }
  out += R"(  esac
  if [[ $words ]]; then
    COMPREPLY=($(compgen -P "$before" -W "$words" -- "${cur##*,}"))
    return
  fi
  case $verb in
)";
  for (const VerbText& verb : verbs) {
    std::vector<std::string> names;
    for (const OptionText& option : verb.options) {
      for (std::string& name : Spellings(option)) {
        names.push_back(std::move(name));
      }
    }
    out += fmt::format("    {}) words='{}' ;;\n", HyphenedName(verb.name),
                       fmt::join(names, " "));
  }
  return out + R"(  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _cerberus cerberus cerberus-convert
)";
}

std::string ZshCompletion(const std::vector<VerbText>& verbs) {
  std::string out = R"(#compdef cerberus cerberus-convert
# zsh completion of cerberus.
_cerberus_verb() {
  case $1 in
)";
  const auto escaped = [](const std::string& text) {
    std::string safe;
    for (const char c : text) {
      if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
      safe += c;
    }
    return safe;
  };
  for (const VerbText& verb : verbs) {
    out += fmt::format("    {})\n      _arguments", HyphenedName(verb.name));
    for (const OptionText& option : verb.options) {
      std::string value;
      const std::vector<std::string> words = Words(option);
      if (option.kind == ValueKind::kTargets) {
        value = fmt::format(":targets:_values -s , target {}",
                            fmt::join(words, " "));
      } else if (!words.empty()) {
        value = fmt::format(":{}:({})", option.value, fmt::join(words, " "));
      } else if (option.kind == ValueKind::kFolder) {
        value = ":folder:_files -/";
      } else if (option.kind == ValueKind::kFile) {
        value = ":file:_files";
      } else if (option.kind == ValueKind::kOther) {
        value = fmt::format(":{}:", option.value);
      }
      const std::vector<std::string> names = Spellings(option);
      for (const std::string& name : names) {
        out += " \\\n        " +
               Quoted(fmt::format("({}){}[{}]{}", fmt::join(names, " "), name,
                                  escaped(option.description), value));
      }
    }
    out += " \\\n        '*:file:_files' ;;\n";
  }
  const auto described = [](const std::vector<Name>& names,
                            const std::string& indent) {
    std::string lines;
    for (const Name& name : names) {
      lines += indent + Quoted(name.word + ":" + name.summary) + "\n";
    }
    return lines;
  };
  for (const VerbGroup* group : Groups(verbs)) {
    out += fmt::format(R"(    {0})
      if ((CURRENT == 2)); then
        local -a verbs=(
{1}        )
        _describe verb verbs
        return
      fi
      local verb=$words[2]
      shift words
      ((CURRENT--))
      _cerberus_verb {0}-$verb ;;
)",
                       group->name,
                       described(NamesIn(group, verbs), "          "));
  }
  out += R"(  esac
}
if [[ $service == cerberus-* ]]; then
  _cerberus_verb ${service#cerberus-}
  return
fi
if ((CURRENT == 2)); then
  local -a verbs=(
)";
  out += described(NamesIn(nullptr, verbs), "    ");
  return out + R"(  )
  _describe verb verbs
  return
fi
local verb=$words[2]
shift words
((CURRENT--))
_cerberus_verb $verb
)";
}

std::string FishCompletion(const std::vector<VerbText>& verbs) {
  const auto fish_quoted = [](const std::string& text) {
    std::string safe = "'";
    for (const char c : text) {
      if (c == '\'' || c == '\\') safe += '\\';
      safe += c;
    }
    return safe + "'";
  };
  // Words are offered where none of them stands yet.
  const auto offer = [&](const std::string& before, const VerbGroup* group,
                         const std::string& variable) {
    std::string lines = fmt::format(
        "set -l {} {}\ncomplete -c cerberus -n \"{}not "
        "__fish_seen_subcommand_from ${}\" -f\n",
        variable, NamesOf(group, verbs), before, variable);
    for (const Name& name : NamesIn(group, verbs)) {
      lines += fmt::format(
          "complete -c cerberus -n \"{}not __fish_seen_subcommand_from ${}\" "
          "-a {} -d {}\n",
          before, variable, name.word, fish_quoted(name.summary));
    }
    return lines;
  };
  std::string out = "# fish completion of cerberus.\n";
  out += offer("", nullptr, "verbs");
  std::string no_group;
  for (const VerbGroup* group : Groups(verbs)) {
    const std::string in_group =
        fmt::format("__fish_seen_subcommand_from {}; and ", group->name);
    out += offer(in_group, group, fmt::format("{}_verbs", group->name));
    no_group += "not " + in_group;
  }
  for (const VerbText& verb : verbs) {
    // `cerberus kpack list` has another verb's name behind its group's.
    const VerbGroup* group = GroupOf(verb.name);
    const std::string where =
        group == nullptr
            ? no_group
            : fmt::format("__fish_seen_subcommand_from {}; and ", group->name);
    for (const OptionText& option : verb.options) {
      out += fmt::format(
          "complete -c cerberus -n '{}__fish_seen_subcommand_from {}'", where,
          NameInGroup(verb.name));
      for (const std::string& name : option.short_names) out += " -s " + name;
      for (const std::string& name : option.long_names) out += " -l " + name;
      const std::vector<std::string> words = Words(option);
      if (option.kind == ValueKind::kTargets) {
        out +=
            fmt::format(" -x -a '(__fish_append , {})'", fmt::join(words, " "));
      } else if (!words.empty()) {
        out += fmt::format(" -x -a '{}'", fmt::join(words, " "));
      } else if (option.kind == ValueKind::kFolder) {
        out += " -x -a '(__fish_complete_directories)'";
      } else if (option.kind == ValueKind::kFile) {
        out += " -r";
      } else if (option.kind == ValueKind::kOther) {
        out += " -x";
      }
      out += " -d " + fish_quoted(option.description) + "\n";
    }
  }
  return out;
}

}  // namespace cerberus::cli
