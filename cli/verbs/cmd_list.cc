// cerberus list: what is in a binary, a fatbin, an archive, a code object or
// a PTX file. The text and the JSON are made from the same rows; of binaries
// and fatbins the text is a summary, unless kernels are asked for.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/convert/hip_image.h"
#include "cli/convert/inventory.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/name_filter.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "cli/verbs/listing.h"
#include "images/code_object.h"
#include "rewriter/rewriter.h"
#include "support/demangle.h"
#include "support/mapped_file.h"

namespace cerberus::cli {
namespace {

using images::FatbinEntry;
using rewriter::FileKind;

void ListKernels(const std::vector<std::string>& kernels, const char* indent,
                 Listing& out) {
  out.json().Key("kernels").BeginArray();
  for (const std::string& kernel : kernels) {
    out.json().String(kernel);
    out.Line("{}{}", indent, Demangle(kernel));
  }
  out.json().EndArray();
}

// One entry of a fatbin and its kernels. An entry that cannot be unpacked is
// listed with the reason: the rest of the file is still worth seeing.
void ListEntry(const FatbinEntry& entry, Listing& out) {
  Result<std::vector<std::string>> kernels = images::KernelNames(entry);
  if (kernels && !out.filter().empty()) {
    kernels = out.filter().Of(*std::move(kernels));
    if (kernels->empty()) return;
  }
  JsonWriter& json = out.json();
  const std::string kind = images::KindName(entry.kind);
  const std::string compression(images::CompressionName(entry.compression()));
  json.BeginObject();
  json.Key("kind").String(kind);
  json.Key("arch").String(entry.ArchName());
  json.Key("sm").Uint(entry.sm);
  json.Key("format_version")
      .String(fmt::format("{}.{}", entry.format_major, entry.format_minor));
  json.Key("compression").String(compression);
  json.Key("offset").Uint(entry.offset);
  json.Key("stored_size").Uint(entry.payload.size());
  json.Key("size").Uint(entry.unpacked_size);
  json.Key("flags").String(fmt::format("0x{:x}", entry.flags));
  json.Key("source").String(entry.source_name);
  std::string line = fmt::format("  {:<7} {:<12} {:>8} bytes", kind,
                                 entry.ArchName(), entry.unpacked_size);
  if (entry.compression() != images::Compression::kNone) {
    line += fmt::format("  {}, {} stored", compression, entry.payload.size());
  }
  if (entry.is_ptx()) {
    line += fmt::format("  PTX {}.{}", entry.format_major, entry.format_minor);
  }
  if (entry.is_debug()) line += "  debug";
  if (!entry.source_name.empty()) {
    line += fmt::format("  {}", entry.source_name);
  }
  out.Line("{}", line);
  if (kernels) {
    ListKernels(*kernels, "    ", out);
  } else {
    json.Key("error").String(kernels.error().message);
    out.Line("    cannot be read: {}", kernels.error().message);
  }
  json.EndObject();
}

void ListEntries(const std::vector<FatbinEntry>& entries, Listing& out) {
  out.json().Key("entries").BeginArray();
  for (const FatbinEntry& entry : entries) ListEntry(entry, out);
  out.json().EndArray();
}

std::string Counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string Counted(const Inventory::Count& count) {
  return Counted(count.modules, "module") + ", " +
         Counted(count.kernels, "kernel");
}

void ListCount(const Inventory::Count& count, JsonWriter& json) {
  json.Key("modules").Uint(count.modules);
  json.Key("kernels").Uint(count.kernels);
}

void ListArchs(const char* key, const char* title,
               const Inventory::ByArch& archs, Listing& out) {
  JsonWriter& json = out.json();
  json.Key(key).BeginArray();
  for (const auto& [arch, count] : archs) {
    json.BeginObject();
    json.Key("arch").String(arch.second);
    ListCount(count, json);
    json.EndObject();
    out.Line("  {:<12} {:<12} {}", title, arch.second, Counted(count));
  }
  json.EndArray();
}

void ListSummary(const Inventory& inventory, Listing& out) {
  JsonWriter& json = out.json();
  json.Key("summary").BeginObject();
  ListCount(inventory.all, json);
  out.Line("  {}", Counted(inventory.all));
  ListArchs("ptx", "PTX", inventory.ptx, out);
  ListArchs("machine_code", "machine code", inventory.machine_code, out);
  json.Key("without_ptx").BeginObject();
  ListCount(inventory.without_ptx, json);
  json.EndObject();
  json.Key("unreadable").Uint(inventory.unreadable);
  json.EndObject();
  if (inventory.without_ptx.modules != 0) {
    out.Line("  built without PTX: nothing to convert in {}",
             inventory.without_ptx.modules == inventory.all.modules
                 ? "this file"
                 : Counted(inventory.without_ptx));
  }
  if (inventory.unreadable != 0) {
    out.Line("  {} cannot be read: {}",
             inventory.unreadable == 1
                 ? std::string("1 entry")
                 : fmt::format("{} entries", inventory.unreadable),
             inventory.why_unreadable);
  }
  if (!out.all() && inventory.all.kernels != 0) {
    out.Line(
        "  (--kernels and --filter show them, 'cerberus extract' writes "
        "them to files)");
  }
}

void ListFatbins(const rewriter::Binary& binary, Listing& out) {
  JsonWriter& json = out.json();
  json.Key("fatbins").BeginArray();
  for (const rewriter::LocatedFatbin& located : binary.fatbins()) {
    json.BeginObject();
    json.Key("section").String(located.section);
    json.Key("offset").Uint(located.offset);
    json.Key("address").Uint(located.vaddr);
    json.Key("size").Uint(located.fatbin.bytes.size());
    json.Key("wrappers").BeginArray();
    for (const std::uint32_t index : located.wrappers) json.Uint(index);
    json.EndArray();
    out.Line(
        "{} at 0x{:x}: fatbin, {} bytes, {}",
        located.section.empty() ? "fatbin" : located.section, located.offset,
        located.fatbin.bytes.size(),
        located.wrappers.empty()
            ? "no wrapper"
            : fmt::format("wrapper {}", fmt::join(located.wrappers, ", ")));
    ListEntries(located.fatbin.entries, out);
    binary.LetGo();
    json.EndObject();
  }
  json.EndArray();
}

void ListTexts(const std::vector<rewriter::EmbeddedPtx>& texts, Listing& out) {
  JsonWriter& json = out.json();
  json.Key("ptx_texts").BeginArray();
  for (const rewriter::EmbeddedPtx& found : texts) {
    const std::vector<std::string> shown =
        out.filter().Of(images::KernelNames(found.Linked()));
    if (shown.empty() && !out.filter().empty()) continue;
    json.BeginObject();
    json.Key("offset").Uint(found.offset);
    json.Key("size").Uint(found.size());
    out.Line("PTX text at 0x{:x}, {} bytes{}", found.offset, found.size(),
             found.linked_with.empty()
                 ? ""
                 : fmt::format(" in {} files that are linked",
                               found.linked_with.size() + 1));
    if (out.all()) ListKernels(shown, "    ", out);
    json.EndObject();
  }
  json.EndArray();
}

// One HIP image and the code objects in it, with their kernels; an image that
// cannot be read is listed with the reason. Counts what it lists by target.
void ListHipImage(const std::string& path,
                  const rewriter::LocatedHipImage& located, Listing& out,
                  std::map<std::string, Inventory::Count>& by_target) {
  JsonWriter& json = out.json();
  const images::HipImage& image = located.image;
  json.BeginObject();
  json.Key("section").String(located.section);
  json.Key("offset").Uint(located.offset);
  json.Key("address").Uint(located.vaddr);
  json.Key("size").Uint(image.bytes.size());
  json.Key("kind").String(DescribeHipImage(image));
  json.Key("unpacked_size").Uint(image.unpacked_size);
  json.Key("wrappers").BeginArray();
  for (const std::uint32_t index : located.wrappers) json.Uint(index);
  json.EndArray();
  if (out.all()) {
    out.Line(
        "{} at 0x{:x}: {}, {} bytes, {}",
        located.section.empty() ? "image" : located.section, located.offset,
        DescribeHipImage(image), image.bytes.size(),
        located.wrappers.empty()
            ? "no wrapper"
            : fmt::format("wrapper {}", fmt::join(located.wrappers, ", ")));
  }
  const Result<rewriter::CodeObjects> objects = ReadHipImage(located, path);
  json.Key("code_objects").BeginArray();
  for (std::size_t i = 0; objects && i < objects->rows.size(); ++i) {
    const rewriter::CodeObjects::Row& row = objects->rows[i];
    const Result<CodeObject> object = ReadCodeObject(row.bytes, path);
    std::vector<std::string> kernels;
    if (object) {
      for (const CodeObject::Kernel& kernel : object->kernels) {
        if (kernel.form_of.empty()) kernels.push_back(kernel.name);
      }
    }
    kernels = out.filter().Of(kernels);
    if (kernels.empty() && !out.filter().empty()) continue;
    ++by_target[row.target].modules;
    by_target[row.target].kernels += kernels.size();
    json.BeginObject();
    json.Key("target").String(row.target);
    json.Key("size").Uint(row.bytes.size());
    if (out.all()) {
      out.Line("  {:<20} {:>8} bytes", row.target, row.bytes.size());
      ListKernels(kernels, "    ", out);
    }
    if (!object) json.Key("error").String(object.error().message);
    json.EndObject();
  }
  json.EndArray();
  if (!objects) {
    json.Key("error").String(objects.error().ToString());
    out.Line("  cannot be read: {}", objects.error().ToString());
  }
  json.EndObject();
}

void ListHipSummary(const std::map<std::string, Inventory::Count>& by_target,
                    Listing& out) {
  JsonWriter& json = out.json();
  json.Key("hip_targets").BeginArray();
  for (const auto& [target, count] : by_target) {
    json.BeginObject();
    json.Key("target").String(target);
    json.Key("code_objects").Uint(count.modules);
    json.Key("kernels").Uint(count.kernels);
    json.EndObject();
    out.Line("  {:<20} {}, {}", target, Counted(count.modules, "code object"),
             Counted(count.kernels, "kernel"));
  }
  json.EndArray();
}

Status ListHip(const std::string& path, const rewriter::Binary& binary,
               Listing& out) {
  const rewriter::HipCode& hip = binary.hip();
  JsonWriter& json = out.json();
  out.Line(
      "{}: {}{}, {}, {}", path, binary.is_executable() ? "program" : "library",
      hip.is_split() ? " (split)" : "", Counted(hip.images.size(), "HIP image"),
      Counted(hip.wrappers.size(), "wrapper"));
  json.Key("hip_wrappers").BeginArray();
  for (const rewriter::HipWrapper& wrapper : hip.wrappers) {
    json.BeginObject();
    json.Key("index").Uint(wrapper.index);
    json.Key("address").Uint(wrapper.vaddr);
    json.Key("offset").Uint(wrapper.offset);
    if (wrapper.is_split) {
      json.Key("number").Uint(wrapper.number);
    } else {
      json.Key("image").Uint(wrapper.image);
    }
    json.EndObject();
  }
  json.EndArray();
  std::map<std::string, Inventory::Count> by_target;
  json.Key("hip_images").BeginArray();
  for (const rewriter::LocatedHipImage& image : hip.images) {
    ListHipImage(path, image, out, by_target);
    binary.LetGo();
  }
  json.EndArray();
  ListHipSummary(by_target, out);
  if (!hip.is_split()) return {};
  CERB_TRY(const rewriter::SplitInfo info, rewriter::ReadSplit(binary));
  json.Key("marker").BeginObject();
  json.Key("kernel_name").String(info.kernel_name);
  json.Key("search_paths").BeginArray();
  for (const std::string& search_path : info.search_paths) {
    json.String(search_path);
  }
  json.EndArray();
  json.EndObject();
  out.Line("split as '{}': {}", info.kernel_name,
           fmt::join(info.search_paths, ", "));
  if (out.kernels()) {
    ListArchivesOf(path, info.kernel_name, info.search_paths, out);
  }
  return {};
}

Status ListHipBundle(const std::string& path, ByteSpan bytes, Listing& out) {
  CERB_TRY(const rewriter::LocatedHipImage image, HipImageOfFile(bytes, path));
  out.json().Key("kind").String("bundle");
  out.Line("{}: HIP {}, {} bytes", path, DescribeHipImage(image.image),
           image.image.bytes.size());
  std::map<std::string, Inventory::Count> by_target;
  out.json().Key("hip_images").BeginArray();
  ListHipImage(path, image, out, by_target);
  out.json().EndArray();
  ListHipSummary(by_target, out);
  return {};
}

Status ListBinary(const std::string& path, Listing& out) {
  CERB_TRY(const rewriter::Binary binary, rewriter::Binary::Open(path));
  JsonWriter& json = out.json();
  json.Key("kind").String(binary.is_executable() ? "program" : "library");
  json.Key("shared_cudart").Bool(binary.links_shared_cudart());
  json.Key("cuda_driver").Bool(binary.links_cuda_driver());
  json.Key("converted").Bool(binary.is_converted());
  if (!binary.hip().wrappers.empty() || !binary.hip().images.empty()) {
    CERB_TRY_VOID(ListHip(path, binary, out));
    if (binary.fatbins().empty() && binary.wrappers().empty()) return {};
  }
  out.Line("{}: {}{}, {} fatbin{}, {} wrapper{}", path,
           binary.is_executable() ? "program" : "library",
           binary.is_converted() ? " (converted)" : "", binary.fatbins().size(),
           binary.fatbins().size() == 1 ? "" : "s", binary.wrappers().size(),
           binary.wrappers().size() == 1 ? "" : "s");

  json.Key("wrappers").BeginArray();
  for (const rewriter::Wrapper& wrapper : binary.wrappers()) {
    json.BeginObject();
    json.Key("index").Uint(wrapper.index);
    json.Key("version").Uint(wrapper.version);
    json.Key("address").Uint(wrapper.vaddr);
    json.Key("offset").Uint(wrapper.offset);
    if (wrapper.fatbin) json.Key("fatbin").Uint(*wrapper.fatbin);
    json.EndObject();
  }
  json.EndArray();

  if (out.filter().empty()) {
    CERB_TRY(const Inventory inventory, TakeInventory(binary));
    ListSummary(inventory, out);
  }
  if (out.all()) ListFatbins(binary, out);
  ListTexts(binary.texts(), out);

  if (!binary.is_converted()) return {};
  CERB_TRY(const rewriter::ConvertedInfo info,
           rewriter::ReadConverted(binary.bytes(), path));
  json.Key("marker").BeginObject();
  json.Key("kernel_name").String(info.kernel_name);
  json.Key("search_paths").BeginArray();
  for (const std::string& search_path : info.search_paths) {
    json.String(search_path);
  }
  json.EndArray();
  json.Key("converter").String(info.converter_version);
  json.Key("launch_abi").Int(info.launch_abi);
  json.EndObject();
  out.Line("converted by cerberus {} (launch ABI {}) as '{}': {}",
           info.converter_version, info.launch_abi, info.kernel_name,
           fmt::join(info.search_paths, ", "));
  if (out.kernels()) {
    ListArchivesOf(path, info.kernel_name, info.search_paths, out);
  }
  return {};
}

Status ListFatbin(const std::string& path, ByteSpan bytes, Listing& out) {
  CERB_TRY(const images::Fatbin fatbin, images::ParseFatbin(bytes, path));
  out.json().Key("kind").String("fatbin");
  out.Line("{}: fatbin, {} bytes", path, fatbin.bytes.size());
  if (out.filter().empty()) ListSummary(TakeInventory(fatbin.entries), out);
  if (out.all()) ListEntries(fatbin.entries, out);
  return {};
}

Status ListPtx(const std::string& path, ByteSpan bytes, Listing& out) {
  FatbinEntry entry{};
  entry.kind = images::EntryKind::kPtx;
  entry.payload = bytes;
  entry.stored_size = entry.unpacked_size = bytes.size();
  CERB_TRY(const std::vector<std::string> kernels, images::KernelNames(entry));
  out.json().Key("kind").String("ptx");
  out.Line("{}: PTX, {} bytes", path, bytes.size());
  ListKernels(out.filter().Of(kernels), "  ", out);
  return {};
}

Status ListCodeObject(const std::string& path, ByteSpan bytes, Listing& out) {
  CERB_TRY(const CodeObject object, ReadCodeObject(bytes, path));
  JsonWriter& json = out.json();
  json.Key("kind").String("code object");
  json.Key("target").String(object.target);
  out.Line("{}: code object for {}, {} kernel{}", path, object.target,
           object.KernelCount(), object.KernelCount() == 1 ? "" : "s");
  if (object.abi >= 0) {
    json.Key("launch_abi").Int(object.abi);
    json.Key("ptxc").String(object.ptxc);
    json.Key("ptx_version").String(object.ptx_version);
    json.Key("sm").Int(object.sm);
    out.Line("  made by ptxc {} (launch ABI {}) from PTX {} for sm_{}",
             object.ptxc, object.abi, object.ptx_version, object.sm);
  }
  json.Key("kernels").BeginArray();
  ListKernels(object, out.filter(), "  ", out);
  json.EndArray();
  json.Key("failed").BeginArray();
  for (const auto& [kernel, reason] : object.failed) {
    json.BeginObject();
    json.Key("kernel").String(kernel);
    json.Key("reason").String(reason);
    json.EndObject();
    out.Line("  without {}: {}", Demangle(kernel), reason);
  }
  json.EndArray();
  return {};
}

class ListVerb : public Verb {
 public:
  const char* name() const override { return "list"; }
  const char* summary() const override {
    return "show the device code in a file";
  }
  const char* examples() const override {
    return "  cerberus list app\n"
           "  cerberus list libx.so --filter 'scan|sort'\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("FILE", path_,
             "program, library, fatbin, bundle, .kpack, code object\nor PTX")
        .Required()
        .Group(kGroupFiles);
    list.AddFlag("--kernels", kernels_, "not a summary: entries and kernels")
        .Group(kGroupBehaviour);
    list.Add("--filter", filter_,
             "the kernels (in archives: modules) that match")
        .ValueName("REGEX")
        .Group(kGroupBehaviour);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    Result<NameFilter> filter = NameFilter::Parse(filter_);
    if (!filter) {
      reporter.Report(filter.error());
      if (common.json) PrintJsonError(reporter, kExitUsage);
      return kExitUsage;
    }
    Listing out(common.json, kernels_, *std::move(filter));
    out.json().BeginObject();
    out.json().Key("schema").Int(1);
    out.json().Key("verb").String("list");
    out.json().Key("file").String(path_);
    const Status status = List(out);
    if (!status) {
      reporter.Report(status.error());
      if (common.json) PrintJsonError(reporter, kExitFailed);
      return kExitFailed;
    }
    out.json().EndObject();
    std::move(out).Print();
    return kExitDone;
  }

 private:
  Status List(Listing& out) const {
    CERB_TRY(const MappedFile file, MappedFile::Open(path_));
    const ByteSpan bytes = file.bytes();
    if (images::IsCodeObject(bytes)) return ListCodeObject(path_, bytes, out);
    switch (rewriter::DetectFileKind(bytes)) {
      case FileKind::kFatbin: return ListFatbin(path_, bytes, out);
      case FileKind::kHipBundle: return ListHipBundle(path_, bytes, out);
      case FileKind::kPtx: return ListPtx(path_, bytes, out);
      case FileKind::kKpack: return ListArchive(path_, out);
      default: return ListBinary(path_, out);  // or its error
    }
  }

  void PrintJsonError(const Reporter& reporter, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("list");
    json.Key("file").String(path_);
    json.Key("exit_code").Int(code);
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::string path_;
  bool kernels_ = false;
  std::string filter_;
};

}  // namespace

std::unique_ptr<Verb> MakeListVerb() { return std::make_unique<ListVerb>(); }

}  // namespace cerberus::cli
