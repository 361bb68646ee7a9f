// Transforms by hand: Fourier of radix 2, 4, 8 and 16 in registers, in shared
// memory, real, by rows and columns; fast Walsh; Haar wavelets.

template <class T>
struct Complex {
  T x, y;
};
template <class T>
__device__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.x + b.x, a.y + b.y};
}
template <class T>
__device__ Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.x - b.x, a.y - b.y};
}
template <class T>
__device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

template <class T>
__device__ Complex<T> Root(T turns) {
  Complex<T> r;
  sincospi(2 * turns, &r.y, &r.x);
  return r;
}
template <>
__device__ Complex<float> Root(float turns) {
  Complex<float> r;
  __sincosf(6.28318531f * turns, &r.y, &r.x);
  return r;
}

template <class T>
__device__ void Butterfly(Complex<T>& a, Complex<T>& b) {
  const Complex<T> kept = a;
  a = kept + b;
  b = kept - b;
}

// In place, in the order of bits turned round.
template <class T, int kSize, int kSign>
struct Small {
  static __device__ void Run(Complex<T>* v) {
#pragma unroll
    for (int i = 0; i < kSize / 2; ++i) {
      Butterfly(v[i], v[i + kSize / 2]);
      v[i + kSize / 2] = v[i + kSize / 2] * Root<T>(T(kSign) * i / kSize);
    }
    Small<T, kSize / 2, kSign>::Run(v);
    Small<T, kSize / 2, kSign>::Run(v + kSize / 2);
  }
};
template <class T, int kSign>
struct Small<T, 1, kSign> {
  static __device__ void Run(Complex<T>*) {}
};

template <int kSize>
__device__ constexpr int Turned(int i) {
  int r = 0;
  for (int bit = 1; bit < kSize; bit *= 2) r = r * 2 + ((i & bit) ? 1 : 0);
  return r;
}

template <class T, int kRadix, int kSign>
__global__ void FourierPass(const Complex<T>* in, Complex<T>* out, int p,
                            int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = n / kRadix;
  if (i >= t) return;
  const int k = i & (p - 1);
  Complex<T> v[kRadix];
#pragma unroll
  for (int r = 0; r < kRadix; ++r) {
    v[r] = in[i + r * t] * Root<T>(T(kSign) * r * k / (p * kRadix));
  }
  Small<T, kRadix, kSign>::Run(v);
  const int at = (i - k) * kRadix + k;
#pragma unroll
  for (int r = 0; r < kRadix; ++r) out[at + r * p] = v[Turned<kRadix>(r)];
}

template <class T, int kPoints, int kRadix, int kSign>
__global__ void FourierBlock(Complex<T>* data) {
  constexpr int kThreads = kPoints / kRadix;
  __shared__ T real[kPoints + kPoints / 16], imaginary[kPoints + kPoints / 16];
  data += blockIdx.x * kPoints;
  Complex<T> v[kRadix];
#pragma unroll
  for (int r = 0; r < kRadix; ++r) v[r] = data[threadIdx.x + r * kThreads];
#pragma unroll
  for (int p = 1; p < kPoints; p *= kRadix) {
    const int k = threadIdx.x & (p - 1);
#pragma unroll
    for (int r = 1; r < kRadix; ++r) {
      v[r] = v[r] * Root<T>(T(kSign) * r * k / (p * kRadix));
    }
    Small<T, kRadix, kSign>::Run(v);
    __syncthreads();
    const int at = (threadIdx.x - k) * kRadix + k;
#pragma unroll
    for (int r = 0; r < kRadix; ++r) {
      const int to = at + r * p;
      real[to + to / 16] = v[Turned<kRadix>(r)].x;
      imaginary[to + to / 16] = v[Turned<kRadix>(r)].y;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRadix; ++r) {
      const int from = threadIdx.x + r * kThreads;
      v[r] = {real[from + from / 16], imaginary[from + from / 16]};
    }
  }
#pragma unroll
  for (int r = 0; r < kRadix; ++r) data[threadIdx.x + r * kThreads] = v[r];
}

