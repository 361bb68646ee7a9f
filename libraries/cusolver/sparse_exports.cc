// The functions of sparse.def.
#include <dlfcn.h>

#include <set>

#include "libraries/cusolver/refactor.h"
#include "libraries/cusolver/sparse_info.h"
#include "libraries/cusolver/types.h"

namespace cerberus::libraries::cusolver {

Status CheckDescr(Descr descr, int* base) {
  if (descr == nullptr) return kInvalidValue;
  // Whoever made it has the library; which of them does not matter.
  struct Functions {
    int (*type)(Descr);
    int (*base)(Descr);
  };
  static const Functions functions = [] {
    Functions found = {};
    for (const char* name : {"libcusparse.so.12", "libcusparse.so.11"}) {
      void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
      if (library == nullptr) continue;
      found.type = reinterpret_cast<int (*)(Descr)>(
          dlsym(library, "cusparseGetMatType"));
      found.base = reinterpret_cast<int (*)(Descr)>(
          dlsym(library, "cusparseGetMatIndexBase"));
      if (found.type != nullptr && found.base != nullptr) break;
    }
    return found;
  }();
  if (functions.type == nullptr || functions.base == nullptr) {
    return kNotInitialized;
  }
  if (functions.type(descr) != 0) return kMatrixTypeNotSupported;
  *base = functions.base(descr);
  return kSuccess;
}

namespace {

// A pattern of the host's.
Status CheckPattern(Index m, Index n, Index nnz, Descr descr, const int* starts,
                    const int* ends, const int* places, Pattern* pattern) {
  if (m < 0 || n < 0 || nnz < 0 || starts == nullptr) return kInvalidValue;
  int base = 0;
  if (const Status bad = CheckDescr(descr, &base)) return bad;
  *pattern = {
      static_cast<int>(m), static_cast<int>(n), base, starts, places, ends};
  return pattern->IsFine() ? kSuccess : kInvalidValue;
}

Status Reorder(int kind, Index n, Index nnz, Descr descr, const int* starts,
               const int* places, int* p) {
  Pattern a;
  if (const Status bad =
          CheckPattern(n, n, nnz, descr, starts, nullptr, places, &a)) {
    return bad;
  }
  if (p == nullptr) return kInvalidValue;
  const Permutation order = Reordered(a, kind);
  std::copy(order.begin(), order.end(), p);
  return kSuccess;
}

Status IsSymmetric(Index m, Index nnz, Descr descr, const int* starts,
                   const int* ends, const int* places, int* symmetric) {
  Pattern a;
  if (const Status bad =
          CheckPattern(m, m, nnz, descr, starts, ends, places, &a)) {
    return bad;
  }
  if (symmetric == nullptr) return kInvalidValue;
  std::set<std::pair<int, int>> elements;
  for (int i = 0; i < a.rows; ++i) {
    for (int e = a.Begin(i); e < a.End(i); ++e)
      elements.insert({i, a.Column(e)});
  }
  *symmetric = std::all_of(elements.begin(), elements.end(),
                           [&](const std::pair<int, int>& e) {
                             return elements.count({e.second, e.first}) != 0;
                           })
                   ? 1
                   : 0;
  return kSuccess;
}

Status AskPermute(Index m, Index n, Index nnz, Descr descr, const int* starts,
                  const int* places, const int* p, const int* q,
                  std::size_t* size) {
  Pattern a;
  if (const Status bad =
          CheckPattern(m, n, nnz, descr, starts, nullptr, places, &a)) {
    return bad;
  }
  return Ask(IsPermutation(p, a.rows) && IsPermutation(q, a.columns), size);
}
// A(p, q) in place of A's pattern; `map` goes with its elements.
Status Permute(Index m, Index n, Index nnz, Descr descr, int* starts,
               int* places, const int* p, const int* q, int* map) {
  Pattern a;
  if (const Status bad =
          CheckPattern(m, n, nnz, descr, starts, nullptr, places, &a)) {
    return bad;
  }
  if (!IsPermutation(p, a.rows) || !IsPermutation(q, a.columns) ||
      map == nullptr) {
    return kInvalidValue;
  }
  std::vector<int> place_of(static_cast<std::size_t>(n));
  for (int j = 0; j < a.columns; ++j) {
    place_of[static_cast<std::size_t>(q[j])] = j;
  }
  std::vector<int> new_starts = {a.base}, new_places, new_map;
  for (int i = 0; i < a.rows; ++i) {
    std::vector<std::pair<int, int>> row;
    for (int e = a.Begin(p[i]); e < a.End(p[i]); ++e) {
      row.emplace_back(place_of[static_cast<std::size_t>(a.Column(e))], map[e]);
    }
    std::sort(row.begin(), row.end());
    for (const auto& [column, from] : row) {
      new_places.push_back(column + a.base);
      new_map.push_back(from);
    }
    new_starts.push_back(static_cast<int>(new_places.size()) + a.base);
  }
  std::copy(new_starts.begin(), new_starts.end(), starts);
  std::copy(new_places.begin(), new_places.end(), places);
  std::copy(new_map.begin(), new_map.end(), map);
  return kSuccess;
}

// Elements of L, with its ones, and of U.
Status LuNnz(int* lower, int* upper, SparseInfo info) {
  if (!IsAlive(info) || lower == nullptr || upper == nullptr) {
    return kInvalidValue;
  }
  return std::visit(
      [&]<typename Lu>(const Lu& lu) -> Status {
        if constexpr (std::is_same_v<Lu, std::monostate>) {
          return kInvalidValue;
        } else {
          *lower = *upper = info->rows;
          for (const auto& column : lu.lower()) {
            *lower += static_cast<int>(column.size());
          }
          for (const auto& column : lu.upper()) {
            *upper += static_cast<int>(column.size());
          }
          return kSuccess;
        }
      },
      info->lu);
}

}  // namespace

#include "libraries/cusolver/sparse.def"

}  // namespace cerberus::libraries::cusolver
