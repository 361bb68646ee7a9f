// Built with HAS=N: a library of its own with the function, which says N. Else
// one that calls it, and with MAIN a program that does.
#include <stdio.h>

#ifdef HAS
unsigned long cudnnGetVersion(void) { return HAS; }
#else
unsigned long cudnnGetVersion(void);
unsigned long called_version(void) { return cudnnGetVersion(); }
#endif

#ifdef MAIN
int main(void) {
  printf("program: %lu\n", called_version());
  return 0;
}
#endif
