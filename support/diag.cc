#include "support/diag.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace cerberus {

std::string Where::ToString() const {
  std::string out = file;
  if (!section.empty() || offset >= 0) {
    if (!out.empty()) out += ": ";
    if (section.empty()) {
      out += fmt::format("offset 0x{:x}", offset);
    } else {
      out += section;
      if (offset >= 0) out += fmt::format("+0x{:x}", offset);
    }
  }
  if (!kernel.empty()) {
    if (!out.empty()) out += ": ";
    out += fmt::format("kernel '{}'", kernel);
  }
  if (ptx_line > 0) {
    if (!out.empty()) out += ": ";
    out += fmt::format("ptx:{}", ptx_line);
    if (ptx_column > 0) out += fmt::format(":{}", ptx_column);
  }
  if (source_line > 0) {
    out += fmt::format(" ({}:{})", source_file, source_line);
  }
  return out;
}

std::string Diag::ToString() const {
  std::string at = where.ToString();
  return at.empty() ? message : at + ": " + message;
}

Diag MakeDiag(DiagCode code, std::string message) {
  Diag diag;
  diag.code = code;
  diag.message = std::move(message);
  return diag;
}

Diag MakeDiag(DiagCode code, Where where, std::string message) {
  Diag diag = MakeDiag(code, std::move(message));
  diag.where = std::move(where);
  return diag;
}

Diag ErrnoDiag(const std::string& file, const std::string& what, int err) {
  Where where;
  where.file = file;
  return MakeDiag(DiagCode::kIo, std::move(where),
                  what + ": " + std::strerror(err));
}

}  // namespace cerberus
