/* Preloaded: the FAIL_AT-th allocation that libcuda.so.1 itself asks for fails.
 * With FAIL_COUNT set their number is written to stderr at the end. */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t bytes);

static ElfW(Addr) begin, end;
static long fail_at = -1, allocations;

static int FindStub(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size, (void)data;
  if (strstr(object->dlpi_name, "libcuda.so.1") == NULL) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    begin = object->dlpi_addr + part->p_vaddr;
    end = begin + part->p_memsz;
  }
  return 1;
}

/* Before the constructors of all libraries. */
__attribute__((constructor(101))) static void Start(void) {
  dl_iterate_phdr(FindStub, NULL);
  const char* text = getenv("FAIL_AT");
  if (text != NULL) fail_at = atol(text);
}
__attribute__((destructor)) static void Finish(void) {
  if (getenv("FAIL_COUNT") != NULL) fprintf(stderr, "%ld\n", allocations);
}

void* malloc(size_t bytes) {
  const ElfW(Addr) caller = (ElfW(Addr))__builtin_return_address(0);
  if (caller >= begin && caller < end && allocations++ == fail_at) return NULL;
  return __libc_malloc(bytes);
}
