// A file of kernels that is loaded by name: one of them for each of two files.
#ifdef ADD
extern "C" __global__ void add(int* value) { *value += 1; }
#else
extern "C" __global__ void twice(int* value) { *value *= 2; }
#endif
