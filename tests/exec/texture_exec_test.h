// What tests of tex, tld4 and txq share: an image, and a kernel that samples
// it.
#ifndef CERBERUS_TESTS_EXEC_TEXTURE_EXEC_TEST_H_
#define CERBERUS_TESTS_EXEC_TEXTURE_EXEC_TEST_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/exec/ptx_runner.h"
#include "tests/exec/texture_descriptor.h"

namespace cerberus::exec {

constexpr std::uint32_t kThreads = 64;

using Result4 = std::array<std::uint32_t, 4>;
using Coordinates = std::array<float, 4>;

inline float AsFloat(std::uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// Runs `tex` (registers %f0…%f3 and %r0…%r3 hold each thread's coordinates)
// whose result lies in %d0…%d3.
inline std::vector<Result4> Sample(
    const std::string& tex, Descriptor texture,
    const std::vector<std::uint8_t>& texels,
    const std::vector<Coordinates>& coordinates) {
  std::vector<Result4> out(coordinates.size());
  std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 tex, .param .u64 in, .param .u64 out)\n"
      "{\n  .reg .b64 %t, %in, %out;\n  .reg .b32 %thread, %d<4>, %r<4>;\n"
      "  .reg .f32 %f<4>;\n  .reg .pred %p;\n"
      "  ld.param.u64 %t, [tex];\n  ld.param.u64 %in, [in];\n"
      "  ld.param.u64 %out, [out];\n  mov.u32 %thread, %tid.x;\n"
      "  mad.wide.u32 %in, %thread, 16, %in;\n"
      "  mad.wide.u32 %out, %thread, 16, %out;\n"
      "  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%in];\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    text += "  cvt.rzi.s32.f32 %r" + n + ", %f" + n + ";\n  mov.b32 %d" + n +
            ", 0;\n";
  }
  text += "  " + tex +
          "\n  st.global.v4.b32 [%out], {%d0, %d1, %d2, %d3};\n  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  if (!module) {
    ADD_FAILURE() << module.error().ToString();
    return out;
  }
  emulator::Device& device = (*module)->device();
  Buffer memory(device, texels.size());
  Buffer descriptor(device, sizeof texture);
  Buffer in(device, sizeof(Coordinates) * coordinates.size());
  Buffer result(device, sizeof(Result4) * coordinates.size());
  std::copy(texels.begin(), texels.end(), memory.as<std::uint8_t>());
  texture.base = memory.address();
  // Level records hold offsets until the texels have an address.
  if (texture.levels > 1) {
    texture.level_records = memory.address() + texture.level_records;
    for (std::uint32_t i = 0; i < texture.levels; ++i) {
      std::uint64_t* base =
          reinterpret_cast<std::uint64_t*>(texture.level_records + 40 * i);
      *base += memory.address();
    }
  }
  *descriptor.as<Descriptor>() = texture;
  std::copy(coordinates.begin(), coordinates.end(), in.as<Coordinates>());
  Launch launch;
  launch.block = {static_cast<std::uint32_t>(coordinates.size()), 1, 1};
  launch.params = {descriptor.address(), in.address(), result.address()};
  const Status done = (*module)->Run("k", launch);
  EXPECT_TRUE(done) << (done ? "" : done.error().ToString());
  std::copy_n(result.as<Result4>(), out.size(), out.begin());
  return out;
}

inline std::uint32_t BitsOfFloat(float v) {
  std::uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}

template <typename T>
inline std::vector<std::uint8_t> BytesOf(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A float image whose texels all differ: value = 100 z + 10 y + x + 1.
inline std::vector<float> Image(int width, int height, int depth) {
  std::vector<float> image;
  for (int z = 0; z < depth; ++z) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        image.push_back(static_cast<float>(100 * z + 10 * y + x + 1));
      }
    }
  }
  return image;
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_TEXTURE_EXEC_TEST_H_
