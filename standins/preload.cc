// libcerberus-run.so, which `cerberus run` preloads into the program and all
// that it starts. It answers where packages would go past the driver stub:
//
// - A program that starts a ptxas or nvlink of its own, by whatever path, gets
//   ours (ptxas.cc). Packages carry theirs in their wheels, and nvcc looks
//   beside itself first, so that PATH is not enough.
// - nvrtcGetCUBIN gives the PTX that NVRTC made on the way, in a cubin
//   (images/ptx_cubin.h). NVRTC has it for a real architecture too.
// - NVIDIA's libraries that ours answer for are ours by whatever path they are
//   opened. Packages look for them beside themselves.
// - /dev/nvidia0 and /dev/nvidiactl are there for who asks whether they are:
//   JAX does, before it loads a driver. Nothing can be opened by these names.
//
// It must not disturb what it is loaded into: no libstdc++ of ours is visible,
// and what runs between fork and exec allocates nothing.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "images/ptx_cubin.h"

namespace {

#define CERB_PUBLIC __attribute__((visibility("default")))

// --- the functions that ours stand in front of ---

using Dlsym = void*(void*, const char*);
using Dlopen = void*(const char*, int);
extern "C" {
// The jumps in dlsym and dlopen below read them.
__attribute__((visibility("hidden"))) Dlsym* cerberus_next_dlsym = nullptr;
__attribute__((visibility("hidden"))) Dlopen* cerberus_next_dlopen = nullptr;
}

Dlsym* NextDlsym() {
  if (cerberus_next_dlsym == nullptr) {
    // The version that every glibc for x86-64 has.
    cerberus_next_dlsym =
        reinterpret_cast<Dlsym*>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  }
  return cerberus_next_dlsym;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(NextDlsym()(RTLD_NEXT, name));
}

// --- programs ---

using Execve = int(const char*, char* const[], char* const[]);
using Execvpe = int(const char*, char* const[], char* const[]);
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*,
                  const posix_spawnattr_t*, char* const[], char* const[]);
using Access = int(const char*, int);

// The folder that this library is in; "" if it is not known.
std::string_view OwnFolder() {
  Dl_info self;
  if (::dladdr(reinterpret_cast<void*>(&NextDlsym), &self) == 0) return {};
  const std::string_view path = self.dli_fname;
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == path.npos ? 0 : slash);
}

// All that is needed between fork and exec, looked up before.
struct Programs {
  Programs() {
    execve = Next<Execve>("execve");
    execvpe = Next<Execvpe>("execvpe");
    spawn = Next<Spawn>("posix_spawn");
    spawnp = Next<Spawn>("posix_spawnp");
    access = Next<Access>("access");
    const std::string_view folder = OwnFolder();
    if (folder.empty()) return;
    const auto set = [&](char* out, std::string_view name) {
      constexpr std::string_view kBin = "/bin/";
      if (folder.size() + kBin.size() + name.size() >= kMaxPath) return;
      char* end = out + folder.copy(out, kMaxPath);
      end += kBin.copy(end, kBin.size());
      end += name.copy(end, name.size());
      *end = '\0';
    };
    set(ptxas, "ptxas");
    set(nvlink, "nvlink");
  }

  static constexpr std::size_t kMaxPath = 4096;
  char ptxas[kMaxPath] = "";
  char nvlink[kMaxPath] = "";
  Execve* execve = nullptr;
  Execvpe* execvpe = nullptr;
  Spawn* spawn = nullptr;
  Spawn* spawnp = nullptr;
  Access* access = nullptr;
};

const Programs& ThePrograms() {
  static const Programs& programs = *new Programs;
  return programs;
}
__attribute__((constructor)) void LookUpPrograms() { ThePrograms(); }

