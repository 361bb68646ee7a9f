#include "packager/wheel/zip_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace cerberus::packager {
namespace {

// Deflate makes at most 1,032 bytes of one (zlib's technical details). A
// whole archive that unpacks to this many times its size is a bomb: wheels
// unpack to three to ten times theirs.
constexpr std::uint64_t kMaxMemberRatio = 1032;
constexpr std::uint64_t kMaxRatio = 200;
constexpr std::uint64_t kAllowance = 64 << 20;
constexpr std::uint64_t kMaxMembers = 1 << 20;
constexpr std::uint64_t kMaxLink = 4096;
constexpr std::size_t kPiece = 1 << 18;

// The next character of UTF-8 text, its bytes taken off; -1 if it is none.
std::int32_t TakeCharacter(std::string_view& text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char lead = byte(0);
  std::size_t size = 1;
  std::int32_t value = lead;
  std::int32_t least = 0;
  if (lead >= 0xf0 && lead < 0xf5) {
    size = 4, value = lead & 7, least = 0x10000;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    size = 3, value = lead & 15, least = 0x800;
  } else if (lead >= 0xc2 && lead < 0xe0) {
    size = 2, value = lead & 31, least = 0x80;
  } else if (lead >= 0x80) {
    return -1;
  }
  if (text.size() < size) return -1;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return -1;
    value = value << 6 | (byte(i) & 0x3f);
  }
  text.remove_prefix(size);
  if (value < least || value > 0x10ffff ||
      (value >= 0xd800 && value < 0xe000)) {
    return -1;
  }
  return value;
}

// A name for a message: control characters do not reach the terminal.
std::string Shown(std::string_view name) {
  std::string shown;
  for (const char c : name.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  return shown;
}

// Whether the link `name` leads to a place in the folder that all is unpacked
// to, by whatever other links. What is in the way and no link is a folder.
bool StaysInside(const std::string& name,
                 const std::map<std::string, std::string>& links) {
  constexpr int kMaxLinks = 40;    // as Linux follows
  std::vector<std::string> parts;  // of the place so far
  std::vector<std::string> rest;   // the next part last
  const auto add = [&rest](std::string_view path) {
    const std::size_t at = rest.size();
    while (!path.empty()) {
      const std::size_t slash = std::min(path.find('/'), path.size());
      rest.emplace_back(path.substr(0, slash));
      path.remove_prefix(std::min(slash + 1, path.size()));
    }
    std::reverse(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end());
  };
  int followed = 0;
  add(name);
  while (!rest.empty()) {
    const std::string part = std::move(rest.back());
    rest.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (parts.empty()) return false;
      parts.pop_back();
      continue;
    }
    parts.push_back(part);
    const auto link = links.find(fmt::format("{}", fmt::join(parts, "/")));
    if (link == links.end()) continue;
    if (link->second.empty() || link->second.front() == '/') return false;
    if (++followed > kMaxLinks) return true;  // they lead nowhere
    parts.pop_back();
    add(link->second);
  }
  return true;
}

}  // namespace

std::string WhyUnsafe(const std::string& name) {
  if (name.empty()) return "has no name";
  if (name.size() > 1024) return "has a name of more than 1024 bytes";
  if (name.front() == '/') return "is an absolute path";
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::int32_t c = TakeCharacter(rest);
    if (c < 0) return "has a name that is not UTF-8";
    if (c == '\\') return "has a backslash in its name";
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
      return "has a control character in its name";
    }
  }
  std::size_t start = 0;
  while (start <= name.size()) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    const std::string_view part =
        std::string_view(name).substr(start, end - start);
    if (part.empty()) return "has an empty part in its path";
    if (part == "." || part == "..") {
      return fmt::format("has '{}' in its path", part);
    }
    start = end + 1;
  }
  return "";
}

void ZipReader::Close::operator()(zip* archive) const { zip_discard(archive); }

Diag ZipReader::Error(const std::string& member, std::string message,
                      DiagCode code) const {
  Where where;
  where.file = member.empty() ? path_ : path_ + "/" + Shown(member);
  return MakeDiag(code, std::move(where), std::move(message));
}

