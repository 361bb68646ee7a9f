#include "support/target_table.h"

#include <cstdlib>

namespace cerberus {
namespace {

constexpr std::uint32_t kKiB = 1024;

// Presented as: GCN and CDNA as 8.0, whose NVIDIA counterpart is a compute
// card as well, RDNA 1 to 3 as 8.6, RDNA 4 (which has FP8) as 8.9. Nothing is
// presented as 9.0 or above: code for it expects thread block clusters and the
// tensor memory accelerator. Every value is at least 7.5, below which nvcc 13
// builds nothing.
//
// Wave and LDS sizes: LLVM, User Guide for AMDGPU Backend, "Processors", and
// AMD's instruction set manuals, "Local Data Share".
constexpr TargetRow kTargets[] = {
    // processor, cc, wave size, LDS
    {"gfx900", {8, 0}, 64, 64 * kKiB},
    {"gfx902", {8, 0}, 64, 64 * kKiB},
    {"gfx904", {8, 0}, 64, 64 * kKiB},
    {"gfx906", {8, 0}, 64, 64 * kKiB},
    {"gfx908", {8, 0}, 64, 64 * kKiB},
    {"gfx909", {8, 0}, 64, 64 * kKiB},
    {"gfx90a", {8, 0}, 64, 64 * kKiB},
    {"gfx90c", {8, 0}, 64, 64 * kKiB},
    {"gfx940", {8, 0}, 64, 64 * kKiB},
    {"gfx941", {8, 0}, 64, 64 * kKiB},
    {"gfx942", {8, 0}, 64, 64 * kKiB},
    {"gfx950", {8, 0}, 64, 160 * kKiB},
    {"gfx1010", {8, 6}, 32, 64 * kKiB},
    {"gfx1011", {8, 6}, 32, 64 * kKiB},
    {"gfx1012", {8, 6}, 32, 64 * kKiB},
    {"gfx1013", {8, 6}, 32, 64 * kKiB},
    {"gfx1030", {8, 6}, 32, 64 * kKiB},
    {"gfx1031", {8, 6}, 32, 64 * kKiB},
    {"gfx1032", {8, 6}, 32, 64 * kKiB},
    {"gfx1033", {8, 6}, 32, 64 * kKiB},
    {"gfx1034", {8, 6}, 32, 64 * kKiB},
    {"gfx1035", {8, 6}, 32, 64 * kKiB},
    {"gfx1036", {8, 6}, 32, 64 * kKiB},
    {"gfx1100", {8, 6}, 32, 64 * kKiB},
    {"gfx1101", {8, 6}, 32, 64 * kKiB},
    {"gfx1102", {8, 6}, 32, 64 * kKiB},
    {"gfx1103", {8, 6}, 32, 64 * kKiB},
    {"gfx1150", {8, 6}, 32, 64 * kKiB},
    {"gfx1151", {8, 6}, 32, 64 * kKiB},
    {"gfx1152", {8, 6}, 32, 64 * kKiB},
    {"gfx1153", {8, 6}, 32, 64 * kKiB},
    {"gfx1200", {8, 9}, 32, 64 * kKiB},
    {"gfx1201", {8, 9}, 32, 64 * kKiB},
    {"gfx1250", {8, 9}, 32, 320 * kKiB},
    {"gfx1251", {8, 9}, 32, 320 * kKiB},
    {"gfx9-generic", {8, 0}, 64, 64 * kKiB},
    {"gfx9-4-generic", {8, 0}, 64, 64 * kKiB},
    {"gfx10-1-generic", {8, 6}, 32, 64 * kKiB},
    {"gfx10-3-generic", {8, 6}, 32, 64 * kKiB},
    {"gfx11-generic", {8, 6}, 32, 64 * kKiB},
    {"gfx12-generic", {8, 9}, 32, 64 * kKiB},
};

constexpr ComputeCapability kUnknownTarget = {8, 0};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

const TargetRow* FindTarget(std::string_view processor) {
  for (const TargetRow& row : kTargets) {
    if (row.processor == processor) return &row;
  }
  return nullptr;
}

ComputeCapability ParseComputeCapability(std::string_view text) {
  // The minor number is one digit, the major one or two.
  std::string_view major = text.substr(0, text.size() - !text.empty());
  if (!major.empty() && major.back() == '.') major.remove_suffix(1);
  if (major.empty() || major.size() > 2 || !IsDigit(text.back())) return {};
  ComputeCapability cc;
  for (char c : major) {
    if (!IsDigit(c)) return {};
    cc.major = cc.major * 10 + (c - '0');
  }
  cc.minor = text.back() - '0';
  if (cc.major == 0) return {};
  return cc;
}

ComputeCapability ComputeCapabilityOf(std::string_view processor) {
  if (const char* text = std::getenv("CERBERUS_CC"); text != nullptr) {
    const ComputeCapability cc = ParseComputeCapability(text);
    if (cc.major != 0) return cc;
  }
  const TargetRow* row = FindTarget(processor);
  return row != nullptr ? row->cc : kUnknownTarget;
}

int PresentedCudaVersion() {
  constexpr int kKnown = 13000;
  const char* text = std::getenv("CERBERUS_DRIVER_VERSION");
  if (text == nullptr) return kKnown;
  const ComputeCapability version = ParseComputeCapability(text);
  if (version.major == 0) return kKnown;
  return version.major * 1000 + version.minor * 10;
}

}  // namespace cerberus
