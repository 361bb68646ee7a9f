// What the tables' rows become: functions, in which T and R are the type of
// matrices and its real one.
#include "libraries/cusolver/api.h"
#include "libraries/cusolver/rows.h"

namespace cerberus::libraries::cusolver {

namespace S {
using T = float;
using R = float;
}  // namespace S
namespace D {
using T = double;
using R = double;
}  // namespace D
namespace C {
using T = Complex32;
using R = float;
}  // namespace C
namespace Z {
using T = Complex64;
using R = double;
}  // namespace Z
namespace X {}

}  // namespace cerberus::libraries::cusolver

#define CUSOLVER_EXPORT(type, name, function, parameters, arguments)   \
  namespace type {                                                     \
  CUSOLVER_API Status name parameters {                                \
    return Guarded(h, [&]() -> Status { return function arguments; }); \
  }                                                                    \
  }
