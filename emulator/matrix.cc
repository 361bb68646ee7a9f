// Matrix instructions: WMMA (RDNA3, RDNA4), MFMA and SMFMAC (CDNA).
#include "emulator/semantics.h"

namespace cerberus::emulator {

std::span<const Row> MatrixRows() { return {}; }

}  // namespace cerberus::emulator
