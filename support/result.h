// Result<T>: a value or the diagnostic that says why there is none.
//
//   Result<Header> ReadHeader(ByteReader r) {
//     CERB_TRY(std::uint32_t magic, r.U32());
//     if (magic != kMagic) return Err(DiagCode::kBadFormat, "…");
//     …
//   }
#ifndef CERBERUS_SUPPORT_RESULT_H_
#define CERBERUS_SUPPORT_RESULT_H_

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "support/diag.h"

namespace cerberus {

template <typename T>
using Result = tl::expected<T, Diag>;
using Status = tl::expected<void, Diag>;

inline tl::unexpected<Diag> Err(Diag diag) {
  return tl::unexpected<Diag>(std::move(diag));
}
inline tl::unexpected<Diag> Err(DiagCode code, std::string message) {
  return Err(MakeDiag(code, std::move(message)));
}
inline tl::unexpected<Diag> Err(DiagCode code, Where where,
                                std::string message) {
  return Err(MakeDiag(code, std::move(where), std::move(message)));
}

#define CERB_CONCAT_INNER(a, b) a##b
#define CERB_CONCAT(a, b) CERB_CONCAT_INNER(a, b)

// Declares `lhs` with the value of `expr`, or returns its error.
#define CERB_TRY(lhs, expr) \
  CERB_TRY_IMPL(CERB_CONCAT(cerb_try_, __LINE__), lhs, expr)
#define CERB_TRY_IMPL(tmp, lhs, expr)                       \
  auto tmp = (expr);                                        \
  if (!tmp) return ::cerberus::Err(std::move(tmp).error()); \
  lhs = std::move(*tmp)

// The same for an expression without a value.
#define CERB_TRY_VOID(expr)                                    \
  do {                                                         \
    auto cerb_try_tmp = (expr);                                \
    if (!cerb_try_tmp)                                         \
      return ::cerberus::Err(std::move(cerb_try_tmp).error()); \
  } while (false)

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_RESULT_H_
