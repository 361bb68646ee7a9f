#include "hip/visible_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace cerberus {
namespace {

constexpr std::string_view kUuidPrefix = "GPU-";
constexpr int kNone = -1;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool SameLetter(char a, char b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return lower(a) == lower(b);
}

int ByUuid(std::string_view entry, std::span<const CUuuid> all) {
  int found = kNone;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string text = UuidText(all[i]);
    if (entry.size() > text.size() ||
        !std::equal(entry.begin(), entry.end(), text.begin(), SameLetter)) {
      continue;
    }
    if (found != kNone) return kNone;  // fits several
    found = static_cast<int>(i);
  }
  return found;
}

// Digits up to the first other character count, as for strtol.
int ByIndex(std::string_view entry, std::span<const CUuuid> all) {
  std::size_t value = 0;
  std::size_t digits = 0;
  for (const char c : entry) {
    if (c < '0' || c > '9') break;
    value = value * 10 + static_cast<std::size_t>(c - '0');
    if (value >= all.size()) return kNone;
    ++digits;
  }
  return digits != 0 ? static_cast<int>(value) : kNone;
}

}  // namespace

CUuuid UuidOfPlace(int pci_domain, int pci_bus, int pci_device, int ordinal) {
  CUuuid uuid;
  char text[sizeof uuid.bytes + 1];
  std::snprintf(text, sizeof text, "AMD-%04x%02x%02x-%02d", pci_domain & 0xffff,
                pci_bus & 0xff, pci_device & 0xff, ordinal);
  std::memcpy(uuid.bytes, text, sizeof uuid.bytes);
  return uuid;
}

std::string UuidText(const CUuuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kUuidPrefix);
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<int> VisibleDevices(std::string_view text,
                                std::span<const CUuuid> all) {
  std::vector<int> visible;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view entry = Trimmed(text.substr(0, comma));
    if (more) text.remove_prefix(comma + 1);
    const int index = entry.starts_with(kUuidPrefix) ? ByUuid(entry, all)
                                                     : ByIndex(entry, all);
    if (index == kNone) break;
    if (std::find(visible.begin(), visible.end(), index) != visible.end()) {
      return {};
    }
    visible.push_back(index);
  }
  return visible;
}

}  // namespace cerberus
