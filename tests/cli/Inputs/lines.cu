// Line numbers matter: tests/cli/debug-info.test names them.
__device__ __forceinline__ float Inner(float x) {
  return x * x + 1.0f;  // line 3
}
__device__ __forceinline__ float Outer(float x) {
  return Inner(x) * 3.0f;  // line 6
}
template <typename T>
__global__ void Lines(T* out) {
  int i = threadIdx.x;
  out[i] = Outer(out[i]);  // line 11
}
template __global__ void Lines<float>(float*);
__device__ __noinline__ float Called(float x) {
  return x - 4;  // line 15
}
__global__ void Calls(float* out) {
  *out = Called(*out);  // line 18
}
