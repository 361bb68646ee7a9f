// A shared object with device code, laid out as nvcc lays it out: one
// wrapper, one fatbin, in it one PTX entry (docs/fatbin-format.md).
#include <cstdint>

namespace {

struct Fatbin {
  std::uint32_t magic = 0xBA55ED50;
  std::uint16_t version = 1;
  std::uint16_t header_size = 16;
  std::uint64_t size = sizeof(Fatbin) - 16;
  // the entry
  std::uint16_t kind = 1;  // PTX
  std::uint16_t entry_version = 0x0101;
  std::uint32_t entry_header_size = 64;
  std::uint64_t payload_size = sizeof text;
  std::uint32_t packed_size = 0;
  std::uint32_t zero = 0;
  std::uint16_t ptx_major = 9;
  std::uint16_t ptx_minor = 0;
  std::uint32_t sm = 75;
  std::uint32_t name_offset = 0;
  std::uint32_t name_size = 0;
  std::uint64_t flags = 0x11;
  std::uint64_t zero2 = 0;
  std::uint64_t unpacked_size = 0;
  char text[128] =
      ".version 9.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry from_ptx(.param .u64 p) { ret; }\n";
};
static_assert(sizeof(Fatbin) == 16 + 64 + 128);

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
  void* last;
};

[[gnu::section(".nv_fatbin"), gnu::used]] const Fatbin fatbin;
[[gnu::section(".nvFatBinSegment"), gnu::used]] Wrapper wrapper = {
    0x466243b1, 1, &fatbin, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* gpu_wrapper() {
  return &wrapper;
}
