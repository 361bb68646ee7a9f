// What a conversion is of: the program, its modules, what is taken of each, and
// what becomes of the file.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/convert/conversion.h"
#include "cli/convert/needed_libraries.h"
#include "cli/convert/nvidia_libraries.h"
#include "cli/paths.h"
#include "images/cubin.h"
#include "images/ptx_cubin.h"
#include "images/ptx_text.h"
#include "kpack/content_key.h"
#include "kpack/marker.h"
#include "ptxc/front/kernel_names.h"
#include "rewriter/payload.h"
#include "support/targets/target_id.h"
#include "support/targets/target_table.h"

namespace cerberus::cli {

Diag FileDiag(DiagCode code, const std::string& file, std::string message) {
  Where where;
  where.file = file;
  return MakeDiag(code, std::move(where), std::move(message));
}

Diag InModule(Diag diag, const Where& module) {
  diag.message = diag.ToString();
  diag.where = module;
  return diag;
}

namespace {

std::uint32_t CapabilityOf(const std::string& arch) {
  const Result<TargetId> id = TargetId::Parse(arch);
  const ComputeCapability cc = ComputeCapabilityOf(id ? id->processor : arch);
  return static_cast<std::uint32_t>(cc.sm());
}

bool HoldsNoKernel(const rewriter::Module& module) {
  return std::all_of(module.entries.begin(), module.entries.end(),
                     [](const images::FatbinEntry& entry) {
                       const auto kernels = images::KernelNames(entry);
                       return kernels && kernels->empty();
                     });
}

bool StartsWithMoreRights(const rewriter::Binary& binary,
                          const std::string& path) {
  struct stat st;
  return binary.is_executable() && ::stat(path.c_str(), &st) == 0 &&
         ((st.st_mode & (S_ISUID | S_ISGID)) != 0 ||
          ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

// Of a file without device code: where else it is.
Diag HoldsNothing(const std::string& file, const rewriter::Binary& binary,
                  const std::vector<DeviceLibrary>& libraries) {
  if (libraries.empty()) {
    Diag diag = FileDiag(DiagCode::kNoDeviceCode, file,
                         "holds no CUDA device code: no fatbin, no wrapper, no "
                         "PTX text");
    if (binary.is_pe()) return diag;
    const auto payload = rewriter::FindPayload(binary.bytes(), binary.elf());
    if (rewriter::IsPackedByUpx(binary.bytes(), binary.elf())) {
      diag.notes.push_back(
          "it is packed by UPX, so nothing of it can be seen; 'upx -d' unpacks "
          "it");
    } else if (payload) {
      diag.notes.push_back(fmt::format(
          "it carries {} bytes ({}) that are no part of the program: unpack "
          "these, and 'cerberus pack-tree' converts what is in them",
          payload->size, payload->kind));
    }
    return diag;
  }
  std::vector<std::string> names;
  bool all_converted = true;
  for (const DeviceLibrary& library : libraries) {
    names.push_back(library.name);
    all_converted = all_converted && library.converted;
  }
  Diag diag = FileDiag(
      DiagCode::kNoDeviceCode, file,
      fmt::format("its CUDA device code is in libraries that it needs: {}",
                  fmt::join(names, ", ")));
  for (const DeviceLibrary& library : libraries) {
    diag.notes.push_back(fmt::format(
        "{} is {}{}", library.name, Place(library),
        library.converted ? ", and is converted"
        : library.has_ptx ? ""
                          : ", and was built without PTX: nothing to convert"));
  }
  diag.notes.push_back(
      all_converted
          ? "there is nothing to do: it runs as it is"
          : "convert these, or add --with-libraries to convert them along "
            "with it");
  return diag;
}

}  // namespace

Status Conversion::Open() {
  CERB_TRY(rewriter::Binary binary,
           rewriter::Binary::Open(options_.input, input_name_));
  return Open(std::move(binary));
}

Status Conversion::Open(rewriter::Binary binary) {
  binary_ = std::move(binary);
  summary_.fatbins = binary_->fatbins().size();
  summary_.bytes_in = binary_->bytes().size();
  for (const NeededLibrary& library : FindNvidiaLibraries(*binary_)) {
    if (!library.answered_by.empty()) {
      answered_.push_back(library.name);
      continue;
    }
    Diag warning =
        FileDiag(DiagCode::kUnsupported, input_name_, Describe(library));
    warning.severity = Severity::kWarning;
    reporter_.Report(warning);
    summary_.findings.nvidia_libraries.push_back(
        {input_name_, library.name, std::string(library.replacement)});
  }
  CERB_TRY_VOID(AddModules());
  CERB_TRY_VOID(AddEmbedded());
  // Of a member the libraries beside it are members as well.
  const std::vector<DeviceLibrary> libraries =
      options_.member ? std::vector<DeviceLibrary>()
                      : FindDeviceLibraries(*binary_);
  holds_nothing_ = binary_->fatbins().empty() && binary_->wrappers().empty() &&
                   modules_.empty() && !binary_->links_cuda_driver();
  if (holds_nothing_ && !(options_.member && options_.member->even_if_empty)) {
    return Err(HoldsNothing(input_name_, *binary_, libraries));
  }
  for (const DeviceLibrary& library : libraries) {
    if (library.converted) continue;
    Diag warning = FileDiag(
        DiagCode::kNoDeviceCode, input_name_,
        fmt::format("needs {}, which is not converted: {}; {}", library.name,
                    Place(library),
                    library.has_ptx
                        ? "convert it as well, or it is compiled when it runs"
                        : "it was built without PTX: nothing to convert"));
    warning.severity = Severity::kWarning;
    reporter_.Report(warning);
  }
  // A program that only asks for devices or copies memory, or one that gets
  // its PTX from elsewhere: it needs the stub, and no more.
  const bool has_kernels = std::any_of(
      modules_.begin(), modules_.end(),
      [](const std::unique_ptr<PlannedModule>& planned) {
        return planned->kernel_count != 0 || !planned->missing.empty();
      });
  if (!has_kernels && !holds_nothing_ && !binary_->is_converted()) {
    Diag note = FileDiag(
        DiagCode::kNoDeviceCode, input_name_,
        options_.member ? "holds no kernel; PTX that it has from "
                          "elsewhere will be compiled when it runs"
                        : "holds no kernel; PTX that it loads when it runs "
                          "will be compiled then, or ahead with 'cerberus "
                          "pack-tree' if it is in files beside it");
    note.severity = Severity::kNote;
    reporter_.Report(note);
  }
  return {};
}

Status Conversion::AddModules() {
  CERB_TRY(const std::vector<rewriter::Module> modules,
           rewriter::ExtractModules(*binary_));
  for (const rewriter::Module& module : modules) {
    if (module.is_empty_device_link) continue;
    auto planned = std::make_unique<PlannedModule>();
    planned->where = module.where;
    planned->where.file = input_name_;
    planned->index = module.index;
    planned->entries = &binary_->fatbins()[module.fatbin].fatbin.entries;
    planned->label =
        module.index
            ? kpack::ModuleKey(kernel_name_, *module.index)
            : fmt::format("{}+0x{:x}", kernel_name_, module.where.offset);
    CERB_TRY_VOID(ChooseEntries(module, *planned));
    // Libraries carry fatbins that nothing registers and that hold no kernel:
    // nobody will miss them.
    if (!planned->missing.empty() && !planned->index && HoldsNoKernel(module)) {
      continue;
    }
    modules_.push_back(std::move(planned));
  }
  return {};
}

Status Conversion::ChooseEntries(const rewriter::Module& module,
                                 PlannedModule& planned) {
  return module.is_device_link() ? ChooseMembers(module, planned)
                                 : ChooseAmong(*planned.entries, planned);
}

// The entries belong to the file and stay where they are.
Status Conversion::ChooseAmong(const std::vector<images::FatbinEntry>& entries,
                               PlannedModule& planned) {
  for (const images::FatbinEntry& entry : entries) {
    if (entry.is_ptx()) planned.ptx.push_back({&entry});
  }
  for (const std::string& arch : options_.arches) {
    Result<rewriter::PtxChoice> choice =
        rewriter::ChoosePtx(entries, CapabilityOf(arch));
    if (!choice) {
      if (choice.error().code != DiagCode::kNoPtx) {
        return Err(InModule(std::move(choice).error(), planned.where));
      }
      planned.missing = choice.error().message;
      continue;
    }
    std::vector<Source>& list = planned.choices[arch];
    list.push_back({choice->entry});
    for (const images::FatbinEntry* next : choice->next) {
      list.push_back({next});
    }
    NoteChoice(choice->note, planned);
  }
  return CountKernels(planned);
}

// -rdc=true: what the translation units hold is linked into one module.
Status Conversion::ChooseMembers(const rewriter::Module& module,
                                 PlannedModule& planned) {
  for (const std::string& arch : options_.arches) {
    const Result<std::vector<rewriter::PtxChoice>> choices =
        rewriter::ChooseMemberPtx(*binary_, module, CapabilityOf(arch));
    if (!choices) {
      if (choices.error().code != DiagCode::kNoPtx) {
        return Err(InModule(choices.error(), planned.where));
      }
      planned.missing =
          fmt::format("separately compiled device code (nvcc -rdc=true): {}",
                      choices.error().message);
      return {};
    }
    Source source;
    for (const rewriter::PtxChoice& choice : *choices) {
      source.push_back(choice.entry);
      NoteChoice(choice.note, planned);
    }
    planned.ptx.push_back(source);
    planned.choices[arch].push_back(std::move(source));
  }
  return CountKernels(planned);
}

// What the machine code beside a module's PTX says of its kernels' blocks.
ptx::BlockBounds Conversion::BoundsFor(const PlannedModule& planned,
                                       const Source& source,
                                       const std::string& arch) {
  std::vector<images::FatbinEntry> entries = *planned.entries;
  // Of a device link the PTX is elsewhere.
  for (const images::FatbinEntry* entry : source) entries.push_back(*entry);
  return images::BlockBounds(entries, CapabilityOf(arch));
}

void Conversion::NoteChoice(const std::string& note,
                            const PlannedModule& planned) {
  if (note.empty() || !reporter_.verbose()) return;
  Diag diag = MakeDiag(DiagCode::kUnknown, planned.where, note);
  diag.severity = Severity::kNote;
  reporter_.Report(diag);
}

Status Conversion::CountKernels(PlannedModule& planned) {
  if (planned.choices.empty()) return {};
  std::set<std::string> names;  // weak ones may be in several members
  for (const images::FatbinEntry* entry :
       planned.choices.begin()->second.front()) {
    const Result<std::vector<std::string>> kernels =
        images::KernelNames(*entry);
    if (!kernels) return Err(InModule(kernels.error(), planned.where));
    names.insert(kernels->begin(), kernels->end());
    LetGo();
  }
  planned.kernel_count = names.size();
  ++summary_.modules;
  return {};
}

Status Conversion::AddEmbedded() {
  std::set<std::string> seen;
  for (const rewriter::EmbeddedPtx& found : binary_->texts()) {
    auto planned = std::make_unique<PlannedModule>();
    planned->embedded = found.text;
    if (!found.linked_with.empty()) {
      planned->linked = found.Linked();
      planned->embedded = planned->linked;
    }
    if (!seen.insert(kpack::ContentKey(planned->embedded)).second) continue;
    planned->where.file = input_name_;
    planned->where.offset = static_cast<std::int64_t>(found.offset);
    planned->label = fmt::format("{}+0x{:x}", kernel_name_, found.offset);
    planned->kernel_count = ptx::KernelNames(planned->embedded).size();
    if (planned->kernel_count == 0) continue;
    ++summary_.modules;
    modules_.push_back(std::move(planned));
  }
  return {};
}

bool Conversion::MayBeModuleFile(ByteSpan start) {
  return images::BeginsFatbin(start) || images::BeginsCubin(start) ||
         images::BeginsModule(AsText(start));
}

Result<bool> Conversion::OpenModuleFile(MappedFile file) {
  module_file_ = std::move(file);
  summary_.bytes_in = module_file_.bytes().size();
  auto planned = std::make_unique<PlannedModule>();
  planned->where.file = input_name_;
  planned->label = kernel_name_;
  Status status = AddModuleFile(*planned);
  if (status && planned->kernel_count == 0) {
    status =
        planned->missing.empty()
            ? Err(MakeDiag(DiagCode::kNoDeviceCode, planned->where,
                           "holds no kernel"))
            : Err(MakeDiag(DiagCode::kNoPtx, planned->where, planned->missing));
  }
  if (status) {
    modules_.push_back(std::move(planned));
    return true;
  }
  holds_nothing_ = true;
  Diag why = std::move(status).error();
  if (why.code == DiagCode::kNoPtx) return Err(std::move(why));
  // It may be anything.
  why.severity = Severity::kNote;
  if (reporter_.verbose()) reporter_.Report(why);
  return false;
}

Status Conversion::AddModuleFile(PlannedModule& planned) {
  const ByteSpan bytes = module_file_.bytes();
  if (images::BeginsFatbin(bytes)) {
    CERB_TRY(module_fatbin_, images::ParseFatbin(bytes, input_name_));
    planned.entries = &module_fatbin_->entries;
    return ChooseAmong(*planned.entries, planned);
  }
  if (images::BeginsCubin(bytes)) return AddCubin(bytes, planned);
  std::string_view text = AsText(bytes);
  text = text.substr(0, text.find('\0'));
  const std::string_view module = images::OnlyModule(text);
  AddText(module.empty() ? text : module, planned);
  return {};
}

// What the stand-in for ptxas makes holds PTX; others are machine code alone.
Status Conversion::AddCubin(ByteSpan cubin, PlannedModule& planned) {
  const std::string_view text = images::PtxOfCubin(cubin);
  if (!text.empty()) {
    AddText(text, planned);
    return {};
  }
  CERB_TRY(const std::vector<images::CubinKernel> kernels,
           images::ReadCubin(cubin));
  if (!kernels.empty()) {
    planned.missing = "a cubin without PTX, only machine code for NVIDIA GPUs";
  }
  return {};
}

void Conversion::AddText(std::string_view text, PlannedModule& planned) {
  planned.embedded = text;
  planned.kernel_count = ptx::KernelNames(text).size();
  summary_.modules += planned.kernel_count != 0 ? 1 : 0;
}

Status Conversion::Plan() {
  rewriter::PlanOptions plan;
  plan.search_paths = {place_.SearchPath(options_.group)};
  plan.kernel_name = kernel_name_;
  plan.keep_fatbin = options_.keep_fatbin;
  plan.converter_version = kVersion;
  plan.beside_stub = answered_;
  if (options_.member) {
    plan.search_paths = {options_.member->search_path};
    plan.runpath = options_.member->runpath;
    if (const auto* libraries = options_.member->beside_stub) {
      plan.beside_stub.assign(libraries->begin(), libraries->end());
    }
  } else if (binary_->is_pe()) {
    // What answers nvcuda.dll is found beside the program, by its name.
    if (options_.bundle) {
      return Err(FileDiag(DiagCode::kUnsupported, input_name_,
                          "is a Windows file, and there is nothing to bundle "
                          "for those yet"));
    }
  } else if (options_.bundle) {
    CERB_TRY(std::string folder, BundleRunpath());
    plan.runpath = {std::move(folder)};
  } else if (!options_.stub_folder.empty()) {
    plan.runpath = {options_.stub_folder};
  } else {
    CERB_TRY(std::string folder, FindStubFolder());
    plan.runpath = {std::move(folder)};
  }
  if (StartsWithMoreRights(*binary_, options_.input) &&
      std::any_of(plan.runpath.begin(), plan.runpath.end(),
                  [](const std::string& folder) {
                    return folder.find("$ORIGIN") != std::string::npos;
                  })) {
    Diag warning = FileDiag(
        DiagCode::kUnknown, input_name_,
        "is started with more rights than its user has (set-user-ID, "
        "set-group-ID or file capabilities): the loader takes nothing from a "
        "folder relative to such a program, so it does not start with the stub "
        "there");
    warning.severity = Severity::kWarning;
    reporter_.Report(warning);
  }
  CERB_TRY(plan_, rewriter::PlanConversion(*binary_, plan));
  for (const Diag& note : plan_.notes) {
    if (note.severity != Severity::kNote || reporter_.verbose()) {
      reporter_.Report(note);
    }
  }
  return {};
}

std::vector<std::string> Conversion::DescribeModules() const {
  std::vector<std::string> lines;
  for (const std::unique_ptr<PlannedModule>& planned : modules_) {
    if (!planned->missing.empty()) {
      lines.push_back(fmt::format("{}: {}", planned->label, planned->missing));
    } else if (!planned->embedded.empty()) {
      lines.push_back(fmt::format("{}: PTX text, {} kernels -> {}",
                                  planned->label, planned->kernel_count,
                                  fmt::join(options_.arches, ", ")));
    }
    for (const auto& [arch, entries] : planned->choices) {
      const Source& source = entries.front();
      lines.push_back(fmt::format(
          "{}: {} PTX{}, {} kernels -> {}", planned->label,
          source.front()->ArchName(),
          source.size() == 1
              ? ""
              : fmt::format(" of {} translation units", source.size()),
          planned->kernel_count, arch));
    }
  }
  return lines;
}

}  // namespace cerberus::cli
