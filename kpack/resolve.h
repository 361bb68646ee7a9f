// Finds the prebuilt code of a binary: from its marker's search paths, or
// from where the environment points, by upstream's rules.
//
//   ROCM_KPACK_PATH         archives that replace the marker's, ':' between
//   ROCM_KPACK_PATH_PREFIX  archives looked at before the marker's
//   ROCM_KPACK_DISABLE      set and not starting with '0': find nothing
//   ROCM_KPACK_DEBUG        the same: say on stderr what is tried
//
// For each wanted target, each subset of its features ("p:a:b", "p:a", "p:b",
// "p"), each archive in path order: the archive must list the target and hold
// the key. Every match is tried; when reading one fails, the next may do.
#ifndef CERBERUS_KPACK_RESOLVE_H_
#define CERBERUS_KPACK_RESOLVE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kpack/error.h"
#include "kpack/reader.h"
#include "support/bytes.h"

namespace cerberus::kpack {

struct ResolveOptions {
  bool disabled = false;
  bool debug = false;
  std::vector<std::string> replace;  // ROCM_KPACK_PATH
  std::vector<std::string> prefix;   // ROCM_KPACK_PATH_PREFIX

  static ResolveOptions FromEnvironment();
};

// Target ids to look under for one wanted id, by falling number of features.
// A triple's "amdgcn-amd-amdhsa--" is dropped. No generic target is added:
// give those as wanted ids of their own (TargetId::LoadOrder).
std::vector<std::string> FeatureSubsets(std::string_view arch);

// One search path of a marker as a file name: absolute as it is, else
// relative to the folder of `binary_path`; the first "@GFXARCH@" replaced.
std::string ExpandSearchPath(const std::string& search_path,
                             const std::string& binary_path,
                             std::string_view arch);

// The files that a marker's search paths lead to, for any target, sorted.
std::vector<std::string> FindArchives(
    const std::vector<std::string>& search_paths,
    const std::string& binary_path);

class Resolver {
 public:
  struct Request {
    std::vector<std::string> search_paths;  // the marker's
    std::string binary_path;                // the file that holds the marker
    std::string key;                        // "<kernel_name>#<index>", …
    std::vector<std::string> arches;        // most wanted first
    // Says no to entries that cannot be used (another launch ABI); the
    // search goes on behind them. Empty: all can.
    std::function<bool(const Archive&, const Entry&)> accept;
  };
  struct Found {
    std::shared_ptr<const Archive> archive;
    const Entry* entry = nullptr;
    Bytes bytes;
  };

  // Reads the environment once, here.
  Resolver() : Resolver(ResolveOptions::FromEnvironment()) {}
  explicit Resolver(ResolveOptions options) : options_(std::move(options)) {}
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Thread-safe. Errors: disabled (kNotImplemented), no archive could be
  // opened (kArchiveNotFound), none lists a wanted target (kArchNotFound),
  // none holds the key (kKernelNotFound), or the last failure to read. Where
  // an archive is there and cannot be opened, a note says why.
  KpackResult<Found> Load(const Request& request);

  // How many entries the archives that Load would look into hold for each
  // target.
  std::map<std::string, std::size_t> CountEntries(
      const std::vector<std::string>& search_paths,
      const std::string& binary_path);

 private:
  struct Opened {
    std::shared_ptr<const Archive> archive;  // or null
    std::string error;  // why it is null, unless there is no such file
  };
  // Opens an archive once and keeps it, failures too.
  const Opened& OpenCached(const std::string& path);
  // Where the archives for a target are, the first to be tried first.
  std::vector<std::string> PathsFor(const Request& request,
                                    const std::string& arch) const;
  void Debug(const std::string& line) const;

  const ResolveOptions options_;
  std::mutex mutex_;
  std::map<std::string, Opened> archives_;
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_RESOLVE_H_
