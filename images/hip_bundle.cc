#include "images/hip_bundle.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace cerberus::images {
namespace {

constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
// Ids have a few dozen bytes.
constexpr std::uint64_t kMaxId = 4096;
// … and bundles a few dozen entries.
constexpr std::uint64_t kMaxEntries = 4096;
// More than any bundle is.
constexpr std::uint64_t kMaxBundle = std::uint64_t{1} << 32;
// The header's size is not believed before the stream has filled it.
constexpr std::size_t kStep = std::size_t{1} << 20;

tl::unexpected<Diag> Broken(const char* what) {
  return Err(DiagCode::kBadFormat,
             std::string("compressed offload bundle: ") + what);
}

// `used`: bytes of the stream, if asked for.
Result<Bytes> Inflate(ByteSpan in, std::uint64_t size,
                      std::uint64_t* used = nullptr) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return Broken("zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  Bytes out;
  int status = Z_OK;
  // One byte more than there should be is room enough to see the end.
  while (status == Z_OK && out.size() <= size) {
    if (stream.avail_in == 0) {
      const std::size_t part = std::min<std::size_t>(in.size(), kStep);
      if (part == 0) break;
      stream.next_in = const_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(part);
      in = in.subspan(part);
    }
    const std::size_t have = out.size();
    const std::size_t room = std::min<std::uint64_t>(size + 1 - have, kStep);
    out.resize(have + room);
    stream.next_out = out.data() + have;
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(have + room - stream.avail_out);
  }
  if (status != Z_STREAM_END || out.size() != size) {
    return Broken("damaged zlib stream");
  }
  if (used != nullptr) *used = stream.total_in;
  return out;
}

Result<Bytes> Unzstd(ByteSpan in, std::uint64_t size) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> stream(
      ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (stream == nullptr) return Broken("zstd does not start");
  ZSTD_inBuffer input = {in.data(), in.size(), 0};
  Bytes out;
  bool more = true;
  std::size_t status = 1;  // 0: the frame has ended
  while (more && out.size() <= size) {
    const std::size_t have = out.size();
    const std::size_t room = std::min<std::uint64_t>(size + 1 - have, kStep);
    out.resize(have + room);
    ZSTD_outBuffer output = {out.data() + have, room, 0};
    status = ZSTD_decompressStream(stream.get(), &output, &input);
    out.resize(have + output.pos);
    more = ZSTD_isError(status) == 0 && status != 0 &&
           (output.pos != 0 || input.pos < input.size);
  }
  if (status != 0 || out.size() != size) {
    return Broken("damaged zstd stream");
  }
  return out;
}

bool StartsWith(ByteSpan image, std::string_view magic) {
  return image.size() >= magic.size() &&
         std::memcmp(image.data(), magic.data(), magic.size()) == 0;
}

// ELF-64 header and table entries, the fields that bound the file (System V
// ABI, "ELF Header"; "Section Header"; "Program Header").
struct ElfHeader {
  std::uint8_t ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, phoff, shoff;
  std::uint32_t flags;
  std::uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct ElfSection {
  std::uint32_t name, type;
  std::uint64_t flags, addr, offset, size;
  std::uint32_t link, info;
  std::uint64_t addralign, entsize;
};
struct ElfSegment {
  std::uint32_t type, flags;
  std::uint64_t offset, vaddr, paddr, filesz, memsz, align;
};
constexpr std::uint32_t kShtNobits = 8;

// What stands before the stream of a compressed bundle.
struct CompressedHeader {
  std::uint16_t version;
  std::uint16_t method;
  std::uint64_t size;       // of the header
  std::uint64_t file_size;  // 0 in version 1, which does not say
  std::uint64_t bundle_size;
};

Result<CompressedHeader> ReadCompressedHeader(ByteSpan image) {
  ByteReader reader(image, "compressed offload bundle");
  CompressedHeader header{};
  CERB_TRY_VOID(reader.Skip(kCompressedMagic.size()));
  CERB_TRY(header.version, reader.Read<std::uint16_t>());
  CERB_TRY(header.method, reader.Read<std::uint16_t>());
  if (header.version < 1 || header.version > 3) {
    return Broken("unknown version");
  }
  if (header.method > 1) return Broken("unknown method");
  if (header.version == 3) {
    CERB_TRY(header.file_size, reader.Read<std::uint64_t>());
    CERB_TRY(header.bundle_size, reader.Read<std::uint64_t>());
  } else {
    if (header.version == 2) {
      CERB_TRY(header.file_size, reader.Read<std::uint32_t>());
    }
    CERB_TRY(header.bundle_size, reader.Read<std::uint32_t>());
  }
  CERB_TRY_VOID(reader.Skip(sizeof(std::uint64_t)));  // hash
  header.size = reader.offset();
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
  if (header.version > 1 &&
      (header.file_size < header.size || header.file_size > image.size())) {
    return Broken("its size is not the file's");
  }
#endif
  if (header.bundle_size > kMaxBundle) return Broken("too large");
  return header;
}

// How far the stream of a compressed bundle of version 1 reaches.
Result<std::uint64_t> StreamSize(ByteSpan stream, std::uint16_t method,
                                 std::uint64_t unpacked) {
  if (method == 1) {
    const std::size_t size =
        ZSTD_findFrameCompressedSize(stream.data(), stream.size());
    if (ZSTD_isError(size)) return Broken("damaged zstd stream");
    return size;
  }
  std::uint64_t used = 0;
  CERB_TRY_VOID(Inflate(stream, unpacked, &used));
  return used;
}

}  // namespace

Result<ByteSpan> ElfExtent(ByteSpan image) {
  ByteReader reader(image, "code object");
  CERB_TRY(ElfHeader header, reader.Read<ElfHeader>());
  if (header.ident[4] != 2 || header.ident[5] != 1) {
    return Err(DiagCode::kBadFormat,
               "code object is not a 64-bit little-endian ELF file");
  }
  if ((header.phnum != 0 && header.phentsize != sizeof(ElfSegment)) ||
      (header.shnum != 0 && header.shentsize != sizeof(ElfSection))) {
    return Err(DiagCode::kBadFormat, "code object's ELF tables are damaged");
  }
  std::uint64_t end = sizeof header;
  if (header.phnum != 0) {
    CERB_TRY_VOID(reader.Seek(header.phoff));
    for (unsigned i = 0; i < header.phnum; ++i) {
      CERB_TRY(ElfSegment segment, reader.Read<ElfSegment>());
      CERB_TRY(ByteSpan bytes, reader.Slice(segment.offset, segment.filesz));
      end = std::max<std::uint64_t>(end, segment.offset + bytes.size());
    }
    end = std::max<std::uint64_t>(end, reader.offset());
  }
  if (header.shnum != 0) {
    CERB_TRY_VOID(reader.Seek(header.shoff));
    for (unsigned i = 0; i < header.shnum; ++i) {
      CERB_TRY(ElfSection section, reader.Read<ElfSection>());
      if (section.type == kShtNobits) continue;
      CERB_TRY(ByteSpan bytes, reader.Slice(section.offset, section.size));
      end = std::max<std::uint64_t>(end, section.offset + bytes.size());
    }
    end = std::max<std::uint64_t>(end, reader.offset());
  }
  return image.first(static_cast<std::size_t>(end));
}

bool IsBundle(ByteSpan image) { return StartsWith(image, kBundleMagic); }

bool IsCompressedBundle(ByteSpan image) {
  return StartsWith(image, kCompressedMagic);
}

bool IsHipImage(ByteSpan data) {
  return StartsWith(data, kElfMagic) || IsBundle(data) ||
         IsCompressedBundle(data);
}

// kind-arch-vendor-os-environment-target, where the environment is empty or
// "unknown", and left out with its hyphen by old compilers. Targets may have
// hyphens of their own ("gfx9-4-generic").
std::string_view TargetOfBundleId(std::string_view id) {
  if (id.substr(0, 3) != "hip") return {};
  for (int i = 0; i < 4; ++i) {
    const std::size_t hyphen = id.find('-');
    if (hyphen == std::string_view::npos) return {};
    id.remove_prefix(hyphen + 1);
  }
  const auto is_target = [](std::string_view text) {
    return text.substr(0, 3) == "gfx" || text.substr(0, 6) == "amdgcn";
  };
  if (is_target(id)) return id;
  const std::size_t hyphen = id.find('-');
  if (hyphen == std::string_view::npos) return {};
  id.remove_prefix(hyphen + 1);
  return is_target(id) ? id : std::string_view{};
}

Result<std::vector<BundleEntry>> ParseBundle(ByteSpan bundle,
                                             const std::string& what,
                                             std::uint64_t base) {
  ByteReader reader(bundle, what, base);
  if (!IsBundle(bundle)) return Err(reader.Error("is no offload bundle"));
  CERB_TRY_VOID(reader.Skip(kBundleMagic.size()));
  CERB_TRY(const std::uint64_t count, reader.U64());
  if (count > kMaxEntries) {
    return Err(reader.Error("claims " + std::to_string(count) + " entries"));
  }
  std::vector<BundleEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    BundleEntry& entry = entries.emplace_back();
    CERB_TRY(entry.offset, reader.U64());
    CERB_TRY(const std::uint64_t size, reader.U64());
    CERB_TRY(const std::uint64_t length, reader.U64());
    if (length > kMaxId) {
      return Err(reader.Error("the id of an entry is too long"));
    }
    CERB_TRY(const ByteSpan id, reader.Take(length));
    CERB_TRY(entry.object, reader.Slice(entry.offset, size));
    entry.id = AsText(id);
    entry.target = TargetOfBundleId(entry.id);
  }
  return entries;
}

