#include "cli/convert/hip_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/convert/code_object.h"

namespace cerberus::cli {

using images::HipImageKind;

Result<rewriter::CodeObjects> ReadHipImage(
    const rewriter::LocatedHipImage& image, const std::string& file) {
  auto objects = rewriter::UnpackHipImage(
      image.image, image.section.empty() ? "HIP image" : image.section,
      image.offset);
  if (!objects) {
    Diag diag = std::move(objects).error();
    diag.where.file = file;
    return Err(std::move(diag));
  }
  for (rewriter::CodeObjects::Row& row : objects->rows) {
    if (!row.target.empty()) continue;
    CERB_TRY(const CodeObject object, ReadCodeObject(row.bytes, file));
    if (object.target.empty()) {
      Where where;
      where.file = file;
      where.offset = static_cast<std::int64_t>(image.offset);
      return Err(DiagCode::kUnsupported, std::move(where),
                 "the code object does not say which target it is for");
    }
    row.target = object.target;
  }
  return objects;
}

Result<rewriter::LocatedHipImage> HipImageOfFile(ByteSpan bytes,
                                                 const std::string& file) {
  rewriter::LocatedHipImage located{};
  auto image = images::ParseHipImage(bytes, "");
  if (!image) {
    Diag diag = std::move(image).error();
    diag.where.file = file;
    return Err(std::move(diag));
  }
  located.image = *image;
  const ByteSpan rest = bytes.subspan(image->bytes.size());
  if (std::any_of(rest.begin(), rest.end(),
                  [](std::uint8_t b) { return b != 0; })) {
    Where where;
    where.file = file;
    where.offset = static_cast<std::int64_t>(image->bytes.size());
    return Err(DiagCode::kBadFormat, std::move(where),
               "more bytes behind the end of the bundle");
  }
  return located;
}

std::string DescribeHipImage(const images::HipImage& image) {
  switch (image.kind) {
    case HipImageKind::kCodeObject: return "code object";
    case HipImageKind::kBundle: return "bundle";
    case HipImageKind::kCompressedBundle: break;
  }
  return fmt::format("compressed bundle, version {}, {}", image.version,
                     image.method);
}

}  // namespace cerberus::cli
