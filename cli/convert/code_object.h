// What an AMD code object says of itself: its target, its kernels, and the
// section `.cerberus.info` (docs/launch-abi.md).
#ifndef CERBERUS_CLI_CONVERT_CODE_OBJECT_H_
#define CERBERUS_CLI_CONVERT_CODE_OBJECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/json.h"
#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::cli {

struct CodeObject {
  struct Kernel {
    std::string name;  // mangled
    std::uint64_t kernarg_bytes = 0;
    std::uint64_t lds_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t vgprs = 0;
    std::uint64_t sgprs = 0;
    std::uint64_t agprs = 0;
    std::uint64_t vgpr_spills = 0;
    std::uint64_t sgpr_spills = 0;
    std::uint64_t max_group_size = 0;  // of the hardware's largest block
    std::uint64_t max_threads = 0;     // of CUDA's
    std::uint64_t wave_size = 0;
    std::string form_of;  // the kernel that it is a further form of, or ""
    std::uint32_t waves_per_simd = 0;  // with the largest block; 0: not known
    bool operator==(const Kernel&) const = default;

    // "blocks to 512: wave32, 256 VGPRs, …".
    std::string Describe() const;
  };
  std::string target;           // "gfx1100", from the metadata note
  std::vector<Kernel> kernels;  // further forms behind the first one

  // Without further forms.
  std::size_t KernelCount() const;

  // From `.cerberus.info`; abi is -1 if there is no such section.
  std::int64_t abi = -1;
  std::string ptxc;         // compiler version
  std::string ptx_version;  // "9.0"
  std::int64_t sm = 0;
  std::map<std::string, std::string> failed;  // kernel → reason
};

// What a kernel takes, as the members of a JSON object, its name first.
void WriteKernelJson(const CodeObject::Kernel& kernel, JsonWriter& json);

// Errors name `name` and the offset: as images::FindCodeObjectMaps;
// metadata that is no MessagePack map.
Result<CodeObject> ReadCodeObject(ByteSpan bytes, const std::string& name);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_CODE_OBJECT_H_
