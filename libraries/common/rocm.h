// ROCm's libraries, which compute on an AMD GPU in place of the host: opened at
// run time where they are installed, belong to the HIP in use and have code for
// the GPU.
//
// CERBERUS_LIBRARY_PROVIDER=host leaves them alone; =rocm insists on them, also
// on the emulator.
#ifndef CERBERUS_LIBRARIES_COMMON_ROCM_H_
#define CERBERUS_LIBRARIES_COMMON_ROCM_H_

#include <string>
#include <vector>

#include "libraries/common/driver.h"

namespace cerberus::libraries {

class RocmLibrary;

// What to look for in place of one of NVIDIA's libraries.
struct RocmKind {
  struct Soname {
    int hip_major;  // of the HIP that it is built on; 0: any
    const char* name;
  };
  const char* nvidia;  // "cuBLAS"
  const char* rocm;    // "rocBLAS"
  std::vector<Soname> sonames;
  // Why an opened one is of no use for a target ("gfx90a"), or "".
  std::string (*lacks)(const std::string& path, const std::string& target);
  // "4.1.0"; null: it does not tell.
  std::string (*version)(const RocmLibrary&) = nullptr;
};

class RocmLibrary {
 public:
  RocmLibrary(void* library, std::string path)
      : library_(library), path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Null: this version has it not.
  void* Find(const char* symbol) const;
  // The same as a function of its type. False: it has it not.
  template <typename F>
  bool Find(const char* symbol, F** function) const {
    *function = reinterpret_cast<F*>(Find(symbol));
    return *function != nullptr;
  }

 private:
  void* library_;
  std::string path_;
};

// The library that computes for the current context's device, told under
// CERBERUS_LOG=info; null if the host does, of which a line on stderr says why
// if the GPU is AMD's. False: the environment insists on one, and there is
// none.
bool ChooseRocm(const Driver& driver, const RocmKind& kind,
                const RocmLibrary** library);

// Who computes, and why if it is not ROCm's: "rocBLAS 4.1.0, /usr/lib/…", "the
// host: no librocblas.so.4 was found". For `cerberus doctor`, which asks each
// of our libraries, by a function that it exports for that.
std::string DescribeProvider(const RocmKind& kind);

// For a library that the host alone computes: says so once, if the GPU is
// AMD's.
void SayComputesOnHost(const Driver& driver, const char* nvidia);

// `version` of libraries with a function int(char*, size).
std::string VersionByText(const RocmLibrary& library, const char* symbol);

// `lacks` for a library that is nothing but code in it.
std::string LacksTarget(const std::string& path, const std::string& target);

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_ROCM_H_
