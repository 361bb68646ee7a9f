#include "packager/wheel/wheel_family.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

namespace cerberus::packager {
namespace {

// Extras are described since 2.1.
std::string MetadataVersion(const std::string& given) {
  const bool older =
      given.substr(0, 2) == "1." || given.empty() || given == "2.0";
  return older ? "2.1" : given;
}

bool IsLicense(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view start :
       {"LICEN", "COPYING", "NOTICE", "AUTHORS"}) {
    if (name.substr(0, start.size()) == start) return true;
  }
  return false;
}

}  // namespace

std::string_view ProjectOf(std::string_view requirement) {
  std::size_t end = 0;
  while (end < requirement.size()) {
    const char c = requirement[end];
    const bool in_name = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                         c == '-' || c == '_' || c == '.';
    if (!in_name) break;
    ++end;
  }
  return requirement.substr(0, end);
}

WheelName WheelFamily::DeviceName(const std::string& part) const {
  WheelName name = host;
  name.distribution = EscapeName(fmt::format("{}-{}", device_prefix, part));
  return name;
}

std::string WheelFamily::Requirement() const {
  constexpr std::size_t kNamed = 4;
  if (parts.size() > kNamed) {
    return fmt::format("{}[device-all]=={}", project, host.version);
  }
  std::string extras;
  for (const std::string& part : parts) {
    extras += fmt::format("{}device-{}", extras.empty() ? "" : ",", part);
  }
  return fmt::format("{}[{}]=={}", project, extras, host.version);
}

CoreMetadata WheelFamily::HostMetadata() const {
  CoreMetadata metadata = wheel->metadata();
  metadata.Set("Metadata-Version",
               MetadataVersion(metadata.Get("Metadata-Version")));
  const std::string old = metadata.Get("Name");
  if (project != old || requirements) {
    const std::vector<std::string> wanted_by_it =
        requirements.value_or(metadata.GetAll("Requires-Dist"));
    metadata.Set("Name", project);
    // What its extras want of itself: "x[more]; extra == 'all'".
    metadata.Remove("Requires-Dist");
    for (const std::string& requirement : wanted_by_it) {
      const std::string_view wanted = ProjectOf(requirement);
      const bool itself = NormalizeName(wanted) == NormalizeName(old);
      metadata.Add(
          "Requires-Dist",
          itself ? project + requirement.substr(wanted.size()) : requirement);
    }
  }
  metadata.Set("Version", host.version);
  for (const std::string& requirement : requires_dist) {
    metadata.Add("Requires-Dist", requirement);
  }
  // A wheel may have an extra of that name, which then asks for more.
  const auto provide = [&metadata](const std::string& extra) {
    for (const std::string& there : metadata.GetAll("Provides-Extra")) {
      if (NormalizeName(there) == extra) return;
    }
    metadata.Add("Provides-Extra", extra);
  };
  for (const bool all : {false, true}) {
    if (all) provide("device-all");
    for (const std::string& part : parts) {
      const std::string extra = "device-" + part;
      if (!all) provide(extra);
      metadata.Add("Requires-Dist",
                   fmt::format("{}-{}=={} ; extra == '{}'", device_prefix, part,
                               host.version, all ? "device-all" : extra));
    }
  }
  return metadata;
}

CoreMetadata WheelFamily::WheelFile(const WheelName& name) const {
  CoreMetadata file = wheel->wheel_file();
  file.Set("Generator", generator);
  if (name.Tags() == wheel->name().Tags()) return file;
  file.Remove("Tag");
  for (const std::string& tag : name.Tags()) file.Add("Tag", tag);
  return file;
}

CoreMetadata WheelFamily::DeviceMetadata(const std::string& part) const {
  const CoreMetadata& of_host = wheel->metadata();
  CoreMetadata metadata;
  metadata.Add("Metadata-Version",
               MetadataVersion(of_host.Get("Metadata-Version")));
  metadata.Add("Name", fmt::format("{}-{}", device_prefix, part));
  metadata.Add("Version", host.version);
  metadata.Add("Summary", fmt::format("Device code of {} for AMD GPUs: {}",
                                      project, part));
  // The code is the same as the host wheel's, in another form.
  for (const char* field : {"Home-page", "Author", "Author-email", "Maintainer",
                            "Maintainer-email", "License", "License-Expression",
                            "License-File", "Requires-Python", "Project-URL"}) {
    for (const std::string& value : of_host.GetAll(field)) {
      metadata.Add(field, value);
    }
  }
  metadata.Add("Requires-Dist", fmt::format("{}=={}", project, host.version));
  if (const auto others = needs.find(part); others != needs.end()) {
    for (const std::string& other : others->second) {
      metadata.Add("Requires-Dist", fmt::format("{}-{}=={}", device_prefix,
                                                other, host.version));
    }
  }
  metadata.Add("Description-Content-Type", "text/plain");
  metadata.SetBody(
      fmt::format("What {} {} runs on AMD GPUs of the kind {}, compiled ahead "
                  "of time. It is of use\nwith that package and no other:\n\n"
                  "    pip install '{}[device-{}]=={}'\n",
                  project, host.version, part, project, part, host.version));
  return metadata;
}

Status WheelFamily::FinishDevice(
    WheelWriter& device, const std::string& part,
    const std::map<std::string, std::string>& hashes) const {
  const WheelName& name = device.name();
  const std::string info = device.dist_info() + "/";
  for (const ZipMember& member : wheel->files()) {
    const std::string path = wheel->NewPath(member.name, name);
    const bool is_license =
        path.rfind(info, 0) == 0 &&
        (path.rfind(info + "licenses/", 0) == 0 || IsLicense(path));
    if (!is_license) continue;
    CERB_TRY_VOID(device.Copy(*wheel, member, path, hashes.at(member.name)));
  }
  CERB_TRY_VOID(device.AddText(info + "WHEEL", WheelFile(name).ToString()));
  return device.AddText(info + "METADATA", DeviceMetadata(part).ToString());
}

}  // namespace cerberus::packager
