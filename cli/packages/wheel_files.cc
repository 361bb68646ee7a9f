#include "cli/packages/wheel_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/convert/bundle.h"

namespace cerberus::cli {

Status MakeOutputFolder(const std::string& folder,
                        std::vector<std::string>& made_folders) {
  namespace fs = std::filesystem;
  std::vector<std::string> missing;
  std::error_code error;
  for (fs::path path = fs::path(folder).lexically_normal();
       !path.empty() && !fs::exists(path, error); path = path.parent_path()) {
    if (path.has_filename()) missing.push_back(path.string());
  }
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    CERB_TRY_VOID(MakeFolder(*path, made_folders));
  }
  if (!fs::is_directory(folder, error)) {
    Where where;
    where.file = folder;
    return Err(DiagCode::kIo, std::move(where), "is not a folder");
  }
  return {};
}

Result<std::optional<OutputFile>> ReadWheelFile(
    const packager::Wheel& wheel, const packager::ZipMember& member,
    const std::string& path, const std::function<bool(ByteSpan)>& wanted,
    std::string& hash) {
  std::optional<OutputFile> unpacked;
  bool first = true;
  CERB_TRY(hash, wheel.Read(member, [&](ByteSpan piece) -> Status {
    if (first && !member.is_link && wanted(piece)) {
      CERB_TRY(unpacked, OutputFile::Create(path, member.mode));
    }
    first = false;
    return unpacked ? unpacked->Append(piece) : Status();
  }));
  return unpacked;
}

}  // namespace cerberus::cli
