#include "packager/wheel/wheel_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace cerberus::packager {
namespace {

std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// The glibc that a platform tag promises, 2.N; none if it is not manylinux.
std::optional<unsigned> GlibcOf(std::string_view platform) {
  if (StartsWith(platform, "manylinux1_")) return 5;
  if (StartsWith(platform, "manylinux2010_")) return 12;
  if (StartsWith(platform, "manylinux2014_")) return 17;
  constexpr std::string_view kPrefix = "manylinux_2_";
  if (!StartsWith(platform, kPrefix)) return std::nullopt;
  platform.remove_prefix(kPrefix.size());
  unsigned minor = 0;
  const auto end = std::from_chars(platform.data(),
                                   platform.data() + platform.size(), minor);
  if (end.ec != std::errc()) return std::nullopt;
  return minor;
}

}  // namespace

Result<WheelName> WheelName::Parse(std::string_view file_name) {
  const auto fail = [&](const std::string& why) {
    return Err(
        DiagCode::kBadFormat,
        fmt::format("'{}' is not the name of a wheel: {}", file_name, why));
  };
  constexpr std::string_view kSuffix = ".whl";
  if (file_name.size() <= kSuffix.size() ||
      file_name.substr(file_name.size() - kSuffix.size()) != kSuffix) {
    return fail("it does not end in .whl");
  }
  const std::vector<std::string> parts =
      Split(file_name.substr(0, file_name.size() - kSuffix.size()), '-');
  if (parts.size() != 5 && parts.size() != 6) {
    return fail(
        fmt::format("it has {} parts with '-' between, expected name, "
                    "version, perhaps a build, Python, ABI and "
                    "platform",
                    parts.size()));
  }
  for (const std::string& part : parts) {
    const bool odd = std::any_of(part.begin(), part.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' &&
             c != '.' && c != '+' && c != '!';
    });
    if (part.empty() || odd) return fail(fmt::format("the part '{}'", part));
  }
  const std::size_t build = parts.size() - 5;
  return WheelName{
      parts[0],         parts[1],         build != 0 ? parts[2] : "",
      parts[2 + build], parts[3 + build], parts[4 + build]};
}

std::string WheelName::ToString() const {
  return fmt::format("{}{}{}-{}-{}-{}.whl", Stem(), build.empty() ? "" : "-",
                     build, python, abi, platform);
}

std::vector<std::string> WheelName::Tags() const {
  std::vector<std::string> tags;
  for (const std::string& p : Split(python, '.')) {
    for (const std::string& a : Split(abi, '.')) {
      for (const std::string& s : Split(platform, '.')) {
        tags.push_back(fmt::format("{}-{}-{}", p, a, s));
      }
    }
  }
  return tags;
}

std::string NormalizeName(std::string_view name) {
  std::string normal;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (normal.empty() || normal.back() != '-') normal += '-';
    } else {
      normal += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return normal;
}

std::string EscapeName(std::string_view name) {
  std::string escaped = NormalizeName(name);
  std::replace(escaped.begin(), escaped.end(), '-', '_');
  return escaped;
}

bool IsProjectName(std::string_view name) {
  const auto is_alnum = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 &&
           static_cast<unsigned char>(c) < 0x80;
  };
  return !name.empty() && is_alnum(name.front()) && is_alnum(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alnum(c) || c == '-' || c == '_' || c == '.';
         });
}

std::string AddLocalVersion(const std::string& version,
                            std::string_view label) {
  const bool has_local = version.find('+') != std::string::npos;
  return fmt::format("{}{}{}", version, has_local ? "." : "+", label);
}

Result<std::string> RaisePlatform(const std::string& platform, unsigned minor) {
  std::string kept;
  bool runs = false;  // as it is given, somewhere that we know of
  for (const std::string& one : Split(platform, '.')) {
    constexpr std::string_view kMachine = "_x86_64";
    const bool machine =
        one.size() > kMachine.size() &&
        std::string_view(one).substr(one.size() - kMachine.size()) == kMachine;
    const std::optional<unsigned> glibc = GlibcOf(one);
    const bool linux = machine && (glibc || StartsWith(one, "linux_"));
    if (!linux && one != "any") continue;
    runs = true;
    if (linux ? glibc && *glibc < minor : minor != 0) continue;
    kept += (kept.empty() ? "" : ".") + one;
  }
  if (!runs) {
    return Err(DiagCode::kUnsupported,
               fmt::format("a wheel for '{}', expected one for Linux with "
                           "glibc on x86-64",
                           platform));
  }
  return kept.empty() ? fmt::format("manylinux_2_{}_x86_64", minor) : kept;
}

}  // namespace cerberus::packager
