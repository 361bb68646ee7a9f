// Zip files byte by byte, so that they can say what no writer would.
#ifndef CERBERUS_TESTS_UNIT_PACKAGER_RAW_ZIP_H_
#define CERBERUS_TESTS_UNIT_PACKAGER_RAW_ZIP_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cerberus::packager {

struct RawEntry {
  std::string name;
  std::string data;  // as it is stored
  std::uint32_t mode = 0100644;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::int64_t size = -1;   // unpacked; -1: as many as are stored
  std::int64_t crc = -1;    // -1: of `data`
  std::uint8_t system = 3;  // that it was made on: Unix
};

inline std::uint32_t Crc32(const std::string& data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// APPNOTE.TXT 4.3: local headers and data, the directory, its end.
inline std::string RawZip(const std::vector<RawEntry>& entries) {
  std::string out;
  std::string directory;
  const auto put = [](std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      to += static_cast<char>(value >> (8 * i) & 255);
    }
  };
  for (const RawEntry& entry : entries) {
    const std::size_t offset = out.size();
    std::string common;
    put(common, 20, 2);
    put(common, entry.flags, 2);
    put(common, entry.method, 2);
    put(common, 0x00210000, 4);  // 1980-01-01
    put(common,
        entry.crc < 0 ? Crc32(entry.data)
                      : static_cast<std::uint64_t>(entry.crc),
        4);
    put(common, entry.data.size(), 4);
    put(common,
        entry.size < 0 ? entry.data.size()
                       : static_cast<std::uint64_t>(entry.size),
        4);
    put(common, entry.name.size(), 2);
    put(common, 0, 2);
    put(out, 0x04034b50, 4);
    out += common + entry.name + entry.data;
    put(directory, 0x02014b50, 4);
    put(directory, 0x14 | entry.system << 8, 2);
    directory += common;
    put(directory, 0, 6);
    put(directory, std::uint64_t{entry.mode} << 16, 4);
    put(directory, offset, 4);
    directory += entry.name;
  }
  const std::size_t start = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace cerberus::packager

#endif  // CERBERUS_TESTS_UNIT_PACKAGER_RAW_ZIP_H_
