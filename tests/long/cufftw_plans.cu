// NVIDIA's cuFFTW, FFTW's interface over cuFFT: its planners in both
// precisions, with memory of the host and of the device, against the sum that
// defines a transform. Of guru plans cuFFTW itself (10.9 to 12.0) makes those
// with one loop, and with axes whose steps fall.
#include <cuda_runtime.h>
#include <cufftw.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Complex = std::complex<double>;
int failures = 0;

struct Axis {
  int n, in, out;
};
struct Case {
  std::string name;
  std::vector<Axis> axes, loops;  // the inner ones last
};

// Numbers of one array, on the host or on the device.
template <typename T>
struct Array {
  std::vector<T> here;
  T* there = nullptr;
  explicit Array(size_t n, bool device) : here(n) {
    for (size_t i = 0; i < 2 * n && sizeof(T) > 8; ++i) {
      reinterpret_cast<double*>(here.data())[i] = double(i * 7919 % 101) / 50;
    }
    for (size_t i = 0; i < n && sizeof(T) == 8; ++i) {
      here[i] = T(double(i * 7919 % 101) / 50);
    }
    if (device) cudaMalloc(&there, n * sizeof(T));
    if (there) cudaMemcpy(there, here.data(), n * sizeof(T),
                          cudaMemcpyHostToDevice);
  }
  ~Array() { cudaFree(there); }
  T* data() { return there ? there : here.data(); }
  void Fetch() {
    if (there) cudaMemcpy(here.data(), there, here.size() * sizeof(T),
                          cudaMemcpyDeviceToHost);
  }
};

// Calls f(places of the axes' first elements) for each turn of the loops.
template <typename F>
void ForEach(const std::vector<Axis>& loops, const F& f, size_t d = 0,
             int in = 0, int out = 0) {
  if (d == loops.size()) return f(in, out);
  for (int i = 0; i < loops[d].n; ++i) {
    ForEach(loops, f, d + 1, in + i * loops[d].in, out + i * loops[d].out);
  }
}

// One element of the transform whose input begins at `from`.
template <typename In>
Complex Element(const Case& c, const In* in, int from,
                const std::vector<int>& at, int sign) {
  Complex sum = 0;
  std::vector<int> j(c.axes.size(), 0);
  for (;;) {
    double turns = 0;
    int place = from;
    for (size_t d = 0; d < j.size(); ++d) {
      turns += double(j[d] * at[d] % c.axes[d].n) / c.axes[d].n;
      place += j[d] * c.axes[d].in;
    }
    sum += Complex(in[place]) * std::polar(1.0, sign * 2 * M_PI * turns);
    size_t d = j.size();
    while (d-- > 0 && ++j[d] == c.axes[d].n) j[d] = 0;
    if (d == size_t(-1)) return sum;
  }
}

template <typename In>
void Compare(const std::string& name, const Case& c, const In* in,
             const Complex* out, int sign, bool half) {
  double worst = 0;
  ForEach(c.loops, [&](int from, int to) {
    std::vector<int> at(c.axes.size(), 0);
    for (;;) {
      int place = to;
      for (size_t d = 0; d < at.size(); ++d) place += at[d] * c.axes[d].out;
      if (!half || at.back() <= c.axes.back().n / 2) {
        worst = std::fmax(
            worst, std::abs(out[place] - Element(c, in, from, at, sign)));
      }
      size_t d = at.size();
      while (d-- > 0 && ++at[d] == c.axes[d].n) at[d] = 0;
      if (d == size_t(-1)) break;
    }
  });
  if (!(worst < 1e-10)) {
    std::printf("%s: off by %g\n", name.c_str(), worst);
    ++failures;
  }
}

template <typename P>
P Made(P plan, const std::string& name) {
  if (plan == nullptr) {
    std::printf("%s: no plan\n", name.c_str());
    ++failures;
  }
  return plan;
}

fftw_complex* C(Complex* p) { return reinterpret_cast<fftw_complex*>(p); }

std::vector<fftw_iodim> Dims(const std::vector<Axis>& axes) {
  std::vector<fftw_iodim> dims;
  for (const Axis& a : axes) dims.push_back({a.n, a.in, a.out});
  return dims;
}

void Guru(const Case& c, bool device) {
  const std::string name = c.name + (device ? " of the device" : " of the host");
  const std::vector<fftw_iodim> dims = Dims(c.axes), loops = Dims(c.loops);
  std::vector<fftw_iodim64> dims64, loops64;
  for (const fftw_iodim& d : dims) dims64.push_back({d.n, d.is, d.os});
  for (const fftw_iodim& d : loops) loops64.push_back({d.n, d.is, d.os});
  const int rank = int(dims.size()), turns = int(loops.size());
  for (const int sign : {FFTW_FORWARD, FFTW_BACKWARD}) {
    Array<Complex> in(2000, device), out(2000, device), other(2000, device);
    for (const bool wide : {false, true}) {
      fftw_plan plan = Made(
          wide ? fftw_plan_guru64_dft(rank, dims64.data(), turns,
                                      loops64.data(), C(in.data()),
                                      C(out.data()), sign, FFTW_ESTIMATE)
               : fftw_plan_guru_dft(rank, dims.data(), turns, loops.data(),
                                    C(in.data()), C(out.data()), sign,
                                    FFTW_ESTIMATE),
          name);
      if (plan == nullptr) continue;
      fftw_execute(plan);
      fftw_execute_dft(plan, C(in.data()), C(other.data()));
      fftw_destroy_plan(plan);
      out.Fetch(), other.Fetch();
      Compare(name, c, in.here.data(), out.here.data(), sign, false);
      Compare(name + ", another array", c, in.here.data(), other.here.data(),
              sign, false);
    }
  }
  Array<double> reals(2000, device);
  Array<Complex> halves(2000, device);
  if (fftw_plan plan = Made(fftw_plan_guru_dft_r2c(
          rank, dims.data(), turns, loops.data(), reals.data(),
          C(halves.data()), FFTW_ESTIMATE), name)) {
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    halves.Fetch();
    Compare(name + ", real", c, reals.here.data(), halves.here.data(), -1,
            true);
  }
}

