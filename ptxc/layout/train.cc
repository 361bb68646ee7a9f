// Compiles PTX by a library that counts what it executes (cmake/lay_out.cmake).
//
//   cerberus_ptxc_train LIBRARY PTX...
//
// The library writes its counts when the program ends. One thread and one
// layout of memory make them the same in every run, where the system allows
// the latter: hash tables with pointers as keys search as far then.
#include <dlfcn.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cerberus/ptxc.h"

namespace {

// One of each generation that has passes of its own.
constexpr const char* kTargets[] = {"gfx1030", "gfx1100", "gfx1201", "gfx90a",
                                    "gfx942"};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "cerberus_ptxc_train: error: %s\n", what.c_str());
  std::exit(1);
}

template <typename Function>
Function* Find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) Die(dlerror());
  return reinterpret_cast<Function*>(found);
}

void KeepAddresses(char** argv) {
  const int now = personality(0xffffffff);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) {
    return;
  }
  execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) Die("usage: cerberus_ptxc_train LIBRARY PTX...");
  KeepAddresses(argv);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) Die(dlerror());
  auto* compile =
      Find<decltype(cerberus_ptxc_compile)>(library, "cerberus_ptxc_compile");
  auto* release = Find<decltype(cerberus_ptxc_result_free)>(
      library, "cerberus_ptxc_result_free");
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || text.empty()) Die("cannot read " + std::string(argv[i]));
    for (const char* target : kTargets) {
      cerberus_ptxc_options options = {};
      options.size = sizeof options;
      options.arch = target;
      options.jobs = 1;
      cerberus_ptxc_result* result = nullptr;
      if (compile(text.data(), text.size(), &options, &result) !=
          CERBERUS_PTXC_OK) {
        Die(std::string(argv[i]) + " does not compile for " + target);
      }
      release(result);
    }
  }
  return 0;
}
