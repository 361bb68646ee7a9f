// A cerberus-jit that compiles nothing: it writes a code object with the
// kernels that the PTX names, and does what comments in the PTX ask for:
// "// test: error", "crash", "hang", "slow" (3 s, with progress), "silent" (no
// output), "garbage", "partial" (refuses unless told to keep going). Each
// compilation adds a line to the file FAKE_JIT_LOG, with the process that did
// it.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "code_object_builder.h"
#include "ptxc/compile/serve.h"

namespace {

int Compile(const std::vector<std::string>& arguments) {
  bool keep_going = false;
  std::string line = std::to_string(getpid());
  for (const std::string& argument : arguments) {
    line += ' ' + argument;
    keep_going = keep_going || argument == "--keep-going";
    unsigned seconds = 0;
    if (std::sscanf(argument.c_str(), "--processor-seconds=%u", &seconds) ==
        1) {
      cerberus::LimitProcess(seconds, 0);
    }
  }
  if (const char* path = std::getenv("FAKE_JIT_LOG")) {
    if (std::FILE* log = std::fopen(path, "a")) {
      std::fprintf(log, "%s%s\n", line.c_str(),
                   std::getenv("LD_PRELOAD") != nullptr ? " preload" : "");
      std::fclose(log);
    }
  }
  std::string ptx;
  char buffer[4096];
  ssize_t got;
  while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
    ptx.append(buffer, static_cast<std::size_t>(got));
  }
  const auto asked = [&ptx](const char* what) {
    return ptx.find(std::string("// test: ") + what) != std::string::npos;
  };
  if (asked("error")) {
    std::fprintf(stderr, "cerberus-jit: error: ptx:3: no such instruction\n");
    return 1;
  }
  if (asked("crash")) std::raise(SIGKILL);
  if (asked("hang")) {
    for (volatile unsigned rounds = 0;; rounds = rounds + 1) {
    }
  }
  if (asked("slow")) {
    if (pwrite(3, "3 10 300 1000\n", 14, 0) != 14) return 1;
    sleep(3);
  }
  if (asked("silent")) return 0;
  if (asked("garbage")) return std::puts("not a code object") < 0;
  cerberus::stub::TestCodeObject object;
  for (std::size_t at = 0;
       (at = ptx.find(".entry ", at)) != std::string::npos;) {
    at += std::strlen(".entry ");
    object.kernels.push_back(
        cerberus::stub::SimpleKernel(ptx.substr(at, ptx.find('(', at) - at)));
  }
  if (asked("partial")) {
    if (!keep_going) {
      std::fprintf(stderr, "cerberus-jit: error: ptx:9: 'bad' is odd\n");
      return 1;
    }
    object.failed = {{"bad", "'bad' is odd"}};
  }
  const cerberus::Bytes code = object.Build();
  std::fwrite(code.data(), 1, code.size(), stdout);
  std::fflush(stdout);
  return object.failed.empty() ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--serve") != 0) return 2;
  return cerberus::Serve(std::atoi(argv[2]), Compile);
}
