// Products on an AMD GPU: sums by rocBLAS, and what cuBLASLt has behind them by
// kernels of our own (finish.h).
//
// Where rocBLAS can, it computes D itself: types of the table of cublasGemmEx,
// scalars of the host, no epilogue. Else the sum goes, in f32, f64 or integers,
// to D, if that is of this type and C need not be read any more, or to memory
// beside it, and a kernel makes D of it. 8-bit floats are multiplied as halves,
// which have all their values.
//
// What neither does, the host computes: tables in docs/libraries.md.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_ROCM_MATMUL_H_
#define CERBERUS_LIBRARIES_CUBLASLT_ROCM_MATMUL_H_

#include <cstddef>
#include <string>

#include "libraries/common/driver.h"
#include "libraries/cublaslt/matmul.h"

namespace cerberus::libraries::cublaslt {

// Whether a handle may be made: the environment may insist on what is not
// there.
bool HasProvider(const Driver& driver);
// Who computes, in words.
std::string DescribeMatmulProvider();
// What is kept for handles is given back, with the last of them.
void ForgetHandles();

// The program's, for a call.
struct Workspace {
  void* first;
  std::size_t bytes;
};
// What a call could use of it; 0 also where the host computes.
std::size_t RocmWorkspace(const Driver& driver, const MatmulDesc& desc,
                          const Layouts& layouts);

// Calls that were found to be in order. False: nothing was done, and the host
// has to.
bool RocmMatmul(const Driver& driver, Stream stream, const MatmulDesc& desc,
                const Layouts& layouts, const Operands& operands,
                Workspace workspace, Status* status);
bool RocmTransform(const Driver& driver, Stream stream,
                   const TransformDesc& desc, const Layouts& layouts,
                   const Operands& operands, Status* status);

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_ROCM_MATMUL_H_
