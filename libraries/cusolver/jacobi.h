// What programs set for functions that work by Jacobi's rotations, and are told
// by them (syevjInfo_t, gesvdjInfo_t). Results are as exact as they can be, and
// sorted, whatever was set.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_JACOBI_H_
#define CERBERUS_LIBRARIES_CUSOLVER_JACOBI_H_

#include <memory>

namespace cerberus::libraries::cusolver {

struct JacobiOutcome {
  double residual = 0;  // |A - V W V^H|, |A - U S V^H|, by Frobenius' norm
  int sweeps = 0;
};
struct JacobiParameters {
  // Of the last call; none if that was of many matrices. The work may come
  // after the parameters are destroyed.
  std::shared_ptr<JacobiOutcome> outcome;
};
using Jacobi = JacobiParameters*;

bool IsAlive(Jacobi jacobi);

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_JACOBI_H_
