// Discrete Fourier transforms of any length, in double precision.
//
// A length that is a product of small primes is split by them (Cooley and
// Tukey); another one is written as a convolution of a power of two
// (Bluestein). Nothing is scaled: forth and back multiplies by the length, as
// in cuFFT.
#ifndef CERBERUS_LIBRARIES_CUFFT_TRANSFORM_H_
#define CERBERUS_LIBRARIES_CUFFT_TRANSFORM_H_

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace cerberus::libraries::cufft {

using Complex = std::complex<double>;

class Transform {
 public:
  explicit Transform(std::size_t length);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  std::size_t length() const { return length_; }
  // In place; sign -1 is forward, +1 inverse. Several threads may.
  void Run(Complex* data, int sign) const;

 private:
  struct Bluestein;
  void Split(const Complex* in, std::size_t stride, Complex* out,
             std::size_t length, std::size_t factor) const;

  const std::size_t length_;
  std::vector<std::size_t> factors_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / length)
  std::unique_ptr<const Bluestein> bluestein_;
};

// The transform of a length, made once.
std::shared_ptr<const Transform> TransformOf(std::size_t length);

}  // namespace cerberus::libraries::cufft

#endif  // CERBERUS_LIBRARIES_CUFFT_TRANSFORM_H_
