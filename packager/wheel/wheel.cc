#include "packager/wheel/wheel.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace cerberus::packager {
namespace {

constexpr std::string_view kDistInfo = ".dist-info";
constexpr std::string_view kData = ".data";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

std::string_view TopFolder(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// "1.0-1" and "1.0_1", "1.0+CU12" and "1.0+cu12" are the same in names.
std::string VersionKey(std::string_view version) {
  std::string key;
  for (const char c : version) {
    key += c == '-'
               ? '_'
               : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

}  // namespace

Result<Wheel> Wheel::Open(const std::string& path) {
  CERB_TRY(WheelName name, WheelName::Parse(BaseName(path)));
  CERB_TRY(ZipReader zip, ZipReader::Open(path));
  Wheel wheel(std::move(zip));
  wheel.name_ = std::move(name);
  CERB_TRY_VOID(wheel.ReadAll());
  return wheel;
}

Result<Wheel> Wheel::FromBytes(ByteSpan bytes, const std::string& path) {
  CERB_TRY(WheelName name, WheelName::Parse(BaseName(path)));
  CERB_TRY(ZipReader zip, ZipReader::FromBytes(bytes, path));
  Wheel wheel(std::move(zip));
  wheel.name_ = std::move(name);
  CERB_TRY_VOID(wheel.ReadAll());
  return wheel;
}

Status Wheel::ReadAll() {
  CERB_TRY_VOID(FindDistInfo());
  CERB_TRY(metadata_, ReadFields("METADATA"));
  CERB_TRY(wheel_file_, ReadFields("WHEEL"));
  const std::string name = metadata_.Get("Name");
  if (NormalizeName(name) != NormalizeName(name_.distribution)) {
    return Err(zip_.Error(dist_info_ + "/METADATA",
                          fmt::format("says Name: '{}', the file name says "
                                      "'{}'",
                                      name, name_.distribution)));
  }
  const std::string version = metadata_.Get("Version");
  if (VersionKey(version) != VersionKey(name_.version)) {
    return Err(zip_.Error(dist_info_ + "/METADATA",
                          fmt::format("says Version: '{}', the file name says "
                                      "'{}'",
                                      version, name_.version)));
  }
  const std::string format = wheel_file_.Get("Wheel-Version");
  if (format.substr(0, 2) != "1.") {
    return Err(zip_.Error(
        dist_info_ + "/WHEEL",
        fmt::format("says Wheel-Version: '{}', expected 1.x", format),
        DiagCode::kUnsupported));
  }
  return ReadRecord();
}

Status Wheel::FindDistInfo() {
  std::set<std::string_view> found;
  for (const ZipMember& member : zip_.members()) {
    const std::string_view top = TopFolder(member.name);
    if (EndsWith(top, kDistInfo)) found.insert(top);
    if (EndsWith(top, kData) && data_ != top) {
      if (!data_.empty()) {
        return Err(zip_.Error(
            "", fmt::format("has two folders *.data, expected one: {} and {}",
                            data_, top)));
      }
      data_ = top;
    }
  }
  if (found.size() != 1) {
    return Err(zip_.Error(
        "", fmt::format("has {} folders *.dist-info, expected one{}{}",
                        found.size(), found.empty() ? "" : ": ",
                        fmt::join(found, ", "))));
  }
  dist_info_ = *found.begin();
  const std::string stem =
      dist_info_.substr(0, dist_info_.size() - kDistInfo.size());
  const std::string_view name =
      std::string_view(stem).substr(0, stem.find('-'));
  if (NormalizeName(name) != NormalizeName(name_.distribution)) {
    return Err(zip_.Error(
        "", fmt::format("has the folder '{}', the file name says '{}'",
                        dist_info_, name_.Stem())));
  }
  return {};
}

Result<CoreMetadata> Wheel::ReadFields(const std::string& file) const {
  const std::string path = dist_info_ + "/" + file;
  const ZipMember* member = zip_.Find(path);
  if (member == nullptr || member->is_link) {
    return Err(zip_.Error("", fmt::format("has no file '{}'", path)));
  }
  CERB_TRY(const Bytes text, zip_.ReadAll(*member));
  return CoreMetadata::Parse(AsText(text), zip_.path() + "/" + path);
}

Status Wheel::ReadRecord() {
  const std::string path = dist_info_ + "/RECORD";
  const ZipMember* member = zip_.Find(path);
  if (member == nullptr || member->is_link) {
    return Err(zip_.Error("", fmt::format("has no file '{}'", path)));
  }
  CERB_TRY(const Bytes text, zip_.ReadAll(*member));
  CERB_TRY(std::vector<RecordLine> lines,
           ParseRecord(AsText(text), zip_.path() + "/" + path));
  const auto warn = [&](const std::string& file, const std::string& what) {
    Diag warning = zip_.Error(file, what);
    warning.severity = Severity::kWarning;
    warnings_.push_back(std::move(warning));
  };
  for (RecordLine& line : lines) {
    if (zip_.Find(line.path) == nullptr) {
      warn(line.path, "is in RECORD and not in the wheel");
    }
    std::string key = line.path;
    record_.emplace(std::move(key), std::move(line));
  }
  // What Read() will not look at is compared here.
  for (const char* file : {"METADATA", "WHEEL"}) {
    const ZipMember* own = zip_.Find(dist_info_ + "/" + file);
    CERB_TRY_VOID(Read(*own, [](ByteSpan) -> Status { return {}; }));
  }
  for (const ZipMember& file : zip_.members()) {
    const bool rewritten = file.name == path || file.name == path + ".jws" ||
                           file.name == path + ".p7s" ||
                           file.name == dist_info_ + "/METADATA" ||
                           file.name == dist_info_ + "/WHEEL";
    if (rewritten) continue;
    if (record_.count(file.name) == 0) {
      warn(file.name, "is in the wheel and not in RECORD");
    }
    files_.push_back(file);
  }
  return {};
}

Result<std::string> Wheel::Read(const ZipMember& member,
                                const ZipReader::Sink& sink) const {
  Sha256 sha;
  CERB_TRY_VOID(zip_.Read(member, [&](ByteSpan piece) -> Status {
    sha.Update(piece);
    return sink(piece);
  }));
  std::string hash = sha.Text();
  const auto line = record_.find(member.name);
  if (line == record_.end()) return hash;
  const RecordLine& said = line->second;
  if (!said.size.empty() && said.size != std::to_string(member.size)) {
    return Err(zip_.Error(
        member.name,
        fmt::format("has {} bytes, RECORD says {}", member.size, said.size)));
  }
  // Other algorithms are allowed and not met.
  const bool same_kind = said.hash.substr(0, 7) == "sha256=";
  std::string_view expected = said.hash;
  while (!expected.empty() && expected.back() == '=') expected.remove_suffix(1);
  if (same_kind && expected != hash) {
    return Err(zip_.Error(
        member.name, fmt::format("has {}, RECORD says {}", hash, expected)));
  }
  return hash;
}

std::string Wheel::NewPath(const std::string& path,
                           const WheelName& other) const {
  const std::string_view top = TopFolder(path);
  if (top.empty()) return path;
  const std::string rest = path.substr(top.size());
  if (top == dist_info_) {
    return other.Stem() + std::string(kDistInfo) + rest;
  }
  if (top == data_) return other.Stem() + std::string(kData) + rest;
  return path;
}

std::string Wheel::InstalledPath(const std::string& path) const {
  if (data_.empty() || TopFolder(path) != data_) return path;
  const std::string_view below =
      std::string_view(path).substr(data_.size() + 1);
  const std::string_view scheme = TopFolder(below);
  if (scheme != "purelib" && scheme != "platlib") return "";
  return std::string(below.substr(scheme.size() + 1));
}

Result<WheelWriter> WheelWriter::Create(const std::string& folder,
                                        const WheelName& name) {
  CERB_TRY(ZipWriter zip, ZipWriter::Create(folder + "/" + name.ToString()));
  return WheelWriter(std::move(zip), name);
}

Status WheelWriter::Copy(const Wheel& from, const ZipMember& member,
                         const std::string& path, const std::string& hash) {
  record_.push_back({path, hash, std::to_string(member.size)});
  return zip_.Copy(from.zip(), member, path);
}

Status WheelWriter::Add(const std::string& path, ByteSpan bytes, unsigned mode,
                        bool compress) {
  record_.push_back({path, Sha256::Of(bytes), std::to_string(bytes.size())});
  return zip_.Add(path, bytes, mode, compress);
}

Status WheelWriter::AddText(const std::string& path, std::string text) {
  texts_.push_back(std::move(text));
  return Add(path, AsBytes(texts_.back()), 0644);
}

Status WheelWriter::Finish(const std::function<bool()>& cancelled) {
  const std::string path = dist_info() + "/RECORD";
  record_.push_back({path, "", ""});
  texts_.push_back(FormatRecord(record_));
  CERB_TRY_VOID(zip_.Add(path, AsBytes(texts_.back()), 0644, true));
  return zip_.Finish(cancelled);
}

}  // namespace cerberus::packager
