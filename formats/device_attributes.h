// The ids of CUdevice_attribute, by which the driver is asked, and of which
// kernels that launch kernels find the answers in DeviceFacts.
#ifndef CERBERUS_FORMATS_DEVICE_ATTRIBUTES_H_
#define CERBERUS_FORMATS_DEVICE_ATTRIBUTES_H_

namespace cerberus::formats {

enum DeviceAttribute : int {
#define DEVICE_ATTRIBUTE(id, name, hip_name, value) kAttribute_##name = id,
#include "formats/device_attributes.def"
#undef DEVICE_ATTRIBUTE
};

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_DEVICE_ATTRIBUTES_H_
