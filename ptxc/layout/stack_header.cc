// Gives a library that llvm-bolt -use-gnu-stack has written its PT_GNU_STACK
// back; without one glibc makes the stacks of a process executable. It takes
// the place of the program header of the note in spare_header.cc.
//
//   cerberus_stack_header LIBRARY
//
// That llvm-bolt adds a program header otherwise moves all of them, and GNU
// strip damages such files.
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

std::string path;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "cerberus_stack_header: error: %s: %s\n", path.c_str(),
               what);
  std::exit(1);
}

template <typename Value>
Value Read(std::fstream& file, std::uint64_t offset) {
  Value value;
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(reinterpret_cast<char*>(&value), sizeof value)) {
    Die("ends too early");
  }
  return value;
}

bool IsSpare(std::fstream& file, const Elf64_Phdr& header) {
  constexpr char kName[] = "Cerberus";
  struct Note {
    Elf64_Nhdr header;
    char name[sizeof kName];
  };
  if (header.p_type != PT_NOTE || header.p_filesz < sizeof(Note)) return false;
  const auto note = Read<Note>(file, header.p_offset);
  return note.header.n_namesz == sizeof kName &&
         std::memcmp(note.name, kName, sizeof kName) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: cerberus_stack_header LIBRARY\n", stderr);
    return 2;
  }
  path = argv[1];
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  if (!file) Die("cannot be opened");
  const auto elf = Read<Elf64_Ehdr>(file, 0);
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 ||
      elf.e_phentsize != sizeof(Elf64_Phdr)) {
    Die("is no ELF file of 64 bits");
  }
  std::uint64_t spare = 0;
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    const std::uint64_t offset = elf.e_phoff + i * sizeof(Elf64_Phdr);
    const auto header = Read<Elf64_Phdr>(file, offset);
    if (header.p_type == PT_GNU_STACK) Die("has a PT_GNU_STACK");
    if (IsSpare(file, header)) spare = offset;
  }
  if (spare == 0) Die("has no program header to spare");
  Elf64_Phdr stack = {};
  stack.p_type = PT_GNU_STACK;
  stack.p_flags = PF_R | PF_W;
  file.seekp(static_cast<std::streamoff>(spare));
  file.write(reinterpret_cast<const char*>(&stack), sizeof stack);
  file.close();
  if (!file) Die("cannot be written");
  return 0;
}
