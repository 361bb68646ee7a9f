/* The C API of ROCm's kpack archives.
 *
 * Compatible with the library of the same name that ROCm ships: the same
 * functions, the same numbers. Every function may be called from several
 * threads at once, on the same handle too. What an archive holds, and the
 * rules by which one is found, stand in docs/kpack-format.md.
 */
#ifndef ROCM_KPACK_KPACK_H_
#define ROCM_KPACK_KPACK_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define KPACK_API
#else
#define KPACK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define KPACK_MAGIC "KPAK"
#define KPACK_MAGIC_SIZE 4
#define KPACK_CURRENT_VERSION 1
#define KPACK_COMPRESSION_NOOP 0
#define KPACK_COMPRESSION_ZSTD_PER_KERNEL 1

typedef enum kpack_error_t {
  KPACK_SUCCESS = 0,
  KPACK_ERROR_INVALID_ARGUMENT = 1,
  KPACK_ERROR_FILE_NOT_FOUND = 2,
  KPACK_ERROR_INVALID_FORMAT = 3,
  KPACK_ERROR_UNSUPPORTED_VERSION = 4,
  KPACK_ERROR_KERNEL_NOT_FOUND = 5,
  KPACK_ERROR_DECOMPRESSION_FAILED = 6,
  KPACK_ERROR_OUT_OF_MEMORY = 7,
  KPACK_ERROR_NOT_IMPLEMENTED = 8,
  KPACK_ERROR_IO_ERROR = 9,
  KPACK_ERROR_MSGPACK_PARSE_FAILED = 10,
  KPACK_ERROR_PATH_DISCOVERY_FAILED = 11,
  KPACK_ERROR_INVALID_METADATA = 12,
  KPACK_ERROR_ARCHIVE_NOT_FOUND = 13,
  KPACK_ERROR_ARCH_NOT_FOUND = 14
} kpack_error_t;

typedef struct kpack_archive* kpack_archive_t;
typedef struct kpack_cache* kpack_cache_t;

/* Return false to stop. */
typedef bool (*kpack_arch_callback_t)(const char* arch, void* user_data);

/* --- One archive ------------------------------------------------------- */

KPACK_API kpack_error_t kpack_open(const char* path, kpack_archive_t* archive);
KPACK_API void kpack_close(kpack_archive_t archive); /* NULL is allowed */

/* The archive's target ids, in the order in which it lists them. Strings live
 * until the archive is closed. */
KPACK_API kpack_error_t kpack_get_architecture_count(kpack_archive_t archive,
                                                     size_t* count);
KPACK_API kpack_error_t kpack_get_architecture(kpack_archive_t archive,
                                               size_t index, const char** arch);

/* The keys "<binary>#<index>" of the table of contents, sorted by byte. */
KPACK_API kpack_error_t kpack_get_binary_count(kpack_archive_t archive,
                                               size_t* count);
KPACK_API kpack_error_t kpack_get_binary(kpack_archive_t archive, size_t index,
                                         const char** binary);

/* A copy of a code object, for kpack_free_kernel. Both names match exactly. */
KPACK_API kpack_error_t kpack_get_kernel(kpack_archive_t archive,
                                         const char* binary_name,
                                         const char* arch, void** kernel_data,
                                         size_t* kernel_size);
KPACK_API void kpack_free_kernel(void* kernel_data);

KPACK_API kpack_error_t kpack_enumerate_architectures(
    const char* path, kpack_arch_callback_t callback, void* user_data);

/* --- The same archive, looked at in more ways ----------------------------
 *
 * From upstream's RFC, whose library does not have them: a program that is to
 * run with both asks dlsym. Symbol version ROCM_KPACK_1.1. */
#define KPACK_HAS_QUERIES 1

/* What went wrong in this thread's last call that failed, on this archive or,
 * with NULL, on any and in kpack_open: "a.kpack: offset 0x48: 'app#0' for
 * gfx1100: cannot unpack: …". "" if nothing did. Lives until this thread's
 * next failure. */
KPACK_API const char* kpack_get_last_error(kpack_archive_t archive);

/* The archive's target ids, in its order, NULL behind the last. Array and
 * strings live until the archive is closed. */
KPACK_API kpack_error_t kpack_get_architectures(kpack_archive_t archive,
                                                const char*** arches,
                                                size_t* count);

/* What kpack_get_kernel takes as `binary_name` for a target: the keys
 * "<binary>#<index>" of one binary, or of all if `binary_name` is NULL, sorted
 * by byte, NULL behind the last. None is no error. Array and strings live
 * until the archive is closed. */
KPACK_API kpack_error_t kpack_list_kernels(kpack_archive_t archive,
                                           const char* binary_name,
                                           const char* arch,
                                           const char*** kernel_names,
                                           size_t* count);

/* What the table of contents says of a code object, as JSON (UTF-8, one line,
 * a NUL behind it that `size` does not count): an object of `type`,
 * `original_size`, `stored_size` and `metadata`, an object. Lives until the
 * archive is closed. */
KPACK_API kpack_error_t kpack_get_kernel_metadata(kpack_archive_t archive,
                                                  const char* binary_name,
                                                  const char* arch,
                                                  const char** metadata_json,
                                                  size_t* size);

/* A code object without a copy of it: a part of the mapped file where it is
 * stored plain, else unpacked once for all views of it. The bytes may not be
 * written to, and live until kpack_release_view was called as often as
 * kpack_view_kernel gave them out, or until the archive is closed. They are at
 * no particular alignment. Who cuts the file short meanwhile ends the process
 * with SIGBUS where the plain bytes are read: kpack_get_kernel does not have
 * that danger. */
KPACK_API kpack_error_t kpack_view_kernel(kpack_archive_t archive,
                                          const char* binary_name,
                                          const char* arch,
                                          const void** kernel_data,
                                          size_t* kernel_size);
KPACK_API kpack_error_t kpack_release_view(kpack_archive_t archive,
                                           const void* kernel_data);

/* --- Finding the code of a binary --------------------------------------- */

/* Reads ROCM_KPACK_PATH, _PATH_PREFIX, _DISABLE and _DEBUG; holds archives
 * open until it is destroyed. */
KPACK_API kpack_error_t kpack_cache_create(kpack_cache_t* cache);
KPACK_API void kpack_cache_destroy(kpack_cache_t cache); /* NULL is allowed */

/* The file that is mapped at an address, and the offset of the address in
 * that file (offset may be NULL). */
KPACK_API kpack_error_t kpack_discover_binary_path(const void* address,
                                                   char* path, size_t path_size,
                                                   size_t* offset);

/* The code object of wrapper number `co_index` for the first of the target
 * ids, most wanted first, that an archive has. `hipk_metadata` is the marker
 * that the wrapper points at. */
KPACK_API kpack_error_t kpack_load_code_object(
    kpack_cache_t cache, const void* hipk_metadata, const char* binary_path,
    uint32_t co_index, const char* const* arch_list, size_t arch_count,
    void** code_object, size_t* code_object_size);
KPACK_API void kpack_free_code_object(void* code_object);

#ifdef __cplusplus
}
#endif

#endif /* ROCM_KPACK_KPACK_H_ */
