// lld, in this process. It reads and writes named files only, so the object
// goes through a private folder, and its state is global, so that one link
// runs at a time; a module takes a few milliseconds.
#include "ptxc/link.h"

#include <mutex>
#include <string>
#include <vector>

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

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
      return Err(ErrnoDiag("", "cannot create a temporary folder",
                           error.value()));
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
  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

Result<Bytes> LinkCodeObject(ByteSpan object) {
  static std::mutex one_link_at_a_time;
  CERB_TRY(PrivateFolder folder, PrivateFolder::Create());
  const std::string in = folder.File("in.o");
  const std::string out = folder.File("out");
  // Not by WriteFile: nothing is gained by waiting for the disk.
  std::error_code error;
  llvm::raw_fd_ostream file(in, error);
  file.write(reinterpret_cast<const char*>(object.data()), object.size());
  file.close();
  if (!error) error = file.error();
  if (error) {
    return Err(ErrnoDiag(in, "cannot write", error.value()));
  }

  // -Bsymbolic: a kernel never looks at another module's variables.
  const std::vector<const char*> args = {
      "ld.lld",         "-shared",     "-Bsymbolic", "--no-undefined",
      "--build-id=none", "--threads=1", "-o",         out.c_str(),
      in.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  {
    std::lock_guard lock(one_link_at_a_time);
    const lld::Result result = lld::lldMain(
        args, stream, stream, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0) {
      while (!messages.empty() && messages.back() == '\n') messages.pop_back();
      return Err(DiagCode::kCompiler, "the linker failed: " + messages);
    }
  }
  CERB_TRY(MappedFile linked, MappedFile::Open(out));
  return Bytes(linked.bytes().begin(), linked.bytes().end());
}

}  // namespace cerberus::ptx
