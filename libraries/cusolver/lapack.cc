#include "libraries/cusolver/lapack.h"

#include <string>

#include "libraries/cublas/blas.h"

namespace cerberus::libraries::cusolver {
namespace {

template <typename F>
void Look(char type, const std::string& name, F* function) {
  *function =
      reinterpret_cast<F>(cublas::FindInLapack((type + name + "_").c_str()));
}

template <typename T>
Lapack<T> Load(char type) {
  constexpr bool kComplex = kIsComplex<T>;
  const std::string orthogonal = kComplex ? "un" : "or",
                    symmetric = kComplex ? "he" : "sy";
  Lapack<T> lapack = {};
  Look(type, "getrf", &lapack.getrf);
  Look(type, "potrf", &lapack.potrf);
  Look(type, "potri", &lapack.potri);
  Look(type, "trtri", &lapack.trtri);
  Look(type, "sytrf", &lapack.sytrf);
  Look(type, symmetric + "trf", &lapack.hetrf);
  Look(type, "geqrf", &lapack.geqrf);
  Look(type, orthogonal + "gqr", &lapack.orgqr);
  Look(type, orthogonal + "mqr", &lapack.ormqr);
  Look(type, "gebrd", &lapack.gebrd);
  Look(type, orthogonal + "gbr", &lapack.orgbr);
  Look(type, symmetric + "trd", &lapack.sytrd);
  Look(type, orthogonal + "gtr", &lapack.orgtr);
  Look(type, orthogonal + "mtr", &lapack.ormtr);
  if constexpr (kComplex) {
    Look(type, "heevd", &lapack.heevd);
    Look(type, "gesdd", &lapack.complex_gesdd);
    Look(type, "geev", &lapack.complex_geev);
  } else {
    Look(type, "syevd", &lapack.syevd);
    Look(type, "gesdd", &lapack.gesdd);
    Look(type, "geev", &lapack.geev);
  }
  return lapack;
}

}  // namespace

template <>
const Lapack<float>& HostLapack<float>() {
  static const Lapack<float> lapack = Load<float>('s');
  return lapack;
}
template <>
const Lapack<double>& HostLapack<double>() {
  static const Lapack<double> lapack = Load<double>('d');
  return lapack;
}
template <>
const Lapack<Complex32>& HostLapack<Complex32>() {
  static const Lapack<Complex32> lapack = Load<Complex32>('c');
  return lapack;
}
template <>
const Lapack<Complex64>& HostLapack<Complex64>() {
  static const Lapack<Complex64> lapack = Load<Complex64>('z');
  return lapack;
}

}  // namespace cerberus::libraries::cusolver
