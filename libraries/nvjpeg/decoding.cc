// Streams become images. A call decodes at once, so that it tells what is wrong
// with a stream; the image is written when the program's stream comes to it.
#include <algorithm>
#include <cstring>

#include "libraries/common/work.h"
#include "libraries/nvjpeg/objects.h"

namespace cerberus::libraries::nvjpeg {
namespace {

// nvjpegImage_t.
struct Target {
  std::uint8_t* channel[kMostComponents];
  std::size_t pitch[kMostComponents];
};

bool IsFormat(int format) { return format >= kUnchanged && format <= kYuy2; }

OutputSettings SettingsOf(const Handle& handle, const DecodeParams& params) {
  OutputSettings settings;
  settings.format = params.format;
  settings.interpolate = (handle.flags & kInterpolate) != 0;
  settings.cmyk = params.cmyk;
  settings.orientation = params.orientation;
  settings.window = params.window ? &*params.window : nullptr;
  return settings;
}

Status CheckWindow(const Header& header, const DecodeParams& params) {
  if (!params.window) return kSuccess;
  const Window& w = *params.window;
  // Which of the two a window counts in is not told.
  if (params.shift != 0) return kImplementationNotSupported;
  return w.x <= header.width - w.width && w.y <= header.height - w.height
             ? kSuccess
             : kInvalidParameter;
}

Status ToImage(const Handle& handle, Bytes data, const Header& header,
               const DecodeParams& params,
               std::shared_ptr<const Image>* image) {
  if (const Status status = CheckWindow(header, params)) return status;
  auto decoded = std::make_shared<Image>();
  const Status status = Decode(data, header, (handle.flags & kStrict) != 0,
                               params.shift, decoded.get());
  *image = std::move(decoded);
  return status;
}

// In the stream's order.
Status Write(const Handle& handle, const Image& image,
             const DecodeParams& params, const Target& target, Stream stream) {
  auto output = std::make_shared<Output>();
  if (const Status status =
          Convert(image, SettingsOf(handle, params), output.get())) {
    return status;
  }
  Work work(*handle.driver, stream);
  Target to = target;
  for (std::size_t c = 0; c < output->channels.size(); ++c) {
    const Output::Channel& channel = output->channels[c];
    const auto width = static_cast<std::size_t>(channel.width);
    if (to.channel[c] == nullptr || to.pitch[c] < width) {
      return kInvalidParameter;
    }
    to.channel[c] =
        work.InOut(to.channel[c], width,
                   static_cast<std::size_t>(channel.height), to.pitch[c]);
  }
  const bool done = work.Run(
      [output, to] {
        for (std::size_t c = 0; c < output->channels.size(); ++c) {
          const Output::Channel& channel = output->channels[c];
          const auto width = static_cast<std::size_t>(channel.width);
          for (std::size_t y = 0; y < static_cast<std::size_t>(channel.height);
               ++y) {
            std::memcpy(to.channel[c] + y * to.pitch[c],
                        channel.bytes.data() + y * width, width);
          }
        }
      },
      /*wait=*/false);
  return done ? kSuccess : kExecutionFailed;
}

Status DecodeOne(const Handle& handle, const Tables& tables,
                 const std::uint8_t* data, std::size_t length,
                 const DecodeParams& params, const Target* target,
                 Stream stream) {
  if (data == nullptr || length == 0 || target == nullptr) {
    return kInvalidParameter;
  }
  std::vector<std::uint8_t> copy;
  Bytes bytes(data, length);
  if (handle.backend == kGpuHybridDevice) {
    copy.resize(length);
    if (!Work(*handle.driver, stream).ReadNow(copy.data(), data, length)) {
      return kExecutionFailed;
    }
    bytes = copy;
  }
  Header header;
  if (const Status status = ParseHeader(bytes, tables, false, &header)) {
    return status;
  }
  std::shared_ptr<const Image> image;
  if (const Status status = ToImage(handle, bytes, header, params, &image)) {
    return status;
  }
  return Write(handle, *image, params, *target, stream);
}

// The host's part of a stream that was parsed.
Status HostPhase(const Handle* handle, const Decoder* decoder, JpegState* state,
                 const DecodeParams* params, const JpegStream* stream) {
  if (const Status status = CheckAll(handle, decoder, state, stream)) {
    return status;
  }
  if (params != nullptr) {
    if (const Status status = Check(params)) return status;
  }
  if (!stream->header) return kInvalidParameter;
  return Guarded([&] {
    state->params = params != nullptr ? *params : DecodeParams();
    return ToImage(*handle, stream->data, *stream->header, state->params,
                   &state->image);
  });
}
Status DevicePhase(const Handle* handle, const Decoder* decoder,
                   JpegState* state, const Target* target, Stream stream) {
  if (const Status status = CheckAll(handle, decoder, state)) return status;
  if (target == nullptr || state->image == nullptr) return kInvalidParameter;
  return Guarded([&] {
    return Write(*handle, *state->image, state->params, *target, stream);
  });
}

Status SetParam(DecodeParams* params, bool valid, auto set) {
  if (const Status status = Check(params)) return status;
  if (!valid) return kInvalidParameter;
  set();
  return kSuccess;
}

}  // namespace
}  // namespace cerberus::libraries::nvjpeg

