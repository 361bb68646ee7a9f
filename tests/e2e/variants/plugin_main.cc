// A program that knows nothing of CUDA and loads a sample as a plugin.
#include <dlfcn.h>

#include <cstdio>

int main() {
  void* library = dlopen("libsample.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  void* symbol = dlsym(library, "_Z10SampleMainv");
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  return reinterpret_cast<int (*)()>(symbol)();
}
