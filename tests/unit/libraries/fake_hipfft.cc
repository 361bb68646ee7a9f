// A hipFFT that writes down how it is called and computes nothing.
#include <cstddef>
#include <string>
#include <utility>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {
std::string last;
int answer = 0;
void* stream = nullptr;

void List(const long long* values, int count) {
  last += values == nullptr ? " 0" : " [";
  for (int i = 0; values != nullptr && i < count; ++i) {
    last += (i == 0 ? "" : " ") + std::to_string(values[i]);
  }
  if (values != nullptr) last += "]";
}
template <typename... N>
void Numbers(N... numbers) {
  ((last += " " + std::to_string(numbers)), ...);
}
int Answer() { return std::exchange(answer, 0); }
int Executed(const char* name, const void* in, const void* out) {
  last = std::string(name) + (in == out ? " in place" : "");
  return Answer();
}
}  // namespace

FAKE_API int hipfftCreate(void** plan) {
  *plan = new int;
  return 0;
}
FAKE_API int hipfftDestroy(void* plan) {
  delete static_cast<int*>(plan);
  return 0;
}
FAKE_API int hipfftMakePlanMany64(void*, int rank, long long* n, long long* in,
                                  long long in_step, long long in_distance,
                                  long long* out, long long out_step,
                                  long long out_distance, int type,
                                  long long batches, std::size_t*) {
  last = "many";
  List(n, rank);
  List(in, rank);
  Numbers(in_step, in_distance);
  List(out, rank);
  Numbers(out_step, out_distance, type, batches);
  return Answer();
}
FAKE_API int hipfftXtMakePlanMany(void*, int rank, long long* n, long long* in,
                                  long long in_step, long long in_distance,
                                  int in_type, long long* out,
                                  long long out_step, long long out_distance,
                                  int out_type, long long batches, std::size_t*,
                                  int execution) {
  last = "xt";
  List(n, rank);
  List(in, rank);
  Numbers(in_step, in_distance, in_type);
  List(out, rank);
  Numbers(out_step, out_distance, out_type, batches, execution);
  return Answer();
}
FAKE_API int hipfftSetStream(void*, void* hip) {
  stream = hip;
  return 0;
}
FAKE_API int hipfftExecR2C(void*, void* in, void* out) {
  return Executed("R2C", in, out);
}
FAKE_API int hipfftExecC2R(void*, void* in, void* out) {
  return Executed("C2R", in, out);
}
FAKE_API int hipfftExecD2Z(void*, void* in, void* out) {
  return Executed("D2Z", in, out);
}
FAKE_API int hipfftExecZ2D(void*, void* in, void* out) {
  return Executed("Z2D", in, out);
}
FAKE_API int hipfftExecC2C(void*, void* in, void* out, int sign) {
  return Executed(sign < 0 ? "C2C forward" : "C2C inverse", in, out);
}
FAKE_API int hipfftExecZ2Z(void*, void* in, void* out, int sign) {
  return Executed(sign < 0 ? "Z2Z forward" : "Z2Z inverse", in, out);
}
FAKE_API int hipfftXtExec(void*, void* in, void* out, int sign) {
  return Executed(sign < 0 ? "Xt forward" : "Xt inverse", in, out);
}

FAKE_API const char* fake_hipfft_last() { return last.c_str(); }
FAKE_API void fake_hipfft_answer(int status) { answer = status; }
FAKE_API void* fake_hipfft_stream() { return stream; }
