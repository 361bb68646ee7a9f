#include "cli/convert/jobserver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace cerberus::cli {
namespace {

constexpr int kPollMilliseconds = 100;

// Our own opening of the same pipe: "no waiting" is a property of it, and
// must not be forced on the others that hold the pipe.
int OpenAgain(const std::string& path, int mode) {
  return ::open(path.c_str(), mode | O_NONBLOCK | O_CLOEXEC);
}

std::optional<int> ParseFd(std::string_view text) {
  int fd = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc() || end != text.data() + text.size() || fd < 0) {
    return std::nullopt;
  }
  return fd;
}

}  // namespace

std::unique_ptr<Jobserver> Jobserver::Connect(std::string_view makeflags) {
  constexpr std::string_view kOption = "--jobserver-auth=";
  constexpr std::string_view kFifo = "fifo:";
  // make appends; the last one counts.
  const std::size_t at = makeflags.rfind(kOption);
  if (at == std::string_view::npos) return nullptr;
  std::string_view value = makeflags.substr(at + kOption.size());
  value = value.substr(0, value.find(' '));

  std::string read_path, write_path;
  if (value.substr(0, kFifo.size()) == kFifo) {
    read_path = write_path = value.substr(kFifo.size());
  } else {
    const std::size_t comma = value.find(',');
    if (comma == std::string_view::npos) return nullptr;
    const std::optional<int> read_fd = ParseFd(value.substr(0, comma));
    const std::optional<int> write_fd = ParseFd(value.substr(comma + 1));
    if (!read_fd || !write_fd) return nullptr;
    read_path = fmt::format("/proc/self/fd/{}", *read_fd);
    write_path = fmt::format("/proc/self/fd/{}", *write_fd);
  }
  // The read end first: a FIFO has no writers without a reader.
  const int read_end = OpenAgain(read_path, O_RDONLY);
  const int write_end = OpenAgain(write_path, O_WRONLY);
  if (read_end < 0 || write_end < 0) {
    if (read_end >= 0) ::close(read_end);
    if (write_end >= 0) ::close(write_end);
    return nullptr;
  }
  return std::unique_ptr<Jobserver>(new Jobserver(read_end, write_end));
}

Jobserver::~Jobserver() {
  while (!tokens_.empty()) Release();
  ::close(read_fd_);
  ::close(write_fd_);
}

bool Jobserver::Acquire(const std::function<bool()>& give_up) {
  while (!give_up()) {
    char token;
    const ssize_t n = ::read(read_fd_, &token, 1);
    if (n == 1) {
      const std::lock_guard<std::mutex> lock(mutex_);
      tokens_ += token;
      return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    pollfd wait{read_fd_, POLLIN, 0};
    ::poll(&wait, 1, kPollMilliseconds);
  }
  return false;
}

void Jobserver::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tokens_.empty()) return;
  const char token = tokens_.back();
  tokens_.pop_back();
  // The pipe held this byte before: there is room for it.
  while (::write(write_fd_, &token, 1) < 0 && errno == EINTR) {
  }
}

std::optional<JobSlots> JobSlots::Make() {
  const int fd = ::eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return std::nullopt;
  return JobSlots(fd);
}

JobSlots::~JobSlots() {
  if (fd_ >= 0) ::close(fd_);
}

void JobSlots::Add(std::uint64_t jobs) const {
  while (jobs != 0 && ::write(fd_, &jobs, sizeof jobs) < 0 && errno == EINTR) {
  }
}

}  // namespace cerberus::cli
