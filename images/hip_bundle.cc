// A header and one zlib or zstd stream (Clang, "Clang Offload Bundler",
// "Compressed Bundled Code Object"):
//
//   version   1     2     3
//   magic     4     4     4     "CCOB"
//   version   2     2     2
//   method    2     2     2     0: zlib, 1: zstd
//   file      -     4     8     bytes of all this, header included
//   bundle    4     4     8     bytes of what the stream holds
//   hash      8     8     8     of the bundle, shortened
#include "images/hip_bundle.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace cerberus::rewriter {
namespace {

constexpr std::string_view kMagic = "CCOB";
// More than any bundle is.
constexpr std::uint64_t kMaxBundle = std::uint64_t{1} << 32;
// The header's size is not believed before the stream has filled it.
constexpr std::size_t kStep = std::size_t{1} << 20;

tl::unexpected<Diag> Broken(const char* what) {
  return Err(DiagCode::kBadFormat,
             std::string("compressed offload bundle: ") + what);
}

Result<Bytes> Inflate(ByteSpan in, std::uint64_t size) {
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

}  // namespace

bool IsCompressedBundle(ByteSpan image) {
  return image.size() >= kMagic.size() &&
         std::memcmp(image.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<Bytes> DecompressBundle(ByteSpan image) {
  ByteReader reader(image, "compressed offload bundle");
  CERB_TRY_VOID(reader.Skip(kMagic.size()));
  CERB_TRY(const std::uint16_t version, reader.Read<std::uint16_t>());
  CERB_TRY(const std::uint16_t method, reader.Read<std::uint16_t>());
  if (version < 1 || version > 3) return Broken("unknown version");
  std::uint64_t file = image.size(), size = 0;
  if (version == 3) {
    CERB_TRY(file, reader.Read<std::uint64_t>());
    CERB_TRY(size, reader.Read<std::uint64_t>());
  } else {
    if (version == 2) {
      CERB_TRY(file, reader.Read<std::uint32_t>());
    }
    CERB_TRY(size, reader.Read<std::uint32_t>());
  }
  CERB_TRY_VOID(reader.Skip(sizeof(std::uint64_t)));
  if (file < reader.offset() || file > image.size()) {
    return Broken("its size is not the file's");
  }
  if (size > kMaxBundle) return Broken("too large");
  const ByteSpan stream =
      image.subspan(reader.offset(), file - reader.offset());
  switch (method) {
    case 0: return Inflate(stream, size);
    case 1: return Unzstd(stream, size);
    default: return Broken("unknown method");
  }
}

}  // namespace cerberus::rewriter
