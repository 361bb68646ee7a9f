/* client ARCHIVE: prints what it holds, through all functions that look into
 * one archive. */
#include <rocm_kpack/kpack.h>
#include <stdio.h>
#include <string.h>

static int fail(kpack_archive_t archive, const char* what) {
  fprintf(stderr, "%s: %s\n", what, kpack_get_last_error(archive));
  return 1;
}

static bool print_arch(const char* arch, void* prefix) {
  printf("%s%s\n", (const char*)prefix, arch);
  return true;
}

int main(int argc, char** argv) {
  kpack_archive_t archive;
  const char** arches;
  size_t arch_count;
  if (argc != 2) return 2;
  if (kpack_open(argv[1], &archive)) return fail(NULL, "open");
  if (kpack_enumerate_architectures(argv[1], print_arch, "target ")) return 1;
  if (kpack_get_architectures(archive, &arches, &arch_count)) return 1;
  if (arches[arch_count] != NULL) return 1;
  for (const char** arch = arches; *arch != NULL; ++arch) {
    const char** names;
    size_t count;
    if (kpack_list_kernels(archive, NULL, *arch, &names, &count)) return 1;
    for (size_t i = 0; i < count; ++i) {
      const void* view;
      void* copy;
      const char* json;
      size_t view_size, copy_size, json_size;
      if (kpack_view_kernel(archive, names[i], *arch, &view, &view_size) ||
          kpack_get_kernel(archive, names[i], *arch, &copy, &copy_size) ||
          kpack_get_kernel_metadata(archive, names[i], *arch, &json,
                                    &json_size)) {
        return fail(archive, names[i]);
      }
      if (view_size != copy_size || memcmp(view, copy, copy_size) != 0)
        return 1;
      if (strlen(json) != json_size) return 1;
      printf("%s %s %zu %s\n", names[i], *arch, copy_size, json);
      kpack_free_kernel(copy);
      if (kpack_release_view(archive, view)) return fail(archive, "release");
    }
  }
  kpack_close(archive);
  return 0;
}
