// The functions of the C API that upstream's RFC has and its library does not:
// lists, metadata, the last error, and views.
#include <algorithm>
#include <cstring>

#include "kpack/c_handles.h"
#include "kpack/json_text.h"
#include "support/json_text.h"

using cerberus::Bytes;
using cerberus::ByteSpan;
using cerberus::kpack::Archive;
using cerberus::kpack::BadArgument;
using cerberus::kpack::Entry;
using cerberus::kpack::FailWith;
using cerberus::kpack::FindEntry;
using cerberus::kpack::Guard;
using cerberus::kpack::KpackResult;
using cerberus::kpack::KpackStatus;

namespace cerberus::kpack {
namespace {

// Of this thread: another's failure does not change what is being read.
struct LastError {
  const void* handle = nullptr;
  std::string message;
};
thread_local LastError last_error;

// "lib/x.so#0" and "lib/x.so#1" are kernels of "lib/x.so".
bool IsOf(std::string_view key, std::string_view binary) {
  if (key == binary) return true;
  return key.substr(0, binary.size()) == binary &&
         key.rfind('#') == binary.size();
}

std::string MetadataJson(const Entry& entry) {
  std::string json = "{\"type\":" + JsonQuoted(entry.type);
  json += ",\"original_size\":" + std::to_string(entry.original_size);
  json += ",\"stored_size\":" + std::to_string(entry.stored_size);
  json += ",\"metadata\":";
  json += entry.metadata ? JsonText(entry.metadata) : "{}";
  return json + "}";
}

// The bytes of a view: where they are in the file, or unpacked.
KpackStatus MakeView(kpack_archive& handle, const Entry& entry,
                     kpack_archive::View& view) {
  const Archive& archive = *handle.archive;
  if (!archive.IsPlain(entry)) {
    KpackResult<Bytes> bytes = archive.Read(entry);
    if (!bytes) return tl::unexpected<KpackDiag>(std::move(bytes).error());
    view.unpacked = *std::move(bytes);
    view.data = view.unpacked.data();
    view.size = view.unpacked.size();
    return {};
  }
  if (handle.mapping.size() == 0) {
    Result<MappedFile> mapped = archive.MapFile();
    if (!mapped) {
      return tl::unexpected<KpackDiag>(
          KpackDiag(KpackCode::kIoError, std::move(mapped).error()));
    }
    handle.mapping = *std::move(mapped);
  }
  const std::uint64_t offset = archive.StoredOffset(entry);
  if (offset > handle.mapping.size() ||
      entry.stored_size > handle.mapping.size() - offset) {
    return tl::unexpected<KpackDiag>(KpackDiag(
        KpackCode::kIoError,
        MakeDiag(DiagCode::kIo, archive.path() + ": has become shorter")));
  }
  const ByteSpan bytes =
      handle.mapping.bytes().subspan(offset, entry.stored_size);
  if (KpackStatus status = archive.CheckStored(entry, bytes); !status) {
    return status;
  }
  view.data = bytes.data();
  view.size = bytes.size();
  return {};
}

}  // namespace

kpack_error_t FailWith(const void* handle, kpack_error_t code,
                       std::string message) {
  last_error.handle = handle;
  last_error.message = std::move(message);
  return code;
}

kpack_error_t BadArgument(const void* handle, const char* function) {
  return FailWith(handle, KPACK_ERROR_INVALID_ARGUMENT,
                  std::string(function) +
                      ": an argument is NULL, out of range or too small");
}

const Entry* FindEntry(kpack_archive_t archive, const char* binary_name,
                       const char* arch) {
  const Entry* entry = archive->archive->Find(binary_name, arch);
  if (entry == nullptr) {
    FailWith(
        archive, KPACK_ERROR_KERNEL_NOT_FOUND,
        archive->archive->path() + ": no '" + binary_name + "' for " + arch);
  }
  return entry;
}

}  // namespace cerberus::kpack

