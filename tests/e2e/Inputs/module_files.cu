// A file of kernels that is loaded by name: one of them for each of three files.
#ifdef ADD
extern "C" __global__ void add(int* value) { *value += 1; }
#elif defined(NEGATE)
extern "C" __global__ void negate(int* value) { *value = -*value; }
#else
extern "C" __global__ void twice(int* value) { *value *= 2; }
#endif
