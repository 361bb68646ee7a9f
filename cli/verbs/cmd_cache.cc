// cerberus cache: what the JIT fallback has kept, and how to be rid of it.
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cache/jit_cache.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/verb.h"

namespace cerberus::cli {
namespace {

// "2026-03-01 12:00:00", in the local time zone.
std::string TimeOf(std::int64_t nanoseconds) {
  const std::time_t seconds = nanoseconds / 1'000'000'000;
  std::tm local = {};
  if (localtime_r(&seconds, &local) == nullptr) return "?";
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

class CacheVerb : public Verb {
 public:
  const char* name() const override { return "cache"; }
  const char* summary() const override {
    return "show or prune the code compiled at run time";
  }
  const char* examples() const override {
    return "  cerberus cache\n"
           "  cerberus cache --prune 100MB\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("--cache", shared_,
             "a folder of convert's --cache, not that of this user")
        .ValueName("DIR")
        .Group(kGroupFiles);
    Option prune = list.Add("--prune", prune_to_,
                            "remove what was longest unused, down to SIZE")
                       .ValueName("SIZE")
                       .Size()
                       .Group(kGroupBehaviour);
    list.AddFlag("--clear", clear_, "remove everything")
        .Excludes(prune)
        .Group(kGroupBehaviour);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    const cache::JitCache cache =
        shared_.empty()
            ? cache::JitCache::FromEnvironment()
            : cache::JitCache(shared_,
                              std::numeric_limits<std::uint64_t>::max(),
                              cache::JitCache::Sharing::kShared);
    std::size_t removed = 0;
    if (clear_) prune_to_ = 0;
    if (prune_to_) removed = cache.PruneTo(*prune_to_);
    const std::vector<cache::JitCacheEntry> entries = cache.Entries();
    std::uint64_t total = 0;
    for (const cache::JitCacheEntry& entry : entries) total += entry.size;
    // An entry that another user owns stays.
    const bool done = !prune_to_ || total <= *prune_to_;
    if (!done) {
      reporter.Error(DiagCode::kIo,
                     fmt::format("{}: {} bytes could not be removed",
                                 cache.folder(), total - *prune_to_));
    }
    const int code = done ? kExitDone : kExitFailed;
    if (common.json) {
      JsonWriter json;
      json.BeginObject();
      json.Key("schema").Int(1);
      json.Key("verb").String("cache");
      json.Key("exit_code").Int(code);
      json.Key("enabled").Bool(cache.enabled());
      json.Key("folder").String(cache.folder());
      json.Key("max_bytes").Uint(cache.max_bytes());
      json.Key("removed").Uint(removed);
      json.Key("bytes").Uint(total);
      json.Key("entries").BeginArray();
      for (const cache::JitCacheEntry& entry : entries) {
        json.BeginObject();
        json.Key("file").String(entry.path);
        json.Key("bytes").Uint(entry.size);
        json.Key("used").String(TimeOf(entry.used));
        json.EndObject();
      }
      json.EndArray();
      json.Key("diagnostics");
      reporter.WriteJson(json);
      json.EndObject();
      fmt::print("{}", std::move(json).Take());
    } else if (!cache.enabled()) {
      fmt::print("off: CUDA_CACHE_DISABLE is set, or there is no HOME\n");
    } else if (!reporter.quiet()) {
      if (prune_to_) {
        fmt::print("removed {} {}\n", removed,
                   removed == 1 ? "entry" : "entries");
      }
      fmt::print(
          "{}: {} {}, {}{} bytes\n", cache.folder(), entries.size(),
          entries.size() == 1 ? "entry" : "entries", total,
          shared_.empty() ? fmt::format(" of {}", cache.max_bytes()) : "");
      if (reporter.verbose()) {
        for (const cache::JitCacheEntry& entry : entries) {
          fmt::print("  {}  {:>10} bytes  {}\n", TimeOf(entry.used), entry.size,
                     entry.path.substr(entry.path.rfind('/') + 1));
        }
      }
    }
    return code;
  }

 private:
  std::string shared_;
  std::optional<std::uint64_t> prune_to_;
  bool clear_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCacheVerb() { return std::make_unique<CacheVerb>(); }

}  // namespace cerberus::cli
