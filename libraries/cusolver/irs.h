// What programs say about refined solutions (cusolverDnIRS…). All of it is
// checked and told again; solutions are of full precision without it.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_IRS_H_
#define CERBERUS_LIBRARIES_CUSOLVER_IRS_H_

#include <optional>

#include "libraries/cublas/abi.h"
#include "libraries/cusolver/api.h"

namespace cerberus::libraries::cusolver {

// cusolverDnIRSParams_t: numbers of cusolverPrecType_t and
// cusolverIRSRefinement_t.
struct IrsParameters {
  int main_precision = 0, lowest_precision = 0;
  int refinement = 1100;  // CUSOLVER_IRS_REFINE_NOT_SET
  int max_iterations = 50, max_inner_iterations = 50;
  double tolerance = 0, inner_tolerance = 0;
  bool fallback = true;
};
using IrsParams = IrsParameters*;

// cusolverDnIRSInfos_t.
struct IrsInformation {
  int iterations = 0, outer_iterations = 0, max_iterations = 0;
  bool with_history = false;
};
using IrsInfos = IrsInformation*;

bool IsAlive(IrsParams params);
bool IsAlive(IrsInfos infos);

// The type of a cusolverPrecType_t that a solution may have.
inline std::optional<DataType> TypeOfPrecision(int precision) {
  switch (precision) {
    case 1203: return cublas::kR64F;
    case 1204: return cublas::kR32F;
    case 1213: return cublas::kC64F;
    case 1214: return cublas::kC32F;
    default: return std::nullopt;
  }
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_IRS_H_
