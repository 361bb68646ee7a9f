// Code compiled at run time, kept on disk between runs.
//
// One file per entry, named by its key, under CUDA_CACHE_PATH, else
// $XDG_CACHE_HOME/cerberus, else ~/.cache/cerberus. Files appear by rename
// and carry a checksum, so any number of processes may share the folder and
// a damaged file is only compiled again. CUDA_CACHE_DISABLE=1 turns the cache
// off; CUDA_CACHE_MAXSIZE (bytes; 1 GiB unless given) bounds it: the entries
// longest unused go first.
#ifndef CERBERUS_CACHE_JIT_CACHE_H_
#define CERBERUS_CACHE_JIT_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/targets/target_id.h"

namespace cerberus::cache {

struct JitCacheEntry {
  std::string path;
  std::uint64_t size;  // bytes of the file
  std::int64_t used;   // when last of use, nanoseconds since 1970
};

class JitCache {
 public:
  enum class Sharing : std::uint8_t {
    kPrivate,   // one user's
    kShared,    // of all who may write to the folder, on several machines
    kReadOnly,  // nothing in it is changed
  };

  // By the environment, read at each call.
  static JitCache FromEnvironment();
  // An empty folder: disabled.
  JitCache(std::string folder, std::uint64_t max_bytes,
           Sharing sharing = Sharing::kPrivate)
      : folder_(std::move(folder)), max_bytes_(max_bytes), sharing_(sharing) {}

  // Everything that the compiled code depends on, and nothing of the machine.
  static std::string Key(std::string_view ptx, const TargetId& target,
                         std::string_view options);

  // The entry's bytes; marks it as used. A damaged entry is removed.
  std::optional<Bytes> Load(const std::string& key) const;

  // Failures are no errors: the code was compiled all the same. They are
  // logged once per process.
  void Store(const std::string& key, ByteSpan code) const;

  // What an entry's file holds of `code`, and the code in one: nothing if the
  // file is damaged.
  static Bytes WriteFileOf(ByteSpan code);
  static std::optional<ByteSpan> ReadFile(ByteSpan file);

  std::string PathOf(const std::string& key) const;
  bool enabled() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  std::uint64_t max_bytes() const { return max_bytes_; }

  // Longest unused first.
  std::vector<JitCacheEntry> Entries() const;
  // Removes entries, those longest unused first, until the others take no
  // more than `bytes`, and what writers left who were killed a day ago. Returns
  // how many entries it removed.
  std::size_t PruneTo(std::uint64_t bytes) const;

 private:
  void RemoveLeftOvers() const;

  std::string folder_;
  std::uint64_t max_bytes_ = 0;
  Sharing sharing_ = Sharing::kPrivate;
};

}  // namespace cerberus::cache

#endif  // CERBERUS_CACHE_JIT_CACHE_H_
