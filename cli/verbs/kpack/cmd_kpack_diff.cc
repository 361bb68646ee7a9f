// cerberus kpack diff: what two archives hold that is not the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
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
#include "kpack/diff.h"
#include "support/demangle.h"

namespace cerberus::cli {
namespace {

// Kernels of two code objects: those that only one has, and those that take
// other registers or memory.
struct KernelDiff {
  std::vector<std::string> removed;
  std::vector<std::string> added;
  std::vector<std::string> changed;
};

using Kernels = std::map<std::string, CodeObject::Kernel>;

Result<Kernels> KernelsOf(const kpack::Archive& archive,
                          const kpack::Entry& entry) {
  CERB_TRY(const cerberus::Bytes bytes, archive.Read(entry));
  Kernels kernels;
  if (!images::IsCodeObject(bytes)) return kernels;
  CERB_TRY(const CodeObject object, ReadCodeObject(bytes, archive.path()));
  for (const CodeObject::Kernel& kernel : object.kernels) {
    kernels.emplace(kernel.name, kernel);
  }
  return kernels;
}

Result<KernelDiff> DiffKernels(const kpack::Archive& left,
                               const kpack::Archive& right,
                               const kpack::Difference& difference) {
  KernelDiff diff;
  if (!difference.bytes) return diff;
  CERB_TRY(const Kernels ours, KernelsOf(left, *difference.left));
  CERB_TRY(const Kernels theirs, KernelsOf(right, *difference.right));
  for (const auto& [name, kernel] : ours) {
    const auto there = theirs.find(name);
    if (there == theirs.end()) {
      diff.removed.push_back(name);
    } else if (!(kernel == there->second)) {
      diff.changed.push_back(name);
    }
  }
  for (const auto& [name, kernel] : theirs) {
    if (ours.count(name) == 0) diff.added.push_back(name);
  }
  return diff;
}

class KpackDiffVerb : public Verb {
 public:
  const char* name() const override { return "kpack diff"; }
  const char* summary() const override {
    return "say what two archives hold that is not the same";
  }
  const char* examples() const override {
    return "  cerberus kpack diff old.kpack new.kpack\n"
           "  cerberus kpack diff -q old.kpack new.kpack && echo the same\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("LEFT", left_path_, "an archive").Required().Group(kGroupFiles);
    list.Add("RIGHT", right_path_, "another one; exit code 1 if it differs")
        .Required()
        .Group(kGroupFiles);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    print_ = !common.json && !reporter.quiet();
    JsonWriter json;
    BeginReport(name(), json);
    json.Key("left").String(left_path_);
    json.Key("right").String(right_path_);
    const Result<bool> same = Compare(json);
    if (!same) reporter.Report(same.error());
    const int code = same && *same ? kExitDone : kExitFailed;
    if (!common.json) return code;
    if (same) {
      PrintReport(std::move(json), reporter, code);
    } else {
      JsonWriter failed;
      BeginReport(name(), failed);
      failed.Key("left").String(left_path_);
      failed.Key("right").String(right_path_);
      PrintReport(std::move(failed), reporter, code);
    }
    return code;
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) const {
    if (print_) PrintLine(format, std::forward<Args>(args)...);
  }

  Result<bool> Compare(JsonWriter& json) const {
    CERB_TRY(const kpack::ArchivePtr left, OpenArchive(left_path_));
    CERB_TRY(const kpack::ArchivePtr right, OpenArchive(right_path_));
    CERB_TRY(const kpack::ArchiveDiff diff, kpack::Diff(*left, *right));
    json.Key("same").Uint(diff.same);
    json.Key("fields").BeginArray();
    for (const std::string& field : diff.fields) {
      json.String(field);
      Line("{} differs", field);
    }
    json.EndArray();
    json.Key("differences").BeginArray();
    for (const kpack::Difference& difference : diff.entries) {
      CERB_TRY_VOID(Show(*left, *right, difference, json));
    }
    json.EndArray();
    return diff.empty();
  }

  Status Show(const kpack::Archive& left, const kpack::Archive& right,
              const kpack::Difference& difference, JsonWriter& json) const {
    const kpack::Entry& entry =
        difference.left != nullptr ? *difference.left : *difference.right;
    json.BeginObject();
    json.Key("key").String(entry.key);
    json.Key("arch").String(entry.arch);
    const auto sizes = [&json](const char* side, const kpack::Entry* of) {
      json.Key(side);
      if (of == nullptr) {
        json.Null();
      } else {
        json.Uint(of->original_size);
      }
    };
    sizes("left_size", difference.left);
    sizes("right_size", difference.right);
    if (difference.left == nullptr || difference.right == nullptr) {
      Line("{} '{}' for {}, {} bytes", difference.left == nullptr ? "+" : "-",
           entry.key, entry.arch, entry.original_size);
    } else {
      CERB_TRY_VOID(ShowChange(left, right, difference, json));
    }
    json.EndObject();
    return {};
  }

  Status ShowChange(const kpack::Archive& left, const kpack::Archive& right,
                    const kpack::Difference& difference,
                    JsonWriter& json) const {
    CERB_TRY(const KernelDiff kernels, DiffKernels(left, right, difference));
    std::vector<std::string> what;
    if (difference.type) what.emplace_back("type");
    if (difference.bytes) {
      what.push_back(fmt::format("bytes ({} -> {})",
                                 difference.left->original_size,
                                 difference.right->original_size));
    }
    for (const std::string& key : difference.metadata) {
      what.push_back("metadata " + key);
    }
    Line("! '{}' for {}: {}", difference.left->key, difference.left->arch,
         fmt::join(what, ", "));
    json.Key("type").Bool(difference.type);
    json.Key("bytes").Bool(difference.bytes);
    ShowNames("metadata", "", difference.metadata, json);
    ShowNames("kernels_removed", "-", kernels.removed, json);
    ShowNames("kernels_added", "+", kernels.added, json);
    ShowNames("kernels_changed", "!", kernels.changed, json);
    return {};
  }

  void ShowNames(const char* key, std::string_view sign,
                 const std::vector<std::string>& names,
                 JsonWriter& json) const {
    json.Key(key).BeginArray();
    for (const std::string& name : names) {
      json.String(name);
      if (!sign.empty()) Line("    {} {}", sign, Demangle(name));
    }
    json.EndArray();
  }

  std::string left_path_;
  std::string right_path_;
  bool print_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeKpackDiffVerb() {
  return std::make_unique<KpackDiffVerb>();
}

}  // namespace cerberus::cli
