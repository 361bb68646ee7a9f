#include "cli/scale/kept_file.h"

#include <cstdint>

#include "cli/exit_code.h"

namespace cerberus::cli {

Bytes WriteKeptFile(const std::string& key, const ProcessResult& run) {
  Bytes bytes(key.begin(), key.end());
  AppendLe(bytes, static_cast<std::uint64_t>(run.exit_code));
  AppendLe(bytes, std::uint64_t{run.err.size()});
  bytes.insert(bytes.end(), run.err.begin(), run.err.end());
  bytes.insert(bytes.end(), run.out.begin(), run.out.end());
  return bytes;
}

std::optional<ProcessResult> ReadKeptFile(const std::string& key,
                                          ByteSpan bytes) {
  ByteReader reader(bytes);
  const Result<ByteSpan> name = reader.Take(key.size());
  if (!name || AsText(*name) != key) return std::nullopt;
  const Result<std::uint64_t> exit_code = reader.U64();
  const Result<std::uint64_t> size = reader.U64();
  if (!exit_code || !size || !MadeFiles(*exit_code)) return std::nullopt;
  const Result<ByteSpan> messages = reader.Take(*size);
  if (!messages) return std::nullopt;
  const Result<ByteSpan> code = reader.Take(reader.remaining());
  ProcessResult run;
  run.exit_code = static_cast<int>(*exit_code);
  run.err = AsText(*messages);
  run.out.assign(code->begin(), code->end());
  return run;
}

}  // namespace cerberus::cli
