// Writes docs/library-support.md from the tables of the libraries to standard
// output.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "libraries/cublas/rocblas.h"
#include "libraries/cusolver/rocsolver.h"
#include "libraries/cusparse/rocsparse.h"

namespace {

struct Row {
  std::string name;
  bool answered;
  std::string rocm = {};  // the function of ROCm's libraries
};

std::string OfRocblas(const char* name) {
  using namespace cerberus::libraries::cublas;
  const int row = RocblasRowOf(name);
  if (row < 0) return "";
  return SymbolOf(kRocblasRows[row], /*wide=*/false);
}
#define CUBLAS_EXPORT(types, name, ...) {#name, true, OfRocblas(#name)},
#define CUBLAS_EXPORT_OLD(types, name, ...) {#name, true, OfRocblas(#name)},
#define CUBLAS_EXPORT_OLD_RESULT(types, result, name, ...) \
  {#name, true, OfRocblas(#name)},
#define CUBLAS_EXPORT_XT(types, name, ...) {#name, true},
#define CUBLAS_HELPER(name) {#name, true},
#define CUBLAS_REFUSED(name) {#name, false},
const std::vector<Row>& Cublas() {
  static const std::vector<Row> rows = {
#include "libraries/cublas/rows.h"
//
#include "libraries/cublas/cublas.def"
  };
  return rows;
}

// With kernels of our own behind it.
std::string OfCublasLt(const std::string& name) {
  if (name == "cublasLtMatmul") return "rocblas_gemm_ex";
  return name == "cublasLtMatrixTransform" ? "cerberus_finish" : "";
}
#define CUBLASLT_ANSWERED(name) {#name, true, OfCublasLt(#name)},
#define CUBLASLT_REFUSED(name) {#name, false},
const std::vector<Row>& CublasLt() {
  static const std::vector<Row> rows = {
#include "libraries/cublaslt/cublaslt.def"
  };
  return rows;
}

// What plans of hipFFT's do, which are made with ours.
std::string OfHipfft(const std::string& name) {
  const bool runs =
      name.starts_with("cufftExec") || name.starts_with("cufftXtExec");
  return runs ? "hipfft" + name.substr(std::strlen("cufft")) : "";
}
#define CUFFT_ANSWERED(name) {#name, true, OfHipfft(#name)},
#define CUFFT_REFUSED(name) {#name, false},
const std::vector<Row>& Cufft() {
  static const std::vector<Row> rows = {
#include "libraries/cufft/cufft.def"
  };
  return rows;
}

std::string OfRocsparse(const char* name) {
  return std::string(cerberus::libraries::cusparse::RocsparseOf(name));
}
#define CUSPARSE_ANSWERED(name) {#name, true, OfRocsparse(#name)},
#define CUSPARSE_SD(name) {"cusparseS" #name, true}, {"cusparseD" #name, true},
#define CUSPARSE_SDCZ(name) \
  CUSPARSE_SD(name){"cusparseC" #name, true}, {"cusparseZ" #name, true},
#define CUSPARSE_HSD(name) CUSPARSE_SD(name){"cusparseH" #name, true},
#define CUSPARSE_REFUSED(name) {#name, false},
const std::vector<Row>& Cusparse() {
  static const std::vector<Row> rows = {
#include "libraries/cusparse/cusparse.def"
  };
  return rows;
}

#define NCCL_ANSWERED(name) {#name, true},
#define NCCL_REFUSED(name) {#name, false},
const std::vector<Row>& Nccl() {
  static const std::vector<Row> rows = {
#include "libraries/nccl/nccl.def"
  };
  return rows;
}

#define CUSPARSELT_ANSWERED(name) {#name, true},
const std::vector<Row>& CusparseLt() {
  static const std::vector<Row> rows = {
#include "libraries/cusparselt/cusparselt.def"
  };
  return rows;
}
#define NVJPEG_ANSWERED(name) {#name, true},
const std::vector<Row>& Nvjpeg() {
  static const std::vector<Row> rows = {
#include "libraries/nvjpeg/nvjpeg.def"
  };
  return rows;
}
#define CUFILE_ANSWERED(name) {#name, true},
#define CUFILE_REFUSED(name) {#name, false},
const std::vector<Row>& Cufile() {
  static const std::vector<Row> rows = {
#include "libraries/cufile/cufile.def"
  };
  return rows;
}
#define LIBRARY_ANSWERED(name) {#name, true},
#define LIBRARY_REFUSED(name) {#name, false},
const std::vector<Row>& Cupti() {
  static const std::vector<Row> rows = {
#include "libraries/refusing/cupti.def"
  };
  return rows;
}

#define CUDNN_ANSWERED(part, name) {#name, true},
#define CUDNN_REFUSED(part, name) {#name, false},
const std::vector<Row>& Cudnn() {
  static const std::vector<Row> rows = {
#include "libraries/cudnn/cudnn.def"
  };
  return rows;
}

std::string OfRocsolver(const char* name) {
  return cerberus::libraries::cusolver::RocsolverOf(name);
}
#define CUSOLVER_EXPORT(type, name, ...) {#name, true, OfRocsolver(#name)},
#define CUSOLVER_HELPER(name) {#name, true},
#define CUSOLVER_REFUSED(name) {#name, false},
const std::vector<Row>& Cusolver() {
  static const std::vector<Row> rows = {
#include "libraries/cusolver/rows.h"
//
#include "libraries/cusolver/cusolver.def"
  };
  return rows;
}

#define CUSOLVERMG_ANSWERED(name) {#name, true},
#define CUSOLVERMG_EXPORT(name, ...) {#name, true},
#define CUSOLVERMG_REFUSED(name) {#name, false},
const std::vector<Row>& CusolverMg() {
  static const std::vector<Row> rows = {
#include "libraries/cusolvermg/cusolvermg.def"
  };
  return rows;
}

void Print(const char* title, const char* files, const char* remark,
           const std::vector<Row>& rows) {
  // In alphabetical order, each once.
  std::map<std::string, Row> sorted;
  std::size_t answered = 0, on_rocm = 0;
  for (const Row& row : rows) sorted[row.name] = row;
  for (const auto& [name, row] : sorted) {
    answered += row.answered ? 1 : 0;
    on_rocm += row.rocm.empty() ? 0 : 1;
  }
  std::printf("## %s\n\n%s. %zu of %zu functions are answered", title, files,
              answered, sorted.size());
  if (on_rocm != 0) std::printf(", %zu of them by ROCm's libraries", on_rocm);
  std::printf(". %s\n\n| function | host |%s\n| --- | --- |%s\n", remark,
              on_rocm != 0 ? " ROCm |" : "", on_rocm != 0 ? " --- |" : "");
  for (const auto& [name, row] : sorted) {
    std::printf("| `%s` | %s |", name.c_str(), row.answered ? "yes" : "no");
    if (!row.rocm.empty()) {
      std::printf(" `%s` |", row.rocm.c_str());
    } else if (on_rocm != 0) {
      std::printf(" |");
    }
    std::printf("\n");
  }
  std::printf("\n");
}

}  // namespace

int main() {
  std::printf(
      "# NVIDIA's libraries\n\n"
      "<!-- Made from the tables in libraries/ by cerberus_library_doc. -->\n\n"
      "What a converted program finds in place of NVIDIA's libraries of "
      "kernels, which\nare machine code for its own GPUs ([how it "
      "works](libraries.md)). Every function\nthat NVIDIA's library exports is "
      "there; those with \"no\" answer that they are not\nsupported, in their "
      "library's own way. Those with a name of ROCm's are\ncomputed by that "
      "function where it is to be had, else by the host.\n\n");
  Print("cuBLAS", "`libcublas.so.11`, `.12`, `.13`",
        "Refused are those that NVIDIA does not document.", Cublas());
  Print("cuBLASLt", "`libcublasLt.so.11`, `.12`, `.13`",
        "Refused are those that only NVIDIA's own libraries call.", CublasLt());
  Print("cuFFT", "`libcufft.so.10`, `.11`, `.12`",
        "Refused are callbacks, other ways to spread arrays over GPUs, and "
        "code for programs' own "
        "kernels.",
        Cufft());
  Print("cuSPARSE", "`libcusparse.so.11`, `.12`",
        "Refused are products with operations of the program's own, which "
        "NVIDIA's library compiles, and a format that CUDA 12 dropped.",
        Cusparse());
  Print("NCCL", "`libnccl.so.2`",
        "Each is there with a `p` before its name, too. Refused are what a "
        "rank does in another's window, communication by kernels, and "
        "parameters.",
        Nccl());
  const char* const refuses =
      "It is there so that programs start, and choose another path.";
  Print("cuSPARSELt", "`libcusparseLt.so.0`", "None is refused.", CusparseLt());
  Print("nvJPEG", "`libnvjpeg.so.11`, `.12`, `.13`", "None is refused.",
        Nvjpeg());
  Print("cuFile", "`libcufile.so.0`",
        "Refused are statistics and topologies of NVIDIA's devices, and what "
        "its own driver calls.",
        Cufile());
  Print("CUPTI", "`libcupti.so.11.7`, `.11.8`, `.12`, `.13`", refuses, Cupti());
  Print("cuDNN", "`libcudnn.so.8`, `.9`, and their parts",
        "Refused are multi-head attention before graphs, fused operations, "
        "divisive normalization, graphs of nodes, long convolutions, and "
        "version 8's recurrent networks without `_v8`.",
        Cudnn());
  Print("cuSOLVER", "`libcusolver.so.11`, `.12`",
        "Refused are polar factors, the diagonal of a sparse Cholesky factor, "
        "and those that NVIDIA does not document.",
        Cusolver());
  Print("cuSOLVER for many devices", "`libcusolverMg.so.11`, `.12`",
        "Refused are those that NVIDIA does not document.", CusolverMg());
  return 0;
}
