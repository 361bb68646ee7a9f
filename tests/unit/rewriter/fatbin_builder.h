// Fatbins made for tests, byte by byte from docs/fatbin-format.md, so that
// the reader is not tested against itself.
#ifndef CERBERUS_TESTS_UNIT_REWRITER_FATBIN_BUILDER_H_
#define CERBERUS_TESTS_UNIT_REWRITER_FATBIN_BUILDER_H_

#include <lz4.h>
#include <zstd.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"

namespace cerberus::rewriter::testing {

inline constexpr char kPtx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry k1(){ret;}\n.visible .entry k2(){ret;}\n";

struct EntrySpec {
  std::uint16_t kind = 1;
  std::uint32_t sm = 75;
  std::uint64_t flags = 0x11;
  std::string content = kPtx;
  char packing = 'n';     // n none, l LZ4, z zstd
  std::string name = {};  // source file, as -G stores it
};

inline Bytes Entry(const EntrySpec& spec) {
  Bytes payload(spec.content.begin(), spec.content.end());
  payload.push_back(0);
  std::uint64_t flags = spec.flags, unpacked = 0;
  std::uint32_t packed = 0;
  if (spec.packing == 'l') {
    Bytes out(static_cast<std::size_t>(
        LZ4_compressBound(static_cast<int>(payload.size()))));
    out.resize(static_cast<std::size_t>(LZ4_compress_default(
        reinterpret_cast<const char*>(payload.data()),
        reinterpret_cast<char*>(out.data()), static_cast<int>(payload.size()),
        static_cast<int>(out.size()))));
    flags |= 0x2000;
    unpacked = payload.size();
    payload = out;
    packed = static_cast<std::uint32_t>(payload.size());
  } else if (spec.packing == 'z') {
    Bytes out(ZSTD_compressBound(payload.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), payload.data(),
                             payload.size(), 3));
    flags |= 0x8000;
    unpacked = payload.size();
    payload = out;
    packed = static_cast<std::uint32_t>(payload.size());
  }
  payload.resize(AlignUp(payload.size(), 8));

  const std::uint64_t header_size = 64 + AlignUp(spec.name.size(), 8);
  Bytes out;
  AppendLe<std::uint16_t>(out, spec.kind);                                // 0
  AppendLe<std::uint16_t>(out, 0x0101);                                   // 2
  AppendLe<std::uint32_t>(out, static_cast<std::uint32_t>(header_size));  // 4
  AppendLe<std::uint64_t>(out, payload.size());                           // 8
  AppendLe<std::uint32_t>(out, packed);                                   // 16
  AppendLe<std::uint32_t>(out, 0);                                        // 20
  AppendLe<std::uint16_t>(out, 3);                                        // 24
  AppendLe<std::uint16_t>(out, 8);                                        // 26
  AppendLe<std::uint32_t>(out, spec.sm);                                  // 28
  AppendLe<std::uint32_t>(out, spec.name.empty() ? 0 : 64);               // 32
  AppendLe<std::uint32_t>(out,
                          static_cast<std::uint32_t>(spec.name.size()));  // 36
  AppendLe<std::uint64_t>(out, flags);                                    // 40
  AppendLe<std::uint64_t>(out, 0);                                        // 48
  AppendLe<std::uint64_t>(out, unpacked);                                 // 56
  out.insert(out.end(), spec.name.begin(), spec.name.end());
  out.resize(header_size);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

inline Bytes FatbinOf(const std::vector<EntrySpec>& entries) {
  Bytes body;
  for (const EntrySpec& spec : entries) {
    const Bytes entry = Entry(spec);
    body.insert(body.end(), entry.begin(), entry.end());
  }
  Bytes out;
  AppendLe<std::uint32_t>(out, 0xBA55ED50);
  AppendLe<std::uint16_t>(out, 1);
  AppendLe<std::uint16_t>(out, 16);
  AppendLe<std::uint64_t>(out, body.size());
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

}  // namespace cerberus::rewriter::testing

#endif  // CERBERUS_TESTS_UNIT_REWRITER_FATBIN_BUILDER_H_
