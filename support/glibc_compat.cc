// Lets a program or library run with glibc 2.28, whatever it was built with.
//
// Newer glibc gives some old functions new versions (those that moved from
// libdl and libpthread into libc in 2.34, stat in 2.33, mathematics without
// errno's SVID handling in 2.29), and static libraries ask for some that older
// ones lack. The linker sends all references here (--wrap,
// cmake/CerberusPortable.cmake), and from here they go to the versions that
// every glibc has. What is not referenced is not linked (--gc-sections).
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#define CERB_OLD_VERSION(name, version) \
  asm(".symver " #name "," #name "@" version)
#define CERB_OLD(name) CERB_OLD_VERSION(name, "GLIBC_2.2.5")

// Defines __wrap_name, which calls the old version of `name`.
#define CERB_FORWARD(type, name, parameters, arguments)    \
  CERB_OLD(name);                                          \
  type __wrap_##name parameters { return name arguments; } \
  static_assert(true)

extern "C" {

CERB_FORWARD(void*, dlopen, (const char* path, int mode), (path, mode));
CERB_FORWARD(void*, dlsym, (void* library, const char* name), (library, name));
CERB_FORWARD(void*, dlvsym, (void* library, const char* name, const char* v),
             (library, name, v));
CERB_FORWARD(int, dlclose, (void* library), (library));
CERB_FORWARD(char*, dlerror, (), ());
CERB_FORWARD(int, dladdr, (const void* address, Dl_info* info),
             (address, info));
CERB_OLD_VERSION(dlinfo, "GLIBC_2.3.3");
int __wrap_dlinfo(void* library, int request, void* info) {
  return dlinfo(library, request, info);
}

CERB_FORWARD(int, pthread_once, (pthread_once_t * control, void (*routine)()),
             (control, routine));
CERB_FORWARD(int, pthread_create,
             (pthread_t * thread, const pthread_attr_t* attributes,
              void* (*routine)(void*), void* argument),
             (thread, attributes, routine, argument));
CERB_FORWARD(int, pthread_join, (pthread_t thread, void** value),
             (thread, value));
CERB_FORWARD(int, pthread_detach, (pthread_t thread), (thread));
CERB_FORWARD(int, pthread_attr_setstacksize,
             (pthread_attr_t * attributes, std::size_t size),
             (attributes, size));
CERB_FORWARD(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex));
CERB_FORWARD(int, pthread_mutexattr_init, (pthread_mutexattr_t * attributes),
             (attributes));
CERB_FORWARD(int, pthread_mutexattr_settype,
             (pthread_mutexattr_t * attributes, int type), (attributes, type));
CERB_FORWARD(int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attributes),
             (attributes));
CERB_FORWARD(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock));
CERB_FORWARD(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock));
CERB_FORWARD(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock));
CERB_FORWARD(int, pthread_sigmask,
             (int how, const sigset_t* set, sigset_t* old), (how, set, old));

CERB_OLD_VERSION(pthread_getname_np, "GLIBC_2.12");
CERB_OLD_VERSION(pthread_setname_np, "GLIBC_2.12");
int __wrap_pthread_getname_np(pthread_t thread, char* name, std::size_t size) {
  return pthread_getname_np(thread, name, size);
}
int __wrap_pthread_setname_np(pthread_t thread, const char* name) {
  return pthread_setname_np(thread, name);
}

CERB_FORWARD(int, pthread_key_create,
             (pthread_key_t * key, void (*destroy)(void*)), (key, destroy));
CERB_FORWARD(int, pthread_key_delete, (pthread_key_t key), (key));
CERB_FORWARD(void*, pthread_getspecific, (pthread_key_t key), (key));
CERB_FORWARD(int, pthread_setspecific, (pthread_key_t key, const void* value),
             (key, value));
// libstdc++ looks whether this exists to know that there are threads.
int __wrap___pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) {
  return pthread_key_create(key, destroy);
}

