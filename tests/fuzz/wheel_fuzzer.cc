// Reads the input as a wheel, and its text as RECORD and METADATA. A first
// byte of 1 says that a list of files follows, of which a zip file with right
// sums is made: what is behind them is reached that way.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "packager/wheel/wheel.h"
#include "tests/unit/packager/raw_zip.h"

using namespace cerberus;
using namespace cerberus::packager;

namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

// Whether a path leads out of the folder that it counts from, in words other
// than the reader's.
bool Leaves(const std::string& path) {
  const std::filesystem::path normal =
      std::filesystem::path(path).lexically_normal();
  return normal.is_absolute() || *normal.begin() == "..";
}

// Each file: kind of mode and length of its name, name, two bytes of length,
// bytes. The names of METADATA, WHEEL and RECORD have a byte of their own.
std::string MakeZip(ByteSpan data) {
  constexpr const char* kNames[] = {"x_y-1.0.dist-info/METADATA",
                                    "x_y-1.0.dist-info/WHEEL",
                                    "x_y-1.0.dist-info/RECORD"};
  constexpr std::uint32_t kModes[] = {0100644, 0100755, 0120777, 0040755};
  std::vector<RawEntry> entries;
  while (data.size() >= 3 && entries.size() < 100) {
    const std::uint8_t head = data[0];
    data = data.subspan(1);
    RawEntry entry;
    entry.mode = kModes[head >> 6];
    if ((head & 63) < 3) {
      entry.name = kNames[head & 63];
    } else {
      const std::size_t size = std::min<std::size_t>(head & 63, data.size());
      entry.name = AsText(data.first(size));
      data = data.subspan(size);
    }
    if (data.size() < 2) break;
    const std::size_t size = std::min<std::size_t>(
        LoadLe<std::uint16_t>(data.data()), data.size() - 2);
    entry.data = AsText(data.subspan(2, size));
    data = data.subspan(2 + size);
    entries.push_back(std::move(entry));
  }
  return RawZip(entries);
}

void CheckWheel(ByteSpan bytes) {
  const auto wheel =
      Wheel::FromBytes(bytes, "x_y-1.0-py3-none-manylinux_2_17_x86_64.whl");
  if (!wheel) return;
  WheelName other = wheel->name();
  other.version = "1.0+cerberus";
  std::set<std::string> names;
  for (const ZipMember& member : wheel->files()) {
    Require(!member.name.empty() && !Leaves(member.name));
    if (member.is_link) {
      const auto target = wheel->zip().ReadAll(member);
      const std::size_t slash = member.name.rfind('/');
      const std::string folder =
          slash == std::string::npos ? "" : member.name.substr(0, slash + 1);
      Require(target && !target->empty() && target->front() != '/' &&
              !Leaves(folder + std::string(AsText(*target))));
    }
    Require(names.insert(wheel->NewPath(member.name, other)).second);
    const std::string installed = wheel->InstalledPath(member.name);
    Require(installed.empty() || !Leaves(installed));
    std::uint64_t size = 0;
    const auto hash = wheel->Read(member, [&](ByteSpan piece) -> Status {
      size += piece.size();
      Require(size <= member.size);
      return {};
    });
    Require(!hash || size == member.size);
  }
}

void CheckTexts(ByteSpan bytes) {
  const auto lines = ParseRecord(AsText(bytes), "RECORD");
  if (lines) {
    const std::string text = FormatRecord(*lines);
    const auto again = ParseRecord(text, "RECORD");
    Require(again && FormatRecord(*again) == text);
  }
  const auto fields = CoreMetadata::Parse(AsText(bytes), "METADATA");
  if (fields) {
    const std::string text = fields->ToString();
    const auto again = CoreMetadata::Parse(text, "METADATA");
    Require(again && again->ToString() == text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const ByteSpan bytes(data, size);
  if (size > 0 && data[0] == 1) {
    const std::string zip = MakeZip(bytes.subspan(1));
    CheckWheel(AsBytes(zip));
  } else {
    CheckWheel(bytes);
  }
  CheckTexts(bytes);
  return 0;
}
