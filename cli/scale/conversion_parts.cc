// A conversion's modules, handed to whoever compiles them.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/convert/conversion.h"
#include "cli/scale/shard.h"

namespace cerberus::cli {

Status Conversion::ForEachRequest(
    const std::function<Status(const FirstRequest&)>& take) const {
  for (const std::string& arch : options_.arches) {
    for (const std::unique_ptr<PlannedModule>& planned : modules_) {
      if (planned->HasNoPtx()) continue;
      FirstRequest first{RequestOf(*planned, arch), planned->label};
      if (!planned->embedded.empty()) {
        first.request.ptx = planned->embedded;
        first.may_fail = true;
      } else {
        const std::vector<Source>& sources = planned->choices.at(arch);
        // Text that cannot be unpacked is found out by who converts.
        if (!SetPtx(*planned, sources.front(), first.request)) continue;
        first.may_fail = sources.size() > 1;
      }
      CERB_TRY_VOID(take(first));
    }
  }
  return {};
}

// Modules in their order: so what the shards have of an archive follows each
// other there.
void Conversion::ChooseShard(const std::vector<Conversion*>& conversions) {
  const Shard shard = conversions.front()->options_.shard;
  if (shard.is_all()) return;
  std::vector<std::uint64_t> sizes;
  std::vector<PlannedModule*> modules;
  for (const Conversion* conversion : conversions) {
    for (const std::unique_ptr<PlannedModule>& planned : conversion->modules_) {
      std::uint64_t size = 1;
      for (const std::string& arch : conversion->options_.arches) {
        if (planned->HasNoPtx()) break;
        size += conversion->PtxBytes(*planned, arch);
      }
      sizes.push_back(size);
      modules.push_back(planned.get());
    }
  }
  const std::vector<unsigned> shards = ShardsOf(sizes, shard.count);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    modules[i]->elsewhere = shards[i] != shard.index;
  }
}

}  // namespace cerberus::cli
