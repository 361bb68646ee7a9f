// Options: Black and Scholes with its Greeks, binomial trees, implied
// volatility, finite differences with a tridiagonal solver, LIBOR paths.

template <class T>
__device__ T Normal(T d) {
  const T k = 1 / (1 + T(0.2316419) * fabs(d));
  const T tail = T(0.39894228040143267794) * exp(T(-0.5) * d * d) *
                 (k * (T(0.31938153) +
                       k * (T(-0.356563782) +
                            k * (T(1.781477937) +
                                 k * (T(-1.821255978) + k * T(1.330274429))))));
  return d > 0 ? 1 - tail : tail;
}

template <class T>
__global__ void BlackScholes(T* call, T* put, const T* spot, const T* strike,
                             const T* years, T rate, T volatility, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    const T root = sqrt(years[i]);
    const T d1 = (log(spot[i] / strike[i]) +
                  (rate + volatility * volatility / 2) * years[i]) /
                 (volatility * root);
    const T d2 = d1 - volatility * root;
    const T discount = strike[i] * exp(-rate * years[i]);
    call[i] = spot[i] * Normal(d1) - discount * Normal(d2);
    put[i] = discount * (1 - Normal(d2)) - spot[i] * (1 - Normal(d1));
  }
}

__global__ void BlackScholesFast(float2* call, float2* put, const float2* spot,
                                 const float2* strike, const float2* years,
                                 float rate, float volatility, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto one = [&](float s, float x, float t, float* c, float* p) {
    const float root = __fdividef(1, rsqrtf(t));
    const float d1 = __fdividef(
        __logf(__fdividef(s, x)) + (rate + 0.5f * volatility * volatility) * t,
        volatility * root);
    const float n1 = Normal(d1), n2 = Normal(d1 - volatility * root);
    const float discount = x * __expf(-rate * t);
    *c = s * n1 - discount * n2;
    *p = discount * (1 - n2) - s * (1 - n1);
  };
  float2 c, p;
  one(spot[i].x, strike[i].x, years[i].x, &c.x, &p.x);
  one(spot[i].y, strike[i].y, years[i].y, &c.y, &p.y);
  call[i] = c, put[i] = p;
}

template <class T>
__global__ void Greeks(T* out, const T* spot, T strike, T years, T rate,
                       T volatility, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T s = spot[i], root = sqrt(years);
  const T d1 =
      (log(s / strike) + (rate + volatility * volatility / 2) * years) /
      (volatility * root);
  const T d2 = d1 - volatility * root;
  const T density = exp(-d1 * d1 / 2) * T(0.3989422804014327);
  out[i] = normcdf(d1);
  out[n + i] = density / (s * volatility * root);
  out[2 * n + i] = s * density * root;
  out[3 * n + i] = -s * density * volatility / (2 * root) -
                   rate * strike * exp(-rate * years) * normcdf(d2);
  out[4 * n + i] = strike * years * exp(-rate * years) * normcdf(d2);
}

template <class T, int kBlock, int kSteps>
__global__ void Binomial(T* values, const T* spots, const T* strikes, T step_v,
                         T up, T down) {
  constexpr int kEach = kSteps / kBlock;
  __shared__ T edge[kBlock + 1];
  const int t = threadIdx.x;
  const T s = spots[blockIdx.x], x = strikes[blockIdx.x];
  T call[kEach + 1];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const T d = s * exp(step_v * (2 * (t * kEach + i) - kSteps)) - x;
    call[i] = d > 0 ? d : T(0);
  }
  if (t == 0) edge[kBlock] = fmax(s * exp(step_v * kSteps) - x, T(0));
  for (int i = kSteps; i > 0; --i) {
    edge[t] = call[0];
    __syncthreads();
    call[kEach] = edge[t + 1];
    __syncthreads();
    if (i > t * kEach) {
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        call[j] = up * call[j + 1] + down * call[j];
    }
  }
  if (t == 0) values[blockIdx.x] = call[0];
}

