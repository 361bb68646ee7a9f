// Images become streams: a call waits for its CUDA stream, and encodes.
#include <algorithm>
#include <cstring>

#include "libraries/common/work.h"
#include "libraries/nvjpeg/blocks.h"
#include "libraries/nvjpeg/objects.h"

namespace cerberus::libraries::nvjpeg {
namespace {

// nvjpegImage_t.
struct Source {
  const std::uint8_t* channel[kMostComponents];
  std::size_t pitch[kMostComponents];
};
struct Size {
  int width, height;  // in bytes, rows
};

Plane PlaneOf(int width, int height) {
  Plane plane;
  plane.width = width;
  plane.height = height;
  plane.samples.resize(static_cast<std::size_t>(width) * height);
  return plane;
}

// What of a row are the samples of one plane.
struct Piece {
  std::size_t channel, offset, step;
};
// A plane's width and height follow from its piece's channel.
Status Read(const Handle& handle, const Source& source,
            const std::vector<Size>& sizes, const std::vector<Piece>& pieces,
            Stream stream, std::vector<Plane>* planes) {
  Work work(*handle.driver, stream);
  Source from = source;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    const auto width = static_cast<std::size_t>(sizes[c].width);
    if (from.channel[c] == nullptr || from.pitch[c] < width) {
      return kInvalidParameter;
    }
    from.channel[c] =
        work.In(from.channel[c], width,
                static_cast<std::size_t>(sizes[c].height), from.pitch[c]);
  }
  planes->clear();
  for (const Piece& piece : pieces) {
    const Size& size = sizes[piece.channel];
    planes->push_back(
        PlaneOf(size.width / static_cast<int>(piece.step), size.height));
  }
  const bool done = work.Run(
      [&] {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          const Piece& piece = pieces[i];
          std::uint8_t* to = (*planes)[i].samples.data();
          for (int y = 0; y < (*planes)[i].height; ++y) {
            const std::uint8_t* row =
                from.channel[piece.channel] +
                static_cast<std::size_t>(y) * from.pitch[piece.channel] +
                piece.offset;
            for (int x = 0; x < (*planes)[i].width; ++x) {
              *to++ = row[static_cast<std::size_t>(x) * piece.step];
            }
          }
        }
      },
      /*wait=*/true);
  return done ? kSuccess : kExecutionFailed;
}

Status Finish(const Image& image, const EncoderParams& params,
              EncoderState* state) {
  const bool gray = image.planes.size() == 1;
  int h = 1, v = 1;
  FactorsOf(params.subsampling, &h, &v);
  const bool fits = gray || (params.subsampling != kGraySampling &&
                             image.most_h == h && image.most_v == v);
  state->stream = Encode(fits ? image : Resample(image, params.subsampling),
                         params.settings);
  state->is_encoded = true;
  return kSuccess;
}

Status FromYcc(const Handle& handle, EncoderState* state,
               const EncoderParams& params, const Source& source,
               int subsampling, bool interleaved, int width, int height,
               Stream stream) {
  int h = 1, v = 1;
  if (!FactorsOf(subsampling, &h, &v)) return kInvalidParameter;
  std::vector<Size> sizes = {{width, height}};
  std::vector<Piece> pieces = {{0, 0, 1}};
  if (subsampling != kGraySampling) {
    const Size chroma = {DivideUp(width, h), DivideUp(height, v)};
    if (interleaved) {
      sizes.push_back({2 * chroma.width, chroma.height});
      pieces.insert(pieces.end(), {{1, 0, 2}, {1, 1, 2}});
    } else {
      sizes.insert(sizes.end(), {chroma, chroma});
      pieces.insert(pieces.end(), {{1, 0, 1}, {2, 0, 1}});
    }
  }
  Image image;
  image.width = width;
  image.height = height;
  image.most_h = h;
  image.most_v = v;
  image.colors = Colors::kYcc;
  if (const Status status =
          Read(handle, source, sizes, pieces, stream, &image.planes)) {
    return status;
  }
  image.planes[0].h = h;
  image.planes[0].v = v;
  return Finish(image, params, state);
}
Status FromColors(const Handle& handle, EncoderState* state,
                  const EncoderParams& params, const Source& source, int format,
                  int width, int height, Stream stream) {
  std::vector<Size> sizes;
  std::vector<Piece> pieces;
  if (format == kRgb || format == kBgr) {
    sizes.assign(3, {width, height});
    pieces = {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}};
  } else {
    sizes = {{3 * width, height}};
    pieces = {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}};
  }
  if (format == kBgr || format == kBgrInterleaved) {
    std::swap(pieces[0], pieces[2]);
  }
  std::vector<Plane> planes;
  if (const Status status =
          Read(handle, source, sizes, pieces, stream, &planes)) {
    return status;
  }
  const std::array<Plane, 3> rgb = {std::move(planes[0]), std::move(planes[1]),
                                    std::move(planes[2])};
  return Finish(FromRgb(rgb, params.subsampling), params, state);
}

