#include "runtime-stub/module/jit_options.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cerberus::stub {

JitOptions::JitOptions(unsigned count, CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        info_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: info_.size = &values[i]; break;
      case CU_JIT_ERROR_LOG_BUFFER:
        error_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: error_.size = &values[i]; break;
      case CU_JIT_WALL_TIME: wall_time_ = &values[i]; break;
      default: break;  // hints to NVIDIA's compiler
    }
  }
}

void JitOptions::Buffer::Fill(const std::string& content) const {
  if (size == nullptr) return;
  const auto room = reinterpret_cast<std::uintptr_t>(*size) & UINT32_MAX;
  std::size_t filled = 0;
  if (text != nullptr && room > 0) {
    filled = std::min<std::size_t>(content.size(), room - 1);
    std::memcpy(text, content.data(), filled);
    text[filled++] = '\0';
  }
  *size = reinterpret_cast<void*>(filled);
}

void JitOptions::Report(CUresult result, const std::string& log) const {
  const std::string nothing;
  info_.Fill(result == CUDA_SUCCESS ? log : nothing);
  error_.Fill(result == CUDA_SUCCESS ? nothing : log);
  if (wall_time_ != nullptr) {
    const float milliseconds = 0;
    std::memcpy(wall_time_, &milliseconds, sizeof milliseconds);
  }
}

}  // namespace cerberus::stub
