#include "cli/convert/nvidia_libraries.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/paths.h"
#include "rewriter/elf/elf.h"

namespace cerberus::cli {
namespace {

struct Row {
  std::string_view name;  // up to ".so"
  std::string_view replacement;
  // Ours only refuses, so that programs start: nothing is answered.
  bool refuses = false;
};
// Counterparts by ROCm's own list of libraries. Not here: cudart, nvrtc and
// nvJitLink, which need no GPU code, curand and NPP, whose kernels are PTX too.
constexpr Row kRows[] = {
    {"libcublas", "hipBLAS or rocBLAS"},
    {"libcublasLt", "hipBLASLt"},
    {"libcudnn", "MIOpen"},
    {"libcudnn_adv", "MIOpen"},
    {"libcudnn_adv_infer", "MIOpen"},
    {"libcudnn_adv_train", "MIOpen"},
    {"libcudnn_cnn", "MIOpen"},
    {"libcudnn_cnn_infer", "MIOpen"},
    {"libcudnn_cnn_train", "MIOpen"},
    {"libcudnn_engines_precompiled", "MIOpen"},
    {"libcudnn_engines_runtime_compiled", "MIOpen"},
    {"libcudnn_engines_tensor_ir", "MIOpen"},
    {"libcudnn_ext", "MIOpen"},
    {"libcudnn_graph", "MIOpen"},
    {"libcudnn_heuristic", "MIOpen"},
    {"libcudnn_ops", "MIOpen"},
    {"libcudnn_ops_infer", "MIOpen"},
    {"libcudnn_ops_train", "MIOpen"},
    {"libcufile", "hipFile"},
    {"libcufft", "hipFFT or rocFFT"},
    {"libcufftw", "hipFFT"},
    {"libcusolver", "hipSOLVER or rocSOLVER"},
    {"libcusolverMg", ""},
    {"libcusparse", "hipSPARSE or rocSPARSE"},
    {"libcusparseLt", "hipSPARSELt"},
    {"libcutensor", "hipTensor"},
    {"libnccl", "RCCL"},
    {"libnvinfer", "MIGraphX"},
    {"libnvjpeg", "rocJPEG"},
    {"libnvcuvid", "rocDecode"},
    {"libcupti", "ROCprofiler-SDK", true},
};

// Of NVIDIA as well, and nothing that has to be converted: they hold no
// kernels, or the driver stub compiles the PTX that they hold.
constexpr std::string_view kOthers[] = {
    "libcuda",      "libcudart",    "libcurand",    "libnppc",  "libnppial",
    "libnppicc",    "libnppidei",   "libnppif",     "libnppig", "libnppim",
    "libnppist",    "libnppisu",    "libnppitc",    "libnpps",  "libnvrtc",
    "libnvJitLink", "libnvidia-ml", "libnvToolsExt"};

std::string_view StemOf(std::string_view needed) {
  const std::string_view file = needed.substr(needed.rfind('/') + 1);
  return file.substr(0, file.find(".so"));
}

std::vector<std::string> OtherVersions(const std::string& folder,
                                       const Row& row) {
  const std::string start = fmt::format("{}.so.", row.name);
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    std::string name = file.path().filename().string();
    if (name.starts_with(start)) files.push_back(std::move(name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool IsNvidiaLibrary(std::string_view needed) {
  const std::string_view stem = StemOf(needed);
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.name == stem; }) ||
         std::find(std::begin(kOthers), std::end(kOthers), stem) !=
             std::end(kOthers);
}

std::vector<NeededLibrary> FindNvidiaLibraries(const rewriter::Binary& binary) {
  std::vector<NeededLibrary> found;
  const Result<std::string> folder = FindStubFolder();
  for (const std::string_view needed : binary.elf().NeededLibraries()) {
    const std::string_view file = needed.substr(needed.rfind('/') + 1);
    for (const Row& row : kRows) {
      if (StemOf(file) == row.name) {
        std::string ours = folder ? *folder + "/" + std::string(file) : "";
        std::vector<std::string> versions;
        if (row.refuses || ::access(ours.c_str(), R_OK) != 0) {
          ours.clear();
          if (folder && !row.refuses) versions = OtherVersions(*folder, row);
        }
        found.push_back({std::string(file), row.replacement, std::move(ours),
                         std::move(versions)});
      }
    }
  }
  return found;
}

std::string Describe(const NeededLibrary& library) {
  return fmt::format(
      "needs {}, whose kernels are machine code for NVIDIA GPUs and cannot be "
      "converted; {}{}",
      library.name,
      library.replacement.empty()
          ? std::string("ROCm has no counterpart")
          : fmt::format("its counterpart in ROCm is {}", library.replacement),
      library.versions.empty()
          ? std::string()
          : fmt::format("; answered is {}", fmt::join(library.versions, ", ")));
}

}  // namespace cerberus::cli
