// Code objects, loaded and looked into.
#ifndef CERBERUS_EMULATOR_HSA_EXECUTABLE_H_
#define CERBERUS_EMULATOR_HSA_EXECUTABLE_H_

#include <cstddef>

#include "emulator/hsa/abi.h"

namespace cerberus::emulator::hsa {

// AMD's loader extension, version 1.3.
inline constexpr std::uint16_t kLoaderMinor = 3;
struct LoaderTable {
  Status (*query_host_address)(const void* device, const void** host);
  Status (*query_segment_descriptors)(void* descriptors, std::size_t* count);
  Status (*query_executable)(const void* device, ExecutableHandle* out);
  Status (*iterate_loaded)(ExecutableHandle executable,
                           Status (*callback)(ExecutableHandle,
                                              LoadedCodeObject, void*),
                           void* data);
  Status (*loaded_info)(LoadedCodeObject code, LoadedInfo attribute,
                        void* value);
  Status (*reader_from_file)(int file, std::size_t offset, std::size_t size,
                             Reader* out);
  Status (*iterate_executables)(Status (*callback)(ExecutableHandle, void*),
                                void* data);
};
LoaderTable MakeLoaderTable();

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_EXECUTABLE_H_
