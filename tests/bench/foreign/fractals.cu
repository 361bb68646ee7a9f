// Mandelbrot and Julia sets in float, pairs of floats, double and pairs of
// doubles, with dynamic scheduling, anti-aliasing, distance estimates.

template <class T>
struct Pair {
  T high, low;
};
template <class T>
__device__ Pair<T> Add(Pair<T> a, Pair<T> b) {
  const T s = a.high + b.high, v = s - a.high;
  const T e = (a.high - (s - v)) + (b.high - v) + a.low + b.low;
  const T high = s + e;
  return {high, e - (high - s)};
}
template <class T>
__device__ Pair<T> Multiply(Pair<T> a, Pair<T> b) {
  const T p = a.high * b.high;
  const T e = fma(a.high, b.high, -p) + a.high * b.low + a.low * b.high;
  const T high = p + e;
  return {high, e - (high - p)};
}
template <class T>
__device__ Pair<T> Negative(Pair<T> a) {
  return {-a.high, -a.low};
}

template <class T>
__device__ int Iterate(T x0, T y0, T jx, T jy, int most, bool julia) {
  T x = julia ? x0 : T(0), y = julia ? y0 : T(0);
  const T cx = julia ? jx : x0, cy = julia ? jy : y0;
  T xx = x * x, yy = y * y;
  int i = most;
  while (--i && xx + yy < T(4)) {
    y = 2 * x * y + cy;
    x = xx - yy + cx;
    xx = x * x, yy = y * y;
  }
  return i;
}

template <class T>
__device__ int IteratePairs(Pair<T> x0, Pair<T> y0, int most) {
  Pair<T> x = {0, 0}, y = {0, 0}, xx = {0, 0}, yy = {0, 0}, sum = {0, 0};
  int i = most;
  while (--i && sum.high + sum.low < T(4)) {
    y = Add(Multiply(Add(x, x), y), y0);
    x = Add(Add(xx, Negative(yy)), x0);
    xx = Multiply(x, x), yy = Multiply(y, y);
    sum = Add(xx, yy);
  }
  return i;
}

__device__ uchar4 ColourOf(int i, uchar4 base, int frame) {
  if (i == 0) return make_uchar4(0, 0, 0, 0);
  const int m = i + frame;
  return make_uchar4(base.x * m, base.y * m, base.z * m, 0);
}

template <class T>
__global__ void Fractal(uchar4* out, int width, int height, int most, T left,
                        T top, T scale, uchar4 base, int frame, int blocks,
                        T jx, T jy, bool julia, unsigned* next) {
  __shared__ int block, bx, by;
  while (true) {
    if (threadIdx.x == 0 && threadIdx.y == 0) {
      block = atomicAdd(next, 1);
      bx = block % ((width + blockDim.x - 1) / blockDim.x);
      by = block / ((width + blockDim.x - 1) / blockDim.x);
    }
    __syncthreads();
    if (block >= blocks) break;
    const int x = bx * blockDim.x + threadIdx.x,
              y = by * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
      const int i =
          Iterate<T>(left + x * scale, top + y * scale, jx, jy, most, julia);
      const uchar4 c = ColourOf(i, base, frame);
      uchar4& to = out[y * width + x];
      if (frame > 0) {
        to = make_uchar4((to.x * frame + c.x) / (frame + 1),
                         (to.y * frame + c.y) / (frame + 1),
                         (to.z * frame + c.z) / (frame + 1), 0);
      } else {
        to = c;
      }
    }
    __syncthreads();
  }
}

template <class T>
__global__ void DeepFractal(int* out, int width, int height, int most,
                            Pair<T> left, Pair<T> top, T scale) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[y * width + x] =
      IteratePairs(Add(left, {x * scale, 0}), Add(top, {y * scale, 0}), most);
}

template <class T>
__global__ void Distances(T* out, int width, int height, int most, T left,
                          T top, T scale) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const T cx = left + px * scale, cy = top + py * scale;
  T x = 0, y = 0, dx = 0, dy = 0;
  int i = 0;
  for (; i < most && x * x + y * y < T(1e6); ++i) {
    const T ndx = 2 * (x * dx - y * dy) + 1;
    dy = 2 * (x * dy + y * dx);
    dx = ndx;
    const T nx = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = nx;
  }
  const T r = sqrt(x * x + y * y), d = sqrt(dx * dx + dy * dy);
  out[py * width + px] = i == most ? T(0) : r * log(r) / d;
}

#define FOR(T)                                                                 \
  template __global__ void Fractal<T>(uchar4*, int, int, int, T, T, T, uchar4, \
                                      int, int, T, T, bool, unsigned*);        \
  template __global__ void DeepFractal<T>(int*, int, int, int, Pair<T>,        \
                                          Pair<T>, T);                         \
  template __global__ void Distances<T>(T*, int, int, int, T, T, T);
FOR(float)
FOR(double)