// What libzip says of a file that it does not open.
Diag ZipReader::NotOpened(zip_error& error) const {
  // It would take no bytes for an archive of no files.
  const std::string why = size_ == 0 ? "it is empty"
                          : zip_error_code_zip(&error) == ZIP_ER_EXISTS
                              ? "a file is there twice"
                              : zip_error_strerror(&error);
  zip_error_fini(&error);
  return Error("", fmt::format("cannot be read as a zip file: {}", why));
}

Result<ZipReader> ZipReader::Open(const std::string& path) {
  ZipReader reader;
  reader.path_ = path;
  {
    // Says what is no regular file, which libzip does in other words.
    CERB_TRY(const MappedFile file, MappedFile::Open(path));
    reader.size_ = file.size();
  }
  int code = 0;
  reader.zip_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (reader.zip_ == nullptr || reader.size_ == 0) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    return Err(reader.NotOpened(error));
  }
  CERB_TRY_VOID(reader.ReadDirectory());
  return reader;
}

Result<ZipReader> ZipReader::FromBytes(ByteSpan bytes,
                                       const std::string& name) {
  ZipReader reader;
  reader.path_ = name;
  reader.size_ = bytes.size();
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source =
      zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source != nullptr) {
    reader.zip_.reset(
        zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
    if (reader.zip_ == nullptr) zip_source_free(source);
  }
  if (reader.zip_ == nullptr || reader.size_ == 0) {
    return Err(reader.NotOpened(error));
  }
  zip_error_fini(&error);
  CERB_TRY_VOID(reader.ReadDirectory());
  return reader;
}

Status ZipReader::ReadDirectory() {
  const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
  if (count < 0 || static_cast<std::uint64_t>(count) > kMaxMembers) {
    return Err(Error("", fmt::format("holds {} files, expected at most {}",
                                     count, kMaxMembers)));
  }
  for (zip_int64_t i = 0; i < count; ++i) {
    CERB_TRY(ZipMember member, ReadEntry(static_cast<std::uint64_t>(i)));
    if (member.name.back() == '/') continue;  // a folder
    if (!by_name_.emplace(member.name, members_.size()).second) {
      return Err(Error(member.name, "is there twice"));
    }
    members_.push_back(std::move(member));
  }
  CERB_TRY_VOID(CheckTogether());
  return CheckLinks();
}

Result<ZipMember> ZipReader::ReadEntry(std::uint64_t index) const {
  ZipMember member;
  member.index = index;
  const char* name = zip_get_name(zip_.get(), index, ZIP_FL_ENC_RAW);
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (name == nullptr || zip_stat_index(zip_.get(), index, 0, &stat) != 0) {
    return Err(Error("", fmt::format("entry {} cannot be read: {}", index,
                                     zip_strerror(zip_.get()))));
  }
  member.name = name;
  const bool is_folder = !member.name.empty() && member.name.back() == '/';
  const std::string unsafe = WhyUnsafe(
      is_folder ? member.name.substr(0, member.name.size() - 1) : member.name);
  if (!unsafe.empty()) return Err(Error(member.name, unsafe));

  constexpr zip_uint64_t kWanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                   ZIP_STAT_COMP_METHOD |
                                   ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & kWanted) != kWanted) {
    return Err(Error(member.name, "has no size"));
  }
  if (stat.encryption_method != ZIP_EM_NONE) {
    return Err(Error(member.name, "is encrypted", DiagCode::kUnsupported));
  }
  member.size = stat.size;
  member.stored_size = stat.comp_size;
  const bool stored = stat.comp_method == ZIP_CM_STORE;
  if (!stored && stat.comp_method != ZIP_CM_DEFLATE) {
    return Err(Error(member.name,
                     fmt::format("is compressed by method {}, expected 0 "
                                 "(stored) or 8 (deflate)",
                                 stat.comp_method),
                     DiagCode::kUnsupported));
  }
  const bool lies = stored ? member.size != member.stored_size
                           : member.size / kMaxMemberRatio > member.stored_size;
  if (lies) {
    return Err(
        Error(member.name, fmt::format("says that {} bytes unpack to {}",
                                       member.stored_size, member.size)));
  }

  // Modes count whatever system is said to have written them, as for pip.
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  zip_file_get_external_attributes(zip_.get(), index, 0, &system, &attributes);
  const unsigned mode = attributes >> 16;
  if (mode == 0) return member;
  member.mode = mode & 0777;
  switch (mode & S_IFMT) {
    case 0:
    case S_IFREG: break;
    case S_IFLNK: member.is_link = true; break;
    case S_IFDIR:
      if (is_folder) break;
      [[fallthrough]];
    default:
      return Err(Error(member.name,
                       fmt::format("has the mode {:o}, expected a file or a "
                                   "symbolic link",
                                   mode)));
  }
  return member;
}

