// A library that is built on a HIP of its own.
extern "C" __attribute__((visibility("default"))) int hipGetDeviceCount(int*) {
  return 0;
}
