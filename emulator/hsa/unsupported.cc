// What an emulated GPU does not offer. A call that programs make only to learn
// whether it is there answers without a word; all others name themselves once.
#include <array>

#include "emulator/hsa/runtime.h"

using namespace cerberus::emulator::hsa;

#define HSA_REFUSED(name, why) \
  HSA_API Status name() {      \
    HSA_LIVE(runtime);         \
    return Refuse(#name, why); \
  }

constexpr char kNoImages[] = "the emulated GPU samples no images";
HSA_REFUSED(hsa_ext_image_get_capability, kNoImages)
HSA_REFUSED(hsa_ext_image_get_capability_with_layout, kNoImages)
HSA_REFUSED(hsa_ext_image_data_get_info, kNoImages)
HSA_REFUSED(hsa_ext_image_data_get_info_with_layout, kNoImages)
HSA_REFUSED(hsa_ext_image_create, kNoImages)
HSA_REFUSED(hsa_ext_image_create_with_layout, kNoImages)
HSA_REFUSED(hsa_ext_image_destroy, kNoImages)
HSA_REFUSED(hsa_ext_image_copy, kNoImages)
HSA_REFUSED(hsa_ext_image_import, kNoImages)
HSA_REFUSED(hsa_ext_image_export, kNoImages)
HSA_REFUSED(hsa_ext_image_clear, kNoImages)
HSA_REFUSED(hsa_ext_sampler_create, kNoImages)
HSA_REFUSED(hsa_ext_sampler_create_v2, kNoImages)
HSA_REFUSED(hsa_ext_sampler_destroy, kNoImages)
HSA_REFUSED(hsa_amd_image_create, kNoImages)

constexpr char kNoSharing[] =
    "neither signals are shared between processes nor memory with graphics";
HSA_REFUSED(hsa_amd_ipc_signal_create, kNoSharing)
HSA_REFUSED(hsa_amd_ipc_signal_attach, kNoSharing)
HSA_REFUSED(hsa_amd_interop_map_buffer, kNoSharing)
HSA_REFUSED(hsa_amd_interop_unmap_buffer, kNoSharing)

HSA_REFUSED(hsa_amd_memory_migrate, "no memory of the emulated GPU moves")

constexpr char kOld[] = "it is of code objects before version 3";
HSA_REFUSED(hsa_code_object_serialize, kOld)
HSA_REFUSED(hsa_code_object_deserialize, kOld)
HSA_REFUSED(hsa_code_object_destroy, kOld)
HSA_REFUSED(hsa_code_object_get_info, kOld)
HSA_REFUSED(hsa_code_object_get_symbol, kOld)
HSA_REFUSED(hsa_code_object_get_symbol_from_name, kOld)
HSA_REFUSED(hsa_code_object_iterate_symbols, kOld)
HSA_REFUSED(hsa_code_symbol_get_info, kOld)
HSA_REFUSED(hsa_executable_load_code_object, kOld)
HSA_REFUSED(hsa_executable_load_program_code_object, kOld)
HSA_REFUSED(hsa_executable_global_variable_define, kOld)
HSA_REFUSED(hsa_executable_readonly_variable_define, kOld)

constexpr char kRare[] = "no program was seen to call it";
HSA_REFUSED(hsa_soft_queue_create, kRare)
HSA_REFUSED(hsa_signal_group_create, kRare)
HSA_REFUSED(hsa_signal_group_destroy, kRare)
HSA_REFUSED(hsa_signal_group_wait_any_relaxed, kRare)
HSA_REFUSED(hsa_signal_group_wait_any_scacquire, kRare)
HSA_REFUSED(hsa_isa_get_exception_policies, kRare)
HSA_REFUSED(hsa_isa_get_round_method, kRare)
HSA_REFUSED(hsa_amd_register_deallocation_callback, kRare)
HSA_REFUSED(hsa_amd_deregister_deallocation_callback, kRare)
HSA_REFUSED(hsa_amd_spm_acquire, kRare)
HSA_REFUSED(hsa_amd_spm_release, kRare)
HSA_REFUSED(hsa_amd_spm_set_dest_buffer, kRare)
