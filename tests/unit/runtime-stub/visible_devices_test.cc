#include "hip/visible_devices.h"

#include <gtest/gtest.h>

#include <vector>

namespace cerberus::stub {
namespace {

CUuuid Uuid(unsigned char first, unsigned char last) {
  CUuuid uuid = {};
  uuid.bytes[0] = static_cast<char>(first);
  uuid.bytes[15] = static_cast<char>(last);
  return uuid;
}

const std::vector<CUuuid> kThree = {Uuid(0xab, 1), Uuid(0xab, 2),
                                    Uuid(0xcd, 3)};

TEST(VisibleDevices, UuidsAreWrittenInGroups) {
  EXPECT_EQ(UuidText(kThree[2]), "GPU-cd000000-0000-0000-0000-000000000003");
}

TEST(VisibleDevices, EntriesChooseAndOrder) {
  struct Row {
    const char* text;
    std::vector<int> devices;
  };
  const Row kRows[] = {
      {"", {}},
      {"0", {0}},
      {"2,0", {2, 0}},
      {" 1 , 2 ", {1, 2}},
      {"1gpu", {1}},
      {"0,3,1", {0}},   // ends before the first that is not there
      {"1,-1,0", {1}},  // -1 is none
      {"NoDevFiles", {}},
      {"0,,1", {0}},
      {"1,1", {}},  // named twice
      {"99999999999999999999", {}},
      {"GPU-cd", {2}},
      {"gpu-cd", {}},
      {"GPU-CD000000-0000", {2}},
      {"GPU-ab", {}},  // fits two
      {"GPU-ab000000-0000-0000-0000-000000000002,GPU-c", {1, 2}},
      {"GPU-cd,0", {2, 0}},
      {"GPU-", {}},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(VisibleDevices(row.text, kThree), row.devices) << row.text;
  }
}

}  // namespace
}  // namespace cerberus::stub
