#include "cli/convert/inventory.h"

#include <set>

namespace cerberus::cli {
namespace {

using images::FatbinEntry;

// A module of these fatbins. Its kernels are in each entry of a fatbin, so one
// is read: PTX, which can be converted, before machine code.
void AddModule(const std::vector<const std::vector<FatbinEntry>*>& fatbins,
               Inventory& to) {
  std::set<std::string> kernels;
  std::set<std::pair<std::uint32_t, std::string>> ptx, machine_code;
  bool unreadable = false;
  for (const std::vector<FatbinEntry>* entries : fatbins) {
    const FatbinEntry* read = nullptr;
    for (const FatbinEntry& entry : *entries) {
      const bool is_cubin = entry.kind == images::EntryKind::kCubin;
      if (!entry.is_ptx() && !is_cubin) continue;
      (entry.is_ptx() ? ptx : machine_code).emplace(entry.sm, entry.ArchName());
      if (read == nullptr || (entry.is_ptx() && !read->is_ptx())) read = &entry;
    }
    if (read == nullptr) continue;
    const Result<std::vector<std::string>> names = images::KernelNames(*read);
    if (names) {
      kernels.insert(names->begin(), names->end());
      continue;
    }
    unreadable = true;
    if (to.unreadable++ == 0) to.why_unreadable = names.error().ToString();
  }
  if (kernels.empty() && !unreadable) return;
  const auto count = [&](Inventory::Count& c) {
    ++c.modules;
    c.kernels += kernels.size();
  };
  count(to.all);
  for (const auto& arch : ptx) count(to.ptx[arch]);
  for (const auto& arch : machine_code) count(to.machine_code[arch]);
  if (ptx.empty()) count(to.without_ptx);
}

}  // namespace

Result<Inventory> TakeInventory(const rewriter::Binary& binary) {
  Inventory inventory;
  CERB_TRY(const std::vector<rewriter::Module> modules,
           rewriter::ExtractModules(binary));
  for (const rewriter::Module& module : modules) {
    if (module.is_empty_device_link) continue;
    std::vector<const std::vector<FatbinEntry>*> fatbins = {
        &binary.fatbins()[module.fatbin].fatbin.entries};
    for (const std::size_t member : module.link_members) {
      fatbins.push_back(&binary.fatbins()[member].fatbin.entries);
    }
    AddModule(fatbins, inventory);
    binary.LetGo();
  }
  return inventory;
}

Inventory TakeInventory(const std::vector<FatbinEntry>& entries) {
  Inventory inventory;
  AddModule({&entries}, inventory);
  return inventory;
}

}  // namespace cerberus::cli
