#include "cli/report/findings.h"

#include <algorithm>

namespace cerberus::cli {
namespace {

template <typename Rows>
void Append(const Rows& from, Rows& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void WriteKernel(const Findings::KernelRow& row, JsonWriter& json) {
  json.BeginObject();
  json.Key("module").String(row.module);
  json.Key("target").String(row.target);
  WriteKernelJson(row.kernel, json);
  json.EndObject();
}

}  // namespace

void Findings::Add(const Findings& other) {
  Append(other.kernels, kernels);
  Append(other.missing, missing);
  Append(other.nvidia_libraries, nvidia_libraries);
  Append(other.unread, unread);
  for (const auto& [target, size] : other.sizes) {
    sizes[target].code += size.code;
    sizes[target].databases += size.databases;
  }
}

std::size_t Findings::SpillingCount() const {
  return static_cast<std::size_t>(std::count_if(
      kernels.begin(), kernels.end(),
      [](const KernelRow& row) { return row.kernel.vgpr_spills != 0; }));
}

void Findings::WriteTo(JsonWriter& json) const {
  json.Key("spilling").BeginArray();
  for (const KernelRow& row : kernels) {
    if (row.kernel.vgpr_spills != 0) WriteKernel(row, json);
  }
  json.EndArray();
  json.Key("kernel_list").BeginArray();
  for (const KernelRow& row : kernels) WriteKernel(row, json);
  json.EndArray();
  json.Key("missing").BeginArray();
  for (const MissingRow& row : missing) {
    json.BeginObject();
    json.Key("module").String(row.module);
    json.Key("target").String(row.target);
    json.Key("kernel").String(row.kernel);
    json.Key("reason").String(row.reason);
    json.EndObject();
  }
  json.EndArray();
  json.Key("unread").BeginArray();
  for (const UnreadRow& row : unread) {
    json.BeginObject();
    json.Key("module").String(row.module);
    json.Key("target").String(row.target);
    json.Key("reason").String(row.reason);
    json.EndObject();
  }
  json.EndArray();
  json.Key("nvidia_libraries").BeginArray();
  for (const NeededRow& row : nvidia_libraries) {
    json.BeginObject();
    json.Key("file").String(row.file);
    json.Key("library").String(row.library);
    json.Key("replacement").String(row.replacement);
    json.EndObject();
  }
  json.EndArray();
  json.Key("sizes").BeginArray();
  for (const auto& [target, size] : sizes) {
    json.BeginObject();
    json.Key("target").String(target);
    json.Key("code_bytes").Uint(size.code);
    json.Key("database_bytes").Uint(size.databases);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace cerberus::cli