namespace lib = cerberus::libraries;
namespace nj = cerberus::libraries::nvjpeg;
using nj::Status;

NVJPEG_API int nvjpegGetImageInfo(nj::Handle* handle, const std::uint8_t* data,
                                  std::size_t length, int* count,
                                  int* subsampling, int* widths, int* heights) {
  if (const Status status = nj::Check(handle)) return status;
  if (data == nullptr || length == 0 || count == nullptr ||
      subsampling == nullptr || widths == nullptr || heights == nullptr) {
    return nj::kInvalidParameter;
  }
  return nj::Guarded([&] {
    nj::Header header;
    if (const Status status =
            nj::ParseHeader(nj::Bytes(data, length), {}, false, &header)) {
      return status;
    }
    const std::size_t components = header.components.size();
    *count = static_cast<int>(components);
    *subsampling = nj::SubsamplingOf(header);
    for (std::size_t i = 0; i < nj::kMostComponents; ++i) {
      widths[i] = i < components ? header.components[i].width : 0;
      heights[i] = i < components ? header.components[i].height : 0;
    }
    return nj::kSuccess;
  });
}

NVJPEG_API int nvjpegJpegStateCreate(nj::Handle* handle,
                                     nj::JpegState** state) {
  if (const Status status = nj::Check(handle)) return status;
  return nj::Make(nj::JpegState{}, state);
}
NVJPEG_API int nvjpegJpegStateDestroy(nj::JpegState* state) {
  return nj::Destroy(state);
}
NVJPEG_API int nvjpegDecoderCreate(nj::Handle* handle, int backend,
                                   nj::Decoder** decoder) {
  if (const Status status = nj::Check(handle)) return status;
  if (backend == nj::kHardware || backend == nj::kHardwareDevice) {
    return nj::kArchMismatch;
  }
  if (backend == nj::kLosslessBackend) return nj::kImplementationNotSupported;
  if (backend < nj::kDefault || backend > nj::kLosslessBackend) {
    return nj::kInvalidParameter;
  }
  return nj::Make(nj::Decoder{handle}, decoder);
}
NVJPEG_API int nvjpegDecoderDestroy(nj::Decoder* decoder) {
  return nj::Destroy(decoder);
}
NVJPEG_API int nvjpegDecoderStateCreate(nj::Handle* handle,
                                        nj::Decoder* decoder,
                                        nj::JpegState** state) {
  if (const Status status = nj::CheckAll(handle, decoder)) return status;
  return nj::Make(nj::JpegState{}, state);
}

NVJPEG_API int nvjpegDecode(nj::Handle* handle, nj::JpegState* state,
                            const std::uint8_t* data, std::size_t length,
                            int format, nj::Target* target,
                            lib::Stream stream) {
  if (const Status status = nj::CheckAll(handle, state)) return status;
  if (!nj::IsFormat(format)) return nj::kInvalidParameter;
  nj::DecodeParams params;
  params.format = format;
  return nj::Guarded([&] {
    return nj::DecodeOne(*handle, {}, data, length, params, target, stream);
  });
}

