// Queues of packets and what carries them out.
#ifndef CERBERUS_EMULATOR_HSA_QUEUE_H_
#define CERBERUS_EMULATOR_HSA_QUEUE_H_

#include "emulator/hsa/abi.h"

namespace cerberus::emulator::hsa {

// A store to the doorbell of a queue.
void RingDoorbell(SignalBlock* doorbell, SignalValue value);

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_QUEUE_H_
