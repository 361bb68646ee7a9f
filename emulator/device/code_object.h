// Loading AMDGPU code objects, versions 4, 5 and 6: ELF64 shared objects with
// kernel descriptors and a metadata note (AMDGPUUsage, "Code Object").
//
// The readers of images/ and the constants of formats/ are not used on
// purpose: what the compiler writes is checked against a second reading of
// LLVM's manual.
#ifndef CERBERUS_EMULATOR_DEVICE_CODE_OBJECT_H_
#define CERBERUS_EMULATOR_DEVICE_CODE_OBJECT_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/access/memory.h"
#include "emulator/emulator.h"
#include "emulator/report/source_lines.h"

namespace cerberus::emulator {

class Program;

class LoadedCode : public CodeObject {
 public:
  // Maps the segments into `memory`, applies the relocations and reads the
  // metadata. `target`: what the device is, with features.
  static Result<std::unique_ptr<LoadedCode>> Load(ByteSpan bytes,
                                                  std::string_view target,
                                                  Memory& memory);
  ~LoadedCode() override;

  const std::string& target() const override { return target_; }
  int version() const override { return version_; }
  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  const std::vector<SymbolInfo>& symbols() const override { return symbols_; }
  const KernelInfo* FindKernel(std::string_view name) const override;
  // By the address of its descriptor.
  const KernelInfo* FindKernelAt(std::uint64_t descriptor) const;
  const SymbolInfo* FindSymbol(std::string_view name) const override;
  std::optional<ByteSpan> FindSection(std::string_view name) const override;

  // Where the image lies, and the executable part of it.
  std::uint64_t base() const { return base_; }
  std::uint64_t text_begin() const { return text_begin_; }
  std::uint64_t text_end() const { return text_end_; }
  bool Contains(std::uint64_t address) const { return address - base_ < size_; }
  // "in .rodata, 8 bytes into 'table' of 64 bytes"; empty if nothing is known.
  std::string PlaceOf(std::uint64_t address) const;
  // The source line of an instruction, where the file has debug information.
  std::string SourceOf(std::uint64_t address) const;

 private:
  LoadedCode() = default;
  friend class Loader;

  std::string target_;
  int version_ = 0;
  std::uint64_t base_ = 0, size_ = 0;
  std::uint64_t text_begin_ = 0, text_end_ = 0;
  std::vector<KernelInfo> kernels_;
  std::vector<SymbolInfo> symbols_;
  std::map<std::string, std::size_t, std::less<>> kernel_index_;
  std::map<std::uint64_t, std::size_t> descriptor_index_;
  std::map<std::string, std::size_t, std::less<>> symbol_index_;
  std::map<std::string, ByteSpan, std::less<>> sections_;
  DebugSections debug_;
  Memory* memory_ = nullptr;
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DEVICE_CODE_OBJECT_H_
