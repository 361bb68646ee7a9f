#include <cstdlib>

#include "tests/unit/libraries/cublaslt_ways.h"
#include "tests/unit/libraries/fake_driver.h"

namespace cerberus::libraries::cublaslt {

void* TakeShared(std::size_t bytes) { return std::malloc(bytes); }
void GiveShared(void* memory) { std::free(memory); }

Status DoMatmul(bool first, const MatmulDesc& desc, const Layouts& layouts,
                const Operands& operands) {
  return Matmul(FakeDriver(first), nullptr, desc, layouts, operands);
}
Status DoTransform(bool first, const TransformDesc& desc,
                   const Layouts& layouts, const Operands& operands) {
  return Transform(FakeDriver(first), nullptr, desc, layouts, operands);
}

}  // namespace cerberus::libraries::cublaslt
