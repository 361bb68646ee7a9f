#include "ptxc/compile/outcome.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

namespace cerberus::ptx {
namespace {

// One function each for both directions, so that they cannot differ:
// `archive(field)` writes or reads it.
class Writer {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(const T& value) {
    AppendLe(bytes_, value);
  }
  void operator()(const std::string& text) { Add(text.data(), text.size()); }
  void operator()(const Bytes& bytes) { Add(bytes.data(), bytes.size()); }
  template <typename T>
    requires(!std::is_same_v<T, std::uint8_t>)
  void operator()(const std::vector<T>& list) {
    AppendLe(bytes_, std::uint64_t{list.size()});
    for (const T& item : list) Each(*this, item);
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    AppendLe(bytes_, value.has_value());
    if (value) Each(*this, *value);
  }
  Bytes Take() { return std::move(bytes_); }

 private:
  void Add(const void* data, std::size_t size) {
    AppendLe(bytes_, std::uint64_t{size});
    const auto* from = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  Bytes bytes_;
};

// After the first error nothing more is read.
class Reader {
 public:
  explicit Reader(ByteSpan bytes) : reader_(bytes, "outcome of a part") {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T& value) {
    if (const Result<T> read = reader_.Read<T>(); read && status_) {
      value = *read;
    } else if (status_) {
      status_ = Err(read.error());
    }
  }
  // Only what the writer writes: other bytes are no bool, and no such number.
  void operator()(bool& value) { value = OneOf<std::uint8_t>(1) != 0; }
  void operator()(Severity& value) { value = OneOf(Severity::kNote); }
  void operator()(DiagCode& value) { value = OneOf(DiagCode::kInternal); }
  void operator()(std::string& text) { text = AsText(Block()); }
  void operator()(Bytes& bytes) {
    const ByteSpan block = Block();
    bytes.assign(block.begin(), block.end());
  }
  template <typename T>
    requires(!std::is_same_v<T, std::uint8_t>)
  void operator()(std::vector<T>& list) {
    std::uint64_t count = 0;
    (*this)(count);
    while (count-- != 0 && status_) Each(*this, list.emplace_back());
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool there = false;
    (*this)(there);
    if (there) Each(*this, value.emplace());
  }
  Status Finish() {
    if (status_ && reader_.remaining() != 0) {
      status_ = Err(reader_.Error("bytes are left over"));
    }
    return status_;
  }

 private:
  template <typename T>
  T OneOf(T last) {
    using Number =
        std::conditional_t<std::is_enum_v<T>, std::underlying_type<T>,
                           std::type_identity<T>>::type;
    Number number{};
    (*this)(number);
    if (status_ && number > static_cast<Number>(last)) {
      status_ = Err(reader_.Error(
          fmt::format("{} stands where {} is the largest number there is",
                      number, static_cast<Number>(last))));
    }
    return status_ ? static_cast<T>(number) : T{};
  }
  ByteSpan Block() {
    std::uint64_t size = 0;
    (*this)(size);
    if (!status_) return {};
    const Result<ByteSpan> block = reader_.Take(size);
    if (block) return *block;
    status_ = Err(block.error());
    return {};
  }
  ByteReader reader_;
  Status status_;
};

template <typename Archive, typename T>
  requires std::is_arithmetic_v<std::remove_const_t<T>>
void Each(Archive& archive, T& value) {
  archive(value);
}
template <typename Archive>
void Each(Archive& archive, auto& value)
  requires std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>
{
  archive(value);
}
template <typename Archive>
void Each(Archive& archive, auto& sizes)
  requires std::is_same_v<std::remove_cvref_t<decltype(sizes)>,
                          std::array<unsigned, 3>>
{
  for (auto& size : sizes) archive(size);
}
// By all of their members: one more, and what binds them does not compile.
template <typename Archive>
void Each(Archive& archive, auto& diag)
  requires std::is_same_v<std::remove_cvref_t<decltype(diag)>, Diag>
{
  auto& [severity, code, where, message, notes] = diag;
  auto& [file, section, offset, kernel, ptx_line, ptx_column, source_file,
         source_line] = where;
  archive(severity);
  archive(code);
  archive(file);
  archive(section);
  archive(offset);
  archive(kernel);
  archive(ptx_line);
  archive(ptx_column);
  archive(source_file);
  archive(source_line);
  archive(message);
  archive(notes);
}
template <typename Archive>
void Each(Archive& archive, auto& kernel)
  requires std::is_same_v<std::remove_cvref_t<decltype(kernel)>, KernelInfo>
{
  auto& [name, maxntid, reqntid, minnctapersm, warps_per_wave, own_shared,
         window, tensor_bytes, cluster, max_cluster, explicit_cluster,
         blocks_are_clusters, clusters, second_form, launches, handle] = kernel;
  archive(name);
  archive(maxntid);
  archive(reqntid);
  archive(minnctapersm);
  archive(warps_per_wave);
  archive(own_shared);
  archive(window);
  archive(tensor_bytes);
  archive(cluster);
  archive(max_cluster);
  archive(explicit_cluster);
  archive(blocks_are_clusters);
  archive(clusters);
  archive(second_form);
  archive(launches);
  archive(handle);
}
template <typename Archive>
void Each(Archive& archive, auto& failed)
  requires std::is_same_v<std::remove_cvref_t<decltype(failed)>, FailedKernel>
{
  auto& [name, reason] = failed;
  archive(name);
  archive(reason);
}
template <typename Archive>
void Each(Archive& archive, auto& outcome)
  requires std::is_same_v<std::remove_cvref_t<decltype(outcome)>, PartOutcome>
{
  auto& [diags, error, reported, info, object] = outcome;
  // Of the whole program, and not the part's: what stands in front of kernels.
  auto& [ptx_major, ptx_minor, sm, arch, const_bytes, managed, kernels,
         failed] = info;
  archive(diags);
  archive(error);
  archive(reported);
  archive(kernels);
  archive(failed);
  archive(object);
}

}  // namespace

Bytes WriteOutcome(const PartOutcome& outcome) {
  Writer writer;
  Each(writer, outcome);
  return writer.Take();
}

Result<PartOutcome> ReadOutcome(ByteSpan bytes) {
  Reader reader(bytes);
  PartOutcome outcome;
  Each(reader, outcome);
  CERB_TRY_VOID(reader.Finish());
  return outcome;
}

}  // namespace cerberus::ptx
