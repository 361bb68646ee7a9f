// Attributes of the program's own memory, by which GPUs reach it.
#ifndef CERBERUS_EMULATOR_HSA_SVM_H_
#define CERBERUS_EMULATOR_HSA_SVM_H_

#include <cstdint>

#include "emulator/hsa/runtime.h"

namespace cerberus::emulator::hsa {

// Where that memory was last asked to be brought; nothing moves.
Status NotePrefetch(const void* address, std::uint64_t size,
                    const AgentState* agent);

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_SVM_H_