Status EncodeOne(const Handle* handle, EncoderState* state,
                 const EncoderParams* params, const Source* source,
                 int subsampling, int format, int width, int height,
                 Stream stream) {
  if (const Status status = CheckAll(handle, state, params)) return status;
  constexpr int kMost = 65535;
  if (source == nullptr || width < 1 || height < 1 || width > kMost ||
      height > kMost) {
    return kInvalidParameter;
  }
  return Guarded([&] {
    state->is_encoded = false;
    switch (format) {
      case kYuv:
        return FromYcc(*handle, state, *params, *source, subsampling, false,
                       width, height, stream);
      case kNv12:
        return FromYcc(*handle, state, *params, *source, k420, true, width,
                       height, stream);
      case kRgb:
      case kBgr:
      case kRgbInterleaved:
      case kBgrInterleaved:
        return FromColors(*handle, state, *params, *source, format, width,
                          height, stream);
      default: return kInvalidParameter;
    }
  });
}

Status MakeState(const Handle* handle, EncoderState** state) {
  if (const Status status = Check(handle)) return status;
  return Make(EncoderState{}, state);
}
Status SetParam(EncoderParams* params, bool valid, auto set) {
  if (const Status status = Check(params)) return status;
  if (!valid) return kInvalidParameter;
  return Guarded([&] {
    set();
    return kSuccess;
  });
}

// The size, and the stream where there is room for it.
Status Retrieve(const Handle* handle, const EncoderState* state,
                std::uint8_t* data, std::size_t* length, Stream stream,
                bool device) {
  if (const Status status = CheckAll(handle, state)) return status;
  if (length == nullptr || !state->is_encoded) return kInvalidParameter;
  const std::size_t size = state->stream.size();
  if (data == nullptr) {
    *length = size;
    return kSuccess;
  }
  if (*length < size) return kInvalidParameter;
  *length = size;
  if (!device) {
    std::memcpy(data, state->stream.data(), size);
    return kSuccess;
  }
  return Guarded([&] {
    const auto copy =
        std::make_shared<std::vector<std::uint8_t>>(state->stream);
    Work work(*handle->driver, stream);
    std::uint8_t* const to = work.InOut(data, size);
    return work.Run([copy, to] { std::memcpy(to, copy->data(), copy->size()); },
                    /*wait=*/false)
               ? kSuccess
               : kExecutionFailed;
  });
}

}  // namespace
}  // namespace cerberus::libraries::nvjpeg

namespace lib = cerberus::libraries;
namespace nj = cerberus::libraries::nvjpeg;
using nj::Status;

NVJPEG_API int nvjpegEncoderStateCreate(nj::Handle* handle,
                                        nj::EncoderState** state, lib::Stream) {
  return nj::MakeState(handle, state);
}
NVJPEG_API int nvjpegEncoderStateCreateWithBackend(nj::Handle* handle,
                                                   nj::EncoderState** state,
                                                   int backend, lib::Stream) {
  constexpr int kGpu = 1, kEngine = 2;
  if (backend == kEngine) return nj::kArchMismatch;
  if (backend < 0 || backend > kGpu) return nj::kInvalidParameter;
  return nj::MakeState(handle, state);
}
NVJPEG_API int nvjpegEncoderStateDestroy(nj::EncoderState* state) {
  return nj::Destroy(state);
}

