#include "tests/unit/libraries/cublaslt_rocm.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/cublaslt_ways.h"

namespace cerberus::libraries::cublaslt {

using tests::Cuda;

void* LtSymbol(const char* name) {
  static void* const library = dlopen("libcublasLt.so.13", RTLD_NOW);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return found;
}
void* LtHandle() {
  static void* const handle = [] {
    tests::CublasHandle();  // makes a context
    void* made = nullptr;
    EXPECT_EQ(Lt("cublasLtCreate", &made), 0);
    return made;
  }();
  return handle;
}

// Pinned, so that kernels reach it, too.
void* TakeShared(std::size_t bytes) {
  LtHandle();
  void* memory = nullptr;
  EXPECT_EQ(Cuda("cuMemAllocHost_v2", &memory, bytes == 0 ? 1 : bytes), 0);
  return memory;
}
void GiveShared(void* memory) { Cuda("cuMemFreeHost", memory); }

Status DoMatmul(bool first, const MatmulDesc& desc, const Layouts& l,
                const Operands& o) {
  constexpr std::size_t kRoom = std::size_t{1} << 20;
  static void* const room = tests::TakeDevice(kRoom);
  const int status =
      Lt("cublasLtMatmul", LtHandle(), &desc, o.alpha, o.a, &l.a, o.b, &l.b,
         o.beta, o.c, &l.c, o.d, &l.d, static_cast<const void*>(nullptr),
         first ? room : nullptr, first ? kRoom : std::size_t{0},
         static_cast<void*>(nullptr));
  EXPECT_EQ(Cuda("cuStreamSynchronize", static_cast<void*>(nullptr)), 0);
  return static_cast<Status>(status);
}
Status DoTransform(bool, const TransformDesc& desc, const Layouts& l,
                   const Operands& o) {
  const int status =
      Lt("cublasLtMatrixTransform", LtHandle(), &desc, o.alpha, o.a, &l.a,
         o.beta, o.b, &l.b, o.d, &l.c, static_cast<void*>(nullptr));
  EXPECT_EQ(Cuda("cuStreamSynchronize", static_cast<void*>(nullptr)), 0);
  return static_cast<Status>(status);
}

}  // namespace cerberus::libraries::cublaslt