// What no entry shows alone.
Status ZipReader::CheckTogether() const {
  std::uint64_t unpacked = 0;
  std::uint64_t stored = 0;
  for (const ZipMember& member : members_) {
    const auto a = CheckedAdd(unpacked, member.size);
    const auto b = CheckedAdd(stored, member.stored_size);
    if (!a || !b || *b > size_) {
      return Err(Error("", fmt::format("its files take more bytes than its {} "
                                       "(entries that share bytes?)",
                                       size_)));
    }
    unpacked = *a;
    stored = *b;
    for (std::size_t slash = member.name.find('/'); slash != std::string::npos;
         slash = member.name.find('/', slash + 1)) {
      const std::string parent = member.name.substr(0, slash);
      if (by_name_.count(parent) != 0) {
        return Err(Error(
            member.name,
            fmt::format("is in '{}', which is no folder", Shown(parent))));
      }
    }
  }
  if (unpacked > kAllowance && (unpacked - kAllowance) / kMaxRatio > size_) {
    return Err(Error("", fmt::format("{} bytes would unpack to {}, expected "
                                     "at most {} times as many",
                                     size_, unpacked, kMaxRatio)));
  }
  return {};
}

Status ZipReader::CheckLinks() const {
  std::map<std::string, std::string> links;
  for (const ZipMember& member : members_) {
    if (!member.is_link) continue;
    CERB_TRY(const Bytes target, ReadAll(member, kMaxLink));
    links.emplace(member.name, AsText(target));
  }
  for (const auto& [name, target] : links) {
    if (!StaysInside(name, links)) {
      return Err(Error(name, fmt::format("is a link to '{}', outside of the "
                                         "archive",
                                         Shown(target))));
    }
  }
  return {};
}

const ZipMember* ZipReader::Find(const std::string& name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &members_[at->second];
}

Status ZipReader::Read(const ZipMember& member, const Sink& sink) const {
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(zip_.get(), member.index, 0), zip_fclose);
  if (file == nullptr) {
    return Err(Error(member.name, fmt::format("cannot be read: {}",
                                              zip_strerror(zip_.get()))));
  }
  Bytes buffer(std::min<std::uint64_t>(member.size + 1, kPiece));
  std::uint64_t done = 0;
  for (bool end = false; !end;) {
    // Pieces are full but for the last one.
    std::size_t filled = 0;
    while (!end && filled < buffer.size()) {
      const zip_int64_t n =
          zip_fread(file.get(), buffer.data() + filled, buffer.size() - filled);
      if (n < 0) {
        return Err(
            Error(member.name, fmt::format("cannot be unpacked: {}",
                                           zip_file_strerror(file.get()))));
      }
      filled += static_cast<std::size_t>(n);
      end = n == 0;
    }
    done += filled;
    if (done > member.size || (end && done != member.size)) {
      return Err(
          Error(member.name,
                fmt::format("unpacks to {} bytes, the directory says {}",
                            end ? std::to_string(done) : "more", member.size)));
    }
    if (filled != 0) CERB_TRY_VOID(sink(ByteSpan(buffer).first(filled)));
  }
  return {};
}

Result<Bytes> ZipReader::ReadAll(const ZipMember& member,
                                 std::uint64_t limit) const {
  if (member.size > limit) {
    return Err(Error(member.name, fmt::format("has {} bytes, expected at most "
                                              "{}",
                                              member.size, limit)));
  }
  Bytes all;
  CERB_TRY_VOID(Read(member, [&](ByteSpan piece) -> Status {
    all.insert(all.end(), piece.begin(), piece.end());
    return {};
  }));
  return all;
}

}  // namespace cerberus::packager