// The program to start instead of `path`: itself, or a stand-in. A path that
// leads nowhere stays, so that the caller learns it.
const char* ProgramFor(const char* path, char* const argv[]) {
  if (path == nullptr) return path;
  const char* slash = std::strrchr(path, '/');
  const std::string_view name = slash != nullptr ? slash + 1 : path;
  const Programs& programs = ThePrograms();
  const char* ours = nullptr;
  if (name == "ptxas" || name == "ptxas-blackwell") {
    ours = programs.ptxas;
  } else if (name == "nvlink") {
    ours = programs.nvlink;
    // nvcc's link of a host program writes a table for the host's linker. The
    // driver stub links such a program's PTX by itself.
    for (char* const* arg = argv; arg != nullptr && *arg != nullptr; ++arg) {
      if (std::strncmp(*arg, "--register-link-binaries", 24) == 0) return path;
    }
  }
  if (ours == nullptr || programs.access(ours, X_OK) != 0) return path;
  if (slash != nullptr && programs.access(path, X_OK) != 0) return path;
  return ours;
}

// --- libraries ---

// Ours that are there. Each stays loaded under its name, so that it is found
// before any of NVIDIA's by what is loaded later, whatever DT_RPATH that has.
// It does so in no scope but its own: in front of everybody (preloaded), it
// would take the place of a program's own functions of the same names, as
// TensorFlow has them, which open one version of NVIDIA's library and not the
// first of ours.
std::vector<std::string>& OurLibraries() {
  static auto& libraries = *new std::vector<std::string>;
  return libraries;
}

