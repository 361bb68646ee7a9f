// Three dimensions in double precision, of sizes with odd factors, out of place
// and in place; a Poisson equation on a real volume.
//
// RUN: %check %s %t %library -l:libcufft.so.12
#include "fft.h"

constexpr int kX = 6, kY = 7, kZ = 10, kHalf = kZ / 2 + 1;
constexpr int kSize = kX * kY * kZ;

__device__ __host__ double Eigenvalue(int x, int y, int z) {
  const double pi = 3.141592653589793;
  return 2 * (cos(2 * pi * x / kX) + cos(2 * pi * y / kY) +
              cos(2 * pi * z / kZ) - 3);
}
__global__ void Divide(cufftDoubleComplex* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kX * kY * kHalf) return;
  const double by =
      i == 0
          ? 1
          : 1 / (Eigenvalue(i / kHalf / kY, i / kHalf % kY, i % kHalf) * kSize);
  values[i].x *= i == 0 ? 0 : by;
  values[i].y *= i == 0 ? 0 : by;
}

int main() {
  const auto in = ComplexNumbers<double>(kSize, 5);
  auto* data = reinterpret_cast<cufftDoubleComplex*>(ToDevice(in));
  auto* out = Zeros<cufftDoubleComplex>(kSize);
  cufftHandle plan, there, back;
  CALL(cufftPlan3d(&plan, kX, kY, kZ, CUFFT_Z2Z));
  CALL(cufftExecZ2Z(plan, data, out, CUFFT_FORWARD));
  CALL(cufftExecZ2Z(plan, data, data, CUFFT_INVERSE));
  CHECK(cudaDeviceSynchronize());
  EXPECT(Near(ToHost(reinterpret_cast<Complex*>(out), kSize),
              Transform(in, {kX, kY, kZ}, -1), 1e-12));
  EXPECT(Near(ToHost(reinterpret_cast<Complex*>(data), kSize),
              Transform(in, {kX, kY, kZ}, 1), 1e-12));

  // The Laplacian of what comes out is what went in, less its mean.
  auto source = Numbers<double>(kSize, 6);
  double mean = 0;
  for (const double value : source) mean += value / kSize;
  for (double& value : source) value -= mean;
  double* field = ToDevice(source);
  auto* spectrum = Zeros<cufftDoubleComplex>(kX * kY * kHalf);
  CALL(cufftPlan3d(&there, kX, kY, kZ, CUFFT_D2Z));
  CALL(cufftPlan3d(&back, kX, kY, kZ, CUFFT_Z2D));
  CALL(cufftExecD2Z(there, field, spectrum));
  Divide<<<Blocks(kX * kY * kHalf), 128>>>(spectrum);
  CALL(cufftExecZ2D(back, spectrum, field));
  CHECK(cudaDeviceSynchronize());
  const auto u = ToHost(field, kSize);
  std::vector<double> laplacian(kSize);
  const auto at = [&](int x, int y, int z) {
    return u[((x + kX) % kX * kY + (y + kY) % kY) * kZ + (z + kZ) % kZ];
  };
  for (int x = 0; x < kX; ++x) {
    for (int y = 0; y < kY; ++y) {
      for (int z = 0; z < kZ; ++z) {
        laplacian[(x * kY + y) * kZ + z] = at(x - 1, y, z) + at(x + 1, y, z) +
                                           at(x, y - 1, z) + at(x, y + 1, z) +
                                           at(x, y, z - 1) + at(x, y, z + 1) -
                                           6 * at(x, y, z);
      }
    }
  }
  EXPECT(Near(laplacian, source, 1e-11));
  for (cufftHandle one : {plan, there, back}) CALL(cufftDestroy(one));
  return Pass();
}
