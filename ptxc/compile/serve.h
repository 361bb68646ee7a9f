// A compiler that stays for the next compilation of the program that started
// it. A start takes longer than a small kernel does.
#ifndef CERBERUS_PTXC_COMPILE_SERVE_H_
#define CERBERUS_PTXC_COMPILE_SERVE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cerberus {

// Takes the arguments of a compilation, without the program's name; returns an
// exit code. Standard streams and descriptor 3 are those of the request.
using CompileOnce = std::function<int(const std::vector<std::string>&)>;

// What this process may use from here on, and of memory each of its children;
// 0: as before.
void LimitProcess(std::uint64_t processor_seconds, std::uint64_t memory_bytes);

// Answers requests (support/compile_request.h) from a child, which is no child
// of the program: that would be told of its end, and would have to wait for
// it. The child ends when the socket's other end closes, also while it
// compiles; when a compilation ends it; and after some seconds without a
// request. It closes all other descriptors, so this is to be called before
// anything else has happened. Returns an exit code.
int Serve(int socket, const CompileOnce& compile);

}  // namespace cerberus

#endif  // CERBERUS_PTXC_COMPILE_SERVE_H_
