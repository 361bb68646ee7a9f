// A host wheel and its device wheels: their names, and what their metadata say
// of each other.
#ifndef CERBERUS_PACKAGER_WHEEL_WHEEL_FAMILY_H_
#define CERBERUS_PACKAGER_WHEEL_WHEEL_FAMILY_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packager/wheel/wheel.h"

namespace cerberus::packager {

// The name at the start of a requirement: "x[extra]>=1; python_version…".
std::string_view ProjectOf(std::string_view requirement);

struct WheelFamily {
  const Wheel* wheel = nullptr;  // that they are made from
  WheelName host;                // of the host wheel
  std::string project;           // its name, as METADATA has it
  // The device wheels' projects, up to the part: "bitsandbytes-device".
  std::string device_prefix;
  // The parts, in the order of the extras: "gfx1100", "gfx11".
  std::vector<std::string> parts;
  // Of a part the others without which it is not whole.
  std::map<std::string, std::vector<std::string>> needs;
  // Of the host wheel: instead of the wheel's own, and more.
  std::optional<std::vector<std::string>> requirements;
  std::vector<std::string> requires_dist;
  std::string generator;

  WheelName DeviceName(const std::string& part) const;
  // What to tell pip: "x[device-gfx1100]==1.0", for many parts "x[device-all]".
  std::string Requirement() const;

  CoreMetadata HostMetadata() const;
  CoreMetadata DeviceMetadata(const std::string& part) const;
  CoreMetadata WheelFile(const WheelName& name) const;

  // The licences' files, and METADATA and WHEEL: all of a device wheel but its
  // code. `hashes` are of the wheel's files, by path.
  Status FinishDevice(WheelWriter& device, const std::string& part,
                      const std::map<std::string, std::string>& hashes) const;
};

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_WHEEL_FAMILY_H_
