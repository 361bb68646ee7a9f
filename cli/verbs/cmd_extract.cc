// cerberus extract: the PTX and the machine code of a file as files of their
// own, in a new folder that appears when all of them are complete.
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/convert/hip_image.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/name_filter.h"
#include "cli/options.h"
#include "cli/output_folder.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "kpack/reader.h"
#include "rewriter/rewriter.h"
#include "support/mapped_file.h"

namespace cerberus::cli {
namespace {

using images::FatbinEntry;
using rewriter::FileKind;

// Names in a folder that no two files share, made of what a file says.
class FileNames {
 public:
  std::string Take(std::string stem, const std::string& extension) {
    for (char& c : stem) {
      if (c == '/' || static_cast<unsigned char>(c) <= ' ') c = '_';
    }
    const int used = used_[stem + "." + extension]++;
    if (used != 0) stem += fmt::format("-{}", used + 1);
    return stem + "." + extension;
  }

 private:
  std::map<std::string, int> used_;
};

class ExtractVerb : public Verb {
 public:
  const char* name() const override { return "extract"; }
  const char* summary() const override {
    return "write the PTX and machine code in a file to files";
  }
  const char* examples() const override {
    return "  cerberus extract app -o parts\n"
           "  cerberus extract libx.so -o ptx --kind ptx --filter scan\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("FILE", path_, "program, library, fatbin, bundle or .kpack")
        .Required()
        .Group(kGroupFiles);
    list.Add("-o,--output", output_, "folder, made new")
        .ValueName("FOLDER")
        .Required()
        .Group(kGroupFiles);
    list.Add("--kind", kind_, "ptx, cubin, lto-ir or hsaco only")
        .OneOf({"ptx", "cubin", "lto-ir", "hsaco"})
        .ValueName("KIND")
        .Group(kGroupBehaviour);
    list.Add("--filter", filter_text_,
             "files with a kernel (in archives: modules) that matches")
        .ValueName("REGEX")
        .Group(kGroupBehaviour);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    const InterruptScope interrupts;
    int code = kExitDone;
    if (Result<NameFilter> filter = NameFilter::Parse(filter_text_)) {
      filter_ = *std::move(filter);
      const Status status = Extract(reporter);
      if (!status) reporter.Report(status.error());
      if (!status) code = kExitFailed;
    } else {
      reporter.Report(filter.error());
      code = kExitUsage;
    }
    if (Interrupted()) code = kExitInterrupted;
    if (common.json) {
      PrintJson(reporter, code);
    } else if (code == kExitDone && !reporter.quiet()) {
      if (reporter.verbose()) {
        for (const auto& [file, size] : files_) {
          fmt::print("{:>10}  {}\n", size, file);
        }
      }
      fmt::print("{}: {} file{}, {} bytes\n", output_, files_.size(),
                 files_.size() == 1 ? "" : "s", Bytes());
    }
    return code;
  }

 private:
  std::uint64_t Bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [file, size] : files_) bytes += size;
    return bytes;
  }

  Status Extract(Reporter& reporter) {
    CERB_TRY(const MappedFile file, MappedFile::Open(path_));
    CERB_TRY(OutputFolder folder, OutputFolder::Create(output_));
    switch (rewriter::DetectFileKind(file.bytes())) {
      case FileKind::kFatbin: {
        CERB_TRY(const images::Fatbin fatbin,
                 images::ParseFatbin(file.bytes(), path_));
        CERB_TRY_VOID(ExtractEntries(fatbin.entries, "0", folder, reporter));
        break;
      }
      case FileKind::kHipBundle: {
        CERB_TRY(const rewriter::LocatedHipImage image,
                 HipImageOfFile(file.bytes(), path_));
        CERB_TRY_VOID(ExtractHipImage(image, "0", folder));
        break;
      }
      case FileKind::kKpack: CERB_TRY_VOID(ExtractArchive(folder)); break;
      default: CERB_TRY_VOID(ExtractBinary(folder, reporter));  // or its error
    }
    if (Interrupted()) return {};
    if (files_.empty()) {
      Where where;
      where.file = path_;
      return Err(MakeDiag(DiagCode::kNoDeviceCode, std::move(where),
                          filter_.empty() && kind_.empty()
                              ? "holds nothing to extract"
                              : "holds nothing that was asked for"));
    }
    return folder.Commit();
  }

