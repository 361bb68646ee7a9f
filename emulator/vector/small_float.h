// Floats of 4 to 8 bits as values.
#ifndef CERBERUS_EMULATOR_VECTOR_SMALL_FLOAT_H_
#define CERBERUS_EMULATOR_VECTOR_SMALL_FLOAT_H_

#include "emulator/access/memop.h"
#include "emulator/decode/op.h"
#include "emulator/execute/host_env.h"

namespace cerberus::emulator {

enum class Small : u8 { kF32, kF16, kBf16, kFp8, kBf8, kFp6, kBf6, kFp4 };

int SmallBits(Small kind);
double DecodeSmall(u64 v, Small kind, bool fnuz);
u64 EncodeSmall(double v, Small kind, bool fnuz, bool saturate);
u64 EncodeSmallStochastic(double v, Small kind, bool fnuz, bool saturate,
                          u32 random);

using NearestScope = NearestEnv;

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_SMALL_FLOAT_H_
