#include "kpack/marker.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "kpack/msgpack_value.h"
#include "kpack/msgpack_writer.h"

namespace cerberus::kpack {
namespace {

Diag MarkerDiag(std::string message) {
  Where where;
  where.section = "marker";
  return MakeDiag(DiagCode::kBadFormat, std::move(where), std::move(message));
}

}  // namespace

Result<Bytes> EncodeMarker(const Marker& marker) {
  if (marker.search_paths.empty() || marker.kernel_name.empty()) {
    return Err(MarkerDiag("needs a search path and a kernel name"));
  }
  const bool ours = !marker.version.empty() || marker.abi >= 0;
  MsgpackWriter w;
  w.Map(ours ? 3 : 2);
  w.String("kpack_search_paths");
  w.Array(marker.search_paths.size());
  for (const std::string& path : marker.search_paths) w.String(path);
  w.String("kernel_name");
  w.String(marker.kernel_name);
  if (ours) {
    w.String("cerberus");
    w.Map(2);
    w.String("abi");
    w.Int(marker.abi);
    w.String("version");
    w.String(marker.version);
  }
  Bytes bytes = std::move(w).Take();
  if (bytes.size() > kMaxMarkerBytes) {
    return Err(MarkerDiag(fmt::format("{} bytes, readers take at most {}",
                                      bytes.size(), kMaxMarkerBytes)));
  }
  return bytes;
}

Result<Marker> DecodeMarker(ByteSpan bytes) {
  Document::Limits limits;
  limits.values = 1 << 16;
  limits.string_bytes = kMaxMarkerBytes;
  limits.allow_trailing_bytes = true;
  Result<Document> parsed = Document::Parse(
      bytes.first(std::min(bytes.size(), kMaxMarkerBytes)), limits);
  if (!parsed) {
    Diag diag = std::move(parsed).error();
    diag.where.section = "marker";
    return Err(std::move(diag));
  }
  const Value map = parsed->root();
  if (!map.is_map()) return Err(MarkerDiag("is not a map"));

  Marker marker;
  const Value paths = map.Find("kpack_search_paths");
  if (!paths.is_array() || paths.size() == 0) {
    return Err(MarkerDiag("has no list 'kpack_search_paths'"));
  }
  for (Value path = paths.First(); path; path = paths.Next(path)) {
    const std::optional<std::string_view> text = path.AsString();
    if (!text || text->empty()) {
      return Err(MarkerDiag("'kpack_search_paths' holds what is not a path"));
    }
    marker.search_paths.emplace_back(*text);
  }
  const std::optional<std::string_view> name =
      map.Find("kernel_name").AsString();
  if (!name) return Err(MarkerDiag("has no string 'kernel_name'"));
  marker.kernel_name = *name;

  const Value ours = map.Find("cerberus");
  marker.version = ours.Find("version").AsString().value_or("");
  marker.abi = ours.Find("abi").AsInt().value_or(-1);
  return marker;
}

std::string ModuleKey(const std::string& kernel_name, std::uint32_t index) {
  return fmt::format("{}#{}", kernel_name, index);
}

}  // namespace cerberus::kpack
