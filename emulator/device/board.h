// What a board of a target looks like to programs that ask.
#ifndef CERBERUS_EMULATOR_DEVICE_BOARD_H_
#define CERBERUS_EMULATOR_DEVICE_BOARD_H_

#include <string_view>

#include "emulator/emulator.h"

namespace cerberus::emulator {

BoardInfo BoardOf(std::string_view processor);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DEVICE_BOARD_H_