extern "C" {

const char* kpack_get_last_error(kpack_archive_t archive) {
  using cerberus::kpack::last_error;
  return archive == nullptr || archive == last_error.handle
             ? last_error.message.c_str()
             : "";
}

kpack_error_t kpack_get_architectures(kpack_archive_t archive,
                                      const char*** arches, size_t* count) {
  if (archive == nullptr || arches == nullptr || count == nullptr) {
    return BadArgument(archive, __func__);
  }
  *arches = archive->arch_names.data();
  *count = archive->arches.size();
  return KPACK_SUCCESS;
}

kpack_error_t kpack_list_kernels(kpack_archive_t archive,
                                 const char* binary_name, const char* arch,
                                 const char*** kernel_names, size_t* count) {
  if (archive == nullptr || arch == nullptr || kernel_names == nullptr ||
      count == nullptr) {
    return BadArgument(archive, __func__);
  }
  return Guard(archive, [&] {
    const std::string binary = binary_name == nullptr ? "" : binary_name;
    const std::lock_guard<std::mutex> lock(archive->mutex);
    std::vector<const char*>& names = archive->kernel_names[{binary, arch}];
    if (names.empty()) {
      for (const std::string& key : archive->binaries) {
        if (!binary.empty() && !cerberus::kpack::IsOf(key, binary)) continue;
        if (archive->archive->Find(key, arch) == nullptr) continue;
        names.push_back(key.c_str());
      }
      names.push_back(nullptr);
    }
    *kernel_names = names.data();
    *count = names.size() - 1;
    return KPACK_SUCCESS;
  });
}

kpack_error_t kpack_get_kernel_metadata(kpack_archive_t archive,
                                        const char* binary_name,
                                        const char* arch,
                                        const char** metadata_json,
                                        size_t* size) {
  if (archive == nullptr || binary_name == nullptr || arch == nullptr ||
      metadata_json == nullptr || size == nullptr) {
    return BadArgument(archive, __func__);
  }
  return Guard(archive, [&] {
    const Entry* entry = FindEntry(archive, binary_name, arch);
    if (entry == nullptr) return KPACK_ERROR_KERNEL_NOT_FOUND;
    const std::lock_guard<std::mutex> lock(archive->mutex);
    std::string& json = archive->metadata[{binary_name, arch}];
    if (json.empty()) json = cerberus::kpack::MetadataJson(*entry);
    *metadata_json = json.c_str();
    *size = json.size();
    return KPACK_SUCCESS;
  });
}

kpack_error_t kpack_view_kernel(kpack_archive_t archive,
                                const char* binary_name, const char* arch,
                                const void** kernel_data, size_t* kernel_size) {
  if (archive == nullptr || binary_name == nullptr || arch == nullptr ||
      kernel_data == nullptr || kernel_size == nullptr) {
    return BadArgument(archive, __func__);
  }
  return Guard(archive, [&] {
    const Entry* entry = FindEntry(archive, binary_name, arch);
    if (entry == nullptr) return KPACK_ERROR_KERNEL_NOT_FOUND;
    const std::lock_guard<std::mutex> lock(archive->mutex);
    const auto at = archive->views.try_emplace(entry->ordinal).first;
    if (at->second.users == 0) {
      KpackStatus made =
          cerberus::kpack::MakeView(*archive, *entry, at->second);
      if (!made) {
        archive->views.erase(at);
        return FailWith(archive, made);
      }
    }
    ++at->second.users;
    *kernel_data = at->second.data;
    *kernel_size = at->second.size;
    return KPACK_SUCCESS;
  });
}

kpack_error_t kpack_release_view(kpack_archive_t archive,
                                 const void* kernel_data) {
  if (archive == nullptr) return BadArgument(archive, __func__);
  return Guard(archive, [&] {
    const std::lock_guard<std::mutex> lock(archive->mutex);
    const auto at = std::find_if(
        archive->views.begin(), archive->views.end(),
        [&](const auto& view) { return view.second.data == kernel_data; });
    if (at == archive->views.end()) {
      return BadArgument(archive, "kpack_release_view");
    }
    if (--at->second.users == 0) archive->views.erase(at);
    return KPACK_SUCCESS;
  });
}

}  // extern "C"
