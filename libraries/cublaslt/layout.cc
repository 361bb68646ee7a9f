#include "libraries/cublaslt/layout.h"

#include <cstdint>

namespace cerberus::libraries::cublaslt {
namespace {

std::uint64_t RoundedUp(std::uint64_t n, std::uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Elements that follow one another, and how often.
struct Runs {
  std::uint64_t length, count;
};
Runs RunsOf(const Layout& layout) {
  if (layout.order == kColumns) return {layout.rows, layout.columns};
  if (layout.order == kRows) return {layout.columns, layout.rows};
  const auto rows = static_cast<std::uint64_t>(RowsOfTile(layout.order));
  return {RoundedUp(layout.rows, rows) * 32, (layout.columns + 31) / 32};
}

}  // namespace

Memory MapMatrix(Work& work, std::byte* p, const Layout& layout, bool out) {
  const Runs runs = RunsOf(layout);
  const bool apart = layout.plane_offset != 0;
  const DataType type = apart ? cublas::PartType(layout.type) : layout.type;
  const auto map = [&](std::byte* from) {
    const std::size_t bytes = cublas::BytesOf(type, runs.length);
    const std::size_t stride =
        cublas::BytesOf(type, static_cast<std::size_t>(layout.ld));
    return out ? work.InOut(from, bytes, runs.count, stride)
               : const_cast<std::byte*>(
                     work.In(from, bytes, runs.count, stride));
  };
  return {map(p), apart ? map(p + layout.plane_offset) : nullptr};
}

Status CheckLayout(const Layout& layout) {
  if (cublas::BytesOf(layout.type, 2) == 0 || layout.order < kColumns ||
      layout.order > kColumns32Rows32 ||
      (layout.batch_mode != kStrided && layout.batch_mode != kPointerArray)) {
    return cublas::kNotSupported;
  }
  if (layout.plane_offset != 0 &&
      (!cublas::IsComplexType(layout.type) || layout.batch_mode != kStrided)) {
    return cublas::kNotSupported;
  }
  // Columns, or rows, begin at whole bytes.
  if (layout.type == cublas::kR4E2M1 &&
      (layout.ld % 2 != 0 || layout.batch_offset % 2 != 0 || IsTiled(layout))) {
    return cublas::kNotSupported;
  }
  return layout.ld >= 0 &&
                 static_cast<std::uint64_t>(layout.ld) >=
                     RunsOf(layout).length &&
                 layout.batches >= 0
             ? cublas::kSuccess
             : cublas::kInvalidValue;
}

}  // namespace cerberus::libraries::cublaslt
