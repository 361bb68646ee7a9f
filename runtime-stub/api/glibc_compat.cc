// Lets the library run with glibc 2.28, whatever it was built with.
//
// Newer glibc gives some old functions new versions (those that moved from
// libdl and libpthread into libc in 2.34, stat in 2.33), and the static
// libstdc++ and libgcc ask for two things that older ones lack. The linker
// sends all references here (--wrap, CMakeLists.txt), and from here they go to
// the versions that every glibc has.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#define CERB_OLD(name) asm(".symver " #name "," #name "@GLIBC_2.2.5")

extern "C" {

CERB_OLD(dlopen);
CERB_OLD(dlsym);
CERB_OLD(dlclose);
CERB_OLD(dlerror);
CERB_OLD(dladdr);
CERB_OLD(pthread_once);
CERB_OLD(pthread_key_create);
CERB_OLD(__xstat);
CERB_OLD(__fxstat);

int __xstat(int version, const char* path, struct stat* out);
int __fxstat(int version, int fd, struct stat* out);

void* __wrap_dlopen(const char* path, int mode) { return dlopen(path, mode); }
void* __wrap_dlsym(void* library, const char* name) {
  return dlsym(library, name);
}
int __wrap_dlclose(void* library) { return dlclose(library); }
char* __wrap_dlerror() { return dlerror(); }
int __wrap_dladdr(const void* address, Dl_info* info) {
  return dladdr(address, info);
}

int __wrap_pthread_once(pthread_once_t* control, void (*routine)()) {
  return pthread_once(control, routine);
}
// libstdc++ looks whether this exists to know that there are threads.
int __wrap___pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) {
  return pthread_key_create(key, destroy);
}

// Before 2.33 stat was an inline function over these, with the version of
// the structure: 1 on x86-64.
constexpr int kStatVersion = 1;
int __wrap_stat(const char* path, struct stat* out) {
  return __xstat(kStatVersion, path, out);
}
int __wrap_fstat(int fd, struct stat* out) {
  return __fxstat(kStatVersion, fd, out);
}

// Since 2.32 glibc says here whether a process has one thread only, so that
// libstdc++ may count references without atomics. "No" is always right.
char __libc_single_threaded = 0;

// Since 2.35 glibc finds the unwind tables of an address for libgcc. This is
// the same by the way that works everywhere.
#if __GLIBC_PREREQ(2, 35)
struct UnwindSearch {
  std::uintptr_t address;
  dl_find_object* out;
};

static int SearchObject(dl_phdr_info* object, std::size_t, void* data) {
  auto* search = static_cast<UnwindSearch*>(data);
  bool inside = false;
  std::uintptr_t low = UINTPTR_MAX, high = 0, table = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      if (start < low) low = start;
      if (start + part.p_memsz > high) high = start + part.p_memsz;
      inside = inside || (search->address >= start &&
                          search->address - start < part.p_memsz);
    } else if (part.p_type == PT_GNU_EH_FRAME) {
      table = start;
    }
  }
  if (!inside || table == 0) return 0;
  *search->out = {};
  search->out->dlfo_map_start = reinterpret_cast<void*>(low);
  search->out->dlfo_map_end = reinterpret_cast<void*>(high);
  search->out->dlfo_eh_frame = reinterpret_cast<void*>(table);
  return 1;
}

int _dl_find_object(void* address, dl_find_object* out) {
  UnwindSearch search = {reinterpret_cast<std::uintptr_t>(address), out};
  return dl_iterate_phdr(SearchObject, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"