// --- Parameters
NVJPEG_API int nvjpegEncoderParamsCreate(nj::Handle* handle,
                                         nj::EncoderParams** params,
                                         lib::Stream) {
  if (const Status status = nj::Check(handle)) return status;
  return nj::Make(nj::EncoderParams{}, params);
}
NVJPEG_API int nvjpegEncoderParamsDestroy(nj::EncoderParams* params) {
  return nj::Destroy(params);
}
NVJPEG_API int nvjpegEncoderParamsSetQuality(nj::EncoderParams* params,
                                             int quality, lib::Stream) {
  return nj::SetParam(params, quality >= 1 && quality <= 100,
                      [&] { nj::SetQuality(quality, &params->settings); });
}
NVJPEG_API int nvjpegEncoderParamsSetEncoding(nj::EncoderParams* params,
                                              int encoding, lib::Stream) {
  return nj::SetParam(params,
                      encoding == nj::kBaseline || encoding == nj::kProgressive,
                      [&] { params->settings.encoding = encoding; });
}
NVJPEG_API int nvjpegEncoderParamsSetOptimizedHuffman(nj::EncoderParams* params,
                                                      int optimized,
                                                      lib::Stream) {
  return nj::SetParam(params, true,
                      [&] { params->settings.optimized = optimized != 0; });
}
NVJPEG_API int nvjpegEncoderParamsSetSamplingFactors(nj::EncoderParams* params,
                                                     int subsampling,
                                                     lib::Stream) {
  int h = 0, v = 0;
  return nj::SetParam(params, nj::FactorsOf(subsampling, &h, &v),
                      [&] { params->subsampling = subsampling; });
}
NVJPEG_API int nvjpegEncoderParamsSetRestartInterval(nj::EncoderParams* params,
                                                     unsigned interval,
                                                     lib::Stream) {
  return nj::SetParam(params, interval <= 65535, [&] {
    params->settings.restart = static_cast<int>(interval);
  });
}
NVJPEG_API int nvjpegEncoderParamsCopyMetadata(nj::EncoderState* state,
                                               nj::EncoderParams* params,
                                               nj::JpegStream* stream,
                                               lib::Stream) {
  if (const Status status = nj::CheckAll(state, params, stream)) return status;
  return nj::SetParam(params, stream->header.has_value(), [&] {
    params->settings.metadata = stream->header->metadata;
  });
}
NVJPEG_API int nvjpegEncoderParamsCopyQuantizationTables(
    nj::EncoderParams* params, nj::JpegStream* stream, lib::Stream) {
  if (const Status status = nj::CheckAll(params, stream)) return status;
  if (!stream->header) return nj::kInvalidParameter;
  const nj::Header& header = *stream->header;
  const auto& luma = header.tables.quant[header.components[0].quant];
  const std::size_t second = header.components.size() > 1 ? 1 : 0;
  const auto& chroma = header.tables.quant[header.components[second].quant];
  return nj::SetParam(params, luma.has_value() && chroma.has_value(), [&] {
    params->settings.luma = *luma;
    params->settings.chroma = *chroma;
  });
}
// Another image may need codes that these do not have: they are not used.
NVJPEG_API int nvjpegEncoderParamsCopyHuffmanTables(nj::EncoderState* state,
                                                    nj::EncoderParams* params,
                                                    nj::JpegStream* stream,
                                                    lib::Stream) {
  if (const Status status = nj::CheckAll(state, params, stream)) return status;
  return stream->header ? nj::kSuccess : nj::kInvalidParameter;
}

// --- Images
NVJPEG_API int nvjpegEncodeGetBufferSize(nj::Handle* handle,
                                         nj::EncoderParams* params, int width,
                                         int height, std::size_t* size) {
  if (const Status status = nj::CheckAll(handle, params)) return status;
  if (width < 1 || height < 1 || size == nullptr) return nj::kInvalidParameter;
  // Each coefficient is 26 bits at most; three components as large as the
  // image, filled up to units of 32.
  const auto blocks = static_cast<std::size_t>(nj::DivideUp(width, 32)) * 4 *
                      (static_cast<std::size_t>(nj::DivideUp(height, 32)) * 4) *
                      3;
  *size = blocks * 64 * 4 + params->settings.metadata.size() + 4096;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegEncodeYUV(nj::Handle* handle, nj::EncoderState* state,
                               nj::EncoderParams* params,
                               const nj::Source* source, int subsampling,
                               int width, int height, lib::Stream stream) {
  return nj::EncodeOne(handle, state, params, source, subsampling, nj::kYuv,
                       width, height, stream);
}
NVJPEG_API int nvjpegEncodeImage(nj::Handle* handle, nj::EncoderState* state,
                                 nj::EncoderParams* params,
                                 const nj::Source* source, int format,
                                 int width, int height, lib::Stream stream) {
  // These say nothing of chroma.
  if (format == nj::kYuv || format == nj::kNv12) return nj::kInvalidParameter;
  return nj::EncodeOne(handle, state, params, source, nj::k444, format, width,
                       height, stream);
}
NVJPEG_API int nvjpegEncode(nj::Handle* handle, nj::EncoderState* state,
                            nj::EncoderParams* params, const nj::Source* source,
                            int subsampling, int format, int width, int height,
                            lib::Stream stream) {
  return nj::EncodeOne(handle, state, params, source, subsampling, format,
                       width, height, stream);
}
NVJPEG_API int nvjpegEncodeRetrieveBitstream(nj::Handle* handle,
                                             nj::EncoderState* state,
                                             std::uint8_t* data,
                                             std::size_t* length,
                                             lib::Stream stream) {
  return nj::Retrieve(handle, state, data, length, stream, false);
}
NVJPEG_API int nvjpegEncodeRetrieveBitstreamDevice(nj::Handle* handle,
                                                   nj::EncoderState* state,
                                                   std::uint8_t* data,
                                                   std::size_t* length,
                                                   lib::Stream stream) {
  return nj::Retrieve(handle, state, data, length, stream, true);
}
