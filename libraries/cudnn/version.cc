#include "libraries/cudnn/version.h"

namespace cerberus::libraries::cudnn {

#if defined(CERBERUS_CUDNN_MAJOR) && CERBERUS_CUDNN_MAJOR == 8

namespace {
constexpr struct {
  int old;
  Status status;
} kOld[] = {
    {0, kSuccess},         {1, kNotInitialized}, {2, kAllocFailed},
    {3, kBadParam},        {4, kInternalError},  {5, kInvalidValue},
    {8, kExecutionFailed}, {9, kNotSupported},
};
}  // namespace

const Version kVersion = {8, 9, 7, 8907};

Told ToldOf(Status status) {
  for (const auto& row : kOld) {
    if (row.status == status) return static_cast<Told>(row.old);
  }
  // A kind of one of them.
  return static_cast<Told>(status / 1000 == 2 ? 3 : status / 1000 == 3 ? 9 : 4);
}
Status StatusOf(Told told) {
  for (const auto& row : kOld) {
    if (row.old == told) return row.status;
  }
  return static_cast<Status>(-1);
}

#else

const Version kVersion = {9, 28, 0, 92800};

Told ToldOf(Status status) { return static_cast<Told>(status); }
Status StatusOf(Told told) { return static_cast<Status>(told); }

#endif

}  // namespace cerberus::libraries::cudnn
