// What the files of the C library share: the handles, and how an error leaves
// a function.
#ifndef CERBERUS_KPACK_C_HANDLES_H_
#define CERBERUS_KPACK_C_HANDLES_H_

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kpack/include/rocm_kpack/kpack.h"
#include "kpack/reader.h"
#include "kpack/resolve.h"
#include "support/mapped_file.h"

// C wants NUL-terminated strings, the archive's are views into the file.
struct kpack_archive {
  using EntryKey = std::pair<std::string, std::string>;  // binary, arch
  // What a view refers to: bytes unpacked for it, or a part of the mapping.
  struct View {
    cerberus::Bytes unpacked;
    const void* data = nullptr;
    std::size_t size = 0;
    std::size_t users = 0;
  };

  std::shared_ptr<const cerberus::kpack::Archive> archive;
  std::vector<std::string> arches;
  std::vector<std::string> binaries;
  std::vector<const char*> arch_names;  // with a NULL behind them

  // Made when they are asked for; what they hold does not move.
  std::mutex mutex;
  std::map<EntryKey, std::vector<const char*>> kernel_names;
  std::map<EntryKey, std::string> metadata;
  std::map<std::uint32_t, View> views;  // by ordinal
  cerberus::MappedFile mapping;
};

struct kpack_cache {
  cerberus::kpack::Resolver resolver;
};

namespace cerberus::kpack {

// Keeps the message for kpack_get_last_error. `handle` is what the function
// was called with, or NULL.
kpack_error_t FailWith(const void* handle, kpack_error_t code,
                       std::string message);
kpack_error_t BadArgument(const void* handle, const char* function);

template <typename T>
kpack_error_t FailWith(const void* handle, const KpackResult<T>& failed) {
  return FailWith(handle, static_cast<kpack_error_t>(failed.error().kpack_code),
                  failed.error().ToString());
}

// No exception leaves a function: each body runs inside Guard.
template <typename Body>
kpack_error_t Guard(const void* handle, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return FailWith(handle, KPACK_ERROR_OUT_OF_MEMORY, "no memory");
  } catch (const std::exception& error) {
    return FailWith(handle, KPACK_ERROR_IO_ERROR, error.what());
  }
}

// The entry of these names, or NULL and the error.
const Entry* FindEntry(kpack_archive_t archive, const char* binary_name,
                       const char* arch);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_C_HANDLES_H_
