#include "packager/tree/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "packager/parallel.h"
#include "packager/wheel/record.h"
#include "support/bytes.h"

namespace cerberus::packager {
namespace {

constexpr std::string_view kFirstLine = "#mtree";
constexpr std::string_view kOurs = "# cerberus tree 1 ";
constexpr std::string_view kOursAnyVersion = "# cerberus tree ";
constexpr std::string_view kLastLine = "# end ";

// As vis(3) with VIS_OCTAL: what is no plain character becomes \ooo.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || std::strchr("\\#=*?[", c) != nullptr) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 4) return std::nullopt;
    unsigned byte = 0;
    for (std::size_t digit = 1; digit <= 3; ++digit) {
      const char c = text[i + digit];
      if (c < '0' || c > '7') return std::nullopt;
      byte = byte * 8 + static_cast<unsigned>(c - '0');
    }
    if (byte == 0 || byte > 0xff) return std::nullopt;
    out += static_cast<char>(byte);
    i += 3;
  }
  return out;
}

const char* TypeOf(TreeEntry::Kind kind) {
  switch (kind) {
    case TreeEntry::Kind::kFolder: return "dir";
    case TreeEntry::Kind::kLink: return "link";
    default: return "file";
  }
}

std::string LineOf(const ManifestEntry& entry) {
  std::string line = ".";
  if (!entry.path.empty()) line += "/" + Escaped(entry.path);
  line += fmt::format(" type={}", TypeOf(entry.kind));
  if (entry.kind == TreeEntry::Kind::kLink) {
    line += " link=" + Escaped(entry.target);
  } else {
    line += fmt::format(" mode={:04o}", entry.mode);
  }
  if (entry.kind == TreeEntry::Kind::kFile) {
    line += fmt::format(" size={} sha256={}", entry.size, entry.sha256);
  }
  if (!entry.how.empty()) line += " tags=" + Escaped(entry.how);
  return line + "\n";
}

std::optional<std::uint64_t> Number(std::string_view text, unsigned base) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || static_cast<unsigned>(c - '0') >= base) return std::nullopt;
    std::uint64_t more = 0;
    if (__builtin_mul_overflow(value, std::uint64_t{base}, &more) ||
        __builtin_add_overflow(more, static_cast<std::uint64_t>(c - '0'),
                               &value)) {
      return std::nullopt;
    }
  }
  return value;
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

// A path as a manifest may have it: below the tree, each part a name.
bool IsPathInTree(std::string_view path) {
  while (true) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == path.size()) return true;
    path.remove_prefix(part.size() + 1);
  }
}

// The words of a line; lists nothing of what is between them.
std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end != 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

// "group=app" → "app".
std::optional<std::string> Value(std::string_view word, std::string_view key) {
  if (word.size() <= key.size() || word.substr(0, key.size()) != key ||
      word[key.size()] != '=') {
    return std::nullopt;
  }
  return Unescaped(word.substr(key.size() + 1));
}

// What is wrong with the line, or "".
std::string ReadKeyword(std::string_view word, ManifestEntry& entry,
                        std::string& type) {
  const auto bad = [&] { return fmt::format("'{}' cannot be read", word); };
  if (const auto value = Value(word, "type")) {
    type = *value;
  } else if (const auto link = Value(word, "link")) {
    entry.target = *link;
  } else if (const auto tags = Value(word, "tags")) {
    entry.how = *tags;
  } else if (const auto hash = Value(word, "sha256")) {
    if (!IsSha256(*hash)) return bad();
    entry.sha256 = *hash;
  } else if (const auto size = Value(word, "size")) {
    const auto number = Number(*size, 10);
    if (!number) return bad();
    entry.size = *number;
  } else if (const auto mode = Value(word, "mode")) {
    const auto number = Number(*mode, 8);
    if (!number || *number > 07777) return bad();
    entry.mode = static_cast<unsigned>(*number);
  }
  return "";  // keywords of mtree(5) that we do not write say nothing to us
}

std::string ReadLine(std::string_view line, ManifestEntry& entry) {
  const std::vector<std::string_view> words = WordsOf(line);
  const std::optional<std::string> path = Unescaped(words[0]);
  const bool is_root = path && *path == ".";
  if (!path || (!is_root && (path->substr(0, 2) != "./" ||
                             !IsPathInTree(path->substr(2))))) {
    return fmt::format("'{}' is not a path below '.'", words[0]);
  }
  if (!is_root) entry.path = path->substr(2);
  std::string type;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (std::string why = ReadKeyword(words[i], entry, type); !why.empty()) {
      return why;
    }
  }
  for (const auto kind : {TreeEntry::Kind::kFolder, TreeEntry::Kind::kFile,
                          TreeEntry::Kind::kLink}) {
    if (type != TypeOf(kind)) continue;
    entry.kind = kind;
    if (kind == TreeEntry::Kind::kFile && entry.sha256.empty()) {
      return "a file has no sha256";
    }
    if (kind == TreeEntry::Kind::kLink && entry.target.empty()) {
      return "a link has no target";
    }
    return "";
  }
  return fmt::format("its type is '{}', expected dir, file or link", type);
}

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Update(AsBytes(text));
  return hash.Hex();
}

