#include "emulator/device/board.h"

namespace cerberus::emulator {
namespace {

struct Row {
  const char* prefix;  // of the processor's name, longest first
  BoardInfo board;
};
// The numbers are those that rocminfo prints on such a board.
constexpr Row kBoards[] = {
    {"gfx950",
     {"AMD Instinct MI355X", 2400000, 2000000, 8192, 4 << 20, 0x75a3, 32,
      262144, 32, 1}},
    {"gfx942",
     {"AMD Instinct MI300X", 2100000, 1300000, 8192, 4 << 20, 0x74a1, 32,
      262144, 32, 1}},
    {"gfx90a",
     {"AMD Instinct MI210", 1700000, 1600000, 4096, 8 << 20, 0x740f, 16, 0, 8,
      1}},
    {"gfx908",
     {"AMD Instinct MI100", 1502000, 1200000, 4096, 8 << 20, 0x738c, 16, 0, 8,
      1}},
    {"gfx12",
     {"AMD Radeon RX 9070 XT", 2970000, 1258000, 256, 8 << 20, 0x7550, 32,
      65536, 4, 2}},
    {"gfx11",
     {"AMD Radeon RX 7900 XTX", 2371000, 1249000, 384, 6 << 20, 0x744c, 32,
      98304, 6, 2}},
    {"gfx10",
     {"AMD Radeon RX 6900 XT", 2660000, 1000000, 256, 4 << 20, 0x73bf, 16,
      131072, 4, 2}},
};

}  // namespace

BoardInfo BoardOf(std::string_view processor) {
  for (const Row& row : kBoards) {
    if (processor.starts_with(row.prefix)) return row.board;
  }
  return {};
}

}  // namespace cerberus::emulator
