#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "support/compile_request.h"

namespace cerberus {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
constexpr std::size_t kStreams = CompileRequest::kStreams;

struct alignas(cmsghdr) Control {
  char bytes[CMSG_SPACE(kStreams * sizeof(int))];
};

ssize_t Receive(int socket, msghdr* message) {
  ssize_t n;
  do {
    n = ::recvmsg(socket, message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  return n;
}

}  // namespace

bool SendCompileRequest(int socket, const std::vector<std::string>& arguments,
                        const std::array<int, kStreams>& streams) {
  std::string text;
  for (const std::string& argument : arguments) {
    text.append(argument.c_str(), argument.size() + 1);
  }
  if (text.size() > kMostBytes) return false;
  iovec part = {text.data(), text.size()};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof streams);
  std::memcpy(CMSG_DATA(header), streams.data(), sizeof streams);
  ssize_t n;
  do {
    n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(text.size());
}

std::optional<CompileRequest> ReceiveCompileRequest(int socket) {
  std::string text(kMostBytes, '\0');
  iovec part = {text.data(), text.size()};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  const ssize_t n = Receive(socket, &message);
  CompileRequest request;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (n < 0 || header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS) {
    return std::nullopt;
  }
  std::array<int, kStreams> streams;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  std::memcpy(streams.data(), CMSG_DATA(header), count * sizeof(int));
  for (std::size_t i = 0; i < count; ++i) request.streams[i] = Fd(streams[i]);
  const std::string_view all(text.data(), static_cast<std::size_t>(n));
  if (count != kStreams || all.empty() || all.back() != '\0' ||
      (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return std::nullopt;
  }
  for (std::size_t at = 0; at < all.size();) {
    request.arguments.emplace_back(all.data() + at);
    at += request.arguments.back().size() + 1;
  }
  return request;
}

bool SendCompileAnswer(int socket, std::int32_t end) {
  return ::send(socket, &end, sizeof end, MSG_NOSIGNAL) == sizeof end;
}

std::optional<std::int32_t> ReceiveCompileAnswer(int socket) {
  std::int32_t end = 0;
  ssize_t n;
  do {
    n = ::recv(socket, &end, sizeof end, 0);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof end) return std::nullopt;
  return end;
}

}  // namespace cerberus
