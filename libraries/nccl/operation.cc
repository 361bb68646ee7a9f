#include "libraries/nccl/operation.h"

#include <algorithm>
#include <cstring>

#include "libraries/nccl/reduce.h"

namespace cerberus::libraries::nccl {
namespace {

using Parts = std::vector<Part>;

const std::byte* At(const void* array, std::size_t bytes) {
  return static_cast<const std::byte*>(array) + bytes;
}
void Copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != nullptr && to != from) std::memmove(to, from, bytes);
}
// Of a buffer that is there.
void* At(void* array, std::size_t bytes) {
  return array == nullptr ? nullptr : static_cast<std::byte*>(array) + bytes;
}

// Elements from `first` on of what all bring, to `outs`.
void ReduceFrom(const Parts& parts, std::size_t first,
                const std::vector<void*>& outs) {
  std::vector<void*> there;
  for (void* out : outs) {
    if (out != nullptr) there.push_back(out);
  }
  if (there.empty()) return;
  Reduction reduction;
  reduction.op = parts.front().op;
  reduction.type = parts.front().type;
  std::vector<const void*> ins;
  for (const Part& part : parts) {
    ins.push_back(At(part.in, first * SizeOf(part.type)));
    if (part.factor != nullptr) reduction.factors.push_back(part.factor);
  }
  Reduce(reduction, ins, there, parts.front().count);
}

// Each rank's block for each other one.
void AllToAll(const Parts& parts, std::size_t bytes) {
  const std::size_t n = parts.size();
  // In place, what is read must not have been written yet.
  std::vector<std::vector<std::byte>> before;
  for (const Part& part : parts) {
    const std::byte* in = At(part.in, 0);
    before.emplace_back(in, in + n * bytes);
  }
  for (std::size_t to = 0; to < n; ++to) {
    for (std::size_t from = 0; from < n; ++from) {
      Copy(At(parts[to].out, from * bytes), before[from].data() + to * bytes,
           bytes);
    }
  }
}

}  // namespace

std::size_t BytesIn(const Part& part, int rank, std::size_t ranks) {
  const std::size_t bytes = part.count * SizeOf(part.type);
  const bool is_root = rank == part.root;
  switch (part.kind) {
    case Kind::kBroadcast: return is_root ? bytes : 0;
    case Kind::kScatter: return is_root ? ranks * bytes : 0;
    case Kind::kReduceScatter:
    case Kind::kAllToAll: return ranks * bytes;
    case Kind::kSendReceive: return rank == 0 ? bytes : 0;
    default: return bytes;
  }
}
std::size_t BytesOut(const Part& part, int rank, std::size_t ranks) {
  const std::size_t bytes = part.count * SizeOf(part.type);
  const bool is_root = rank == part.root;
  switch (part.kind) {
    case Kind::kReduce: return is_root ? bytes : 0;
    case Kind::kGather: return is_root ? ranks * bytes : 0;
    case Kind::kAllGather:
    case Kind::kAllToAll: return ranks * bytes;
    case Kind::kSendReceive: return rank == 1 ? bytes : 0;
    default: return bytes;
  }
}

bool Agree(const std::vector<Part>& parts) {
  const Part& first = parts.front();
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.kind == first.kind && part.count == first.count &&
           part.type == first.type && part.op == first.op &&
           part.root == first.root;
  });
}

void Do(const Parts& parts) {
  const Part& first = parts.front();
  const std::size_t bytes = first.count * SizeOf(first.type);
  const auto root = static_cast<std::size_t>(first.root);
  const std::size_t n = parts.size();
  switch (first.kind) {
    case Kind::kAllReduce: {
      std::vector<void*> outs;
      for (const Part& part : parts) outs.push_back(part.out);
      return ReduceFrom(parts, 0, outs);
    }
    case Kind::kReduce: return ReduceFrom(parts, 0, {parts[root].out});
    case Kind::kReduceScatter:
      for (std::size_t to = 0; to < n; ++to) {
        ReduceFrom(parts, to * first.count, {parts[to].out});
      }
      return;
    case Kind::kBroadcast:
      for (const Part& part : parts) Copy(part.out, parts[root].in, bytes);
      return;
    case Kind::kAllGather:
      for (const Part& part : parts) {
        for (std::size_t from = 0; from < n; ++from) {
          Copy(At(part.out, from * bytes), parts[from].in, bytes);
        }
      }
      return;
    case Kind::kAllToAll: return AllToAll(parts, bytes);
    case Kind::kGather:
      for (std::size_t from = 0; from < n; ++from) {
        Copy(At(parts[root].out, from * bytes), parts[from].in, bytes);
      }
      return;
    case Kind::kScatter:
      for (std::size_t to = 0; to < n; ++to) {
        Copy(parts[to].out, At(parts[root].in, to * bytes), bytes);
      }
      return;
    case Kind::kSendReceive: return Copy(parts[1].out, parts[0].in, bytes);
  }
}

}  // namespace cerberus::libraries::nccl
