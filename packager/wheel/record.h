// RECORD: a line of CSV for each file of a wheel, with its SHA-256 in base64
// (the alphabet for URLs, no padding) and its size.
#ifndef CERBERUS_PACKAGER_WHEEL_RECORD_H_
#define CERBERUS_PACKAGER_WHEEL_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::packager {

struct RecordLine {
  std::string path;
  std::string hash;  // "sha256=…"; empty for RECORD itself
  std::string size;  // decimal, or empty
};

// `name` is for messages. Errors: a line without three fields, a quote that
// does not end, a path that stands twice.
Result<std::vector<RecordLine>> ParseRecord(std::string_view text,
                                            const std::string& name);
std::string FormatRecord(const std::vector<RecordLine>& lines);

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  ~Sha256();

  void Update(ByteSpan bytes);
  // "sha256=…"
  std::string Text();
  // The same in hexadecimal digits; instead of Text().
  std::string Hex();

  static std::string Of(ByteSpan bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_RECORD_H_
