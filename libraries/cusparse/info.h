// What the functions before the generic ones keep between their calls: all of
// the infos of cusparseCreateBsrsv2Info and its kin.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_INFO_H_
#define CERBERUS_LIBRARIES_CUSPARSE_INFO_H_

#include <memory>
#include <vector>

#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/solve.h"

namespace cerberus::libraries::cusparse {

struct Info {
  // Of the latest analysis, solution or factorization.
  std::shared_ptr<Pivot> pivot = std::make_shared<Pivot>();
  // A diagonal element of at most `tolerance` becomes `boost`; where they are
  // the device's they are read in a factorization.
  bool boosts = false;
  bool on_device = false;
  const void *tolerance = nullptr, *boost = nullptr;
  double host_tolerance = 0;
  Complex64 host_boost = 0;
  // csru2csr: where each element was.
  std::shared_ptr<std::vector<Index>> order;
  // csrgemm2: which of its two terms there are.
  bool has_product = true, has_sum = true;

  std::shared_ptr<Pivot> NewPivot() {
    return pivot = std::make_shared<Pivot>();
  }
};

// Notes a row without a diagonal element, where one is needed.
Status AnalyseDiagonal(Handle h, const MatDescr* descr, const SpMat& a,
                       bool is_needed, Info* info);

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_INFO_H_
