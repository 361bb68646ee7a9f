#include "cli/verbs/kpack/kpack_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/convert/code_object.h"
#include "cli/convert/hip_image.h"
#include "cli/paths.h"
#include "images/code_object.h"
#include "kpack/content_key.h"
#include "rewriter/rewriter.h"
#include "support/input_file.h"

namespace cerberus::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kNoType[] = "bin";

Diag FileDiag(const std::string& path, DiagCode code, std::string message) {
  Where where;
  where.file = path;
  return MakeDiag(code, std::move(where), std::move(message));
}

Result<cerberus::Bytes> ReadAll(const std::string& path) {
  CERB_TRY(const InputFile file, InputFile::Open(path));
  return file.Read(0, file.size());
}

std::string Encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("-_.:+#@").find(c) != std::string_view::npos;
    // A name that begins with a dot is hidden, or the folder above.
    if (plain && !(c == '.' && out.empty())) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<std::string> Decode(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    if (name[0] != '%') {
      out += name[0];
      name.remove_prefix(1);
      continue;
    }
    const std::string digits(name.substr(1, 2));
    if (digits.size() != 2 ||
        !std::all_of(digits.begin(), digits.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; })) {
      return std::nullopt;
    }
    out += static_cast<char>(std::stoi(digits, nullptr, 16));
    name.remove_prefix(3);
  }
  return out;
}

// What the driver stub wants to know of code that ptxc made.
Result<kpack::Metadata> MetadataOf(ByteSpan code, const std::string& path) {
  CERB_TRY(const CodeObject object, ReadCodeObject(code, path));
  kpack::Metadata metadata;
  if (object.abi < 0) return metadata;
  metadata = {{"cerberus_abi", object.abi},
              {"ptxc", object.ptxc},
              {"sm", object.sm},
              {"ptx_version", object.ptx_version}};
  if (!object.failed.empty()) metadata.emplace("failed", object.failed);
  return metadata;
}

Status AddCode(const std::string& path, const std::string& key,
               const std::string& arch, ByteSpan code,
               std::vector<kpack::NewEntry>& inputs) {
  if (arch.empty()) {
    return Err(FileDiag(path, DiagCode::kBadFormat,
                        "the code object does not say what target it is for"));
  }
  CERB_TRY(kpack::Metadata metadata, MetadataOf(code, path));
  inputs.push_back({key, arch, "hsaco",
                    cerberus::Bytes(code.begin(), code.end()),
                    std::move(metadata)});
  return {};
}

void AddPtx(const std::string& key, cerberus::Bytes bytes,
            std::vector<kpack::NewEntry>& inputs) {
  kpack::Metadata metadata = {
      {"content_key", kpack::ContentKey(AsText(bytes))}};
  inputs.push_back({key, "ptx", "ptx", std::move(bytes), std::move(metadata)});
}

Result<std::vector<kpack::NewEntry>> ReadFile(const std::string& key,
                                              const std::string& path) {
  CERB_TRY(cerberus::Bytes bytes, ReadAll(path));
  std::vector<kpack::NewEntry> inputs;
  if (images::IsCodeObject(bytes)) {
    CERB_TRY(const CodeObject object, ReadCodeObject(bytes, path));
    CERB_TRY_VOID(AddCode(path, key, object.target, bytes, inputs));
    return inputs;
  }
  switch (rewriter::DetectFileKind(bytes)) {
    case rewriter::FileKind::kPtx:
      AddPtx(key, std::move(bytes), inputs);
      return inputs;
    case rewriter::FileKind::kHipBundle: {
      CERB_TRY(const rewriter::LocatedHipImage image,
               HipImageOfFile(bytes, path));
      CERB_TRY(const rewriter::CodeObjects objects, ReadHipImage(image, path));
      for (const rewriter::CodeObjects::Row& row : objects.rows) {
        CERB_TRY_VOID(AddCode(path, key, row.target, row.bytes, inputs));
      }
      return inputs;
    }
    default:
      return Err(FileDiag(path, DiagCode::kBadFormat,
                          "expected a code object, a HIP bundle or PTX"));
  }
}

// A file of a folder: what it is, its path says.
Result<kpack::NewEntry> ReadFolderFile(const std::string& arch,
                                       const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t dot = name.rfind('.');
  const std::optional<std::string> key = Decode(name.substr(0, dot));
  if (dot == std::string::npos || !key || key->empty()) {
    return Err(
        FileDiag(path.string(), DiagCode::kBadFormat,
                 "the name is not KEY.TYPE as `kpack extract` writes it"));
  }
  kpack::NewEntry input;
  input.key = *key;
  input.arch = arch;
  input.type = name.substr(dot + 1);
  if (input.type == kNoType) input.type.clear();
  CERB_TRY(input.bytes, ReadAll(path.string()));
  if (input.type == "ptx") {
    input.metadata = {{"content_key", kpack::ContentKey(AsText(input.bytes))}};
  } else if (images::IsCodeObject(input.bytes)) {
    CERB_TRY(input.metadata, MetadataOf(input.bytes, path.string()));
  }
  return input;
}

Result<std::vector<fs::path>> Sorted(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    paths.push_back(file.path());
  }
  if (error) {
    return Err(
        ErrnoDiag(folder.string(), "cannot read the folder", error.value()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<kpack::NewEntry>> ReadFolder(const std::string& folder) {
  std::vector<kpack::NewEntry> inputs;
  CERB_TRY(const std::vector<fs::path> arches, Sorted(folder));
  for (const fs::path& sub : arches) {
    const std::optional<std::string> arch = Decode(sub.filename().string());
    if (!arch || !fs::is_directory(sub)) {
      return Err(FileDiag(sub.string(), DiagCode::kBadFormat,
                          "expected a folder named after a target"));
    }
    CERB_TRY(const std::vector<fs::path> files, Sorted(sub));
    for (const fs::path& file : files) {
      CERB_TRY(kpack::NewEntry input, ReadFolderFile(*arch, file));
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

std::string WithNumber(std::string key) {
  if (key.find('#') == std::string::npos) key += "#0";
  return key;
}

}  // namespace

Result<std::vector<kpack::NewEntry>> ReadKpackInputs(
    const std::string& argument) {
  std::error_code error;
  if (fs::is_directory(argument, error)) return ReadFolder(argument);
  const std::size_t equals = argument.rfind('=');
  if (equals == std::string::npos || fs::exists(argument, error)) {
    return ReadFile(WithNumber(fs::path(argument).stem().string()), argument);
  }
  return ReadFile(WithNumber(argument.substr(0, equals)),
                  argument.substr(equals + 1));
}

std::string EntryFileName(std::string_view key, std::string_view arch,
                          std::string_view type) {
  return fmt::format("{}/{}.{}", Encode(arch), Encode(key),
                     type.empty() ? kNoType : Encode(type));
}

}  // namespace cerberus::cli
