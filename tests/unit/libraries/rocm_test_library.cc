// One of ROCm's libraries, as far as looking for it goes.
extern "C" __attribute__((visibility("default"))) int rocm_test_answer() {
  return 42;
}
