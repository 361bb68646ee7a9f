// The emulator beside this library, and where that is.
#ifndef CERBERUS_RUNTIME_STUB_EMULATOR_H_
#define CERBERUS_RUNTIME_STUB_EMULATOR_H_

#include <string>

namespace cerberus::stub {

// The folder that holds this library, or "" if the loader does not say.
const std::string& OwnFolder();

// The target ids that CERBERUS_DEVICE asks the emulator for, or "".
std::string WantedEmulatorTargets();

// Opens the emulator as HIP (hip_loader.h): what CERBERUS_EMULATOR names, else
// the one installed with this library. Its devices follow CERBERUS_DEVICE.
bool LoadEmulator(std::string* why);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_EMULATOR_H_