template <class T>
__global__ void Implied(T* volatility, const T* price, const T* strike, T spot,
                        T rate, T years, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T low = T(1e-4), high = 4, v = T(0.3);
  for (int k = 0; k < 60 && high - low > T(1e-7); ++k) {
    const T root = v * sqrt(years);
    const T d1 = (log(spot / strike[i]) + (rate + v * v / 2) * years) / root;
    const T value =
        spot * Normal(d1) - strike[i] * exp(-rate * years) * Normal(d1 - root);
    const T vega = spot * sqrt(years) * exp(-d1 * d1 / 2) * T(0.3989422804);
    if (value > price[i]) high = v;
    else low = v;
    const T newton = v - (value - price[i]) / vega;
    v = newton > low && newton < high ? newton : (low + high) / 2;
  }
  volatility[i] = v;
}

// A tridiagonal system a warp, by parallel cyclic reduction.
template <class T>
__global__ void Tridiagonal(const T* a, const T* b, const T* c, const T* d,
                            T* x, int n) {
  const int lane = threadIdx.x % 32,
            row = blockIdx.x * blockDim.x + threadIdx.x;
  T l = a[row], m = b[row], u = c[row], r = d[row];
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T lm = __shfl_up_sync(~0u, m, step),
            ll = __shfl_up_sync(~0u, l, step),
            lu = __shfl_up_sync(~0u, u, step),
            lr = __shfl_up_sync(~0u, r, step);
    const T um = __shfl_down_sync(~0u, m, step),
            ul = __shfl_down_sync(~0u, l, step),
            uu = __shfl_down_sync(~0u, u, step),
            ur = __shfl_down_sync(~0u, r, step);
    const T f = lane >= step ? l / lm : T(0);
    const T g = lane + step < 32 ? u / um : T(0);
    l = -f * ll, u = -g * uu;
    m -= f * lu + g * ul;
    r -= f * lr + g * ur;
  }
  if (row < n) x[row] = r / m;
}

__constant__ float accruals[80], volatilities[80];

template <int kMaturities, int kPaths>
__global__ void Libor(float* values, float* sensitivities, const float* normals,
                      float delta) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float rates[kMaturities], saved[kPaths];
  for (int k = 0; k < kMaturities; ++k) rates[k] = 0.05f;
  for (int k = 0; k < kPaths; ++k) {
    saved[k] = normals[k * gridDim.x * blockDim.x + i];
    const float z = sqrtf(delta) * saved[k];
    float drift = 0;
    for (int m = k + 1; m < kMaturities; ++m) {
      const float lambda = volatilities[m - k - 1];
      const float con = delta * lambda;
      drift += __fdividef(con * rates[m], 1 + delta * rates[m]);
      rates[m] *= __expf(con * drift + lambda * (z - 0.5f * con));
    }
  }
  float bond = 1, swap = 0, value = 0;
  for (int m = kPaths; m < kMaturities; ++m) {
    bond /= 1 + delta * rates[m];
    swap += accruals[m] * delta * bond;
    const float payoff = bond + 0.05f * swap - 1;
    if (payoff < 0) value -= 100 * payoff;
  }
  values[i] = value;
  sensitivities[i] = value * saved[0];
}

#define FOR(T)                                                               \
  template __global__ void BlackScholes<T>(T*, T*, const T*, const T*,       \
                                           const T*, T, T, int);             \
  template __global__ void Greeks<T>(T*, const T*, T, T, T, T, int);         \
  template __global__ void Binomial<T, 128, 2048>(T*, const T*, const T*, T, \
                                                  T, T);                     \
  template __global__ void Implied<T>(T*, const T*, const T*, T, T, T, int); \
  template __global__ void Tridiagonal<T>(const T*, const T*, const T*,      \
                                          const T*, T*, int);
FOR(float)
FOR(double)
template __global__ void Libor<80, 40>(float*, float*, const float*, float);
