// What the stub says of itself to `cerberus doctor`: a table of our own
// behind cuGetExportTable. Where a process has been handed over to a real
// NVIDIA driver, that driver is asked instead and has no such table.
#ifndef CERBERUS_FORMATS_SELF_REPORT_H_
#define CERBERUS_FORMATS_SELF_REPORT_H_

#include <cstddef>

namespace cerberus::formats {

struct SelfReport {
  std::size_t size;                   // of this table, in bytes
  const char* (*version)();           // of the stub
  const char* (*provider)();          // "hip", "emulator", or "none"
  const char* (*library)();           // HIP's file, as opened
  int (*hip_version)();               // as hipRuntimeGetVersion says
  const char* (*target)(int device);  // "gfx942:sramecc+:xnack-", or ""
};

inline constexpr char kSelfReportId[] = "cerberus:report1";  // 16 bytes

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_SELF_REPORT_H_
