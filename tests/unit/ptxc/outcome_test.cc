// Outcomes of parts, through bytes and back.
#include "ptxc/compile/outcome.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace cerberus::ptx {
namespace {

Diag SomeDiag(Severity severity, std::string message) {
  Diag diag = MakeDiag(DiagCode::kUnsupportedPtx, std::move(message));
  diag.severity = severity;
  diag.where = {"a.ptx", ".nv_fatbin", 0x1a40, "scan(int*)", 57,
                9,       "scan.cu",    12};
  diag.notes = {"one", "", "two"};
  return diag;
}

PartOutcome WithEverything() {
  PartOutcome outcome;
  outcome.diags = {SomeDiag(Severity::kWarning, "slow"),
                   SomeDiag(Severity::kNote, "")};
  outcome.error = SomeDiag(Severity::kError, "no");
  outcome.reported = true;
  KernelInfo kernel;
  kernel.name = "_Z4scanPi";
  kernel.maxntid = {256, 2, 1};
  kernel.reqntid = {1, 2, 3};
  kernel.minnctapersm = 4;
  kernel.warps_per_wave = 2;
  kernel.own_shared = 1ULL << 33;
  kernel.window = 1ULL << 40;
  kernel.cluster = {2, 1, 4};
  kernel.max_cluster = 8;
  kernel.explicit_cluster = kernel.blocks_are_clusters = true;
  kernel.clusters = false;
  kernel.second_form = kernel.launches = kernel.handle = true;
  outcome.info.kernels = {kernel, {}};
  outcome.info.failed = {{"k", "wgmma"}};
  outcome.object = {0x7f, 'E', 'L', 'F', 0};
  return outcome;
}

TEST(Outcome, EverythingComesBack) {
  const Bytes bytes = WriteOutcome(WithEverything());
  // CERBERUS_TEST_SEEDS=DIR: seeds for ptx_outcome_fuzzer.
  if (const char* folder = std::getenv("CERBERUS_TEST_SEEDS")) {
    std::ofstream(std::string(folder) + "/everything", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  const Result<PartOutcome> read = ReadOutcome(bytes);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(WriteOutcome(*read), bytes);
  EXPECT_EQ(read->diags[0].ToString(), WithEverything().diags[0].ToString());
  EXPECT_EQ(read->diags[0].notes, WithEverything().diags[0].notes);
  EXPECT_EQ(read->diags[1].severity, Severity::kNote);
  EXPECT_EQ(read->error->ToString(), WithEverything().error->ToString());
  EXPECT_TRUE(read->reported);
  const KernelInfo& kernel = read->info.kernels.at(0);
  EXPECT_EQ(kernel.name, "_Z4scanPi");
  EXPECT_EQ((*kernel.maxntid)[0], 256u);
  EXPECT_EQ((*kernel.reqntid)[2], 3u);
  EXPECT_EQ(kernel.minnctapersm, 4u);
  EXPECT_EQ(kernel.warps_per_wave, 2);
  EXPECT_EQ(kernel.own_shared, 1ULL << 33);
  EXPECT_EQ(kernel.window, 1ULL << 40);
  EXPECT_EQ((*kernel.cluster)[2], 4u);
  EXPECT_EQ(kernel.max_cluster, 8u);
  EXPECT_TRUE(kernel.explicit_cluster && kernel.blocks_are_clusters);
  EXPECT_EQ(kernel.clusters, std::optional<bool>(false));
  EXPECT_TRUE(kernel.second_form && kernel.launches && kernel.handle);
  EXPECT_FALSE(read->info.kernels.at(1).maxntid);
  EXPECT_EQ(read->info.failed.at(0).reason, "wgmma");
  EXPECT_EQ(read->object, WithEverything().object);
}

TEST(Outcome, APartOfTheBytesIsAnError) {
  const Bytes bytes = WriteOutcome(WithEverything());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadOutcome(ByteSpan(bytes).first(size))) << size;
  }
  Bytes more = bytes;
  more.push_back(0);
  EXPECT_FALSE(ReadOutcome(more));
}

// Each byte in turn is another one: an error, or what it says.
TEST(Outcome, AnotherByteIsAnErrorOrAnotherOutcome) {
  const Bytes bytes = WriteOutcome(WithEverything());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] ^= 0x82;
    const Result<PartOutcome> read = ReadOutcome(changed);
    if (read) {
      EXPECT_EQ(WriteOutcome(*read), changed) << i;
    }
  }
}

}  // namespace
}  // namespace cerberus::ptx
