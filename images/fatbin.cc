#include "images/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "formats/fatbin.h"
#include "images/cubin.h"
#include "images/ptx_cubin.h"
#include "ptxc/front/kernel_names.h"

namespace cerberus::images {
namespace {

Diag FatbinDiag(const std::string& what, std::uint64_t offset,
                std::string message) {
  Where where;
  where.section = what;
  where.offset = static_cast<std::int64_t>(offset);
  return MakeDiag(DiagCode::kBadFormat, std::move(where), std::move(message));
}

Diag EntryDiag(const FatbinEntry& entry, std::string message) {
  return MakeDiag(DiagCode::kBadFormat,
                  fmt::format("{} entry for {}: {}", KindName(entry.kind),
                              entry.ArchName(), message));
}

// The name nvcc stores with -G and --device-debug; blanks pad it.
std::string_view TrimName(std::string_view name) {
  while (!name.empty() && (name.back() == ' ' || name.back() == '\0')) {
    name.remove_suffix(1);
  }
  return name;
}

Result<FatbinEntry> ParseEntry(ByteReader& reader, const std::string& what,
                               std::uint64_t base) {
  const std::uint64_t start = reader.offset();
  const auto fail = [&](std::string message) {
    return Err(FatbinDiag(what, base + start, std::move(message)));
  };
  if (reader.remaining() < sizeof(formats::FatbinEntryHeader)) {
    return fail(
        fmt::format("{} bytes left in the fatbin, an entry header "
                    "takes {}",
                    reader.remaining(), sizeof(formats::FatbinEntryHeader)));
  }
  CERB_TRY(const formats::FatbinEntryHeader raw,
           reader.Read<formats::FatbinEntryHeader>());
  const std::uint64_t left = reader.size() - start;
  if (raw.header_size < sizeof(formats::FatbinEntryHeader) ||
      raw.header_size > left) {
    return fail(fmt::format("entry header size {} is not between {} and {}",
                            raw.header_size, sizeof(formats::FatbinEntryHeader),
                            left));
  }
  if (raw.size > left - raw.header_size) {
    return fail(fmt::format("entry size {} runs past the fatbin end (0x{:x})",
                            raw.size, base + reader.size()));
  }

  FatbinEntry entry;
  entry.kind = static_cast<EntryKind>(raw.kind);
  entry.version = raw.version;
  entry.sm = raw.sm;
  entry.flags = raw.flags;
  entry.format_major = raw.format_major;
  entry.format_minor = raw.format_minor;
  entry.offset = start;
  entry.stored_size = raw.size;
  if (raw.name_size != 0) {
    if (raw.name_offset > raw.header_size ||
        raw.name_size > raw.header_size - raw.name_offset) {
      return fail(
          fmt::format("name at 0x{:x}+{} runs past the entry header "
                      "of {} bytes",
                      raw.name_offset, raw.name_size, raw.header_size));
    }
    CERB_TRY(ByteSpan name,
             reader.Slice(start + raw.name_offset, raw.name_size));
    entry.source_name = TrimName(AsText(name));
  }
  CERB_TRY(entry.payload, reader.Slice(start + raw.header_size, raw.size));
  if (entry.compression() != Compression::kNone) {
    if ((raw.flags & kFlagLz4) != 0 && (raw.flags & kFlagZstd) != 0) {
      return fail("entry is marked as both LZ4 and zstd");
    }
    if (raw.packed_size > raw.size) {
      return fail(fmt::format("packed size {} is larger than the entry's {}",
                              raw.packed_size, raw.size));
    }
    if (raw.unpacked_size > kMaxUnpackedEntry) {
      return fail(fmt::format("unpacked size {} is above the limit of {}",
                              raw.unpacked_size, kMaxUnpackedEntry));
    }
    entry.payload = entry.payload.first(raw.packed_size);
    entry.unpacked_size = raw.unpacked_size;
  } else {
    entry.unpacked_size = entry.payload.size();
  }
  CERB_TRY_VOID(reader.Seek(start + raw.header_size + raw.size));
  return entry;
}

Result<Bytes> UnpackLz4(const FatbinEntry& entry) {
  // A block of n bytes cannot hold more than 255 n: a match-length byte adds
  // at most 255 (LZ4 block format). Checked before memory is taken for it.
  if (entry.unpacked_size > entry.payload.size() * 255 + 64) {
    return Err(EntryDiag(
        entry, fmt::format("{} LZ4 bytes cannot unpack to {}",
                           entry.payload.size(), entry.unpacked_size)));
  }
  Bytes out(entry.unpacked_size);
  const int n = LZ4_decompress_safe(
      reinterpret_cast<const char*>(entry.payload.data()),
      reinterpret_cast<char*>(out.data()),
      static_cast<int>(entry.payload.size()), static_cast<int>(out.size()));
  if (n < 0) return Err(EntryDiag(entry, "the LZ4 block is broken"));
  if (static_cast<std::uint64_t>(n) != entry.unpacked_size) {
    return Err(EntryDiag(entry, fmt::format("unpacked to {} bytes, declared {}",
                                            n, entry.unpacked_size)));
  }
  return out;
}

Result<Bytes> UnpackZstd(const FatbinEntry& entry) {
  const unsigned long long frame_size =
      ZSTD_getFrameContentSize(entry.payload.data(), entry.payload.size());
  if (frame_size == ZSTD_CONTENTSIZE_ERROR) {
    return Err(EntryDiag(entry, "the payload is not a zstd frame"));
  }
  if (frame_size != ZSTD_CONTENTSIZE_UNKNOWN &&
      frame_size != entry.unpacked_size) {
    return Err(EntryDiag(
        entry, fmt::format("the zstd frame holds {} bytes, declared {}",
                           frame_size, entry.unpacked_size)));
  }
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(
      ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) return Err(DiagCode::kIo, "out of memory");
  // Memory follows what really comes out, not what the header promises.
  constexpr std::uint64_t kStep = 4 << 20;
  Bytes out(std::min(entry.unpacked_size, kStep));
  ZSTD_inBuffer in{entry.payload.data(), entry.payload.size(), 0};
  std::size_t filled = 0;
  for (;;) {
    ZSTD_outBuffer chunk{out.data(), out.size(), filled};
    const std::size_t rc = ZSTD_decompressStream(context.get(), &chunk, &in);
    filled = chunk.pos;
    if (ZSTD_isError(rc)) {
      return Err(EntryDiag(entry, fmt::format("the zstd frame is broken: {}",
                                              ZSTD_getErrorName(rc))));
    }
    if (rc == 0) break;  // the frame is complete
    if (filled < out.size()) {
      if (in.pos < in.size) continue;
      return Err(EntryDiag(entry, "the zstd frame is cut short"));
    }
    if (out.size() == entry.unpacked_size) {
      return Err(
          EntryDiag(entry, fmt::format("unpacks to more than the declared {}",
                                       entry.unpacked_size)));
    }
    out.resize(std::min<std::uint64_t>(entry.unpacked_size, out.size() * 2));
  }
  if (filled != entry.unpacked_size) {
    return Err(EntryDiag(entry, fmt::format("unpacked to {} bytes, declared {}",
                                            filled, entry.unpacked_size)));
  }
  return out;
}

}  // namespace

std::string KindName(EntryKind kind) {
  switch (kind) {
#define FATBIN_KIND(name, number, text, what) \
  case EntryKind::name: return text;
#include "images/fatbin_flags.def"
  }
  return fmt::format("kind {}", static_cast<unsigned>(kind));
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kNone: return "none";
    case Compression::kLz4: return "lz4";
    case Compression::kZstd: return "zstd";
  }
  return "";
}

