/* Loads the library built from program.c, as Python loads an extension. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : 0;
  if (library == 0) {
    printf("FAIL: %s\n", dlerror());
    return 1;
  }
  int (*run)(void) = (int (*)(void))dlsym(library, "run_library");
  return run != 0 ? run() : 1;
}
