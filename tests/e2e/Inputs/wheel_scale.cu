// A library of a wheel: VALUE is what it does to floats, in an expression.
__global__ void scale_kernel(float *values, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] VALUE;
}

extern "C" int scale(float *values, int count) {
  float *device;
  size_t bytes = count * sizeof(float);
  if (cudaError_t error = cudaMalloc(&device, bytes)) return error;
  cudaMemcpy(device, values, bytes, cudaMemcpyHostToDevice);
  scale_kernel<<<1, 32>>>(device, count);
  cudaError_t error = cudaGetLastError();
  cudaMemcpy(values, device, bytes, cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error;
}
