// make's jobserver: how many things may run at a time, shared by all that
// make started (GNU make manual, "Sharing Job Slots with GNU make").
#ifndef CERBERUS_CLI_CONVERT_JOBSERVER_H_
#define CERBERUS_CLI_CONVERT_JOBSERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cerberus::cli {

class Jobserver {
 public:
  // The one that MAKEFLAGS names, "--jobserver-auth=R,W" (inherited pipe ends)
  // or "--jobserver-auth=fifo:PATH". Null if there is none to be had.
  static std::unique_ptr<Jobserver> Connect(std::string_view makeflags);
  ~Jobserver();  // gives back all tokens
  Jobserver(const Jobserver&) = delete;
  Jobserver& operator=(const Jobserver&) = delete;

  // Waits for a token. False as soon as `give_up` says so. Whoever make
  // started has one job without a token: do not ask for that one.
  bool Acquire(const std::function<bool()>& give_up);
  void Release();

 private:
  Jobserver(int read_fd, int write_fd)
      : read_fd_(read_fd), write_fd_(write_fd) {}

  const int read_fd_;
  const int write_fd_;
  std::mutex mutex_;
  std::string tokens_;  // a token is a byte, and goes back as it came
};

// Jobs that nobody uses, for compilers that can: a number that processes share
// by a descriptor. Reading eight bytes from it takes one, writing a number
// gives as many back; both at once or not at all.
class JobSlots {
 public:
  static std::optional<JobSlots> Make();  // without any
  JobSlots(JobSlots&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  JobSlots(const JobSlots&) = delete;
  JobSlots& operator=(const JobSlots&) = delete;
  ~JobSlots();

  void Add(std::uint64_t jobs) const;
  int descriptor() const { return fd_; }

 private:
  explicit JobSlots(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_JOBSERVER_H_
