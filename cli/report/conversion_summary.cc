// What a conversion says of itself, in numbers.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/conversion.h"
#include "cli/json.h"

namespace cerberus::cli {

void ConversionSummary::Add(const ConversionSummary& other) {
  fatbins += other.fatbins;
  modules += other.modules;
  kernels += other.kernels;
  kernels_converted += other.kernels_converted;
  forms += other.forms;
  findings.Add(other.findings);
  code_objects += other.code_objects;
  found += other.found;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  archive_bytes += other.archive_bytes;
  for (const auto& [reason, count] : other.left_out) left_out[reason] += count;
}

void ConversionSummary::AddArchive(const std::string& target,
                                   std::uint64_t size) {
  archive_bytes += size;
  findings.sizes[target].code += size;
}

void ConversionSummary::WriteTo(JsonWriter& json) const {
  json.Key("fatbins").Uint(fatbins);
  json.Key("modules").Uint(modules);
  json.Key("code_objects").Uint(code_objects);
  json.Key("found").Uint(found);
  json.Key("kernels").Uint(kernels);
  json.Key("kernels_converted").Uint(kernels_converted);
  json.Key("forms").Uint(forms);
  json.Key("left_out").BeginArray();
  for (const auto& [reason, count] : left_out) {
    json.BeginObject();
    json.Key("reason").String(reason);
    json.Key("kernels").Uint(count);
    json.EndObject();
  }
  json.EndArray();
  json.Key("bytes_in").Uint(bytes_in);
  json.Key("bytes_out").Uint(bytes_out);
  json.Key("archive_bytes").Uint(archive_bytes);
  findings.WriteTo(json);
}

std::vector<std::pair<std::string, std::string>> ConversionSummary::Numbers()
    const {
  return {{"Kernels converted", fmt::format("{} of {}, over all targets",
                                            kernels_converted, kernels)},
          {"Code objects", fmt::format("{}", code_objects)},
          {"Modules with PTX", fmt::format("{}", modules)},
          {"Further forms of kernels", fmt::format("{}", forms)},
          {"Bytes before", fmt::format("{}", bytes_in)},
          {"Bytes after",
           fmt::format("{} and {} in archives", bytes_out, archive_bytes)}};
}

}  // namespace cerberus::cli
