#include "packager/databases/databases.h"

#include <gtest/gtest.h>

namespace cerberus::packager {
namespace {

struct Case {
  const char* path;
  const char* database;
  const char* target;
};

class Databases : public ::testing::TestWithParam<Case> {};

TEST_P(Databases, AreRecognisedByThePath) {
  const DatabaseFile file = RecogniseDatabase(GetParam().path);
  EXPECT_EQ(file.database, GetParam().database) << GetParam().path;
  EXPECT_EQ(file.target, GetParam().target) << GetParam().path;
}

constexpr char kBlas[] = "rocBLAS", kLt[] = "hipBLASLt", kMio[] = "MIOpen",
               kAot[] = "AOTriton", kCk[] = "composable kernel",
               kFft[] = "rocFFT", kSparse[] = "hipSPARSELt";
constexpr Case kCases[] = {
    {"lib/rocblas/library/TensileLibrary_gfx90a.dat", kBlas, "gfx90a"},
    {"lib/rocblas/library/TensileLibrary_lazy_gfx1151.dat", kBlas, "gfx1151"},
    {"rocblas/library/"
     "TensileLibrary_Type_HH_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx942.co",
     kBlas, "gfx942"},
    {"lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", kBlas,
     "gfx90a:xnack+"},
    {"lib/rocblas/library/TensileLibrary_Type_SS_fallback_gfx1030.hsaco", kBlas,
     "gfx1030"},
    {"lib/rocblas/library/gfx942/TensileManifest.txt", kBlas, "gfx942"},
    {"lib/rocblas/library/gfx90a-xnack-/TensileLibrary_fallback.dat", kBlas,
     "gfx90a:xnack-"},
    {"lib/rocblas/library/gfx11-generic/x.co", kBlas, "gfx11-generic"},
    {"lib/rocblas/library/gfx9-4-generic/x.co", kBlas, "gfx9-4-generic"},
    {"lib/rocblas/library/gfx1250-strict/x.co", kBlas, "gfx1250-strict"},
    {"lib/rocblas/library/TensileLibrary_Type_SS_fallback.dat", "", ""},
    {"lib/rocblas/library/TensileManifest.txt", "", ""},
    {"lib/rocblas/library/gfx942_old/x.txt", "", ""},
    {"lib/myrocblas/library/x_gfx942.co", "", ""},
    {"share/doc/rocblas/library_gfx942.co", "", ""},
    {"lib/hipblaslt/library/TensileLibrary_BB_gfx950.dat", kLt, "gfx950"},
    {"lib/hipblaslt/library/extop_gfx942.co", kLt, "gfx942"},
    {"lib/hipblaslt/library/gfx1201/hipblasltExtOpLibrary.dat", kLt, "gfx1201"},
    {"lib/hipblaslt/library/hipblasltExtOpLibrary.dat", "", ""},
    {"lib/hipblaslt/library/hipblasltTransform.hsaco", "", ""},
    {"lib/hipsparselt/library/TensileLibrary_gfx942.dat", kSparse, "gfx942"},
    {"torch/lib/aotriton.images/amd-gfx942/flash/attn_fwd/a.aks2", kAot,
     "gfx942"},
    {"lib/aotriton.images/amd-gfx11xx/flash/b.aks2", kAot, "gfx11xx"},
    {"lib/aotriton.images/amd-gfx120x/flash/b.aks2", kAot, "gfx120x"},
    {"lib/aotriton.images/amd-gfx942", "", ""},
    {"lib/aotriton.images/__signature__", "", ""},
    {"lib/aotriton.images/amd-gfxxxx/b", "", ""},
    {"share/miopen/db/gfx942130.db.txt", kMio, "gfx942"},
    {"share/miopen/db/gfx90878.HIP.fdb.txt", kMio, "gfx908"},
    {"share/miopen/db/gfx90a68.OpenCL.fdb.txt", kMio, "gfx90a"},
    {"share/miopen/db/gfx90a6e.kdb", kMio, "gfx90a"},
    {"share/miopen/db/gfx1030_36.db.txt", kMio, "gfx1030"},
    {"share/miopen/db/gfx803_64.db.txt", kMio, "gfx803"},
    {"share/miopen/db/gfx908_ConvAsm1x1U_decoder.ktn.model", kMio, "gfx908"},
    {"share/miopen/db/gfx942.tn.model", kMio, "gfx942"},
    {"share/miopen/db/gfx115120.kdb", kMio, "gfx1151"},
    {"share/miopen/db/miopen.db", "", ""},
    {"share/miopen/db/gfx942130.md", "", ""},
    {"share/other/gfx942130.db.txt", "", ""},
    {"lib/libMIOpenCKGroupedConv_gfx942.so.1.0", kMio, "gfx942"},
    {"lib/libMIOpenCKGroupedConv.so.1.0_gfx942", "", ""},
    {"lib/libdevice_conv_operations_gfx942.a", kCk, "gfx942"},
    {"lib/libdevice_gemm_operations_gfx90a_xnackp.a", kCk, "gfx90a:xnack+"},
    {"lib/libdevice_conv_operations_gfx90a_sramecc__xnack_.a", kCk,
     "gfx90a:sramecc-:xnack-"},
    {"lib/libdevice_conv_operations_gfx1250_strict.a", kCk, "gfx1250-strict"},
    {"lib/libdevice_conv_operations.a", "", ""},
    {"lib/libdevice_conv_operations_gfx942_old.a", "", ""},
    {"lib/rocfft/rocfft_kernel_cache_gfx950.db", kFft, "gfx950"},
    {"lib/rocfft/rocfft_kernel_cache.db", "", ""},
    {"lib/rocfft/rocfft_kernel_cache_.db", "", ""},
    {"gfx942", "", ""},
    {"", "", ""},
};
INSTANTIATE_TEST_SUITE_P(Paths, Databases, ::testing::ValuesIn(kCases));

TEST(TargetIn, IsAWordOfItsOwn) {
  EXPECT_EQ(TargetIn("x-gfx1100.co"), "gfx1100");
  EXPECT_EQ(TargetIn("gfx90a:sramecc+:xnack-"), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(TargetIn("xgfx1100.co"), "");
  EXPECT_EQ(TargetIn("gfx1100z.co"), "");
  EXPECT_EQ(TargetIn("gfx11.co"), "");
  EXPECT_EQ(TargetIn("gfx_gfx942"), "gfx942");
}

}  // namespace
}  // namespace cerberus::packager