// Since 2.30 a condition can be waited for by the steady clock. Before, by that
// of the condition, the wall clock: where that is set meanwhile, the wait is
// as much longer or shorter, and whoever waits looks at the clock again.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition,
                                  pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* deadline) {
  constexpr long kSecond = 1000000000;
  timespec now, wall;
  if (clock_gettime(clock, &now) != 0) return EINVAL;
  clock_gettime(CLOCK_REALTIME, &wall);
  timespec until = {
      wall.tv_sec + (deadline->tv_sec - now.tv_sec),
      wall.tv_nsec + (deadline->tv_nsec - now.tv_nsec),
  };
  while (until.tv_nsec < 0) --until.tv_sec, until.tv_nsec += kSecond;
  while (until.tv_nsec >= kSecond) ++until.tv_sec, until.tv_nsec -= kSecond;
  return pthread_cond_timedwait(condition, mutex, &until);
}

// Before 2.33 these were inline functions over others, with the version of the
// structure: 1 on x86-64.
constexpr int kStatVersion = 1;
int __xstat(int version, const char* path, struct stat* out);
int __fxstat(int version, int fd, struct stat* out);
int __lxstat(int version, const char* path, struct stat* out);
int __fxstatat(int version, int fd, const char* path, struct stat* out,
               int flags);
CERB_OLD(__xstat);
CERB_OLD(__fxstat);
CERB_OLD(__lxstat);
CERB_OLD_VERSION(__fxstatat, "GLIBC_2.4");
int __wrap_stat(const char* path, struct stat* out) {
  return __xstat(kStatVersion, path, out);
}
int __wrap_fstat(int fd, struct stat* out) {
  return __fxstat(kStatVersion, fd, out);
}
// libstdc++ and SQLite call them by these names; on x86-64 it is the same.
int __wrap_stat64(const char* path, struct stat* out) {
  return __xstat(kStatVersion, path, out);
}
int __wrap_lstat64(const char* path, struct stat* out) {
  return __lxstat(kStatVersion, path, out);
}
int __wrap_fstat64(int fd, struct stat* out) {
  return __fxstat(kStatVersion, fd, out);
}
int __wrap_lstat(const char* path, struct stat* out) {
  return __lxstat(kStatVersion, path, out);
}
int __wrap_fstatat(int fd, const char* path, struct stat* out, int flags) {
  return __fxstatat(kStatVersion, fd, path, out, flags);
}

// The same numbers; only what they do beside is different.
CERB_FORWARD(double, exp, (double x), (x));
CERB_FORWARD(double, exp2, (double x), (x));
CERB_FORWARD(double, hypot, (double x, double y), (x, y));
CERB_FORWARD(float, hypotf, (float x, float y), (x, y));
CERB_FORWARD(double, log, (double x), (x));
CERB_FORWARD(double, log2, (double x), (x));
CERB_FORWARD(double, pow, (double x, double y), (x, y));

// New in 2.33 and 2.36. LLVM asks for the first to count its memory, for the
// second to name temporary files.
#if __GLIBC_PREREQ(2, 33)
struct mallinfo2 __wrap_mallinfo2() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();
#pragma GCC diagnostic pop
  const auto wide = [](int n) { return std::size_t{static_cast<unsigned>(n)}; };
  return {wide(old.arena),   wide(old.ordblks),  wide(old.smblks),
          wide(old.hblks),   wide(old.hblkhd),   wide(old.usmblks),
          wide(old.fsmblks), wide(old.uordblks), wide(old.fordblks),
          wide(old.keepcost)};
}
#endif
std::uint32_t __wrap_arc4random() {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

// The start of a program. Up to 2.33 the program itself brought the function
// that runs its initialisers; glibc runs them when that is null since.
extern void (*__init_array_start[])(int, char**, char**);
extern void (*__init_array_end[])(int, char**, char**);
void _init();
static void RunInitialisers(int argc, char** argv, char** environment) {
  _init();
  for (auto at = __init_array_start; at != __init_array_end; ++at) {
    (*at)(argc, argv, environment);
  }
}
using Main = int(int, char**, char**);
int __libc_start_main(Main* main, int argc, char** argv,
                      void (*init)(int, char**, char**), void (*fini)(),
                      void (*loader_fini)(), void* stack_end);
CERB_OLD(__libc_start_main);
int __wrap___libc_start_main(Main* main, int argc, char** argv,
                             void (*init)(int, char**, char**), void (*fini)(),
                             void (*loader_fini)(), void* stack_end) {
  return __libc_start_main(main, argc, argv,
                           init == nullptr ? RunInitialisers : init, fini,
                           loader_fini, stack_end);
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
