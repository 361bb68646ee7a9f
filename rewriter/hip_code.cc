#include "rewriter/hip_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/targets/target_id.h"

namespace cerberus::rewriter {
namespace {

constexpr std::string_view kWrapperSection = ".hipFatBinSegment";
constexpr std::string_view kImageSection = ".hip_fatbin";

class Finder {
 public:
  explicit Finder(const ObjectFile& file)
      : file_(file), regions_(file.Regions()) {}

  Result<HipCode> Run() {
    CERB_TRY(const bool has_section, FindInSection());
    if (!has_section && !file_.has_sections()) {
      CERB_TRY_VOID(FindByLook());
    }
    CERB_TRY_VOID(FindOthers());
    Number();
    return std::move(code_);
  }

 private:
  Diag Fail(std::string message, std::string section = "",
            std::int64_t offset = -1) const {
    return file_.Error(DiagCode::kBadFormat, std::move(message),
                       std::move(section), offset);
  }

  const ObjectFile::Region* FindRegion(std::string_view name) const {
    for (const ObjectFile::Region& region : regions_) {
      if (file_.IsSection(region, name)) return &region;
    }
    return nullptr;
  }

  // False if there is no section of wrappers.
  Result<bool> FindInSection() {
    const ObjectFile::Region* section = FindRegion(kWrapperSection);
    if (section == nullptr) return false;
    const ByteSpan data = file_.bytes().subspan(section->offset, section->size);
    std::vector<std::uint64_t> vaddrs;
    std::uint64_t at = 0;
    while (at + kHipWrapperSize <= data.size()) {
      const auto magic = LoadLe<std::uint32_t>(data.data() + at);
      const auto version = LoadLe<std::uint32_t>(data.data() + at + 4);
      if (magic == 0) {
        at += 8;  // padding between the wrappers of two object files
        continue;
      }
      if ((magic != kHipMagic && magic != kHipSplitMagic) || version != 1) {
        return Err(
            Fail(fmt::format("bad wrapper magic 0x{:08x} and version {}, "
                             "expected 0x{:08x} or 0x{:08x} and 1",
                             magic, version, kHipMagic, kHipSplitMagic),
                 section->name, static_cast<std::int64_t>(at)));
      }
      vaddrs.push_back(section->vaddr + at);
      at += kHipWrapperSize;
    }
    CERB_TRY_VOID(Resolve(vaddrs, /*certain=*/true));
    return true;
  }

  // Without section headers: magic and version in data that can be written,
  // and a pointer that leads to an image.
  Status FindByLook() {
    std::vector<std::uint64_t> vaddrs;
    for (const ObjectFile::Region& region : regions_) {
      if (!region.is_writable) continue;
      const std::uint8_t* data = file_.bytes().data() + region.offset;
      std::uint64_t at = (0 - region.vaddr) & 7;
      for (; at + kHipWrapperSize <= region.size; at += 8) {
        const auto magic = LoadLe<std::uint32_t>(data + at);
        if ((magic == kHipMagic || magic == kHipSplitMagic) &&
            LoadLe<std::uint32_t>(data + at + 4) == 1) {
          vaddrs.push_back(region.vaddr + at);
          at += kHipWrapperSize - 8;
        }
      }
    }
    return Resolve(vaddrs, /*certain=*/false);
  }

  Status Resolve(const std::vector<std::uint64_t>& vaddrs, bool certain) {
    std::vector<std::uint64_t> slots;
    slots.reserve(vaddrs.size());
    for (const std::uint64_t vaddr : vaddrs) slots.push_back(vaddr + 8);
    CERB_TRY(const std::vector<PointerSlot> pointers,
             file_.ResolvePointers(slots));
    for (std::size_t i = 0; i < vaddrs.size(); ++i) {
      HipWrapper wrapper{};
      wrapper.index = static_cast<std::uint32_t>(code_.wrappers.size());
      wrapper.vaddr = vaddrs[i];
      wrapper.data = pointers[i];
      // Neighbouring addresses may lie anywhere in a file that lies.
      const auto at = file_.OffsetOf(vaddrs[i], kHipWrapperSize);
      if (!at || wrapper.data.offset != *at + 8) {
        return Err(
            Fail(fmt::format("wrapper {} runs past its segment", wrapper.index),
                 std::string(kWrapperSection)));
      }
      wrapper.offset = *at;
      const std::uint8_t* bytes = file_.bytes().data() + *at;
      wrapper.is_split = LoadLe<std::uint32_t>(bytes) == kHipSplitMagic;
      if (wrapper.is_split) {
        wrapper.number = LoadLe<std::uint32_t>(bytes + 16);
      } else if (Status led = AddImage(wrapper); !led) {
        if (!certain) continue;
        return led;
      }
      code_.wrappers.push_back(wrapper);
    }
    return {};
  }

