// A program header that cerberus_stack_header can take: the note has other
// alignment than the build ID, so that the linker gives it one of its own.
#include <cstdint>

namespace {

struct alignas(8) Note {
  std::uint32_t name_size;
  std::uint32_t description_size;
  std::uint32_t type;
  char name[12];
};

[[gnu::section(".note.cerberus"), gnu::used,
  gnu::retain]] const Note kSpareHeader = {sizeof "Cerberus", 0, 1, "Cerberus"};

}  // namespace
