#include "libraries/cufft/transform.h"

#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

namespace cerberus::libraries::cufft {
namespace {

// Above it a prime costs less as a convolution.
constexpr std::size_t kLargestFactor = 61;

// exp(-2 pi i k / n), exact at the eighths.
Complex Root(std::size_t k, std::size_t n) {
  k %= n;
  // By symmetry from the first eighth, where sine and cosine are most exact.
  const std::size_t eighths = 8 * k / n;
  const auto angle = [&](std::size_t numerator) {
    return 2 * std::numbers::pi * static_cast<double>(numerator) /
           static_cast<double>(8 * n);
  };
  double c = 0, s = 0;
  // 8 k within its eighth, counted up in even ones and down in odd ones.
  const std::size_t within = 8 * k - eighths * n;
  const double a = angle(eighths % 2 == 0 ? within : n - within);
  const double small_c = std::cos(a), small_s = std::sin(a);
  switch (eighths) {
    case 0: c = small_c, s = small_s; break;
    case 1: c = small_s, s = small_c; break;
    case 2: c = -small_s, s = small_c; break;
    case 3: c = -small_c, s = small_s; break;
    case 4: c = -small_c, s = -small_s; break;
    case 5: c = -small_s, s = -small_c; break;
    case 6: c = small_s, s = -small_c; break;
    default: c = small_c, s = -small_s; break;
  }
  return {c, -s};
}

Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

// X(k) = conj(w(k)) * sum over j of (x(j) conj(w(j))) w(k - j) with
// w(j) = exp(pi i j^2 / n): a convolution, done by transforms of a power of
// two.
struct Transform::Bluestein {
  std::shared_ptr<const Transform> padded;
  std::vector<Complex> chirp;   // conj(w)
  std::vector<Complex> kernel;  // transform of w, over the padded length
};

Transform::Transform(std::size_t length) : length_(length) {
  std::size_t rest = length;
  for (std::size_t factor = 2; factor * factor <= rest; ++factor) {
    // Fours first: fewer operations than two twos.
    while (rest % 4 == 0) factors_.push_back(4), rest /= 4;
    while (rest % factor == 0) factors_.push_back(factor), rest /= factor;
  }
  if (rest > 1) factors_.push_back(rest);
  if (!factors_.empty() && factors_.back() > kLargestFactor) {
    factors_.clear();
    std::size_t power = 1;
    while (power < 2 * length - 1) power *= 2;
    auto made = std::make_unique<Bluestein>();
    made->padded = TransformOf(power);
    made->kernel.assign(power, Complex(0));
    for (std::size_t j = 0; j < length; ++j) {
      // j^2 modulo 2 n: the square itself would lose its low bits.
      const Complex conjugated = Root(j * j % (2 * length), 2 * length);
      made->chirp.push_back(conjugated);
      made->kernel[j] = std::conj(conjugated);
      if (j != 0) made->kernel[power - j] = std::conj(conjugated);
    }
    made->padded->Run(made->kernel.data(), -1);
    bluestein_ = std::move(made);
    return;
  }
  for (std::size_t k = 0; k < length; ++k) roots_.push_back(Root(k, length));
}
Transform::~Transform() = default;

// `in` has every stride-th element of the whole: transforms `length` of them.
void Transform::Split(const Complex* in, std::size_t stride, Complex* out,
                      std::size_t length, std::size_t factor) const {
  if (length == 1) {
    *out = *in;
    return;
  }
  const std::size_t radix = factors_[factor], part = length / radix;
  for (std::size_t r = 0; r < radix; ++r) {
    Split(in + r * stride, stride * radix, out + r * part, part, factor + 1);
  }
  const std::size_t step = length_ / length;
  Complex values[kLargestFactor];
  for (std::size_t k = 0; k < part; ++k) {
    for (std::size_t r = 0; r < radix; ++r) {
      values[r] = Times(out[r * part + k], roots_[r * k * step]);
    }
    if (radix == 2) {
      out[k] = values[0] + values[1];
      out[k + part] = values[0] - values[1];
      continue;
    }
    if (radix == 4) {
      const Complex a = values[0] + values[2], b = values[0] - values[2];
      const Complex c = values[1] + values[3], d = values[1] - values[3];
      const Complex turned(d.imag(), -d.real());  // -i d
      out[k] = a + c;
      out[k + part] = b + turned;
      out[k + 2 * part] = a - c;
      out[k + 3 * part] = b - turned;
      continue;
    }
    for (std::size_t q = 0; q < radix; ++q) {
      Complex sum = values[0];
      for (std::size_t r = 1; r < radix; ++r) {
        sum += Times(values[r], roots_[r * q % radix * (length_ / radix)]);
      }
      out[k + q * part] = sum;
    }
  }
}

void Transform::Run(Complex* data, int sign) const {
  if (length_ <= 1) return;
  // The inverse is the forward one of the conjugate, conjugated.
  const auto conjugate = [&] {
    for (std::size_t i = 0; sign > 0 && i < length_; ++i) {
      data[i] = std::conj(data[i]);
    }
  };
  conjugate();
  if (bluestein_ == nullptr) {
    const std::vector<Complex> in(data, data + length_);
    Split(in.data(), 1, data, length_, 0);
  } else {
    const Bluestein& b = *bluestein_;
    const std::size_t power = b.padded->length();
    std::vector<Complex> x(power, Complex(0));
    for (std::size_t j = 0; j < length_; ++j) x[j] = Times(data[j], b.chirp[j]);
    b.padded->Run(x.data(), -1);
    for (std::size_t j = 0; j < power; ++j) x[j] = Times(x[j], b.kernel[j]);
    b.padded->Run(x.data(), +1);
    for (std::size_t j = 0; j < length_; ++j) {
      data[j] = Times(x[j] / static_cast<double>(power), b.chirp[j]);
    }
  }
  conjugate();
}

std::shared_ptr<const Transform> TransformOf(std::size_t length) {
  static auto& mutex = *new std::mutex;
  static auto& made =
      *new std::map<std::size_t, std::weak_ptr<const Transform>>;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (auto found = made[length].lock()) return found;
  }
  auto transform = std::make_shared<const Transform>(length);
  const std::lock_guard<std::mutex> lock(mutex);
  made[length] = transform;
  return transform;
}

}  // namespace cerberus::libraries::cufft
