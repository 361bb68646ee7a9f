// Images as HIP programs carry them, built by hand here.
#include "emulator/hip/offload_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <utility>
#include <vector>

namespace cerberus::emulator::hip {
namespace {

using testing::HasSubstr;

// clang-offload-bundler's layout, with the objects at their end.
Bytes Bundle(const std::vector<std::pair<std::string, std::string>>& entries) {
  Bytes out;
  const std::string magic = "__CLANG_OFFLOAD_BUNDLE__";
  out.insert(out.end(), magic.begin(), magic.end());
  AppendLe<std::uint64_t>(out, entries.size());
  std::uint64_t offset = 4096;
  for (const auto& [id, object] : entries) {
    AppendLe<std::uint64_t>(out, offset);
    AppendLe<std::uint64_t>(out, object.size());
    AppendLe<std::uint64_t>(out, id.size());
    out.insert(out.end(), id.begin(), id.end());
    offset += object.size();
  }
  out.resize(4096);
  for (const auto& [id, object] : entries) {
    out.insert(out.end(), object.begin(), object.end());
  }
  return out;
}

std::string Select(const Bytes& image, std::string_view target) {
  Bytes unpacked;
  Result<ByteSpan> found = SelectCodeObject(ByteSpan(image), target, &unpacked);
  return found ? std::string(AsText(*found))
               : "error: " + found.error().ToString();
}

TEST(OffloadBundle, TakesTheMostSpecificObject) {
  const Bytes image = Bundle({
      {"host-x86_64-unknown-linux--", ""},
      {"hipv4-amdgcn-amd-amdhsa--gfx11-generic", "generic"},
      {"hipv4-amdgcn-amd-amdhsa--gfx1100", "exact"},
      {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "minus"},
      {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "plus"},
      {"hip-amdgcn-amd-amdhsa-gfx1030", "old spelling"},
  });
  const struct {
    const char *target, *expected;
  } kCases[] = {
      {"gfx1100", "exact"},      {"gfx1101", "generic"},
      {"gfx90a:xnack+", "plus"}, {"gfx90a:sramecc+:xnack-", "minus"},
      {"gfx90a", "minus"},       {"gfx1030", "old spelling"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Select(image, test.target), test.expected) << test.target;
  }
  EXPECT_THAT(Select(image, "gfx942"),
              testing::AllOf(HasSubstr("gfx942"), HasSubstr("gfx1100"),
                             HasSubstr("gfx90a:xnack-")));
}

TEST(OffloadBundle, DamagedBundles) {
  const Bytes good = Bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", "object"}});
  for (std::size_t size = 0; size < 90; ++size) {
    const Bytes cut(good.begin(),
                    good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(Select(cut, "gfx1100"), HasSubstr("error")) << size;
  }
  const Bytes short_object(good.begin(), good.end() - 1);
  EXPECT_THAT(Select(short_object, "gfx1100"), HasSubstr("error"));
  for (std::size_t at : {24u, 32u, 40u, 48u}) {  // count, offset, size, length
    Bytes bad = good;
    StoreLe<std::uint64_t>(&bad[at], ~std::uint64_t{0});
    EXPECT_THAT(Select(bad, "gfx1100"), HasSubstr("error")) << at;
  }
  EXPECT_THAT(Select(Bytes{'M', 'Z'}, "gfx1100"), HasSubstr("neither"));
}

// clang's header before a stream of `method` (0 zlib, 1 zstd).
Bytes Compressed(const Bytes& bundle, std::uint16_t version,
                 std::uint16_t method) {
  Bytes stream;
  if (method == 0) {
    uLongf size = compressBound(bundle.size());
    stream.resize(size);
    EXPECT_EQ(compress(stream.data(), &size, bundle.data(), bundle.size()),
              Z_OK);
    stream.resize(size);
  } else {
    stream.resize(ZSTD_compressBound(bundle.size()));
    stream.resize(ZSTD_compress(stream.data(), stream.size(), bundle.data(),
                                bundle.size(), 3));
  }
  Bytes out = {'C', 'C', 'O', 'B'};
  AppendLe<std::uint16_t>(out, version);
  AppendLe<std::uint16_t>(out, method);
  if (version == 3) {
    AppendLe<std::uint64_t>(out, stream.size() + 32);
    AppendLe<std::uint64_t>(out, bundle.size());
  } else {
    if (version == 2) {
      AppendLe<std::uint32_t>(out,
                              static_cast<std::uint32_t>(stream.size() + 24));
    }
    AppendLe<std::uint32_t>(out, static_cast<std::uint32_t>(bundle.size()));
  }
  AppendLe<std::uint64_t>(out, 0x1234);
  out.insert(out.end(), stream.begin(), stream.end());
  return out;
}

TEST(OffloadBundle, CompressedBundles) {
  const Bytes bundle =
      Bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", std::string(5000, 'x')},
              {"hipv4-amdgcn-amd-amdhsa--gfx942", "other"}});
  for (const std::uint16_t version : {1, 2, 3}) {
    for (const std::uint16_t method : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << "version " << version << " method " << method);
      Bytes image = Compressed(bundle, version, method);
      EXPECT_EQ(Select(image, "gfx942"), "other");
      EXPECT_EQ(Select(image, "gfx1100"), std::string(5000, 'x'));
      EXPECT_THAT(Select(image, "gfx1030"), HasSubstr("gfx1100, gfx942"));
      // What follows in memory is not part of it.
      image.resize(image.size() + 100, 0xee);
      EXPECT_EQ(Select(image, "gfx942"), "other");
      image.resize(image.size() - 100);
      for (std::size_t size = 4; size < image.size(); ++size) {
        const Bytes cut(image.begin(),
                        image.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_THAT(Select(cut, "gfx942"), HasSubstr("error: compressed"))
            << size;
      }
      image[6] = 2;  // a method that is none
      EXPECT_THAT(Select(image, "gfx942"), HasSubstr("unknown method"));
      image[4] = 4;
      EXPECT_THAT(Select(image, "gfx942"), HasSubstr("unknown version"));
    }
  }
  // What is within must be a bundle, and as long as the header says.
  EXPECT_THAT(Select(Compressed(Bytes(50, 'a'), 2, 1), "gfx942"),
              HasSubstr("holds no offload bundle"));
  for (const std::uint16_t method : {0, 1}) {
    Bytes longer = Compressed(bundle, 3, method);
    StoreLe<std::uint64_t>(&longer[16], bundle.size() + 1);
    EXPECT_THAT(Select(longer, "gfx942"), HasSubstr("damaged"));
    StoreLe<std::uint64_t>(&longer[16], ~std::uint64_t{0});
    EXPECT_THAT(Select(longer, "gfx942"), HasSubstr("too large"));
  }
}

// An ELF header with one section, and bytes behind it that belong to another.
TEST(OffloadBundle, AnElfFileEndsWhereItsTablesSay) {
  Bytes elf(200);
  const std::uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::copy(std::begin(ident), std::end(ident), elf.begin());
  StoreLe<std::uint64_t>(&elf[40], 64);   // e_shoff
  StoreLe<std::uint16_t>(&elf[58], 64);   // e_shentsize
  StoreLe<std::uint16_t>(&elf[60], 1);    // e_shnum
  StoreLe<std::uint32_t>(&elf[68], 1);    // sh_type
  StoreLe<std::uint64_t>(&elf[88], 130);  // sh_offset
  StoreLe<std::uint64_t>(&elf[96], 20);   // sh_size
  EXPECT_EQ(Select(elf, "gfx1100").size(), 150u);
  StoreLe<std::uint32_t>(&elf[68], 8);  // SHT_NOBITS takes no room
  EXPECT_EQ(Select(elf, "gfx1100").size(), 128u);
  StoreLe<std::uint32_t>(&elf[68], 1);
  StoreLe<std::uint64_t>(&elf[96], 100);
  EXPECT_THAT(Select(elf, "gfx1100"), HasSubstr("error"));
  StoreLe<std::uint16_t>(&elf[58], 63);
  EXPECT_THAT(Select(elf, "gfx1100"), HasSubstr("damaged"));
}

}  // namespace
}  // namespace cerberus::emulator::hip
