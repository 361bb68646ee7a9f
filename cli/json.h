// JSON out, for --json; and the one shape of JSON that comes in, for the
// diagnostics of cerberus-jit.
#ifndef CERBERUS_CLI_JSON_H_
#define CERBERUS_CLI_JSON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cerberus::cli {

// Writes in call order, two spaces a level. Keys stand before their values:
//   json.BeginObject();
//   json.Key("schema").Int(1);
//   json.EndObject();
class JsonWriter {
 public:
  JsonWriter& Key(std::string_view key);
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  // Bytes that are not UTF-8 (file names may hold any) become U+FFFD.
  void String(std::string_view text);
  void Int(std::int64_t value);
  void Uint(std::uint64_t value);
  void Number(double value);  // three decimals
  void Bool(bool value);
  void Null();
  // A value that is JSON already.
  void Raw(std::string_view json);

  // The document, with a newline at its end.
  std::string Take() &&;

 private:
  void Open(char bracket);
  void Close(char bracket);
  void StartValue();
  void NewLine();

  std::string out_;
  std::vector<bool> has_items_;  // of each open object or array
  bool after_key_ = false;
};

// What several verbs say: a list of words; lists of objects, `path` and
// `reason`, `path` and `size`.
void WriteStrings(const std::vector<std::string>& values, JsonWriter& json);
void WriteReasons(const std::map<std::string, std::string>& reason_by_path,
                  JsonWriter& json);
using FileSizes = std::vector<std::pair<std::string, std::uint64_t>>;
void WriteSizes(const FileSizes& files, JsonWriter& json);

// One line that is an object of strings, numbers and booleans, all returned
// as text; none if it is anything else.
std::optional<std::map<std::string, std::string>> ParseFlatJson(
    std::string_view line);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_JSON_H_
