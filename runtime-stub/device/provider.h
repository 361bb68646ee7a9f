// Which GPU a program gets.
//
// Decided once, at the first call that needs to know (usually cudart's first
// cuGetProcAddress), in this order:
//
//   1. an AMD GPU, through the newest libamdhip64 that finds one;
//   2. a real NVIDIA driver that finds a GPU, if no wrapper of the process
//      was converted in place (--keep-fatbin, docs/marker-format.md): then
//      every call goes to that driver from here on;
//   3. the emulator beside this library, with a line on stderr. It emulates a
//      GPU that the converted files of the process have code for.
//
// CERBERUS_DEVICE=hip, nvidia, emulator, or a list of target ids for the
// emulator (gfx1100,gfx942) leaves only that choice.
// CERBERUS_NVIDIA_DRIVER names the NVIDIA driver's file, CERBERUS_EMULATOR
// the emulator's.
#ifndef CERBERUS_RUNTIME_STUB_DEVICE_PROVIDER_H_
#define CERBERUS_RUNTIME_STUB_DEVICE_PROVIDER_H_

namespace cerberus::stub {

enum class Provider { kNone, kHip, kEmulator, kNvidia };

Provider ChosenProvider();

// True once the process has begun to end: HIP may be gone, and must not be
// called any more.
bool Exiting();

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_DEVICE_PROVIDER_H_
