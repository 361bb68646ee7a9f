#include "support/diag.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

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
  if (ptx_line > 0) {
    // As compilers print it. PTX inside of another file, or that the program
    // handed over, has no name of its own.
    const bool is_file = section.empty() && offset < 0 && !file.empty();
    if (!is_file) out += out.empty() ? "ptx" : ": ptx";
    out += fmt::format(":{}", ptx_line);
    if (ptx_column > 0) out += fmt::format(":{}", ptx_column);
  }
  if (!kernel.empty()) {
    if (!out.empty()) out += ": ";
    out += fmt::format("kernel '{}'", kernel);
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