// All of FFTW's simple planners, packed.
void Packed(bool device) {
  const std::string name = device ? "packed, of the device" : "packed";
  Array<Complex> in(400, device), out(400, device);
  struct {
    const char* name;
    std::vector<int> n;
  } const shapes[] = {{"1d", {60}}, {"2d", {6, 10}}, {"3d", {4, 5, 7}}};
  for (const auto& s : shapes) {
    const std::vector<int>& n = s.n;
    Case c = {name + " " + s.name, {}, {}}, half = c;
    int step = 1, half_step = 1;
    for (size_t d = n.size(); d-- > 0;) {
      c.axes.insert(c.axes.begin(), {n[d], step, step});
      half.axes.insert(half.axes.begin(), {n[d], step, half_step});
      step *= n[d];
      half_step *= d + 1 == n.size() ? n[d] / 2 + 1 : n[d];
    }
    fftw_complex *i = C(in.data()), *o = C(out.data());
    fftw_plan plan = Made(
        n.size() == 1   ? fftw_plan_dft_1d(n[0], i, o, FFTW_FORWARD, 0)
        : n.size() == 2 ? fftw_plan_dft_2d(n[0], n[1], i, o, FFTW_FORWARD, 0)
                        : fftw_plan_dft_3d(n[0], n[1], n[2], i, o,
                                           FFTW_FORWARD, 0),
        c.name);
    if (plan == nullptr) continue;
    fftw_execute(plan);
    out.Fetch();
    Compare(c.name, c, in.here.data(), out.here.data(), -1, false);
    fftw_destroy_plan(plan);

    Array<double> reals(200, device), back(200, device);
    fftw_plan there = Made(fftw_plan_dft_r2c(int(n.size()), n.data(),
                                             reals.data(), o, 0), c.name);
    fftw_plan again = Made(fftw_plan_dft_c2r(int(n.size()), n.data(), o,
                                             back.data(), 0), c.name);
    if (there == nullptr || again == nullptr) continue;
    fftw_execute(there);
    out.Fetch();
    Compare(c.name + ", real", half, reals.here.data(), out.here.data(), -1,
            true);
    fftw_execute(again);
    back.Fetch();
    for (int k = 0; k < step; ++k) {
      if (!(std::fabs(back.here[k] - step * reals.here[k]) < 1e-10)) {
        std::printf("%s: not the same back at %d\n", c.name.c_str(), k);
        ++failures;
        break;
      }
    }
    fftw_destroy_plan(there);
    fftw_destroy_plan(again);
  }
}

// Single precision, memory of cuFFTW's own, in place.
void Single() {
  constexpr int kN = 48;
  auto* data = static_cast<fftwf_complex*>(
      fftwf_malloc(kN * sizeof(fftwf_complex)));
  std::vector<Complex> in(kN);
  for (int i = 0; i < kN; ++i) {
    in[i] = Complex(i % 5, i % 3);
    data[i][0] = float(in[i].real());
    data[i][1] = float(in[i].imag());
  }
  fftwf_plan plan = Made(fftwf_plan_dft_1d(kN, data, data, FFTW_FORWARD,
                                           FFTW_MEASURE), "single");
  if (plan != nullptr) {
    fftwf_execute(plan);
    const Case c = {"", {{kN, 1, 1}}, {}};
    for (int k = 0; k < kN; ++k) {
      const Complex want = Element(c, in.data(), 0, {k}, -1);
      if (!(std::abs(Complex(data[k][0], data[k][1]) - want) < 1e-4)) {
        std::printf("single: off at %d\n", k);
        ++failures;
        break;
      }
    }
    fftwf_destroy_plan(plan);
  }
  fftwf_free(data);
}

}  // namespace

int main() {
  const std::vector<Case> cases = {
      {"a line", {{12, 1, 1}}, {{1, 12, 12}}},
      {"columns", {{6, 10, 1}}, {{10, 1, 6}}},
      {"gaps", {{4, 8, 40}, {5, 1, 2}}, {{1, 40, 200}}},
      {"three axes", {{3, 20, 1}, {4, 5, 3}, {5, 1, 12}}, {{2, 60, 60}}}};
  for (const bool device : {false, true}) {
    Packed(device);
    for (const Case& c : cases) Guru(c, device);
  }
  Single();
  fftw_cleanup();
  std::puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
