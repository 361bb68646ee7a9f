#include "rewriter/object_file.h"

#include <utility>

namespace cerberus::rewriter {

Diag ObjectFile::Error(DiagCode code, std::string message, std::string section,
                       std::int64_t offset) const {
  Where where;
  where.file = name_;
  where.section = std::move(section);
  where.offset = offset;
  return MakeDiag(code, std::move(where), std::move(message));
}

}  // namespace cerberus::rewriter