template <class T>
__global__ void RealSplit(const Complex<T>* in, Complex<T>* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n / 2) return;
  const Complex<T> a = in[i], b = in[(n - i) % n];
  const Complex<T> even = {(a.x + b.x) / 2, (a.y - b.y) / 2};
  const Complex<T> odd = {(a.y + b.y) / 2, (b.x - a.x) / 2};
  const Complex<T> turned = odd * Root<T>(T(-i) / (2 * n));
  out[i] = even + turned;
  out[n - i] = {even.x - turned.x, turned.y - even.y};
}

template <class T>
__global__ void MultiplySpectra(Complex<T>* a, const Complex<T>* b, T scale,
                                int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    const Complex<T> c = a[i] * b[i];
    a[i] = {c.x * scale, c.y * scale};
  }
}

template <class T>
__global__ void Walsh(T* data, int log2) {
  extern __shared__ char bytes[];
  T* s = reinterpret_cast<T*>(bytes);
  const int n = 1 << log2;
  data += blockIdx.x << log2;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = data[i];
  int stride = 1;
  if (log2 & 1) {
    __syncthreads();
    for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
      const T a = s[2 * i], b = s[2 * i + 1];
      s[2 * i] = a + b, s[2 * i + 1] = a - b;
    }
    stride = 2;
  }
  for (; stride < n; stride *= 4) {
    __syncthreads();
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
      const int low = i & (stride - 1), at = ((i - low) << 2) + low;
      const T d0 = s[at], d1 = s[at + stride], d2 = s[at + 2 * stride],
              d3 = s[at + 3 * stride];
      const T a = d0 + d2, b = d0 - d2, c = d1 + d3, d = d1 - d3;
      s[at] = a + c, s[at + stride] = a - c;
      s[at + 2 * stride] = b + d, s[at + 3 * stride] = b - d;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = s[i];
}

__global__ void Haar(const float* in, float* details, float* coarse,
                     int levels) {
  extern __shared__ float line[];
  const int n = 2 * blockDim.x;
  in += blockIdx.x * n, details += blockIdx.x * n;
  float a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
  int active = blockDim.x;
  for (int level = 0; level < levels; ++level) {
    if (threadIdx.x < active) {
      details[active + threadIdx.x] = (a - b) * 0.707106781f;
      line[threadIdx.x] = (a + b) * 0.707106781f;
    }
    __syncthreads();
    active /= 2;
    if (threadIdx.x < active) {
      a = line[2 * threadIdx.x], b = line[2 * threadIdx.x + 1];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) coarse[blockIdx.x] = line[0];
}

#define PASS(T, R)                                                      \
  template __global__ void FourierPass<T, R, 1>(const Complex<T>*,      \
                                                Complex<T>*, int, int); \
  template __global__ void FourierPass<T, R, -1>(const Complex<T>*,     \
                                                 Complex<T>*, int, int);
PASS(float, 2)
PASS(float, 4)
PASS(float, 8)
PASS(float, 16)
PASS(double, 2)
PASS(double, 4)
template __global__ void FourierBlock<float, 512, 8, 1>(Complex<float>*);
template __global__ void FourierBlock<float, 512, 8, -1>(Complex<float>*);
template __global__ void FourierBlock<float, 4096, 16, 1>(Complex<float>*);
template __global__ void FourierBlock<float, 64, 4, 1>(Complex<float>*);
template __global__ void RealSplit<float>(const Complex<float>*,
                                          Complex<float>*, int);
template __global__ void RealSplit<double>(const Complex<double>*,
                                           Complex<double>*, int);
template __global__ void MultiplySpectra<float>(Complex<float>*,
                                                const Complex<float>*, float,
                                                int);
template __global__ void Walsh<float>(float*, int);
template __global__ void Walsh<double>(double*, int);
