#include "kpack/json_text.h"

#include <fmt/format.h>

#include <cmath>

#include "support/json_text.h"

namespace cerberus::kpack {
namespace {

std::string Hex(ByteSpan bytes) {
  std::string out = "\"";
  for (const std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out + '"';
}

// Documents are not nested deeper than their readers allow.
void Append(Value value, std::string& out) {  // NOLINT(misc-no-recursion)
  switch (value.kind()) {
    case Value::Kind::kAbsent:
    case Value::Kind::kNil: out += "null"; break;
    case Value::Kind::kBool: out += *value.AsBool() ? "true" : "false"; break;
    case Value::Kind::kInt: out += fmt::format("{}", *value.AsInt()); break;
    case Value::Kind::kUint: out += fmt::format("{}", *value.AsUint()); break;
    case Value::Kind::kFloat:
      out += std::isfinite(*value.AsFloat())
                 ? fmt::format("{}", *value.AsFloat())
                 : "null";
      break;
    case Value::Kind::kString: out += JsonQuoted(*value.AsString()); break;
    case Value::Kind::kBinary: out += Hex(*value.AsBinary()); break;
    case Value::Kind::kExtension:
      out += Hex(value.AsExtension().value_or(ByteSpan()));
      break;
    case Value::Kind::kArray: {
      out += '[';
      const char* comma = "";
      for (Value v = value.First(); v; v = value.Next(v)) {
        out += comma;
        Append(v, out);
        comma = ",";
      }
      out += ']';
      break;
    }
    case Value::Kind::kMap: {
      out += '{';
      const char* comma = "";
      for (Value key = value.First(); key;) {
        const Value member = value.Next(key);
        out += comma;
        out += key.AsString() ? JsonQuoted(*key.AsString())
                              : JsonQuoted(JsonText(key));
        out += ':';
        Append(member, out);
        comma = ",";
        key = value.Next(member);
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

std::string JsonText(Value value) {
  std::string out;
  Append(value, out);
  return out;
}

}  // namespace cerberus::kpack
