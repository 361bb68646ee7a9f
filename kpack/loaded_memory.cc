#include "kpack/loaded_memory.h"

#include <link.h>

#include <cstdint>

namespace cerberus::kpack {
namespace {

struct Search {
  std::uintptr_t address;
  std::size_t found = 0;
};

int LookAt(dl_phdr_info* object, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0 ||
        search->address < begin || search->address - begin >= segment.p_memsz) {
      continue;
    }
    search->found = begin + segment.p_memsz - search->address;
    return 1;
  }
  return 0;
}

}  // namespace

std::size_t LoadedBytesAt(const void* address) {
  Search search = {reinterpret_cast<std::uintptr_t>(address)};
  ::dl_iterate_phdr(LookAt, &search);
  return search.found;
}

}  // namespace cerberus::kpack
