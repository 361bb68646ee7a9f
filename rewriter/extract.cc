#include "rewriter/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cerberus::rewriter {
namespace {

Where PlaceOf(const Binary& binary, const LocatedFatbin& fatbin) {
  Where where;
  where.file = binary.path();
  where.section = fatbin.section;
  where.offset = static_cast<std::int64_t>(fatbin.fatbin.base);
  return where;
}

bool HasPtx(const std::vector<images::FatbinEntry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const images::FatbinEntry& e) { return e.is_ptx(); });
}

// True if the machine code holds no kernel; what cannot be read may hold one.
bool HasNoKernels(const std::vector<images::FatbinEntry>& entries) {
  for (const images::FatbinEntry& entry : entries) {
    const auto names = images::KernelNames(entry);
    if (!names || !names->empty() || entry.kind == images::EntryKind::kLtoIr) {
      return false;
    }
  }
  return true;
}

// Best first, among entries that run at compute capability `cc`.
bool Newer(const images::FatbinEntry* a, const images::FatbinEntry* b) {
  if (a->sm != b->sm) return a->sm > b->sm;
  // Of two for one sm, the one that is not a -G build.
  if (a->is_debug() != b->is_debug()) return b->is_debug();
  return a < b;  // file order
}

// Of PTX that is too new the oldest asks for the least.
bool Older(const images::FatbinEntry* a, const images::FatbinEntry* b) {
  return a->sm != b->sm ? a->sm < b->sm : a < b;
}

std::string JoinArchs(const std::vector<images::FatbinEntry>& entries) {
  std::vector<std::string> names;
  for (const images::FatbinEntry& entry : entries) {
    std::string name = fmt::format("{} for {}", images::KindName(entry.kind),
                                   entry.ArchName());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::uint32_t NewestSm(const std::vector<images::FatbinEntry>& entries) {
  std::uint32_t newest = 0;
  for (const images::FatbinEntry& entry : entries) {
    newest = std::max(newest, entry.sm);
  }
  return newest;
}

}  // namespace

bool Module::has_ptx() const { return HasPtx(entries); }

Result<std::vector<Module>> ExtractModules(const Binary& binary) {
  const std::vector<LocatedFatbin>& fatbins = binary.fatbins();
  // Where -rdc puts each translation unit's PTX, unlinked.
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < fatbins.size(); ++i) {
    if (fatbins[i].is_relocatable &&
        !images::IsDeviceRuntime(fatbins[i].fatbin.entries)) {
      members.push_back(i);
    }
  }

  std::vector<Module> modules;
  std::set<std::size_t> listed;
  bool members_linked = false;
  for (const Wrapper& wrapper : binary.wrappers()) {
    if (!wrapper.fatbin) continue;  // it left the file
    const LocatedFatbin& fatbin = fatbins[*wrapper.fatbin];
    Module module;
    module.index = wrapper.index;
    module.fatbin = *wrapper.fatbin;
    module.entries = fatbin.fatbin.entries;
    module.where = PlaceOf(binary, fatbin);
    listed.insert(*wrapper.fatbin);
    if (wrapper.version == 2 && !module.has_ptx()) {
      if (!members.empty()) {
        module.link_members = members;
        members_linked = true;
      } else {
        module.is_empty_device_link = HasNoKernels(module.entries);
      }
    }
    modules.push_back(std::move(module));
  }
  // -rdc also has a version 1 wrapper for each member. cudart never hands
  // those to the driver, and their PTX has holes that only the link fills.
  if (members_linked) {
    std::erase_if(modules, [&](const Module& module) {
      return fatbins[module.fatbin].is_relocatable;
    });
  }
  for (std::size_t i = 0; i < fatbins.size(); ++i) {
    if (listed.contains(i)) continue;
    if (fatbins[i].is_relocatable && members_linked) continue;
    Module module;
    module.fatbin = i;
    module.entries = fatbins[i].fatbin.entries;
    module.where = PlaceOf(binary, fatbins[i]);
    modules.push_back(std::move(module));
  }
  return modules;
}

Result<PtxChoice> ChoosePtx(const std::vector<images::FatbinEntry>& entries,
                            std::uint32_t cc) {
  std::vector<const images::FatbinEntry*> fits, newer, bound;
  for (const images::FatbinEntry& entry : entries) {
    if (!entry.is_ptx()) continue;
    if (entry.arch_specific() || entry.family_specific()) {
      bound.push_back(&entry);
    } else if (entry.sm <= cc) {
      fits.push_back(&entry);
    } else {
      newer.push_back(&entry);
    }
  }
  std::sort(fits.begin(), fits.end(), Newer);
  std::sort(newer.begin(), newer.end(), Older);
  std::sort(bound.begin(), bound.end(), Older);

  PtxChoice choice;
  std::vector<const images::FatbinEntry*>* from = &fits;
  if (fits.empty() && !newer.empty()) {
    from = &newer;
    choice.note = fmt::format(
        "all PTX is newer than compute capability {}.{}; {} is used", cc / 10,
        cc % 10, newer.front()->ArchName());
  } else if (fits.empty() && !bound.empty()) {
    from = &bound;
    choice.note = fmt::format(
        "the only PTX is {}, bound to one chip or family; it is used",
        bound.front()->ArchName());
  }
  if (from->empty()) {
    return Err(DiagCode::kNoPtx,
               entries.empty()
                   ? std::string("the fatbin is empty")
                   : fmt::format("no PTX, only {0}; build it with "
                                 "-gencode arch=compute_XX,code=compute_XX "
                                 "(CMake: CMAKE_CUDA_ARCHITECTURES={1}, not "
                                 "{1}-real)",
                                 JoinArchs(entries), NewestSm(entries)));
  }
  choice.entry = from->front();
  choice.next.assign(from->begin() + 1, from->end());
  return choice;
}

Result<std::vector<PtxChoice>> ChooseMemberPtx(const Binary& binary,
                                               const Module& module,
                                               std::uint32_t cc) {
  std::vector<PtxChoice> choices;
  for (const std::size_t member : module.link_members) {
    const LocatedFatbin& fatbin = binary.fatbins()[member];
    auto choice = ChoosePtx(fatbin.fatbin.entries, cc);
    if (!choice) {
      Diag diag = std::move(choice).error();
      diag.where = PlaceOf(binary, fatbin);
      return Err(std::move(diag));
    }
    choices.push_back(std::move(*choice));
  }
  return choices;
}

}  // namespace cerberus::rewriter
