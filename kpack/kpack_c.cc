// The C API of upstream's library over the archive reader.
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kpack/c_handles.h"
#include "kpack/loaded_memory.h"
#include "kpack/marker.h"
#include "kpack/reader.h"
#include "kpack/resolve.h"
#include "rocm_kpack/kpack.h"

using cerberus::Bytes;
using cerberus::ByteSpan;
using cerberus::kpack::Archive;
using cerberus::kpack::BadArgument;
using cerberus::kpack::Entry;
using cerberus::kpack::FailWith;
using cerberus::kpack::FindEntry;
using cerberus::kpack::Guard;
using cerberus::kpack::KpackCode;
using cerberus::kpack::KpackResult;

namespace {

static_assert(static_cast<int>(KpackCode::kArchNotFound) ==
              KPACK_ERROR_ARCH_NOT_FOUND);
static_assert(static_cast<int>(KpackCode::kIoError) == KPACK_ERROR_IO_ERROR);

kpack_error_t CopyOut(const Bytes& bytes, void** data, size_t* size) {
  void* copy = std::malloc(std::max<size_t>(bytes.size(), 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(copy));
  *data = copy;
  *size = bytes.size();
  return KPACK_SUCCESS;
}

// The marker is at an address, its size is not given: it ends where its map
// ends, at most kMaxMarkerBytes further on. Mapped memory may end before
// that, so the bytes are found by /proc/self/maps first.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint64_t offset = 0;
  std::string path;
};

bool FindMapping(const void* address, Mapping& found) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  struct CloseFile {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<FILE, CloseFile> maps(
      std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return false;
  struct FreeLine {
    char* text = nullptr;
    size_t capacity = 0;
    ~FreeLine() { std::free(text); }
  } line;
  ssize_t length;
  bool inside = false;
  while ((length = getline(&line.text, &line.capacity, maps.get())) > 0) {
    std::uintptr_t begin, end;
    std::uint64_t offset;
    char rights[5];
    int path_at = 0;
    if (std::sscanf(line.text,
                    "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %*s %*s %n",
                    &begin, &end, rights, &offset, &path_at) < 4) {
      continue;
    }
    // Readable neighbours belong to the range that may be read.
    if (inside) {
      if (begin != found.end || rights[0] != 'r') return true;
      found.end = end;
      continue;
    }
    if (wanted < begin || wanted >= end) continue;
    inside = true;
    found.begin = begin;
    found.end = end;
    found.offset = offset + (wanted - begin);
    if (line.text[length - 1] == '\n') line.text[length - 1] = '\0';
    found.path = line.text + path_at;
  }
  return inside;
}

// All of the address space if nothing is known of the address. A marker that
// no loaded file holds is a test's.
std::size_t ReadableAt(const void* address) {
  const std::size_t loaded = cerberus::kpack::LoadedBytesAt(address);
  if (loaded != 0) return loaded;
  Mapping mapping;
  if (!FindMapping(address, mapping)) return SIZE_MAX;
  return mapping.end - reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

extern "C" {

kpack_error_t kpack_open(const char* path, kpack_archive_t* archive) {
  if (path == nullptr || archive == nullptr) {
    return BadArgument(nullptr, __func__);
  }
  *archive = nullptr;
  return Guard(nullptr, [&] {
    KpackResult<std::shared_ptr<const Archive>> opened = Archive::Open(path);
    if (!opened) return FailWith(nullptr, opened);
    auto handle = std::make_unique<kpack_archive>();
    handle->archive = *opened;
    for (std::string_view arch : handle->archive->arches()) {
      handle->arches.emplace_back(arch);
    }
    for (const Entry& entry : handle->archive->entries()) {
      if (handle->binaries.empty() || handle->binaries.back() != entry.key) {
        handle->binaries.emplace_back(entry.key);
      }
    }
    for (const std::string& arch : handle->arches) {
      handle->arch_names.push_back(arch.c_str());
    }
    handle->arch_names.push_back(nullptr);
    *archive = handle.release();
    return KPACK_SUCCESS;
  });
}

void kpack_close(kpack_archive_t archive) { delete archive; }

kpack_error_t kpack_get_architecture_count(kpack_archive_t archive,
                                           size_t* count) {
  if (archive == nullptr || count == nullptr) {
    return BadArgument(archive, __func__);
  }
  *count = archive->arches.size();
  return KPACK_SUCCESS;
}

kpack_error_t kpack_get_architecture(kpack_archive_t archive, size_t index,
                                     const char** arch) {
  if (archive == nullptr || arch == nullptr ||
      index >= archive->arches.size()) {
    return BadArgument(archive, __func__);
  }
  *arch = archive->arches[index].c_str();
  return KPACK_SUCCESS;
}

kpack_error_t kpack_get_binary_count(kpack_archive_t archive, size_t* count) {
  if (archive == nullptr || count == nullptr) {
    return BadArgument(archive, __func__);
  }
  *count = archive->binaries.size();
  return KPACK_SUCCESS;
}

kpack_error_t kpack_get_binary(kpack_archive_t archive, size_t index,
                               const char** binary) {
  if (archive == nullptr || binary == nullptr ||
      index >= archive->binaries.size()) {
    return BadArgument(archive, __func__);
  }
  *binary = archive->binaries[index].c_str();
  return KPACK_SUCCESS;
}

kpack_error_t kpack_get_kernel(kpack_archive_t archive, const char* binary_name,
                               const char* arch, void** kernel_data,
                               size_t* kernel_size) {
  if (archive == nullptr || binary_name == nullptr || arch == nullptr ||
      kernel_data == nullptr || kernel_size == nullptr) {
    return BadArgument(archive, __func__);
  }
  return Guard(archive, [&] {
    const Entry* entry = FindEntry(archive, binary_name, arch);
    if (entry == nullptr) return KPACK_ERROR_KERNEL_NOT_FOUND;
    KpackResult<Bytes> bytes = archive->archive->Read(*entry);
    if (!bytes) return FailWith(archive, bytes);
    return CopyOut(*bytes, kernel_data, kernel_size);
  });
}

void kpack_free_kernel(void* kernel_data) { std::free(kernel_data); }

kpack_error_t kpack_enumerate_architectures(const char* path,
                                            kpack_arch_callback_t callback,
                                            void* user_data) {
  if (path == nullptr || callback == nullptr) {
    return BadArgument(nullptr, __func__);
  }
  return Guard(nullptr, [&] {
    KpackResult<std::shared_ptr<const Archive>> opened = Archive::Open(path);
    if (!opened) return FailWith(nullptr, opened);
    for (std::string_view arch : (*opened)->arches()) {
      if (!callback(std::string(arch).c_str(), user_data)) break;
    }
    return KPACK_SUCCESS;
  });
}

kpack_error_t kpack_cache_create(kpack_cache_t* cache) {
  if (cache == nullptr) return BadArgument(nullptr, __func__);
  return Guard(nullptr, [&] {
    *cache = new kpack_cache;
    return KPACK_SUCCESS;
  });
}

void kpack_cache_destroy(kpack_cache_t cache) { delete cache; }

kpack_error_t kpack_discover_binary_path(const void* address, char* path,
                                         size_t path_size, size_t* offset) {
  if (address == nullptr || path == nullptr || path_size == 0) {
    return BadArgument(nullptr, __func__);
  }
  return Guard(nullptr, [&] {
    Mapping mapping;
    // Anonymous memory has no path, "[stack]" and its like are none.
    if (!FindMapping(address, mapping) || mapping.path.empty() ||
        mapping.path[0] != '/') {
      return FailWith(nullptr, KPACK_ERROR_PATH_DISCOVERY_FAILED,
                      "no file is mapped at the address");
    }
    if (mapping.path.size() >= path_size)
      return BadArgument(nullptr, "kpack_discover_binary_path");
    std::memcpy(path, mapping.path.c_str(), mapping.path.size() + 1);
    if (offset != nullptr) *offset = mapping.offset;
    return KPACK_SUCCESS;
  });
}

kpack_error_t kpack_load_code_object(kpack_cache_t cache,
                                     const void* hipk_metadata,
                                     const char* binary_path, uint32_t co_index,
                                     const char* const* arch_list,
                                     size_t arch_count, void** code_object,
                                     size_t* code_object_size) {
  if (cache == nullptr || hipk_metadata == nullptr || binary_path == nullptr ||
      arch_list == nullptr || arch_count == 0 || code_object == nullptr ||
      code_object_size == nullptr) {
    return BadArgument(cache, __func__);
  }
  return Guard(cache, [&] {
    const std::size_t readable = std::min<std::size_t>(
        cerberus::kpack::kMaxMarkerBytes, ReadableAt(hipk_metadata));
    cerberus::Result<cerberus::kpack::Marker> marker =
        cerberus::kpack::DecodeMarker(ByteSpan(
            static_cast<const std::uint8_t*>(hipk_metadata), readable));
    if (!marker) {
      return FailWith(cache, KPACK_ERROR_INVALID_METADATA,
                      "marker: " + marker.error().ToString());
    }

    cerberus::kpack::Resolver::Request request;
    request.search_paths = marker->search_paths;
    request.binary_path = binary_path;
    request.key = cerberus::kpack::ModuleKey(marker->kernel_name, co_index);
    for (size_t i = 0; i < arch_count; ++i) {
      if (arch_list[i] != nullptr) request.arches.emplace_back(arch_list[i]);
    }
    KpackResult<cerberus::kpack::Resolver::Found> found =
        cache->resolver.Load(request);
    if (!found) return FailWith(cache, found);
    return CopyOut(found->bytes, code_object, code_object_size);
  });
}

void kpack_free_code_object(void* code_object) { std::free(code_object); }

}  // extern "C"
