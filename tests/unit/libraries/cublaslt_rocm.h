// cuBLASLt's functions by their names.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUBLASLT_ROCM_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUBLASLT_ROCM_H_

namespace cerberus::libraries::cublaslt {

void* LtSymbol(const char* name);
template <typename... A>
int Lt(const char* name, A... arguments) {
  return reinterpret_cast<int (*)(A...)>(LtSymbol(name))(arguments...);
}
void* LtHandle();  // one for all tests

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUBLASLT_ROCM_H_
