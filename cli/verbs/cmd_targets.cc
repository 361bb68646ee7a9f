// cerberus targets: what can be compiled for, and what the words of --arch
// stand for.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "support/targets/target_id.h"
#include "support/targets/target_table.h"

namespace cerberus::cli {
namespace {

// A row of what is shown.
struct Target {
  std::string id;            // with its features
  std::string_view generic;  // the generic target that covers it, or ""
  const TargetRow* row;      // of its processor

  std::string Capability() const {
    return fmt::format("{}.{}", row->cc.major, row->cc.minor);
  }
};

class TargetsVerb : public Verb {
 public:
  const char* name() const override { return "targets"; }
  const char* summary() const override {
    return "show the GPUs that can be compiled for";
  }
  const char* examples() const override {
    return "  cerberus targets\n"
           "  cerberus targets rocm,generic --names\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("A", words_, "as --arch takes them; default: all,generic")
        .Delimiter(',')
        .ValueName("A[,B...]")
        .Group(kGroupTargets);
    list.AddFlag("--names", names_only_, "one target id a line, nothing else")
        .Group(kGroupBehaviour);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    if (words_.empty()) words_ = {"all", "generic"};
    const Result<std::vector<std::string>> ids = CheckArches(words_);
    if (!ids) reporter.Report(ids.error());
    const int code = ids ? kExitDone : kExitUsage;
    std::vector<Target> targets;
    if (ids) {
      for (const std::string& id : *ids) {
        const std::string processor = TargetId::Parse(id)->processor;
        targets.push_back(
            {id, GenericTargetOf(processor), FindTarget(processor)});
      }
    }
    if (common.json) {
      WriteJson(targets, code, reporter);
    } else if (names_only_) {
      for (const Target& target : targets) fmt::print("{}\n", target.id);
    } else if (ids) {
      WriteTable(targets);
    }
    return code;
  }

 private:
  static void WriteTable(const std::vector<Target>& targets) {
    constexpr const char* kFormat = "{:<24} {:<15} {:>4} {:>10} {:>5}  {}\n";
    fmt::print(kFormat, "target", "generic target", "wave", "shared", "CUDA",
               "emulated");
    for (const Target& target : targets) {
      fmt::print(kFormat, target.id, target.generic, target.row->wave_size,
                 fmt::format("{} KiB", target.row->lds_bytes / 1024),
                 target.Capability(),
                 IsEmulated(target.row->processor) ? "yes" : "no");
    }
  }

  static void WriteJson(const std::vector<Target>& targets, int code,
                        const Reporter& reporter) {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("targets");
    json.Key("exit_code").Int(code);
    json.Key("targets").BeginArray();
    for (const Target& target : targets) {
      json.BeginObject();
      json.Key("target").String(target.id);
      json.Key("generic").String(target.generic);
      json.Key("wave_size").Uint(target.row->wave_size);
      json.Key("shared_bytes").Uint(target.row->lds_bytes);
      json.Key("compute_capability").String(target.Capability());
      json.Key("emulated").Bool(IsEmulated(target.row->processor));
      json.EndObject();
    }
    json.EndArray();
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::vector<std::string> words_;
  bool names_only_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeTargetsVerb() {
  return std::make_unique<TargetsVerb>();
}

}  // namespace cerberus::cli
