/* A stand-in for a program built by nvcc: one wrapper, one fatbin of several
   pages, and the call that cudart makes with them. It checks on its way that
   all of its own memory is where the linker put it, two more fatbins among it
   that no wrapper leads to. As a shared object (-DLIBRARY) the same is done by
   an exported function. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PTX \
  ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(){ret;}\n"

#define TEXT 20000
#ifndef SECTION
#define SECTION ".nv_fatbin"
#endif

struct fatbin {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;
  struct {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t packed_size, options;
    uint16_t minor, major;
    uint32_t sm, name_offset, name_size;
    uint64_t flags, hash, unpacked_size;
  } entry;
  char text[TEXT];
};

#define FATBIN_OF                                           \
  {0xBA55ED50,                                              \
   1,                                                       \
   16,                                                      \
   sizeof(struct fatbin) - 16,                              \
   {1, 0x0101, 64, TEXT, 0, 0, 0, 8, 75, 0, 0, 0x11, 0, 0}, \
   PTX}

__attribute__((section(SECTION), aligned(8),
               used)) static const struct fatbin before = FATBIN_OF;
__attribute__((section(SECTION),
               aligned(8))) static const struct fatbin fatbin = FATBIN_OF;
__attribute__((section(SECTION), aligned(8),
               used)) static const struct fatbin behind = FATBIN_OF;

struct wrapper {
  uint32_t magic, version;
  const void* data;
  void* last;
};

#ifdef GLOBAL_FATBIN
/* Reached through a symbol that another object could replace: linkers fill
   the pointer by R_X86_64_64. */
extern const struct fatbin exported_fatbin
    __attribute__((alias("fatbin"), visibility("default")));
#define FATBIN &exported_fatbin
#else
#define FATBIN &fatbin
#endif

__attribute__((section(".nvFatBinSegment"),
               used)) static struct wrapper wrapper = {0x466243b1, 1, FATBIN,
                                                       0};

static char zeros[300001];
static __thread int counter = 41;
static const char* const words[] = {"one", "two", "three"};

static int run(void) {
  size_t i, sum = 0;
  for (i = 0; i < sizeof zeros; ++i) sum += (unsigned char)zeros[i];
  memset(zeros, 1, sizeof zeros);
  for (i = 0; i < sizeof zeros; ++i) sum += (unsigned char)zeros[i];
  ++counter;
  if (sum != sizeof zeros || counter != 42 || strcmp(words[2], "three")) {
    printf("FAIL: memory\n");
    return 1;
  }
  /* Handed over by address, as cuModuleLoadData takes them. */
  const struct fatbin* volatile loose[] = {&before, &behind};
  for (i = 0; i < 2; ++i) {
    if (loose[i]->magic != 0xBA55ED50 || strcmp(loose[i]->text, PTX)) {
      printf("FAIL: fatbin without wrapper\n");
      return 1;
    }
  }
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == 0) {
    printf("FAIL: %s\n", dlerror());
    return 1;
  }
  int (*load)(void**, const void*) =
      (int (*)(void**, const void*))dlsym(driver, "cuLibraryLoadData");
  void* library = 0;
  const int rc = load(&library, &wrapper);
  printf(rc == 0 ? "PASS\n" : "FAIL: driver says %d\n", rc);
  return rc;
}

#ifdef LIBRARY
int run_library(void) { return run(); }
#else
int main(void) { return run(); }
#endif
