/* A libcuda.so.1 that looks at what a converted program hands it, reading
   docs/marker-format.md anew: this is not the code under test. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wrapper {
  uint32_t magic, version;
  const unsigned char* data;
  void* last;
};
struct record {
  char magic[4];
  uint32_t version, index, flags;
  int64_t to_segment, to_wrapper, to_fatbin;
  uint64_t fatbin_size;
};
struct segment {
  char magic[8];
  uint32_t version, header_size;
  uint64_t covered, checksum;
  uint32_t records, count, marker, marker_size, link_map;
  unsigned char zero[12];
};

static int find(struct dl_phdr_info* info, size_t size, void* wrapper) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || (p->p_flags & PF_W) != 0 ||
        p->p_filesz < sizeof(struct segment)) {
      continue;
    }
    const unsigned char* at =
        (const unsigned char*)info->dlpi_addr + p->p_vaddr;
    const struct segment* s = (const struct segment*)at;
    if (memcmp(s->magic, "CERBSEG1", 8) != 0) continue;
    for (uint32_t k = 0; k < s->count; ++k) {
      const unsigned char* r = at + s->records + k * sizeof(struct record);
      if (r + ((const struct record*)r)->to_wrapper ==
          *(unsigned char**)wrapper) {
        *(const void**)wrapper = r;
        return 1;
      }
    }
  }
  return 0;
}

int cuLibraryLoadData(void** library, const void* image) {
  const struct wrapper* w = image;
  if (w->magic != 0x466243b1 || w->version < 1 || w->version > 2) return 10;
  const void* at = w->data;
  if (memcmp(at, "CBWR", 4) != 0) {
    at = w;
    if (!dl_iterate_phdr(find, &at)) return 11;
  }
  const unsigned char* base = at;
  const struct record* r = at;
  if (memcmp(r->magic, "CBWR", 4) != 0 || r->version != 1) return 12;
  if (base + r->to_wrapper != (const unsigned char*)w) return 13;
  const struct segment* s = (const struct segment*)(base + r->to_segment);
  if (memcmp(s->magic, "CERBSEG1", 8) != 0 || s->version != 1 ||
      s->header_size != 64) {
    return 14;
  }
  if (base != (const unsigned char*)s + s->records + r->index * 48) return 15;
  const uint32_t* fatbin = (const uint32_t*)(base + r->to_fatbin);
  if (r->flags & 2) {
    /* Gone from the file; its addresses are taken all the same. */
    const uintptr_t start = ((uintptr_t)fatbin + 4095) & ~(uintptr_t)4095;
    const uintptr_t end =
        ((uintptr_t)fatbin + r->fatbin_size) & ~(uintptr_t)4095;
    if (start >= end) return 18;
    for (uintptr_t p = start; p < end; ++p) {
      if (*(const volatile unsigned char*)p != 0) return 19;
    }
  } else if (fatbin[0] != 0xBA55ED50 || fatbin[2] + 16 != r->fatbin_size)
    return 16;
  const char* marker = (const char*)s + s->marker;
  if (memmem(marker, s->marker_size, "kpack_search_paths", 18) == 0) return 17;
  *library = (void*)r;
  return 0;
}