Result<HipImage> ParseHipImage(ByteSpan data, const std::string& what,
                               std::uint64_t base) {
  HipImage image{};
  const auto at = [&](Diag diag) {
    diag.where.section = what;
    diag.where.offset = static_cast<std::int64_t>(base);
    return Err(std::move(diag));
  };
  if (IsCompressedBundle(data)) {
    image.kind = HipImageKind::kCompressedBundle;
    const auto header = ReadCompressedHeader(data);
    if (!header) return at(header.error());
    std::uint64_t size = header->file_size;
    if (header->version == 1) {
      const auto stream = StreamSize(data.subspan(header->size), header->method,
                                     header->bundle_size);
      if (!stream) return at(stream.error());
      size = header->size + *stream;
    }
    image.bytes = data.first(size);
    image.version = header->version;
    image.method = header->method == 0 ? "zlib" : "zstd";
    image.unpacked_size = header->bundle_size;
    return image;
  }
  if (IsBundle(data)) {
    image.kind = HipImageKind::kBundle;
    CERB_TRY(const std::vector<BundleEntry> entries,
             ParseBundle(data, what, base));
    std::uint64_t end = kBundleMagic.size() + sizeof(std::uint64_t);
    for (const BundleEntry& entry : entries) {
      end += 3 * sizeof(std::uint64_t) + entry.id.size();
    }
    for (const BundleEntry& entry : entries) {
      if (entry.object.empty()) continue;
      end = std::max<std::uint64_t>(end, entry.offset + entry.object.size());
    }
    image.bytes = data.first(end);
  } else if (StartsWith(data, kElfMagic)) {
    image.kind = HipImageKind::kCodeObject;
    const auto bytes = ElfExtent(data);
    if (!bytes) return at(bytes.error());
    image.bytes = *bytes;
  } else {
    return Err(ByteReader(data, what, base)
                   .Error("neither a code object nor an offload bundle"));
  }
  image.unpacked_size = image.bytes.size();
  return image;
}

Result<Bytes> DecompressBundle(ByteSpan image) {
  CERB_TRY(const CompressedHeader header, ReadCompressedHeader(image));
  const std::uint64_t end =
      header.version == 1 ? image.size() : header.file_size;
  const ByteSpan stream = image.subspan(header.size, end - header.size);
  return header.method == 0 ? Inflate(stream, header.bundle_size)
                            : Unzstd(stream, header.bundle_size);
}

}  // namespace cerberus::images
