// lld, in this process. It reads and writes named files only, so the object
// goes through a private folder, and its state is global, so that one link
// runs at a time; a module takes a few milliseconds.
#include "ptxc/backend/link.h"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <vector>

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "ptxc/backend/codegen.h"
#include "ptxc/backend/notes.h"
#include "support/mapped_file.h"

LLD_HAS_DRIVER(elf)

namespace cerberus::ptx {
namespace {

// Removes the folder with all that is in it, however the link ends.
class PrivateFolder {
 public:
  static Result<PrivateFolder> Create() {
    llvm::SmallString<128> path;
    std::error_code error =
        llvm::sys::fs::createUniqueDirectory("cerberus-link", path);
    if (error) {
      return Err(
          ErrnoDiag("", "cannot create a temporary folder", error.value()));
    }
    return PrivateFolder(std::string(path));
  }
  PrivateFolder(PrivateFolder&& other) noexcept
      : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() {
    if (!path_.empty()) llvm::sys::fs::remove_directories(path_);
  }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Not by WriteFile: nothing is gained by waiting for the disk.
Status WriteObject(const std::string& path, ByteSpan object) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file.write(reinterpret_cast<const char*>(object.data()), object.size());
  file.close();
  if (!error) error = file.error();
  if (error) return Err(ErrnoDiag(path, "cannot write", error.value()));
  return {};
}

}  // namespace

Result<Bytes> LinkCodeObject(const std::vector<Bytes>& objects) {
  CERB_TRY(PrivateFolder folder, PrivateFolder::Create());
  const std::string out = folder.File("out");
  std::vector<std::string> in;
  for (const Bytes& object : objects) {
    in.push_back(folder.File(fmt::format("{}.o", in.size())));
    CERB_TRY_VOID(WriteObject(in.back(), object));
  }

  // -Bsymbolic: a kernel never looks at another module's variables.
  std::vector<const char*> args = {
      "ld.lld",          "-shared",     "-Bsymbolic", "--no-undefined",
      "--build-id=none", "--threads=1", "-o",         out.c_str()};
  for (const std::string& path : in) args.push_back(path.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  {
    const std::lock_guard lock(OptionsOfLlvm());
    const lld::Result result =
        lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0) {
      while (!messages.empty() && messages.back() == '\n') messages.pop_back();
      return Err(DiagCode::kCompiler, "the linker failed: " + messages);
    }
  }
  CERB_TRY(MappedFile linked, MappedFile::Open(out));
  Bytes code(linked.bytes().begin(), linked.bytes().end());
  if (objects.size() > 1) CERB_TRY_VOID(MergeNotes(code));
  return code;
}

}  // namespace cerberus::ptx
