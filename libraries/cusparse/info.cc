#include "libraries/cusparse/info.h"

#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

// Waits for what was asked of the info before.
Status ZeroPivot(Handle h, const Info* info, int* position) {
  if (info == nullptr || position == nullptr) return kInvalidValue;
  const std::shared_ptr<const Pivot> pivot = info->pivot;
  Call call(h);
  call.Wait();
  int* to = call.Out(position, sizeof *position);
  if (const Status bad =
          call.Run([=] { *to = static_cast<int>(pivot->row); })) {
    return bad;
  }
  return pivot->row < 0 ? kSuccess : kZeroPivot;
}

Status Boost(Handle h, DataType type, Info* info, int enable,
             const double* tolerance, const void* boost) {
  if (info == nullptr || (enable != 0 && (!tolerance || !boost))) {
    return kInvalidValue;
  }
  info->boosts = enable != 0;
  if (!info->boosts) return kSuccess;
  info->on_device = h->pointer_mode == cublas::kDevicePointers;
  info->tolerance = tolerance;
  info->boost = boost;
  if (info->on_device) return kSuccess;
  info->host_tolerance = *tolerance;
  info->host_boost = cublas::Load(type, boost, 0);
  return kSuccess;
}

}  // namespace

Status AnalyseDiagonal(Handle h, const MatDescr* descr, const SpMat& a,
                       bool is_needed, Info* info) {
  if (const Status bad = Check(descr, a)) return bad;
  if (info == nullptr) return kInvalidValue;
  const std::shared_ptr<Pivot> pivot = info->NewPivot();
  if (!is_needed) return kSuccess;
  Call call(h);
  SpMat structure = a;
  structure.values = nullptr;
  const SpMat pa = Mapped(call.work(), structure);
  return call.Run([=] { pivot->row = MissingDiagonal(pa); });
}

#define CUSPARSE_INFO(Name)                               \
  CUSPARSE_API Status cusparseCreate##Name(Info** info) { \
    return Create(info);                                  \
  }                                                       \
  CUSPARSE_API Status cusparseDestroy##Name(Info* info) { \
    return Destroy(info);                                 \
  }
CUSPARSE_INFO(Bsrsv2Info)
CUSPARSE_INFO(Bsrsm2Info)
CUSPARSE_INFO(Csric02Info)
CUSPARSE_INFO(Bsric02Info)
CUSPARSE_INFO(Csrilu02Info)
CUSPARSE_INFO(Bsrilu02Info)
CUSPARSE_INFO(Csru2csrInfo)
CUSPARSE_INFO(ColorInfo)
CUSPARSE_INFO(PruneInfo)
CUSPARSE_INFO(Csrsv2Info)
CUSPARSE_INFO(Csrsm2Info)
CUSPARSE_INFO(Csrgemm2Info)
#undef CUSPARSE_INFO

#define CUSPARSE_ZERO_PIVOT(name)                                    \
  CUSPARSE_API Status cusparse##name(Handle h, const Info* info,     \
                                     int* position) {                \
    return Guarded(h, [&] { return ZeroPivot(h, info, position); }); \
  }
CUSPARSE_ZERO_PIVOT(Xbsrsv2_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xbsrsm2_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xcsrilu02_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xbsrilu02_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xcsric02_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xbsric02_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xcsrsv2_zeroPivot)
CUSPARSE_ZERO_PIVOT(Xcsrsm2_zeroPivot)
#undef CUSPARSE_ZERO_PIVOT

CUSPARSE_EXPORT_SDCZ(csrilu02_numericBoost,
                     (Handle h, Info* info, int enable, const double* tolerance,
                      const void* boost),
                     Boost(h, kType, info, enable, tolerance, boost))
CUSPARSE_EXPORT_SDCZ(bsrilu02_numericBoost,
                     (Handle h, Info* info, int enable, const double* tolerance,
                      const void* boost),
                     Boost(h, kType, info, enable, tolerance, boost))

}  // namespace cerberus::libraries::cusparse