Compression FatbinEntry::compression() const {
  if ((flags & kFlagZstd) != 0) return Compression::kZstd;
  if ((flags & kFlagLz4) != 0) return Compression::kLz4;
  return Compression::kNone;
}

std::string FatbinEntry::ArchName() const {
  // nvcc names virtual architectures compute_NN: PTX and LTO-IR are for
  // those, cubins for a real chip.
  return fmt::format("{}_{}{}{}", kind == EntryKind::kCubin ? "sm" : "compute",
                     sm, arch_specific() ? "a" : "",
                     family_specific() ? "f" : "");
}

Result<Fatbin> ParseFatbin(ByteSpan data, const std::string& what,
                           std::uint64_t base) {
  if (data.size() < sizeof(formats::FatbinHeader)) {
    return Err(FatbinDiag(what, base,
                          fmt::format("{} bytes are too few for a fatbin "
                                      "header",
                                      data.size())));
  }
  const formats::FatbinHeader header =
      LoadLe<formats::FatbinHeader>(data.data());
  if (header.magic != formats::kFatbinMagic) {
    return Err(FatbinDiag(what, base,
                          fmt::format("bad fatbin magic 0x{:08x}, expected "
                                      "0x{:08x}",
                                      header.magic, formats::kFatbinMagic)));
  }
  if (header.version != 1 ||
      header.header_size != sizeof(formats::FatbinHeader)) {
    return Err(FatbinDiag(
        what, base,
        fmt::format("fatbin version {} with a header of {} bytes, expected "
                    "version 1 with {}",
                    header.version, header.header_size,
                    sizeof(formats::FatbinHeader))));
  }
  if (header.size > data.size() - sizeof(formats::FatbinHeader)) {
    return Err(FatbinDiag(
        what, base,
        fmt::format("fatbin size {} runs past the end of the data (0x{:x})",
                    header.size, base + data.size())));
  }
  Fatbin fatbin;
  fatbin.bytes = data.first(sizeof(formats::FatbinHeader) + header.size);
  fatbin.base = base;
  ByteReader reader(fatbin.bytes, what, base);
  CERB_TRY_VOID(reader.Seek(sizeof(formats::FatbinHeader)));
  while (reader.remaining() > 0) {
    CERB_TRY(fatbin.entries.emplace_back(), ParseEntry(reader, what, base));
  }
  return fatbin;
}

