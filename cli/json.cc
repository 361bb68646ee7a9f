#include "cli/json.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "support/json_text.h"

namespace cerberus::cli {
namespace {

void AppendUtf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Reads the pieces of a flat object off the front of a line.
class FlatParser {
 public:
  explicit FlatParser(std::string_view line) : rest_(line) {}

  bool Eat(char c) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }
  bool String(std::string& out) {
    if (!Eat('"')) return false;
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
      } else if (!Escape(out)) {
        return false;
      }
    }
    return false;
  }
  bool Scalar(std::string& out) {
    SkipSpace();
    if (!rest_.empty() && rest_[0] == '"') return String(out);
    while (!rest_.empty() &&
           (std::isalnum(static_cast<unsigned char>(rest_[0])) ||
            rest_[0] == '-' || rest_[0] == '+' || rest_[0] == '.')) {
      out += rest_[0];
      rest_.remove_prefix(1);
    }
    return !out.empty();
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool Escape(std::string& out) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    switch (c) {
      case 'n': out += '\n'; return true;
      case 't': out += '\t'; return true;
      case 'r': out += '\r'; return true;
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case 'u': {
        if (rest_.size() < 4) return false;
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
          const auto digit = static_cast<unsigned char>(rest_[i]);
          if (!std::isxdigit(digit)) return false;
          code = code * 16 + (std::isdigit(digit)
                                  ? digit - '0'
                                  : std::tolower(digit) - 'a' + 10);
        }
        rest_.remove_prefix(4);
        AppendUtf8(out, code);
        return true;
      }
      default: out += c; return c == '"' || c == '\\' || c == '/';
    }
  }

  std::string_view rest_;
};

}  // namespace

JsonWriter& JsonWriter::Key(std::string_view key) {
  StartValue();
  out_ += JsonQuoted(key);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::StartValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
  NewLine();
}

void JsonWriter::NewLine() {
  out_ += '\n';
  out_.append(2 * has_items_.size(), ' ');
}

void JsonWriter::Open(char bracket) {
  StartValue();
  out_ += bracket;
  has_items_.push_back(false);
}

void JsonWriter::Close(char bracket) {
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) NewLine();
  out_ += bracket;
}

void JsonWriter::String(std::string_view text) { Raw(JsonQuoted(text)); }
void JsonWriter::Int(std::int64_t value) { Raw(fmt::format("{}", value)); }
void JsonWriter::Uint(std::uint64_t value) { Raw(fmt::format("{}", value)); }
void JsonWriter::Number(double value) { Raw(fmt::format("{:.3f}", value)); }
void JsonWriter::Bool(bool value) { Raw(value ? "true" : "false"); }
void JsonWriter::Null() { Raw("null"); }

void JsonWriter::Raw(std::string_view json) {
  StartValue();
  out_ += json;
}

std::string JsonWriter::Take() && { return std::move(out_) + "\n"; }

void WriteStrings(const std::vector<std::string>& values, JsonWriter& json) {
  json.BeginArray();
  for (const std::string& value : values) json.String(value);
  json.EndArray();
}

void WriteReasons(const std::map<std::string, std::string>& reason_by_path,
                  JsonWriter& json) {
  json.BeginArray();
  for (const auto& [path, reason] : reason_by_path) {
    json.BeginObject();
    json.Key("path").String(path);
    json.Key("reason").String(reason);
    json.EndObject();
  }
  json.EndArray();
}

void WriteSizes(const FileSizes& files, JsonWriter& json) {
  json.BeginArray();
  for (const auto& [path, size] : files) {
    json.BeginObject();
    json.Key("path").String(path);
    json.Key("size").Uint(size);
    json.EndObject();
  }
  json.EndArray();
}

std::optional<std::map<std::string, std::string>> ParseFlatJson(
    std::string_view line) {
  FlatParser parser(line);
  std::map<std::string, std::string> object;
  if (!parser.Eat('{')) return std::nullopt;
  if (!parser.Eat('}')) {
    do {
      std::string key, value;
      if (!parser.String(key) || !parser.Eat(':') || !parser.Scalar(value)) {
        return std::nullopt;
      }
      object[std::move(key)] = std::move(value);
    } while (parser.Eat(','));
    if (!parser.Eat('}')) return std::nullopt;
  }
  if (!parser.AtEnd()) return std::nullopt;
  return object;
}

}  // namespace cerberus::cli
