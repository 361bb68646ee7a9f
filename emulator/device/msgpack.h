// The metadata of a code object is one MessagePack document (AMDGPUUsage,
// "Code Object V3 and Above Metadata"). This reads it into a tree with LLVM's
// reader, and with a limit on depth, since the bytes come from strangers.
#ifndef CERBERUS_EMULATOR_DEVICE_MSGPACK_H_
#define CERBERUS_EMULATOR_DEVICE_MSGPACK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::emulator {

struct MsgValue {
  enum class Kind : std::uint8_t {
    kNil,
    kBool,
    kInt,
    kFloat,
    kString,
    kArray,
    kMap
  };
  Kind kind = Kind::kNil;
  std::int64_t number = 0;  // kBool, kInt
  std::string text;
  std::vector<MsgValue> items;    // kArray; kMap: values
  std::vector<std::string> keys;  // kMap: as many as items

  // The value under a key of a map, or nil.
  const MsgValue& operator[](std::string_view key) const;
  std::uint32_t U32(std::uint32_t otherwise = 0) const;
};

Result<MsgValue> ReadMsgPack(ByteSpan bytes);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DEVICE_MSGPACK_H_