// The last line, of all lines above it.
std::string EndLine(std::size_t entries, std::string_view above) {
  return fmt::format("{}entries={} sha256={}\n", kLastLine, entries,
                     HashOf(above));
}

// What is wrong with a file that the manifest lists, or "".
std::string CheckContents(const std::string& path, const ManifestEntry& entry) {
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    return std::string("cannot open: ") + std::strerror(errno);
  }
  Sha256 hash;
  Bytes piece(std::size_t{1} << 20);
  while (true) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::string("cannot read: ") + std::strerror(errno);
    if (n == 0) break;
    hash.Update(ByteSpan(piece).first(static_cast<std::size_t>(n)));
  }
  if (hash.Hex() != entry.sha256) {
    return "has other bytes than the manifest's";
  }
  return "";
}

std::string CheckEntry(const std::string& root, const ManifestEntry& entry) {
  const std::string path = entry.path.empty() ? root : root + "/" + entry.path;
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) {
    return errno == ENOENT
               ? "is missing"
               : std::string("cannot stat: ") + std::strerror(errno);
  }
  const mode_t type = entry.kind == TreeEntry::Kind::kFolder ? S_IFDIR
                      : entry.kind == TreeEntry::Kind::kLink ? S_IFLNK
                                                             : S_IFREG;
  if ((st.st_mode & S_IFMT) != type) {
    return fmt::format("is no {}, as the manifest says", TypeOf(entry.kind));
  }
  if (entry.kind == TreeEntry::Kind::kLink) {
    std::string target(entry.target.size() + 1, '\0');
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return target == entry.target
               ? ""
               : fmt::format("leads elsewhere, expected '{}'", entry.target);
  }
  if ((st.st_mode & 07777) != entry.mode) {
    return fmt::format("has the mode {:04o}, expected {:04o}",
                       st.st_mode & 07777, entry.mode);
  }
  if (entry.kind == TreeEntry::Kind::kFolder) return "";
  if (static_cast<std::uint64_t>(st.st_size) != entry.size) {
    return fmt::format("has {} bytes, expected {}", st.st_size, entry.size);
  }
  return CheckContents(path, entry);
}

}  // namespace

std::string FormatManifest(Manifest manifest) {
  std::sort(manifest.entries.begin(), manifest.entries.end(),
            [](const ManifestEntry& a, const ManifestEntry& b) {
              return a.path < b.path;
            });
  std::string text =
      fmt::format("{}\n{}group={} part={}\n", kFirstLine, kOurs,
                  Escaped(manifest.group), Escaped(manifest.part));
  for (const ManifestEntry& entry : manifest.entries) text += LineOf(entry);
  return text + EndLine(manifest.entries.size(), text);
}

bool IsManifest(std::string_view text) {
  const std::size_t line = kFirstLine.size() + 1;
  return text.substr(0, kFirstLine.size()) == kFirstLine &&
         text.size() > line &&
         text.substr(line, kOursAnyVersion.size()) == kOursAnyVersion;
}

Result<Manifest> ParseManifest(std::string_view text, const std::string& name) {
  std::size_t number = 0;
  const auto fail = [&](const std::string& why) {
    Where where;
    where.file = name;
    return Err(DiagCode::kBadFormat, std::move(where),
               number == 0 ? why : fmt::format("line {}: {}", number, why));
  };
  if (!IsManifest(text)) {
    return fail("is not the manifest of a packed tree");
  }
  Manifest manifest;
  std::set<std::string> paths;
  for (std::size_t at = 0; at < text.size();) {
    ++number;
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) return fail("does not end");
    const std::string_view line = text.substr(at, end - at);
    if (number == 2) {
      if (line.substr(0, kOurs.size()) != kOurs) {
        return fail("a version that is not known here, expected 1");
      }
      for (const std::string_view word : WordsOf(line)) {
        if (const auto group = Value(word, "group")) manifest.group = *group;
        if (const auto part = Value(word, "part")) manifest.part = *part;
      }
    } else if (line.substr(0, kLastLine.size()) == kLastLine) {
      if (text.substr(at) !=
          EndLine(manifest.entries.size(), text.substr(0, at))) {
        return fail("the lines above are not those that were written");
      }
      return manifest;
    } else if (!WordsOf(line).empty() && line[0] != '#') {
      ManifestEntry entry;
      if (std::string why = ReadLine(line, entry); !why.empty()) {
        return fail(why);
      }
      if (!paths.insert(entry.path).second) {
        return fail(fmt::format("'{}' stands there twice", entry.path));
      }
      manifest.entries.push_back(std::move(entry));
    }
    at = end + 1;
  }
  return fail("the last line is missing");
}

bool VerifyManifest(const Manifest& manifest, const std::string& root,
                    unsigned threads, const DiagSink& report) {
  std::vector<std::string> problems(manifest.entries.size());
  ParallelFor(problems.size(), threads, [&](std::size_t i) {
    problems[i] = CheckEntry(root, manifest.entries[i]);
    return true;
  });
  bool good = true;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].empty()) continue;
    good = false;
    Where where;
    where.file = root + "/" + manifest.entries[i].path;
    report(MakeDiag(DiagCode::kBadFormat, std::move(where), problems[i]));
  }
  return good;
}

}  // namespace cerberus::packager