  Status ExtractBinary(const OutputFolder& folder, Reporter& reporter) {
    CERB_TRY(const rewriter::Binary binary, rewriter::Binary::Open(path_));
    std::size_t number = 0;
    for (const rewriter::LocatedFatbin& located : binary.fatbins()) {
      CERB_TRY_VOID(ExtractEntries(located.fatbin.entries,
                                   std::to_string(number++), folder, reporter));
      binary.LetGo();
    }
    number = 0;
    for (const rewriter::LocatedHipImage& image : binary.hip().images) {
      CERB_TRY_VOID(ExtractHipImage(image, std::to_string(number++), folder));
      binary.LetGo();
    }
    for (const rewriter::EmbeddedPtx& found : binary.texts()) {
      const std::string text = found.Linked();
      FatbinEntry entry{};
      entry.kind = images::EntryKind::kPtx;
      entry.payload = AsBytes(text);
      entry.stored_size = entry.unpacked_size = text.size();
      if (!Wanted(entry)) continue;
      CERB_TRY_VOID(Put(folder, fmt::format("text-0x{:x}", found.offset), "ptx",
                        entry.payload));
    }
    return {};
  }

  // "3.gfx1100.hsaco": of the fourth image in the file.
  Status ExtractHipImage(const rewriter::LocatedHipImage& image,
                         const std::string& number,
                         const OutputFolder& folder) {
    if (Interrupted() || (!kind_.empty() && kind_ != "hsaco")) return {};
    CERB_TRY(const rewriter::CodeObjects objects, ReadHipImage(image, path_));
    for (const rewriter::CodeObjects::Row& row : objects.rows) {
      if (!filter_.empty()) {
        const Result<CodeObject> object = ReadCodeObject(row.bytes, path_);
        if (!object ||
            std::none_of(object->kernels.begin(), object->kernels.end(),
                         [&](const CodeObject::Kernel& kernel) {
                           return filter_.Matches(kernel.name);
                         })) {
          continue;
        }
      }
      CERB_TRY_VOID(Put(folder, number + "." + row.target, "hsaco", row.bytes));
    }
    return {};
  }

  // "3.sm_75.cubin": of the fourth fatbin in the file.
  Status ExtractEntries(const std::vector<FatbinEntry>& entries,
                        const std::string& number, const OutputFolder& folder,
                        Reporter& reporter) {
    for (const FatbinEntry& entry : entries) {
      if (Interrupted()) return {};
      const std::string kind = images::KindName(entry.kind);
      if ((!kind_.empty() && kind_ != kind) || !Wanted(entry)) continue;
      const std::string stem = number + "." + entry.ArchName();
      Status put;
      if (entry.is_ptx()) {
        const Result<std::string> text = images::UnpackPtx(entry);
        put = text ? Put(folder, stem, "ptx", AsBytes(*text))
                   : Status(Err(text.error()));
      } else {
        const Result<cerberus::Bytes> bytes = images::Unpack(entry);
        put = bytes ? Put(folder, stem, kind, *bytes)
                    : Status(Err(bytes.error()));
      }
      if (put) continue;
      // The rest of the file is still worth having.
      Diag warning = std::move(put).error();
      if (warning.code == DiagCode::kIo) return Err(std::move(warning));
      warning.severity = Severity::kWarning;
      reporter.Report(warning);
    }
    return {};
  }

  Status ExtractArchive(const OutputFolder& folder) {
    CERB_TRY(const std::shared_ptr<const kpack::Archive> archive,
             kpack::Archive::Open(path_));
    for (const kpack::Entry& entry : archive->entries()) {
      if (Interrupted()) return {};
      const std::string type(entry.type.empty() ? "bin" : entry.type);
      if ((!kind_.empty() && kind_ != type) ||
          !filter_.Matches(std::string(entry.key))) {
        continue;
      }
      CERB_TRY(const cerberus::Bytes bytes, archive->Read(entry));
      CERB_TRY_VOID(Put(folder, fmt::format("{}.{}", entry.key, entry.arch),
                        type, bytes));
    }
    return {};
  }

  bool Wanted(const FatbinEntry& entry) const {
    if (!kind_.empty() && kind_ != images::KindName(entry.kind)) return false;
    if (filter_.empty()) return true;
    const Result<std::vector<std::string>> kernels = images::KernelNames(entry);
    return kernels && !filter_.Of(*kernels).empty();
  }

  Status Put(const OutputFolder& folder, const std::string& stem,
             const std::string& extension, ByteSpan bytes) {
    const std::string file = names_.Take(stem, extension);
    CERB_TRY_VOID(folder.Write(file, bytes));
    files_.emplace_back(file, bytes.size());
    return {};
  }

  void PrintJson(const Reporter& reporter, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("extract");
    json.Key("file").String(path_);
    json.Key("exit_code").Int(code);
    json.Key("folder").String(output_);
    json.Key("files").BeginArray();
    if (code == kExitDone) {
      for (const auto& [file, size] : files_) {
        json.BeginObject();
        json.Key("name").String(file);
        json.Key("size").Uint(size);
        json.EndObject();
      }
    }
    json.EndArray();
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::string path_, output_, kind_, filter_text_;
  NameFilter filter_;
  FileNames names_;
  std::vector<std::pair<std::string, std::uint64_t>> files_;
};

}  // namespace

std::unique_ptr<Verb> MakeExtractVerb() {
  return std::make_unique<ExtractVerb>();
}

}  // namespace cerberus::cli
