// Device code as a program hands it to the driver, and the AMD code found
// for it.
//
// A program passes one pointer. Behind it stands a wrapper (converted or
// not), a fatbin, an ELF file, or PTX text; the first bytes tell. For a
// device's target the code is then looked for in this order:
//
//   1. the archives that the wrapper's record names;
//   2. the archives of all converted files of the process, by the PTX's
//      content;
//   3. the JIT fallback, on the PTX archive's text, else on the fatbin's.
//
// CUDA_FORCE_PTX_JIT=1 leaves out 1 and 2, CUDA_DISABLE_PTX_JIT=1 leaves
// out 3.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_IMAGE_H_
#define CERBERUS_RUNTIME_STUB_MODULE_IMAGE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/module/code_object.h"
#include "runtime-stub/module/segment.h"
#include "support/bytes.h"

namespace cerberus::stub {

struct Image {
  std::string name;  // for log lines: "app#0", "PTX text"
  std::optional<WrapperRecord> record;
  // Fatbins that may hold PTX; several for an -rdc program's linked image.
  std::vector<const void*> fatbins;
  std::string ptx;  // PTX text handed over as such
  Bytes hsaco;      // an AMD code object handed over as such
  // True if loading may wait for the first use: the image stays mapped.
  bool stays_mapped = false;
};

// An error line that says what cannot run and why: the first about a library
// (`name` up to its colon), the others about it only where CERBERUS_LOG=info.
// Programs ask for kernels that they do well without.
void SayMissing(const std::string& name, const std::string& line);

// Reads no more than the first bytes, and for ELF files and PTX text the
// whole. Errors: CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU (a
// cubin), with a log line.
CUresult IdentifyImage(const void* code, Image* image);

// Appends the PTX that `device` wants of the fatbins in `data`, which is one,
// an object file with some, or an archive of such: what a linker is handed.
// With none in it: CUDA_ERROR_NO_BINARY_FOR_GPU.
CUresult AppendPtxOf(ByteSpan data, const std::string& name,
                     const Device& device, std::string* ptx);

// AMD code and what it says of itself.
struct Code {
  Bytes bytes;
  CodeObjectInfo info;
  // Where there is none: why not. FindCode says nothing itself of images that
  // nothing was made from; only a kernel that is wanted is missed.
  std::string why_none;
  // Instead of all this, with CodeSource::kAsUsed: kernels that are better
  // compiled one by one (CompileAlone).
  std::vector<std::string> to_compile;
  bool variables_apart = false;  // they are in code of their own
};

// The target whose emulation runs most of the code that the converted files of
// this process bring, or "" (TargetToEmulate).
std::string TargetWithMostCode();

enum class CodeSource { kAny, kCompiled, kApart, kAsUsed };

// `log`, where not null, receives what the compiler said. With kCompiled,
// prebuilt code is not looked for, nor with kApart, for kernels whose variables
// CompileAlone makes; with kAsUsed, a text of many kernels is not compiled.
CUresult FindCode(const Image& image, const Device& device, Code* code,
                  std::string* log, CodeSource source = CodeSource::kAny);

// Compiles a kernel of the PTX that FindCode would take, alone, or, with "",
// the variables that its kernels share. False where that cannot be, of which
// nothing is said.
bool CompileAlone(const Image& image, const Device& device,
                  const std::string& kernel, Code* code);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_IMAGE_H_
