#include "emulator/report/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "emulator/access/memop.h"
#include "emulator/device/launch.h"
#include "emulator/device/occupancy.h"
#include "support/output_file.h"

namespace cerberus::emulator {
namespace {

constexpr const char* kClassNames[] = {
    "salu", "valu",   "valu_f64", "transcendental", "vopd", "matrix",
    "smem", "load",   "store",    "atomic",         "flat", "scratch",
    "lds",  "branch", "wait",     "barrier",        "sync", "other"};
static_assert(std::size(kClassNames) ==
              static_cast<std::size_t>(OpClass::kCount));
constexpr std::size_t kLanes = 64;  // at most, of a wave
constexpr int kWidthBytes[kWidths] = {1, 2, 4, 8, 12, 16};
constexpr const char* kKindNames[kAccessKinds] = {"loads", "stores", "atomics"};

struct Record {
  KernelInfo info;
  KernelStats stats;
  OccupancyInfo occupancy;
  u32 lds_bytes = 0;
  u32 cache_line_bytes = 0;
  u64 launches = 0;
  double seconds = 0;
};
using Records = std::map<std::pair<std::string, std::string>, Record>;

std::mutex registry_mutex;
// Never destroyed: a device may outlive static objects.
std::map<std::string, Records>& Registry() {
  static auto* const registry = new std::map<std::string, Records>;
  return *registry;
}

int WidthSlot(u32 bytes) {
  int slot = 0;
  while (slot + 1 < kWidths && static_cast<u32>(kWidthBytes[slot]) < bytes) {
    ++slot;
  }
  return slot;
}

std::string Quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// {"a": 1, "b": 2}
template <typename Name>
std::string Object(std::size_t n, Name&& name, const u64* values) {
  std::string out = "{";
  for (std::size_t i = 0; i < n; ++i) {
    out += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", name(i), values[i]);
  }
  return out + '}';
}

std::string KernelJson(const std::string& target, const Record& r) {
  std::string out = "    {\n";
  const auto member = [&](const char* name, const std::string& value) {
    out += fmt::format("      \"{}\": {},\n", name, value);
  };
  const auto number = [&](const char* name, u64 value) {
    member(name, std::to_string(value));
  };
  const KernelStats& s = r.stats;
  member("name", Quoted(r.info.name));
  member("target", Quoted(target));
  number("launches", r.launches);
  member("seconds", fmt::format("{:.6f}", r.seconds));
  number("groups", s.groups);
  number("waves", s.waves);
  member("instructions", Object(
                             s.instructions.size(),
                             [](std::size_t i) { return kClassNames[i]; },
                             s.instructions.data()));
  number("lane_instructions", s.lane_instructions);
  for (int kind = 0; kind < kAccessKinds; ++kind) {
    const auto k = static_cast<std::size_t>(kind);
    member(kKindNames[k],
           Object(
               kWidths, [](std::size_t i) { return kWidthBytes[i]; },
               s.accesses[k].data()));
  }
  member("cache_lines",
         Object(
             kAccessKinds, [](std::size_t i) { return kKindNames[i]; },
             s.cache_lines.data()));
  number("cache_line_bytes", r.cache_line_bytes);
  number("lds_accesses", s.lds_accesses);
  number("lds_conflicts", s.lds_conflicts);
  number("matrix_operations", s.matrix_operations);
  number("wavefront_size", r.info.wavefront_size);
  number("vgprs", r.info.vgprs);
  number("agprs", r.info.agprs);
  number("sgprs", r.info.sgprs);
  number("vgpr_spills", r.info.vgpr_spills);
  number("sgpr_spills", r.info.sgpr_spills);
  number("lds_bytes", r.lds_bytes);
  number("private_bytes", r.info.private_size);
  number("occupancy", r.occupancy.waves_per_simd);
  number("groups_per_cu", r.occupancy.groups_per_cu);
  out += fmt::format("      \"occupancy_limit\": \"{}\"\n    }}",
                     r.occupancy.limited_by);
  return out;
}

// 64 bytes up to CDNA2 (CDNA2 ISA, section 1.1), 128 since CDNA3 and RDNA
// ("RDNA Architecture" whitepaper, "Cache Subsystem").
u32 CacheLineBytes(Gen gen) { return gen <= Gen::kGfx90a ? 64 : 128; }

}  // namespace

void KernelStats::Add(const KernelStats& o) {
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    instructions[i] += o.instructions[i];
  }
  lane_instructions += o.lane_instructions;
  for (std::size_t kind = 0; kind < kAccessKinds; ++kind) {
    for (std::size_t i = 0; i < kWidths; ++i) {
      accesses[kind][i] += o.accesses[kind][i];
    }
    cache_lines[kind] += o.cache_lines[kind];
  }
  lds_accesses += o.lds_accesses;
  lds_conflicts += o.lds_conflicts;
  matrix_operations += o.matrix_operations;
  waves += o.waves;
  groups += o.groups;
}

