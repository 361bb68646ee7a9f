#include "libraries/cublas/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace cerberus::libraries::cublas {
namespace {

void* Library() {
  static void* const library = []() -> void* {
    if (const char* path = secure_getenv("CERBERUS_BLAS")) {
      return *path == '\0' ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    for (const char* name : {"libopenblas.so.0", "libblas.so.3"}) {
      if (void* found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
    }
    return nullptr;
  }();
  return library;
}

void* Find(const char* symbol) {
  return Library() == nullptr ? nullptr : dlsym(Library(), symbol);
}

template <typename F>
void Look(char type, const char* name, F* function) {
  const std::string symbol = type + std::string(name) + "_";
  *function = reinterpret_cast<F>(Find(symbol.c_str()));
}

template <typename T>
Blas<T> Fill(char type, bool complex) {
  Blas<T> blas;
  Look(type, "gemm", &blas.gemm);
  Look(type, "gemv", &blas.gemv);
  Look(type, "symm", &blas.symm);
  Look(type, complex ? "hemm" : "symm", &blas.hemm);
  Look(type, "syrk", &blas.syrk);
  Look(type, complex ? "herk" : "syrk", &blas.herk);
  Look(type, "syr2k", &blas.syr2k);
  Look(type, complex ? "her2k" : "syr2k", &blas.her2k);
  Look(type, "trmm", &blas.trmm);
  Look(type, "trsm", &blas.trsm);
  return blas;
}

}  // namespace

void* FindInLapack(const char* symbol) {
  if (void* const found = Find(symbol)) return found;
  // The reference's BLAS has its LAPACK beside it.
  static void* const library =
      Library() == nullptr ? nullptr
                           : dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

template <>
const Blas<float>& HostBlas<float>() {
  static const Blas<float> blas = Fill<float>('s', false);
  return blas;
}
template <>
const Blas<double>& HostBlas<double>() {
  static const Blas<double> blas = Fill<double>('d', false);
  return blas;
}
template <>
const Blas<std::complex<float>>& HostBlas<std::complex<float>>() {
  static const auto blas = Fill<std::complex<float>>('c', true);
  return blas;
}
template <>
const Blas<std::complex<double>>& HostBlas<std::complex<double>>() {
  static const auto blas = Fill<std::complex<double>>('z', true);
  return blas;
}

}  // namespace cerberus::libraries::cublas
