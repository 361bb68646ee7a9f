/* What must not be loaded says so. */
#include <stdio.h>

__attribute__((constructor)) static void Start(void) {
  fputs("intruder\n", stderr);
}
