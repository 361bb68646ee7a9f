// A real NVIDIA driver, to which a process can be handed over whole.
#ifndef CERBERUS_RUNTIME_STUB_API_NVIDIA_H_
#define CERBERUS_RUNTIME_STUB_API_NVIDIA_H_

#include <string>

namespace cerberus::stub {

// Opens the driver named by CERBERUS_NVIDIA_DRIVER, or found in the folders
// where distributions put it, and initialises it. If it finds a GPU, every
// slot is pointed at its function of the same name, and `message` names the
// file. Else nothing changes, and `message` says what was tried.
bool HandOverToNvidia(std::string* message);

// A function of the driver that the process was handed over to, else null.
void* NvidiaFunction(const char* symbol);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_NVIDIA_H_