// --- Many
NVJPEG_API int nvjpegDecodeBatchedInitialize(nj::Handle* handle,
                                             nj::JpegState* state, int batch,
                                             int, int format) {
  if (const Status status = nj::CheckAll(handle, state)) return status;
  if (batch < 1 || !nj::IsFormat(format)) return nj::kInvalidParameter;
  state->batch = batch;
  state->format = format;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegDecodeBatchedPreAllocate(nj::Handle* handle,
                                              nj::JpegState* state, int batch,
                                              int width, int height, int,
                                              int format) {
  if (const Status status = nj::CheckAll(handle, state)) return status;
  return batch < 1 || width < 1 || height < 1 || !nj::IsFormat(format)
             ? nj::kInvalidParameter
             : nj::kSuccess;
}
NVJPEG_API int nvjpegDecodeBatchedParseJpegTables(nj::Handle* handle,
                                                  nj::JpegState* state,
                                                  const std::uint8_t* data,
                                                  std::size_t length) {
  if (const Status status = nj::CheckAll(handle, state)) return status;
  if (data == nullptr || length == 0) return nj::kInvalidParameter;
  return nj::Guarded([&] {
    nj::Header header;
    const Status status =
        nj::ParseHeader(nj::Bytes(data, length), {}, true, &header);
    if (status == nj::kSuccess) state->tables = std::move(header.tables);
    return status;
  });
}
NVJPEG_API int nvjpegDecodeBatched(nj::Handle* handle, nj::JpegState* state,
                                   const std::uint8_t* const* data,
                                   const std::size_t* lengths,
                                   nj::Target* targets, lib::Stream stream) {
  if (const Status status = nj::CheckAll(handle, state)) return status;
  if (state->batch == 0 || data == nullptr || lengths == nullptr ||
      targets == nullptr) {
    return nj::kInvalidParameter;
  }
  nj::DecodeParams params;
  params.format = state->format;
  return nj::Guarded([&] {
    for (int i = 0; i < state->batch; ++i) {
      if (const Status status =
              nj::DecodeOne(*handle, state->tables, data[i], lengths[i], params,
                            &targets[i], stream)) {
        return status;
      }
    }
    return nj::kSuccess;
  });
}
NVJPEG_API int nvjpegDecodeBatchedEx(nj::Handle* handle, nj::JpegState* state,
                                     const std::uint8_t* const* data,
                                     const std::size_t* lengths,
                                     nj::Target* targets,
                                     nj::DecodeParams** params,
                                     lib::Stream stream) {
  if (const Status status = nj::CheckAll(handle, state)) return status;
  if (state->batch == 0 || data == nullptr || lengths == nullptr ||
      targets == nullptr || params == nullptr) {
    return nj::kInvalidParameter;
  }
  return nj::Guarded([&] {
    for (int i = 0; i < state->batch; ++i) {
      if (const Status status = nj::Check(params[i])) return status;
      // The format is the batch's.
      nj::DecodeParams one = *params[i];
      one.format = state->format;
      if (const Status status =
              nj::DecodeOne(*handle, state->tables, data[i], lengths[i], one,
                            &targets[i], stream)) {
        return status;
      }
    }
    return nj::kSuccess;
  });
}

// --- In phases
NVJPEG_API int nvjpegDecodeJpeg(nj::Handle* handle, nj::Decoder* decoder,
                                nj::JpegState* state, nj::JpegStream* jpeg,
                                nj::Target* target, nj::DecodeParams* params,
                                lib::Stream stream) {
  if (const Status status =
          nj::HostPhase(handle, decoder, state, params, jpeg)) {
    return status;
  }
  return nj::DevicePhase(handle, decoder, state, target, stream);
}
NVJPEG_API int nvjpegDecodeJpegHost(nj::Handle* handle, nj::Decoder* decoder,
                                    nj::JpegState* state,
                                    nj::DecodeParams* params,
                                    nj::JpegStream* jpeg) {
  return nj::HostPhase(handle, decoder, state, params, jpeg);
}
NVJPEG_API int nvjpegDecodeJpegTransferToDevice(nj::Handle* handle,
                                                nj::Decoder* decoder,
                                                nj::JpegState* state,
                                                nj::JpegStream* jpeg,
                                                lib::Stream) {
  if (const Status status = nj::CheckAll(handle, decoder, state, jpeg)) {
    return status;
  }
  return state->image != nullptr ? nj::kSuccess : nj::kInvalidParameter;
}
NVJPEG_API int nvjpegDecodeJpegDevice(nj::Handle* handle, nj::Decoder* decoder,
                                      nj::JpegState* state, nj::Target* target,
                                      lib::Stream stream) {
  return nj::DevicePhase(handle, decoder, state, target, stream);
}

// --- Parameters
NVJPEG_API int nvjpegDecodeParamsCreate(nj::Handle* handle,
                                        nj::DecodeParams** params) {
  if (const Status status = nj::Check(handle)) return status;
  return nj::Make(nj::DecodeParams{}, params);
}
NVJPEG_API int nvjpegDecodeParamsDestroy(nj::DecodeParams* params) {
  return nj::Destroy(params);
}
NVJPEG_API int nvjpegDecodeParamsSetOutputFormat(nj::DecodeParams* params,
                                                 int format) {
  return nj::SetParam(params, nj::IsFormat(format),
                      [&] { params->format = format; });
}
// A size of -1 is no window.
NVJPEG_API int nvjpegDecodeParamsSetROI(nj::DecodeParams* params, int x, int y,
                                        int width, int height) {
  const bool none = width == -1 || height == -1;
  return nj::SetParam(
      params, none || (x >= 0 && y >= 0 && width > 0 && height > 0), [&] {
        params->window.reset();
        if (!none) params->window = nj::Window{x, y, width, height};
      });
}
NVJPEG_API int nvjpegDecodeParamsSetAllowCMYK(nj::DecodeParams* params,
                                              int allow) {
  return nj::SetParam(params, true, [&] { params->cmyk = allow != 0; });
}
NVJPEG_API int nvjpegDecodeParamsSetScaleFactor(nj::DecodeParams* params,
                                                int factor) {
  return nj::SetParam(params, factor >= 0 && factor <= 3,
                      [&] { params->shift = factor; });
}
NVJPEG_API int nvjpegDecodeParamsSetExifOrientation(nj::DecodeParams* params,
                                                    int orientation) {
  return nj::SetParam(params, orientation >= 0 && orientation <= 8,
                      [&] { params->orientation = orientation; });
}
