// Has NVRTC compile for a real architecture and writes what nvrtcGetCUBIN
// gives to a file. The functions come from the program's own link, or, with a
// third argument, from that library by dlopen.
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdio>
#include <vector>

static int Fail(const char* what, int error) {
  std::fprintf(stderr, "%s: NVRTC error %d\n", what, error);
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto* create = nvrtcCreateProgram;
  auto* compile = nvrtcCompileProgram;
  auto* cubin_size = nvrtcGetCUBINSize;
  auto* cubin = nvrtcGetCUBIN;
  if (argc > 3) {
    void* library = dlopen(argv[3], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Fail(dlerror(), 0);
    const auto find = [&](auto*& out, const char* name) {
      out = reinterpret_cast<decltype(+out)>(dlsym(library, name));
    };
    find(create, "nvrtcCreateProgram");
    find(compile, "nvrtcCompileProgram");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
  }
  nvrtcProgram program;
  const char* source =
      "extern \"C\" __global__ void scale(float* p, float by) {"
      "  p[threadIdx.x] *= by; }";
  int error = create(&program, source, "scale.cu", 0, nullptr, nullptr);
  if (error != 0) return Fail("nvrtcCreateProgram", error);
  error = compile(program, 1, &argv[2]);
  if (error != 0) return Fail("nvrtcCompileProgram", error);
  size_t size = 0;
  error = cubin_size(program, &size);
  if (error != 0) return Fail("nvrtcGetCUBINSize", error);
  std::printf("%s\n", size == 0 ? "none" : "a cubin");
  std::vector<char> bytes(size);
  if (size != 0 && (error = cubin(program, bytes.data())) != 0) {
    return Fail("nvrtcGetCUBIN", error);
  }
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 1;
  std::fwrite(bytes.data(), 1, size, file);
  return std::fclose(file);
}