Dlopen* NextDlopen() {
  if (cerberus_next_dlopen == nullptr) {
    cerberus_next_dlopen =
        reinterpret_cast<Dlopen*>(::dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.2.5"));
  }
  return cerberus_next_dlopen;
}

__attribute__((constructor)) void LoadLibraries() {
  constexpr const char* kNames[] = {
// Those of libraries/, of its CMakeLists.txt.
#include "standins/nvidia_library_files.inc"
      "libnvJitLink.so.12", "libnvJitLink.so.13"};
  const std::string folder(OwnFolder());
  if (folder.empty()) return;
  for (const char* name : kNames) {
    std::string path = folder + "/" + name;
    if (NextDlopen()(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) {
      OurLibraries().emplace_back(std::move(path));
    }
  }
}

// The file to open instead of `path`: itself, or ours of its name.
const char* FileFor(const char* path) {
  const char* slash = path != nullptr ? std::strrchr(path, '/') : nullptr;
  if (slash == nullptr) return path;  // a name finds ours by itself
  for (const std::string& ours : OurLibraries()) {
    if (std::strcmp(std::strrchr(ours.c_str(), '/'), slash) == 0) {
      return ours.c_str();
    }
  }
  return path;
}

// --- NVRTC ---

// The part of nvrtc.h that matters; a program is a handle.
using GetSize = int(void* program, std::size_t* size);
using GetText = int(void* program, char* out);
constexpr int kNvrtcSuccess = 0, kNvrtcOutOfMemory = 1, kNvrtcInvalidInput = 3;

struct Nvrtc {
  GetSize* ptx_size = nullptr;
  GetText* ptx = nullptr;
  GetSize* cubin_size = nullptr;
  GetText* cubin = nullptr;

  bool Find(void* library) {
    Dlsym* find = NextDlsym();
    const auto set = [&]<typename F>(F*& out, const char* name) {
      out = reinterpret_cast<F*>(find(library, name));
      return out != nullptr;
    };
    return set(ptx_size, "nvrtcGetPTXSize") && set(ptx, "nvrtcGetPTX") &&
           set(cubin_size, "nvrtcGetCUBINSize") && set(cubin, "nvrtcGetCUBIN");
  }
};

// What nvrtcGetCUBIN shall give. Empty, with success: what NVRTC itself says,
// where it made no machine code, or has no PTX (LTO).
int MakeCubin(const Nvrtc& nvrtc, void* program, cerberus::Bytes* out) {
  std::size_t size = 0;
  if (int error = nvrtc.cubin_size(program, &size); error != kNvrtcSuccess) {
    return error;
  }
  std::size_t ptx_size = 0;
  if (size == 0 || nvrtc.ptx_size(program, &ptx_size) != kNvrtcSuccess ||
      ptx_size <= 1) {
    return kNvrtcSuccess;
  }
  try {
    std::string ptx(ptx_size, '\0');
    if (int error = nvrtc.ptx(program, ptx.data()); error != kNvrtcSuccess) {
      return error;
    }
    *out =
        cerberus::images::MakePtxCubin(ptx, cerberus::images::TraitsOfPtx(ptx));
  } catch (const std::bad_alloc&) {
    return kNvrtcOutOfMemory;
  }
  return kNvrtcSuccess;
}

int CubinSize(const Nvrtc& nvrtc, void* program, std::size_t* size) {
  if (size == nullptr) return kNvrtcInvalidInput;
  cerberus::Bytes cubin;
  if (int error = MakeCubin(nvrtc, program, &cubin); error != kNvrtcSuccess) {
    return error;
  }
  if (cubin.empty()) return nvrtc.cubin_size(program, size);
  *size = cubin.size();
  return kNvrtcSuccess;
}

int Cubin(const Nvrtc& nvrtc, void* program, char* out) {
  if (out == nullptr) return kNvrtcInvalidInput;
  cerberus::Bytes cubin;
  if (int error = MakeCubin(nvrtc, program, &cubin); error != kNvrtcSuccess) {
    return error;
  }
  if (cubin.empty()) return nvrtc.cubin(program, out);
  std::memcpy(out, cubin.data(), cubin.size());
  return kNvrtcSuccess;
}

// A process may have several NVRTCs, and a program belongs to the one that
// made it: each library's functions get ones of their own.
constexpr std::size_t kMostNvrtcs = 8;
Nvrtc g_nvrtcs[kMostNvrtcs];

template <std::size_t kIndex>
int CubinSizeOf(void* program, std::size_t* size) {
  return CubinSize(g_nvrtcs[kIndex], program, size);
}
template <std::size_t kIndex>
int CubinOf(void* program, char* out) {
  return Cubin(g_nvrtcs[kIndex], program, out);
}

struct Replacement {
  GetSize* size;
  GetText* cubin;
};
template <std::size_t... kIndex>
const Replacement* Replacements(std::index_sequence<kIndex...>) {
  static constexpr Replacement kAll[] = {
      {CubinSizeOf<kIndex>, CubinOf<kIndex>}...};
  return kAll;
}

// Null: too many, or not NVRTC.
const Replacement* ReplacementFor(void* library) {
  Nvrtc found;
  if (!found.Find(library)) return nullptr;
  static std::mutex& mutex = *new std::mutex;
  const std::scoped_lock lock(mutex);
  for (std::size_t i = 0; i < kMostNvrtcs; ++i) {
    if (g_nvrtcs[i].cubin == nullptr) g_nvrtcs[i] = found;
    if (g_nvrtcs[i].cubin == found.cubin) {
      return Replacements(std::make_index_sequence<kMostNvrtcs>()) + i;
    }
  }
  return nullptr;
}

// For who is linked with NVRTC and has ours in front of it: the NVRTC among
// the libraries that the caller's file needs.
const Nvrtc* NvrtcOf(const void* caller) {
  static std::mutex& mutex = *new std::mutex;
  static Nvrtc& nvrtc = *new Nvrtc;
  const std::scoped_lock lock(mutex);
  if (nvrtc.cubin != nullptr) return &nvrtc;
  Nvrtc found;
  if (!found.Find(RTLD_NEXT)) {
    Dl_info info;
    if (::dladdr(caller, &info) == 0) return nullptr;
    void* file = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (file == nullptr || !found.Find(file)) return nullptr;
  }
  nvrtc = found;
  return &nvrtc;
}

// --- files ---

const char* PathFor(const char* path) {
  constexpr const char* kPretended[] = {"/dev/nvidia0", "/dev/nvidiactl"};
  if (path == nullptr || std::strncmp(path, "/dev/nvidia", 11) != 0) {
    return path;
  }
  for (const char* name : kPretended) {
    if (std::strcmp(path, name) == 0 && ThePrograms().access(path, F_OK) != 0) {
      return "/dev/null";
    }
  }
  return path;
}

}  // namespace

extern "C" {

// --- exec ---

CERB_PUBLIC int execve(const char* path, char* const argv[],
                       char* const envp[]) noexcept {
  return ThePrograms().execve(ProgramFor(path, argv), argv, envp);
}
CERB_PUBLIC int execv(const char* path, char* const argv[]) noexcept {
  return ThePrograms().execve(ProgramFor(path, argv), argv, environ);
}
CERB_PUBLIC int execvp(const char* file, char* const argv[]) noexcept {
  return ThePrograms().execvpe(ProgramFor(file, argv), argv, environ);
}
CERB_PUBLIC int execvpe(const char* file, char* const argv[],
                        char* const envp[]) noexcept {
  return ThePrograms().execvpe(ProgramFor(file, argv), argv, envp);
}

// The arguments of execl and its kin, as an array on the stack.
#define CERB_COLLECT(first, list, argv)                                   \
  std::va_list list;                                                      \
  va_start(list, first);                                                  \
  std::size_t count = first != nullptr ? 1 : 0;                           \
  while (count != 0 && va_arg(list, char*) != nullptr) ++count;           \
  va_end(list);                                                           \
  char** argv =                                                           \
      static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                  \
  argv[0] = const_cast<char*>(first);                                     \
  for (std::size_t i = 1; i <= count; ++i) argv[i] = va_arg(list, char*)

CERB_PUBLIC int execl(const char* path, const char* arg, ...) noexcept {
  CERB_COLLECT(arg, list, argv);
  va_end(list);
  return execv(path, argv);
}
CERB_PUBLIC int execlp(const char* file, const char* arg, ...) noexcept {
  CERB_COLLECT(arg, list, argv);
  va_end(list);
  return execvp(file, argv);
}
CERB_PUBLIC int execle(const char* path, const char* arg, ...) noexcept {
  CERB_COLLECT(arg, list, argv);
  char* const* envp = va_arg(list, char* const*);
  va_end(list);
  return execve(path, argv, envp);
}

CERB_PUBLIC int posix_spawn(pid_t* pid, const char* path,
                            const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes,
                            char* const argv[], char* const envp[]) {
  return ThePrograms().spawn(pid, ProgramFor(path, argv), actions, attributes,
                             argv, envp);
}
CERB_PUBLIC int posix_spawnp(pid_t* pid, const char* file,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes,
                             char* const argv[], char* const envp[]) {
  return ThePrograms().spawnp(pid, ProgramFor(file, argv), actions, attributes,
                              argv, envp);
}

// --- NVRTC ---

CERB_PUBLIC int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  const Nvrtc* nvrtc = NvrtcOf(__builtin_return_address(0));
  return nvrtc != nullptr ? CubinSize(*nvrtc, program, size)
                          : kNvrtcInvalidInput;
}
CERB_PUBLIC int nvrtcGetCUBIN(void* program, char* out) {
  const Nvrtc* nvrtc = NvrtcOf(__builtin_return_address(0));
  return nvrtc != nullptr ? Cubin(*nvrtc, program, out) : kNvrtcInvalidInput;
}

// What dlsym shall give instead of the library's own function; null: that.
__attribute__((visibility("hidden"), used)) void* cerberus_replacement(
    void* library, const char* name) {
  NextDlsym();  // set before the jump
  if (name == nullptr || library == RTLD_DEFAULT || library == RTLD_NEXT ||
      std::strncmp(name, "nvrtcGetCUBIN", 13) != 0) {
    return nullptr;
  }
  const bool is_size = std::strcmp(name, "nvrtcGetCUBINSize") == 0;
  if (!is_size && std::strcmp(name, "nvrtcGetCUBIN") != 0) return nullptr;
  const Replacement* replacement = ReplacementFor(library);
  if (replacement == nullptr) return nullptr;
  return is_size ? reinterpret_cast<void*>(replacement->size)
                 : reinterpret_cast<void*>(replacement->cubin);
}

// What dlopen shall open instead.
__attribute__((visibility("hidden"), used)) const char* cerberus_file_to_open(
    const char* path) {
  NextDlopen();  // set before the jump
  return FileFor(path);
}

// Jumps, since dlsym looks at who called it (RTLD_NEXT), and dlopen, too
// (DT_RUNPATH).
#if !defined(__x86_64__)
#error "write the jump for this processor"
#endif
asm(".pushsection .text,\"ax\",@progbits\n"
    ".globl dlsym\n"
    ".type dlsym,@function\n"
    ".p2align 4\n"
    "dlsym:\n"
    "push %rdi\n"
    "push %rsi\n"
    "sub $8, %rsp\n"
    "call cerberus_replacement\n"
    "add $8, %rsp\n"
    "pop %rsi\n"
    "pop %rdi\n"
    "test %rax, %rax\n"
    "jnz 1f\n"
    "jmp *cerberus_next_dlsym(%rip)\n"
    "1: ret\n"
    ".size dlsym,.-dlsym\n"
    ".globl dlopen\n"
    ".type dlopen,@function\n"
    ".p2align 4\n"
    "dlopen:\n"
    "push %rsi\n"
    "call cerberus_file_to_open\n"
    "pop %rsi\n"
    "mov %rax, %rdi\n"
    "jmp *cerberus_next_dlopen(%rip)\n"
    ".size dlopen,.-dlopen\n"
    ".popsection\n");

// --- files ---

// glibc before 2.33 has the names with underscores only, later ones both.
#define CERB_PATH_CALL(name, parameters, arguments)        \
  CERB_PUBLIC int name parameters noexcept {               \
    static auto* const next = Next<int parameters>(#name); \
    return next arguments;                                 \
  }
CERB_PATH_CALL(stat, (const char* path, struct stat* out), (PathFor(path), out))
CERB_PATH_CALL(stat64, (const char* path, struct stat64* out),
               (PathFor(path), out))
CERB_PATH_CALL(lstat, (const char* path, struct stat* out),
               (PathFor(path), out))
CERB_PATH_CALL(lstat64, (const char* path, struct stat64* out),
               (PathFor(path), out))
CERB_PATH_CALL(fstatat,
               (int folder, const char* path, struct stat* out, int flags),
               (folder, PathFor(path), out, flags))
CERB_PATH_CALL(fstatat64,
               (int folder, const char* path, struct stat64* out, int flags),
               (folder, PathFor(path), out, flags))
CERB_PATH_CALL(statx,
               (int folder, const char* path, int flags, unsigned mask,
                struct statx* out),
               (folder, PathFor(path), flags, mask, out))
CERB_PATH_CALL(__xstat, (int version, const char* path, struct stat* out),
               (version, PathFor(path), out))
CERB_PATH_CALL(__xstat64, (int version, const char* path, struct stat64* out),
               (version, PathFor(path), out))
CERB_PATH_CALL(__lxstat, (int version, const char* path, struct stat* out),
               (version, PathFor(path), out))
CERB_PATH_CALL(__lxstat64, (int version, const char* path, struct stat64* out),
               (version, PathFor(path), out))
CERB_PATH_CALL(access, (const char* path, int mode), (PathFor(path), mode))
CERB_PATH_CALL(faccessat, (int folder, const char* path, int mode, int flags),
               (folder, PathFor(path), mode, flags))

}  // extern "C"