Result<Bytes> Unpack(const FatbinEntry& entry) {
  if (entry.unpacked_size > kMaxUnpackedEntry) {
    return Err(
        EntryDiag(entry, fmt::format("unpacked size {} is above the limit "
                                     "of {}",
                                     entry.unpacked_size, kMaxUnpackedEntry)));
  }
  switch (entry.compression()) {
    case Compression::kLz4: return UnpackLz4(entry);
    case Compression::kZstd: return UnpackZstd(entry);
    case Compression::kNone: break;
  }
  return Bytes(entry.payload.begin(), entry.payload.end());
}

bool BeginsFatbin(ByteSpan data) {
  return data.size() >= sizeof(std::uint32_t) &&
         LoadLe<std::uint32_t>(data.data()) == formats::kFatbinMagic;
}

std::vector<Fatbin> FindFatbins(ByteSpan data) {
  std::vector<Fatbin> found;
  std::size_t at = 0;
  while (at + sizeof(formats::FatbinHeader) <= data.size()) {
    const ByteSpan rest = data.subspan(at);
    at += 2;
    if (!BeginsFatbin(rest)) continue;
    Result<Fatbin> fatbin = ParseFatbin(rest);
    if (!fatbin) continue;
    at += (fatbin->bytes.size() - 1) / 2 * 2;
    found.push_back(*std::move(fatbin));
  }
  return found;
}

std::vector<FatbinEntry> EntriesWithPtx(
    const std::vector<FatbinEntry>& entries) {
  std::vector<FatbinEntry> found;
  for (const FatbinEntry& entry : entries) {
    if (entry.is_ptx() && entry.is_64bit()) found.push_back(entry);
  }
  if (!found.empty()) return found;
  for (const FatbinEntry& entry : entries) {
    if (entry.kind != EntryKind::kCubin) continue;
    const Result<Bytes> cubin = Unpack(entry);
    if (cubin && !PtxOfCubin(*cubin).empty()) found.push_back(entry);
  }
  return found;
}

Result<std::string> UnpackPtx(const FatbinEntry& entry) {
  if (!entry.is_ptx() && entry.kind != EntryKind::kCubin) {
    return Err(EntryDiag(entry, "is not PTX"));
  }
  CERB_TRY(Bytes bytes, Unpack(entry));
  if (entry.kind == EntryKind::kCubin) {
    const std::string_view ptx = PtxOfCubin(bytes);
    if (ptx.empty()) return Err(EntryDiag(entry, "the cubin holds no PTX"));
    return std::string(ptx);
  }
  // The text ends in a NUL, and plain entries are padded with more of them.
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  const auto nul = std::find(bytes.begin(), bytes.end(), 0);
  if (nul != bytes.end()) {
    return Err(EntryDiag(entry, fmt::format("PTX text has a NUL at offset {}",
                                            nul - bytes.begin())));
  }
  return std::string(AsText(bytes));
}

Result<std::vector<std::string>> KernelNames(const FatbinEntry& entry) {
  if (entry.kind == EntryKind::kPtx) {
    CERB_TRY(const std::string text, UnpackPtx(entry));
    return ptx::KernelNames(text);
  }
  if (entry.kind == EntryKind::kCubin) {
    CERB_TRY(const Bytes cubin, Unpack(entry));
    const Result<std::vector<CubinKernel>> kernels = ReadCubin(cubin);
    if (!kernels) return Err(EntryDiag(entry, kernels.error().ToString()));
    std::vector<std::string> names;
    for (const CubinKernel& kernel : *kernels) names.push_back(kernel.name);
    return names;
  }
  return std::vector<std::string>{};
}

std::vector<std::string> KernelNames(std::string_view ptx) {
  return ptx::KernelNames(ptx);
}

bool IsDeviceRuntime(const std::vector<FatbinEntry>& entries) {
  // Named after its source file, as nvcc names all that is file-local.
  static constexpr std::string_view kMark = "_cuda_device_runtime_cu_";
  for (const FatbinEntry& entry : entries) {
    if (!entry.is_ptx()) continue;
    const auto names = KernelNames(entry);
    return names && !names->empty() &&
           std::all_of(names->begin(), names->end(),
                       [](const std::string& name) {
                         return name.find(kMark) != name.npos;
                       });
  }
  return false;
}

}  // namespace cerberus::images
