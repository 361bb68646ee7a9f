#include "packager/wheel/record.h"

#include <fmt/format.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cerberus::packager {
namespace {

std::string Base64Url(ByteSpan bytes) {
  constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6;) {
      count -= 6;
      text += kAlphabet[bits >> count & 63];
    }
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
    if (c == '"') quoted += '"';
#endif
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

Result<std::vector<RecordLine>> ParseRecord(std::string_view text,
                                            const std::string& name) {
  std::vector<RecordLine> lines;
  std::set<std::string> paths;
  const auto fail = [&](const std::string& why) {
    Where where;
    where.file = name;
    return Err(DiagCode::kBadFormat, std::move(where),
               fmt::format("line {} {}", lines.size() + 1, why));
  };
  while (!text.empty()) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    std::size_t i = 0;
    for (; i < text.size(); ++i) {
      const char c = text[i];
      if (quoted) {
        if (c != '"') {
          fields.back() += c;
        } else if (i + 1 < text.size() && text[i + 1] == '"') {
          fields.back() += '"';
          ++i;
        } else {
          quoted = false;
        }
      } else if (c == '"' && fields.back().empty()) {
        quoted = true;
      } else if (c == ',') {
        fields.emplace_back();
      } else if (c == '\n') {
        break;
      } else if (c != '\r') {
        fields.back() += c;
      }
    }
    if (quoted) return fail("has a quote without an end");
    text.remove_prefix(std::min(i + 1, text.size()));
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields.size() != 3) {
      return fail(fmt::format("has {} fields, expected path, hash and size",
                              fields.size()));
    }
    if (!paths.insert(fields[0]).second) {
      return fail(fmt::format("has '{}' a second time", fields[0]));
    }
    lines.push_back({fields[0], fields[1], fields[2]});
  }
  return lines;
}

std::string FormatRecord(const std::vector<RecordLine>& lines) {
  std::string text;
  for (const RecordLine& line : lines) {
    text += fmt::format("{},{},{}\n", Quoted(line.path), Quoted(line.hash),
                        Quoted(line.size));
  }
  return text;
}

struct Sha256::Impl {
  llvm::SHA256 hash;
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Update(ByteSpan bytes) {
  impl_->hash.update(llvm::ArrayRef<std::uint8_t>(bytes.data(), bytes.size()));
}

std::string Sha256::Text() {
  return "sha256=" + Base64Url(impl_->hash.final());
}

std::string Sha256::Hex() {
  std::string text;
  for (const std::uint8_t byte : impl_->hash.final()) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

std::string Sha256::Of(ByteSpan bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Text();
}

}  // namespace cerberus::packager
