#include "packager/databases/databases.h"

#include <cctype>
#include <utility>

#include "support/targets/target_id.h"

namespace cerberus::packager {
namespace {

struct Row {
  std::string_view name;
  std::string (*target)(std::string_view path);
};
constexpr Row kRows[] = {
#define CERBERUS_DATABASE(name, Function) {name, Function},
#include "packager/databases/databases.def"
#undef CERBERUS_DATABASE
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// "gfx90a", "gfx11-generic", "gfx9-4-generic", "gfx1250-strict": how many
// characters; 0 if it is no processor.
std::size_t ProcessorLength(std::string_view text) {
  if (text.substr(0, 3) != "gfx" || text.size() < 4 || !IsDigit(text[3])) {
    return 0;
  }
  std::size_t end = 3;
  while (end < text.size() && IsDigit(text[end])) ++end;
  const std::size_t digits = end;
  // The name's last characters may be hexadecimal: gfx90a, gfx90c.
  while (end < text.size() && text[end] >= 'a' && text[end] <= 'f') ++end;
  if (end < text.size() && IsWord(text[end])) return 0;
  for (const std::string_view suffix : {"-generic", "-strict"}) {
    if (text.substr(end, suffix.size()) == suffix) return end + suffix.size();
  }
  // "-4-generic"
  if (end == digits && end + 2 < text.size() && text[end] == '-' &&
      IsDigit(text[end + 1]) && text.substr(end + 2, 8) == "-generic") {
    return end + 2 + 8;
  }
  constexpr std::size_t kShortest = 6;  // gfx900; "gfx11" is none
  return end < kShortest ? 0 : end;
}

}  // namespace

DatabaseFile RecogniseDatabase(std::string_view path) {
  for (const Row& row : kRows) {
    std::string target = row.target(path);
    if (!target.empty()) return {row.name, std::move(target)};
  }
  return {};
}

std::string TargetAt(std::string_view text) {
  const std::size_t length = ProcessorLength(text);
  if (length == 0) return "";
  std::string target(text.substr(0, length));
  text.remove_prefix(length);
  // Features: file names have '-' where target ids have ':'.
  for (const std::string_view feature : {"sramecc", "xnack"}) {
    if (text.empty() || (text[0] != '-' && text[0] != ':') ||
        text.substr(1, feature.size()) != feature) {
      continue;
    }
    const std::size_t sign = 1 + feature.size();
    if (sign >= text.size() || (text[sign] != '+' && text[sign] != '-')) {
      continue;
    }
    target += ":" + std::string(text.substr(1, feature.size() + 1));
    text.remove_prefix(sign + 1);
  }
  const Result<TargetId> id = TargetId::Parse(target);
  return id ? id->ToString() : "";
}

std::string TargetIn(std::string_view text) {
  for (std::size_t at = text.find("gfx"); at != text.npos;
       at = text.find("gfx", at + 1)) {
    if (at != 0 && IsWord(text[at - 1])) continue;
    if (std::string target = TargetAt(text.substr(at)); !target.empty()) {
      return target;
    }
  }
  return "";
}

std::string_view Below(std::string_view path, std::string_view folders) {
  for (std::size_t at = path.find(folders); at != path.npos;
       at = path.find(folders, at + 1)) {
    const std::size_t end = at + folders.size();
    if ((at == 0 || path[at - 1] == '/') && end < path.size() &&
        path[end] == '/') {
      return path.substr(end + 1);
    }
  }
  return {};
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

std::string TensileTarget(std::string_view path, std::string_view folders) {
  const std::string_view below = Below(path, folders);
  if (below.empty()) return "";
  if (const std::size_t slash = below.find('/'); slash != below.npos) {
    const std::string_view folder = below.substr(0, slash);
    const std::string target = TargetAt(folder);
    // Nothing but the target: not "gfx942_old".
    if (!target.empty() && target.size() == folder.size()) return target;
  }
  const std::string_view name = FileName(below);
  for (const std::string_view end : {".co", ".hsaco", ".dat", ".dat.gz"}) {
    if (EndsWith(name, end)) return TargetIn(name);
  }
  return "";
}

}  // namespace cerberus::packager
