// The emulator beside this library, and where that is.
#ifndef CERBERUS_HIP_FIND_EMULATOR_H_
#define CERBERUS_HIP_FIND_EMULATOR_H_

#include <optional>
#include <string>

namespace cerberus {

// The folder that holds this library, or "" if the loader does not say.
const std::string& OwnFolder();

// The target ids that CERBERUS_DEVICE asks the emulator for, or "".
std::string WantedEmulatorTargets();

// Whether a variable says which targets are emulated.
bool EmulatorTargetsAreGiven();

// Tells the emulator, while it lives, which targets to emulate, by the variable
// that the emulator reads when it is first asked for devices: those of
// CERBERUS_DEVICE, else those of CERBERUS_EMU_TARGETS, else what `otherwise`
// says. Programs that this one starts choose for themselves.
class EmulatorTargets {
 public:
  explicit EmulatorTargets(std::string (*otherwise)() = nullptr);
  ~EmulatorTargets();
  EmulatorTargets(const EmulatorTargets&) = delete;
  EmulatorTargets& operator=(const EmulatorTargets&) = delete;

 private:
  std::optional<std::string> before_;
  bool set_ = false;
};

// Opens the emulator as HIP (hip_loader.h): what CERBERUS_EMULATOR names, else
// the one installed with this library.
bool LoadEmulator(std::string* why);

}  // namespace cerberus

#endif  // CERBERUS_HIP_FIND_EMULATOR_H_
