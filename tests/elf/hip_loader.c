/* hip_loader LIBRARY FOLDER ARCH...: loads a split HIP library, as a process
   with AMD's runtime would, and writes the code object that each wrapper gets
   for each target to FOLDER/NUMBER.ARCH. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocm_kpack/kpack.h"

struct Wrapper {
  char magic[4];
  uint32_t version;
  const void* binary;
  uint32_t number;
  uint32_t unused;
};

static const char* folder;
static char** arches;

static void Fail(const char* what) {
  fprintf(stderr, "hip_loader: %s\n", what);
  exit(1);
}

void** __hipRegisterFatBinary(const void* data) {
  static void* handle[1];
  const struct Wrapper* wrapper = data;
  if (memcmp(wrapper->magic, "HIPK", 4) != 0) Fail("a wrapper is not split");
  if (wrapper->version != 1 || wrapper->unused != 0) Fail("a wrapper is odd");
  char path[4096];
  if (kpack_discover_binary_path(wrapper->binary, path, sizeof path, NULL)) {
    Fail("no path of the library");
  }
  kpack_cache_t cache;
  if (kpack_cache_create(&cache)) Fail("no cache");
  for (char** arch = arches; *arch != NULL; ++arch) {
    void* code;
    size_t size;
    const char* wanted = *arch;
    const kpack_error_t error =
        kpack_load_code_object(cache, wrapper->binary, path, wrapper->number,
                               &wanted, 1, &code, &size);
    if (error == KPACK_ERROR_ARCH_NOT_FOUND ||
        error == KPACK_ERROR_ARCHIVE_NOT_FOUND ||
        error == KPACK_ERROR_KERNEL_NOT_FOUND) {
      continue; /* not every part of a library is for every target */
    }
    if (error) Fail("an archive cannot be read");
    char name[4096];
    snprintf(name, sizeof name, "%s/%u.%s", folder, wrapper->number, wanted);
    FILE* file = fopen(name, "wb");
    if (file == NULL || fwrite(code, 1, size, file) != size || fclose(file)) {
      Fail("cannot write");
    }
    kpack_free_code_object(code);
  }
  kpack_cache_destroy(cache);
  return handle;
}
void __hipUnregisterFatBinary(void** handle) { (void)handle; }
void __hipRegisterFunction(void) {}
void __hipRegisterVar(void) {}
int hipLaunchKernel(void) { return 0; }
int __hipPushCallConfiguration(void) { return 0; }
int __hipPopCallConfiguration(void) { return 0; }

int main(int argc, char** argv) {
  if (argc < 4) Fail("usage: hip_loader LIBRARY FOLDER ARCH...");
  folder = argv[2];
  arches = argv + 3;
  if (dlopen(argv[1], RTLD_NOW) == NULL) Fail(dlerror());
  return 0;
}