  Status AddImage(const HipWrapper& wrapper) {
    const std::uint64_t vaddr = wrapper.data.value;
    const ByteSpan data = file_.BytesAt(vaddr);
    if (vaddr == 0 || data.empty()) {
      return Err(Fail(fmt::format("wrapper {} leads to 0x{:x}, which is not in "
                                  "the file",
                                  wrapper.index, vaddr),
                      std::string(kWrapperSection)));
    }
    const auto at =
        static_cast<std::uint64_t>(data.data() - file_.bytes().data());
    image_of_[wrapper.index] = at;
    if (found_.contains(at)) return {};
    std::string name;
    std::uint64_t base = at;
    for (const ObjectFile::Region& region : regions_) {
      if (!region.name.empty() && at >= region.offset &&
          at - region.offset < region.size) {
        name = region.name;
        base = at - region.offset;
      }
    }
    auto image = images::ParseHipImage(data, name, base);
    if (!image) {
      Diag diag = std::move(image).error();
      diag.where.file = file_.name();
      diag.notes.push_back(
          fmt::format("wrapper {} leads there", wrapper.index));
      return Err(std::move(diag));
    }
    found_.emplace(at, LocatedHipImage{name, vaddr, at, *image, {}});
    return {};
  }

  // Images that no wrapper leads to: whatever else stands in the section that
  // clang keeps for them.
  Status FindOthers() {
    std::uint64_t end = 0;
    for (const auto& [at, located] : found_) {
      if (at < end) {
        return Err(Fail(fmt::format("the image overlaps the one before, which "
                                    "ends at 0x{:x}",
                                    end),
                        "", static_cast<std::int64_t>(at)));
      }
      end = at + located.image.bytes.size();
    }
    const ObjectFile::Region* section = FindRegion(kImageSection);
    if (section == nullptr) return {};
    const std::uint64_t start = section->offset;
    const ByteSpan data = file_.bytes().subspan(start, section->size);
    std::uint64_t at = 0;
    while (at < data.size()) {
      const auto next = found_.lower_bound(start + at);
      if (next != found_.end() && next->first == start + at) {
        at += next->second.image.bytes.size();
        at = AlignUp(at, 8);
        continue;
      }
      const std::uint64_t limit =
          next == found_.end()
              ? data.size()
              : std::min<std::uint64_t>(data.size(), next->first - start);
      const ByteSpan rest = data.subspan(at, limit - at);
      // Not version 1 of compressed bundles: how far one reaches is only
      // known when its stream has been followed, which a file that lies could
      // make us do at every place.
      const bool may_be =
          images::IsHipImage(rest) &&
          !(images::IsCompressedBundle(rest) && rest.size() > 5 &&
            LoadLe<std::uint16_t>(rest.data() + 4) == 1);
      if (may_be) {
        const auto image = images::ParseHipImage(rest, section->name, at);
        if (image) {
          found_.emplace(start + at,
                         LocatedHipImage{section->name,
                                         file_.VaddrOf(start + at).value_or(0),
                                         start + at,
                                         *image,
                                         {}});
          continue;
        }
      }
      at = std::min(at + 8, limit);
    }
    return {};
  }

  void Number() {
    std::map<std::uint64_t, std::size_t> number;
    for (auto& [at, located] : found_) {
      number[at] = code_.images.size();
      code_.images.push_back(std::move(located));
    }
    for (HipWrapper& wrapper : code_.wrappers) {
      if (wrapper.is_split) continue;
      wrapper.image = number[image_of_[wrapper.index]];
      code_.images[wrapper.image].wrappers.push_back(wrapper.index);
    }
  }

  const ObjectFile& file_;
  const std::vector<ObjectFile::Region> regions_;
  HipCode code_;
  std::map<std::uint64_t, LocatedHipImage> found_;  // by offset in the file
  std::map<std::uint32_t, std::uint64_t> image_of_;
};

}  // namespace

Result<HipCode> FindHipCode(const ObjectFile& file) {
  return Finder(file).Run();
}

Result<CodeObjects> UnpackHipImage(const images::HipImage& image,
                                   const std::string& what,
                                   std::uint64_t base) {
  const auto fail = [&](Diag diag) {
    diag.where.section = what;
    diag.where.offset = static_cast<std::int64_t>(base);
    return Err(std::move(diag));
  };
  CodeObjects objects;
  ByteSpan bundle = image.bytes;
  switch (image.kind) {
    case images::HipImageKind::kCodeObject:
      objects.rows.push_back({"", image.bytes});
      return objects;
    case images::HipImageKind::kCompressedBundle: {
      auto unpacked = images::DecompressBundle(image.bytes);
      if (!unpacked) return fail(std::move(unpacked).error());
      objects.unpacked = *std::move(unpacked);
      bundle = objects.unpacked;
      break;
    }
    case images::HipImageKind::kBundle: break;
  }
  auto entries = images::ParseBundle(bundle, what, base);
  if (!entries) {
    // Offsets within what was unpacked are no places in the file.
    if (!objects.unpacked.empty()) return fail(std::move(entries).error());
    return Err(std::move(entries).error());
  }
  for (const images::BundleEntry& entry : *entries) {
    if (entry.target.empty() || entry.object.empty()) continue;
    const Result<TargetId> id = TargetId::Parse(entry.target);
    CodeObjects::Row row{id ? id->ToString() : std::string(entry.target),
                         entry.object};
    for (const CodeObjects::Row& other : objects.rows) {
      if (other.target == row.target) {
        return fail(MakeDiag(
            DiagCode::kBadFormat,
            fmt::format("the bundle has two code objects for {}", row.target)));
      }
    }
    objects.rows.push_back(std::move(row));
  }
  return objects;
}

}  // namespace cerberus::rewriter
