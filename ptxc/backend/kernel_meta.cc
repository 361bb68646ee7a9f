#include "ptxc/backend/kernel_meta.h"

#include <cstring>
#include <utility>

#include "formats/code_object.h"
#include "formats/launch_abi.h"
#include "llvm/BinaryFormat/MsgPackWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "support/version.h"

namespace cerberus::ptx {
namespace {

using llvm::msgpack::Writer;

void WriteKey(Writer& out, llvm::StringRef key) { out.write(key); }

void WriteInt(Writer& out, llvm::StringRef key, std::int64_t value) {
  WriteKey(out, key);
  out.write(value);
}

void WriteString(Writer& out, llvm::StringRef key, llvm::StringRef value) {
  WriteKey(out, key);
  out.write(value);
}

void WriteTriple(Writer& out, llvm::StringRef key,
                 const std::array<unsigned, 3>& value) {
  WriteKey(out, key);
  out.writeArraySize(3);
  for (unsigned part : value) out.write(static_cast<std::uint64_t>(part));
}

void WriteKernel(Writer& out, const KernelInfo& kernel) {
  out.write(llvm::StringRef(kernel.name));
  out.writeMapSize(
      1 + (kernel.maxntid ? 1 : 0) + (kernel.reqntid ? 1 : 0) +
      (kernel.minnctapersm ? 1 : 0) + (kernel.own_shared != 0 ? 1 : 0) +
      (kernel.window ? 1 : 0) + (kernel.tensor_bytes != 0 ? 1 : 0) +
      (kernel.cluster ? 1 : 0) + (kernel.max_cluster ? 1 : 0) +
      (kernel.explicit_cluster ? 1 : 0) + (kernel.blocks_are_clusters ? 1 : 0) +
      (kernel.clusters ? 1 : 0) + (kernel.launches ? 1 : 0) +
      (kernel.handle ? 1 : 0));
  WriteInt(out, formats::kInfoWarpsPerWave, kernel.warps_per_wave);
  if (kernel.maxntid) WriteTriple(out, formats::kInfoMaxntid, *kernel.maxntid);
  if (kernel.reqntid) WriteTriple(out, formats::kInfoReqntid, *kernel.reqntid);
  if (kernel.minnctapersm) {
    WriteInt(out, formats::kInfoMinnctapersm, *kernel.minnctapersm);
  }
  if (kernel.own_shared != 0) {
    WriteInt(out, formats::kInfoOwnShared,
             static_cast<std::int64_t>(kernel.own_shared));
  }
  if (kernel.window) {
    WriteInt(out, formats::kInfoWindow,
             static_cast<std::int64_t>(*kernel.window));
  }
  if (kernel.tensor_bytes != 0) {
    WriteInt(out, formats::kInfoTensor,
             static_cast<std::int64_t>(kernel.tensor_bytes));
  }
  if (kernel.cluster) WriteTriple(out, formats::kInfoCluster, *kernel.cluster);
  if (kernel.max_cluster) {
    WriteInt(out, formats::kInfoMaxCluster, kernel.max_cluster);
  }
  if (kernel.explicit_cluster) WriteInt(out, formats::kInfoExplicitCluster, 1);
  if (kernel.blocks_are_clusters) {
    WriteInt(out, formats::kInfoBlocksAreClusters, 1);
  }
  if (kernel.clusters) {
    WriteInt(out, formats::kInfoClusters, *kernel.clusters ? 1 : 0);
  }
  if (kernel.launches) WriteInt(out, formats::kInfoLaunches, 1);
  if (kernel.handle) WriteInt(out, formats::kInfoHandle, 1);
}

}  // namespace

void EmitModuleInfo(llvm::Module& module, const ModuleInfo& info) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  Writer out(stream);
  out.writeMapSize(6 + (info.const_bytes != 0) + !info.managed.empty() +
                   !info.failed.empty());
  WriteInt(out, formats::kInfoAbi, formats::kLaunchAbi);
  WriteString(out, formats::kInfoPtxc, kVersion);
  WriteKey(out, formats::kInfoPtx);
  out.writeArraySize(2);
  out.write(static_cast<std::int64_t>(info.ptx_major));
  out.write(static_cast<std::int64_t>(info.ptx_minor));
  WriteInt(out, formats::kInfoSm, info.sm);
  WriteString(out, formats::kInfoArch, info.arch);
  if (info.const_bytes != 0) {
    WriteInt(out, formats::kInfoConst,
             static_cast<std::int64_t>(info.const_bytes));
  }
  if (!info.managed.empty()) {
    WriteKey(out, formats::kInfoManaged);
    out.writeArraySize(info.managed.size());
    for (const std::string& name : info.managed) {
      out.write(llvm::StringRef(name));
    }
  }
  WriteKey(out, formats::kInfoKernels);
  out.writeMapSize(info.kernels.size());
  for (const KernelInfo& kernel : info.kernels) WriteKernel(out, kernel);
  if (!info.failed.empty()) {
    WriteKey(out, formats::kInfoFailed);
    out.writeMapSize(info.failed.size());
    for (const FailedKernel& kernel : info.failed) {
      WriteString(out, kernel.name, kernel.reason);
    }
  }
  stream.flush();

  llvm::Constant* data = llvm::ConstantDataArray::getString(
      module.getContext(), bytes, /*AddNull=*/false);
  auto* variable = new llvm::GlobalVariable(
      module, data->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, data, "__cerberus_info", nullptr,
      llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/4);
  variable->setSection(formats::kInfoSection);
  variable->setAlignment(llvm::Align(1));
  llvm::appendToCompilerUsed(module, {variable});
}

Status DropModuleInfo(Bytes& object) {
  using Elf = llvm::object::ELF64LE;
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()),
                              object.size());
  const auto fail = [](llvm::Error error) {
    return Err(DiagCode::kInternal, llvm::toString(std::move(error)));
  };
  llvm::Expected<llvm::object::ELFFile<Elf>> file =
      llvm::object::ELFFile<Elf>::create(bytes);
  if (!file) return fail(file.takeError());
  llvm::Expected<Elf::ShdrRange> sections = file->sections();
  if (!sections) return fail(sections.takeError());
  for (const Elf::Shdr& section : *sections) {
    llvm::Expected<llvm::StringRef> name = file->getSectionName(section);
    if (!name) return fail(name.takeError());
    if (*name != formats::kInfoSection) continue;
    const llvm::support::ulittle64_t flags(section.sh_flags |
                                           llvm::ELF::SHF_EXCLUDE);
    std::memcpy(
        object.data() +
            (reinterpret_cast<const char*>(&section.sh_flags) - bytes.data()),
        &flags, sizeof flags);
  }
  return {};
}

}  // namespace cerberus::ptx
