// Builds archives byte by byte, from the format's description and without the
// code under test: what upstream's writers produce, and what nobody should.
#ifndef CERBERUS_TESTS_UNIT_KPACK_ARCHIVE_BUILDER_H_
#define CERBERUS_TESTS_UNIT_KPACK_ARCHIVE_BUILDER_H_

#include <zstd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/bytes.h"

namespace cerberus::kpack {

// MessagePack, from its specification. Small counts only.
namespace mp {
inline std::string Big(std::uint64_t value, int bytes) {
  std::string out;
  while (bytes-- > 0) out += static_cast<char>(value >> (8 * bytes));
  return out;
}
inline std::string Int(std::uint64_t v) {
  if (v < 128) return std::string(1, static_cast<char>(v));
  if (v < 256) return "\xcc" + Big(v, 1);
  if (v < 65536) return "\xcd" + Big(v, 2);
  if (v >> 32 == 0) return "\xce" + Big(v, 4);
  return "\xcf" + Big(v, 8);
}
inline std::string Str(const std::string& text) {
  if (text.size() < 32) return static_cast<char>(0xa0 | text.size()) + text;
  if (text.size() < 256) return "\xd9" + Big(text.size(), 1) + text;
  return "\xda" + Big(text.size(), 2) + text;
}
inline std::string Array(const std::vector<std::string>& items) {
  std::string out = items.size() < 16
                        ? std::string(1, static_cast<char>(0x90 | items.size()))
                        : "\xdc" + Big(items.size(), 2);
  for (const std::string& item : items) out += item;
  return out;
}
// Keys are given plain, values encoded.
inline std::string Map(
    const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out = pairs.size() < 16
                        ? std::string(1, static_cast<char>(0x80 | pairs.size()))
                        : "\xde" + Big(pairs.size(), 2);
  for (const auto& [key, value] : pairs) out += Str(key) + value;
  return out;
}
}  // namespace mp

template <typename T>
std::string Le(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string Header(std::uint64_t toc_offset, std::uint32_t version = 1) {
  std::string out = "KPAK" + Le(version) + Le(toc_offset);
  out.resize(64);
  return out;
}

inline std::string Frame(const std::string& blob) {
  std::string out(ZSTD_compressBound(blob.size()), '\0');
  out.resize(
      ZSTD_compress(out.data(), out.size(), blob.data(), blob.size(), 3));
  return out;
}

inline std::string Row(std::uint64_t ordinal, std::uint64_t original_size) {
  return mp::Map({{"type", mp::Str("hsaco")},
                  {"ordinal", mp::Int(ordinal)},
                  {"original_size", mp::Int(original_size)}});
}

// The table of contents in upstream's order, with `rest` behind it.
inline std::string Toc(
    const std::string& toc_map, const std::string& scheme,
    const std::vector<std::pair<std::string, std::string>>& rest,
    const std::vector<std::string>& arches = {"gfx1100"}) {
  std::vector<std::string> names;
  for (const std::string& arch : arches) names.push_back(mp::Str(arch));
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"format_version", mp::Int(1)},
      {"group_name", mp::Str("group")},
      {"gfx_arch_family", mp::Str("family")},
      {"gfx_arches", mp::Array(names)},
      {"toc", toc_map},
      {"compression_scheme", mp::Str(scheme)}};
  pairs.insert(pairs.end(), rest.begin(), rest.end());
  return mp::Map(pairs);
}

inline std::string BlobRow(std::uint64_t offset, std::uint64_t size) {
  return mp::Map({{"offset", mp::Int(offset)}, {"size", mp::Int(size)}});
}

// Scheme "none": blobs back to back from 64 on, not aligned.
inline std::string PlainArchive(const std::vector<std::string>& blobs,
                                const std::string& toc_map,
                                const std::vector<std::string>& arches = {
                                    "gfx1100"}) {
  std::string body;
  std::vector<std::string> rows;
  for (const std::string& blob : blobs) {
    rows.push_back(BlobRow(64 + body.size(), blob.size()));
    body += blob;
  }
  return Header(64 + body.size()) + body +
         Toc(toc_map, "none", {{"blobs", mp::Array(rows)}}, arches);
}

// Scheme "zstd-per-kernel" over frames made elsewhere.
inline std::string ZstdArchive(const std::vector<std::string>& frames,
                               const std::string& toc_map,
                               const std::vector<std::string>& arches = {
                                   "gfx1100"}) {
  std::string body = Le(static_cast<std::uint32_t>(frames.size()));
  for (const std::string& frame : frames) {
    body += Le(static_cast<std::uint32_t>(frame.size())) + frame;
  }
  return Header(64 + body.size()) + body +
         Toc(toc_map, "zstd-per-kernel",
             {{"zstd_offset", mp::Int(64)},
              {"zstd_size", mp::Int(body.size())}},
             arches);
}

}  // namespace cerberus::kpack

#endif  // CERBERUS_TESTS_UNIT_KPACK_ARCHIVE_BUILDER_H_