void CountMemorySlow(Wave& w, const MemOp& op, u64 exec, const u64* addresses) {
  KernelStats& s = w.group->stats;
  const auto kind = static_cast<std::size_t>(op.kind);
  s.accesses[kind][static_cast<std::size_t>(WidthSlot(op.bytes))] +=
      static_cast<u64>(std::popcount(exec));
  if (addresses == nullptr) return;
  const u32 line = CacheLineBytes(w.gen);
  u64 lines[2 * kLanes];
  std::size_t n = 0;
  ForLanes(exec, [&](u32 lane) {
    const u64 a = addresses[lane];
    if (a - kSharedAperture < kApertureSize ||
        a - kPrivateAperture < kApertureSize) {
      return;
    }
    lines[n++] = a / line;
    const u64 last = (a + op.bytes - 1) / line;
    if (last != lines[n - 1]) lines[n++] = last;
  });
  std::sort(lines, lines + n);
  s.cache_lines[kind] +=
      static_cast<u64>(std::unique(lines, lines + n) - lines);
}

// LDS has 32 banks of four bytes, gfx950 has 64. A pass moves one word of each
// bank: as many neighbouring lanes take part as fill the banks. Lanes that
// read the same word share it; atomics do not.
void CountLdsSlow(Wave& w, const MemOp& op, u64 exec, const u64* offsets) {
  KernelStats& s = w.group->stats;
  s.lds_accesses += static_cast<u64>(std::popcount(exec));
  const u32 banks = w.gen == Gen::kGfx950 ? 64 : 32;
  const u32 words = (op.bytes + 3u) / 4;
  const u32 step = banks / std::bit_ceil(words);
  for (u32 first = 0; first < w.lanes; first += step) {
    const u64 part =
        exec & (step == 64 ? ~u64{0} : ((u64{1} << step) - 1) << first);
    if (part == 0) continue;
    std::array<std::array<u64, kLanes>, 64> seen;
    std::array<u32, 64> used = {};
    ForLanes(part, [&](u32 lane) {
      for (u32 i = 0; i < words; ++i) {
        const u64 word = offsets[lane] / 4 + i;
        const auto bank = static_cast<std::size_t>(word % banks);
        auto* const begin = seen[bank].data();
        if (op.kind == MemKind::kAtomic ||
            std::find(begin, begin + used[bank], word) == begin + used[bank]) {
          begin[used[bank]++] = word;
        }
      }
    });
    const u32 passes = *std::max_element(used.begin(), used.end());
    if (passes > 1) s.lds_conflicts += passes - 1;
  }
}

void RecordLaunch(const std::string& path, const std::string& target,
                  const KernelInfo& kernel, Gen gen, const KernelStats& stats,
                  const OccupancyInfo& occupancy, u32 lds_bytes,
                  double seconds) {
  std::lock_guard<std::mutex> lock(registry_mutex);
  Record& r = Registry()[path][{kernel.name, target}];
  r.info = kernel;
  r.occupancy = occupancy;
  r.lds_bytes = lds_bytes;
  r.cache_line_bytes = CacheLineBytes(gen);
  ++r.launches;
  r.stats.Add(stats);
  r.seconds += seconds;
}

void WriteStats(const std::string& path) {
  std::lock_guard<std::mutex> lock(registry_mutex);
  std::string out = "{\n  \"schema\": 2,\n  \"kernels\": [\n";
  bool first = true;
  for (const auto& [key, record] : Registry()[path]) {
    if (!first) out += ",\n";
    first = false;
    out += KernelJson(key.second, record);
  }
  out += "\n  ]\n}\n";
  (void)WriteFile(path, AsBytes(out));
}

}  // namespace cerberus::emulator
