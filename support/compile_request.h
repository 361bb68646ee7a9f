// What the driver stub and a cerberus-jit that stays (--serve) say to each
// other over a pair of sockets that keep messages apart (SOCK_SEQPACKET): a
// request, which is the arguments of a compilation and its standard streams,
// and how it ended. One at a time; the streams are closed before the answer.
#ifndef CERBERUS_SUPPORT_COMPILE_REQUEST_H_
#define CERBERUS_SUPPORT_COMPILE_REQUEST_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/fd.h"

namespace cerberus {

struct CompileRequest {
  // stdin, stdout, stderr, and where it says how far it is: the descriptors
  // that they become.
  static constexpr std::size_t kStreams = 4;
  static constexpr int kProgress = 3;

  std::vector<std::string> arguments;  // without the program's name
  std::array<Fd, kStreams> streams;
};

// Whether it is sent. `streams` stay the caller's.
bool SendCompileRequest(
    int socket, const std::vector<std::string>& arguments,
    const std::array<int, CompileRequest::kStreams>& streams);
// Waits for one; nothing if the other end is closed, or if what came is none.
std::optional<CompileRequest> ReceiveCompileRequest(int socket);

// An exit code, or this and the number of a signal.
inline constexpr std::int32_t kEndedBySignal = 256;

// Safe in a signal handler.
bool SendCompileAnswer(int socket, std::int32_t end);
// Waits for one; nothing if the other end was closed without.
std::optional<std::int32_t> ReceiveCompileAnswer(int socket);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_COMPILE_REQUEST_H_
