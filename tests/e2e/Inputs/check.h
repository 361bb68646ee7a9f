// For programs of these tests: a call that fails, or a value that is wrong,
// ends the program with its place and no PASS.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                          \
  do {                                                                       \
    const cudaError_t error = (call);                                        \
    if (error != cudaSuccess) {                                              \
      std::printf("%d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error)); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

#define EXPECT(condition)                                    \
  do {                                                       \
    if (!(condition)) {                                      \
      std::printf("%d: not so: %s\n", __LINE__, #condition); \
      std::exit(1);                                          \
    }                                                        \
  } while (0)
