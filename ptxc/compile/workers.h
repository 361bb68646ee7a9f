// Work in processes of its own: one that crashes, or needs too much processor
// time, costs its result and nothing else.
#ifndef CERBERUS_PTXC_COMPILE_WORKERS_H_
#define CERBERUS_PTXC_COMPILE_WORKERS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::ptx {

class Workers {
 public:
  enum class End { kDone, kOutOfTime, kCrashed };
  struct Finished {
    std::size_t id;
    End end;
    Bytes result;      // if it is done
    std::string said;  // what it wrote to stderr: why it crashed
    double seconds;    // of processor time
  };

  Workers() = default;
  ~Workers();  // ends those that still work
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Forks; no other thread may hold a lock that `work` takes. `seconds`: of
  // processor time, 0: no limit.
  Status Start(std::size_t id, std::uint64_t seconds,
               const std::function<Bytes()>& work);
  std::size_t running() const { return running_.size(); }
  // Of one of them, which is no longer running then; nothing if `other`, a
  // descriptor or -1, can be read from before.
  Result<std::optional<Finished>> Wait(int other = -1);

 private:
  struct Worker {
    std::size_t id;
    pid_t pid;
    int pipe;    // the result, to its end
    int errors;  // a memory file, its stderr
    Bytes result;
  };
  Finished Reap(Worker worker);

  std::vector<Worker> running_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_WORKERS_H_
