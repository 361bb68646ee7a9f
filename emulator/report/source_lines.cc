#include "emulator/report/source_lines.h"

#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cerberus::emulator {

std::string SourceLine(const DebugSections& sections, std::uint64_t address) {
  if (!sections.contains("debug_line")) return "";
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  for (const auto& [name, bytes] : sections) {
    buffers[name] = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
        reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  const auto ignore = [](llvm::Error e) { llvm::consumeError(std::move(e)); };
  const auto context =
      llvm::DWARFContext::create(buffers, 8, true, ignore, ignore);
  const llvm::DIInliningInfo frames = context->getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection},
      llvm::DILineInfoSpecifier(
          llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue,
          llvm::DILineInfoSpecifier::FunctionNameKind::None));
  std::string out;
  for (std::uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& line = frames.getFrame(i);
    if (line.Line == 0 || line.FileName == llvm::DILineInfo::BadString) {
      continue;
    }
    if (!out.empty()) out += ", inlined at ";
    out += line.FileName + ":" + std::to_string(line.Line);
  }
  return out;
}

}  // namespace cerberus::emulator
