// make's jobserver: how many things may run at a time, shared by all that
// make started (GNU make manual, "Sharing Job Slots with GNU make").
#ifndef CERBERUS_CLI_JOBSERVER_H_
#define CERBERUS_CLI_JOBSERVER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

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

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_JOBSERVER_H_
