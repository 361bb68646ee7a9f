// Two units, each a module of its own. main() takes the kernel of the first
// twice, that of the second only when there is an argument.
#include "../programs/program.h"

#ifdef SECOND
__global__ void Second(int* p) { *p += 10; }
void LaunchSecond(int* p) { Second<<<1, 1>>>(p); }
#else
__global__ void First(int* p) { *p += 1; }
void LaunchSecond(int* p);

int main(int argc, char**) {
  int* p = ToDevice(std::vector<int>(1, 0));
  First<<<1, 1>>>(p);
  First<<<1, 1>>>(p);
  if (argc > 1) LaunchSecond(p);
  EXPECT(ToHost(p, 1)[0] == (argc > 1 ? 12 : 2));
  return Pass();
}
#endif
