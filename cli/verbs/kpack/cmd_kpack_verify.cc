// cerberus kpack verify: reads all of an archive and says what is wrong.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/exit_code.h"
#include "cli/kpack_archives.h"
#include "cli/options.h"
#include "cli/printable.h"
#include "cli/verb.h"
#include "images/code_object.h"
#include "kpack/check.h"
#include "support/targets/target_id.h"

namespace cerberus::cli {
namespace {

// Whether code made for `code` may stand under the target `entry`: the same
// processor, and no feature the other way round.
bool Fits(const std::string& code, const std::string& entry) {
  const Result<TargetId> a = TargetId::Parse(code);
  const Result<TargetId> b = TargetId::Parse(entry);
  if (!a || !b) return code == entry;
  if (a->processor != b->processor) return false;
  for (const std::string& feature : a->features) {
    std::string opposite = feature;
    opposite.back() = feature.back() == '+' ? '-' : '+';
    for (const std::string& other : b->features) {
      if (other == opposite) return false;
    }
  }
  return true;
}

void LookAtCode(const kpack::Archive& archive, const kpack::Entry& entry,
                const cerberus::Bytes& bytes, std::vector<Diag>& wrong) {
  if (entry.type != "hsaco" || !images::IsCodeObject(bytes)) return;
  const Result<CodeObject> object = ReadCodeObject(bytes, archive.path());
  if (!object) {
    wrong.push_back(kpack::EntryDiag(archive, entry, object.error().message));
  } else if (!object->target.empty() &&
             !Fits(object->target, std::string(entry.arch))) {
    wrong.push_back(kpack::EntryDiag(
        archive, entry, fmt::format("the code is for {}", object->target)));
  }
}

class KpackVerifyVerb : public Verb {
 public:
  const char* name() const override { return "kpack verify"; }
  const char* summary() const override {
    return "read all of an archive and say what is wrong";
  }
  const char* examples() const override {
    return "  cerberus kpack verify .kpack/*.kpack\n"
           "  cerberus kpack verify app-gfx1100.kpack --json\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("ARCHIVE...", paths_, "archives").Required().Group(kGroupFiles);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    JsonWriter json;
    BeginReport(name(), json);
    json.Key("archives").BeginArray();
    int code = kExitDone;
    for (const std::string& path : paths_) {
      if (!Verify(path, common.json || reporter.quiet(), reporter, json)) {
        code = kExitFailed;
      }
    }
    json.EndArray();
    if (common.json) PrintReport(std::move(json), reporter, code);
    return code;
  }

 private:
  static bool Verify(const std::string& path, bool silent, Reporter& reporter,
                     JsonWriter& json) {
    json.BeginObject();
    json.Key("path").String(path);
    const Result<kpack::ArchivePtr> opened = OpenArchive(path);
    std::vector<Diag> wrong;
    if (!opened) {
      wrong.push_back(opened.error());
    } else {
      const kpack::Archive& archive = **opened;
      wrong =
          kpack::CheckArchive(archive, [&archive](const kpack::Entry& entry,
                                                  const cerberus::Bytes& bytes,
                                                  std::vector<Diag>& found) {
            LookAtCode(archive, entry, bytes, found);
          });
      json.Key("entries").Uint(archive.entries().size());
      json.Key("blobs").Uint(archive.blob_count());
      json.Key("checksums").Bool(archive.has_checksums());
      if (wrong.empty() && !silent) {
        PrintLine(
            "{}: whole, {}{}", path,
            CountedEntries(archive.entries().size(), archive.blob_count()),
            archive.has_checksums() ? "" : ", without checksums");
      }
    }
    for (const Diag& diag : wrong) reporter.Report(diag);
    json.Key("whole").Bool(wrong.empty());
    json.EndObject();
    return wrong.empty();
  }

  std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackVerifyVerb() {
  return std::make_unique<KpackVerifyVerb>();
}

}  // namespace cerberus::cli
