// A file descriptor that closes itself.
#ifndef CERBERUS_SUPPORT_FD_H_
#define CERBERUS_SUPPORT_FD_H_

#include <unistd.h>

#include <utility>

namespace cerberus {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // Without closing it.
  int Release() { return std::exchange(fd_, -1); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_FD_H_
