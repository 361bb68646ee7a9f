// The program is called by the name of the tool that it stands in for.
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "standins/tool.h"

int main(int argc, char** argv) {
  using namespace cerberus::standins;
  try {
    std::string_view name = argc > 0 ? argv[0] : "";
    name = name.substr(name.rfind('/') + 1);
    std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    // Triton has a "ptxas-blackwell" beside its "ptxas".
    if (name.starts_with("ptxas")) return RunPtxas(std::move(arguments));
    if (name.starts_with("nvlink")) return RunNvlink(std::move(arguments));
    fmt::print(stderr,
               "cerberus: error: this program stands in for ptxas and nvlink; "
               "it was started as '{}'\n",
               name);
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cerberus: error: {}\n", error.what());
    return 1;
  }
}
