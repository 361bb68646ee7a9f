// Version 2: what its writer writes, and indexes written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "kpack/check.h"
#include "kpack/checksum.h"
#include "kpack/content_key.h"
#include "kpack/diff.h"
#include "kpack/edit.h"
#include "kpack/format_v2.h"
#include "kpack/reader.h"
#include "tests/unit/kpack/archive_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::kpack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Random, so that nothing but another blob makes it smaller.
std::string Noise(std::size_t size, unsigned seed) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    out += static_cast<char>(seed >> 24);
  }
  return out;
}

Bytes ToBytes(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string Written(std::vector<NewEntry> entries, EditOptions options = {}) {
  const TempFolder folder;
  const std::string path = folder.path() + "/out.kpack";
  options.v2 = true;
  if (options.group_name.empty()) options.group_name = "group";
  auto made = BuildArchive(std::move(entries), options, path);
  EXPECT_TRUE(made.has_value()) << made.error().ToString();
  EXPECT_TRUE(made->file.Commit().has_value());
  return Slurp(path);
}

KpackResult<ArchivePtr> Open(const std::string& bytes) {
  static std::deque<std::string> kept;  // an archive refers to its bytes
  kept.push_back(bytes);
  return Archive::FromBytes(AsBytes(kept.back()), "t.kpack");
}

std::string MustRead(const Archive& archive, const char* key,
                     const char* arch) {
  const Entry* entry = archive.Find(key, arch);
  if (entry == nullptr) return "no such entry";
  KpackResult<Bytes> bytes = archive.Read(*entry);
  return bytes ? std::string(AsText(*bytes)) : bytes.error().ToString();
}

TEST(V2, WhatResemblesIsStoredOnce) {
  const std::string code = Noise(20000, 1);
  std::string other = code;
  other.replace(5000, 4, "else");
  const std::string bytes =
      Written({{"p#0", "gfx1101", "hsaco", ToBytes(other), {}},
               {"p#0", "gfx1100", "hsaco", ToBytes(code), {}},
               {"q#0", "gfx1100", "hsaco", ToBytes(code + "q"), {}},
               {"r#0", "gfx1100", "hsaco", ToBytes(code), {}}});
  EXPECT_LT(bytes.size(), 21000u);
  const auto archive = Open(bytes);
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  EXPECT_EQ((*archive)->version(), 2u);
  EXPECT_EQ((*archive)->blob_count(), 3u);
  EXPECT_THAT((*archive)->arches(), ElementsAre("gfx1100", "gfx1101"));
  EXPECT_EQ((*archive)->group_name(), "group");
  EXPECT_EQ((*archive)->arch_family(), "gfx110X");
  // Any order, the reference not read before.
  EXPECT_EQ(MustRead(**archive, "q#0", "gfx1100"), code + "q");
  EXPECT_EQ(MustRead(**archive, "p#0", "gfx1101"), other);
  EXPECT_EQ(MustRead(**archive, "p#0", "gfx1100"), code);
  EXPECT_EQ((*archive)->ContentHash(*(*archive)->Find("r#0", "gfx1100")),
            Hash128Hex(AsBytes(code)));
  EXPECT_TRUE(CheckArchive(**archive).empty());
}

// Who reads several entries gets it unpacked once; who reads one, no copy of
// it.
TEST(V2, WhatOthersReferToIsKept) {
  const std::string code = Noise(20000, 1);
  const std::string written =
      Written({{"p#0", "gfx1100", "hsaco", ToBytes(code), {}},
               {"q#0", "gfx1100", "hsaco", ToBytes(code + "q"), {}}});
  for (const int reads : {1, 2}) {
    std::string bytes = written;
    const auto archive = Archive::FromBytes(AsBytes(bytes), "t.kpack");
    ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
    for (int i = 0; i < reads; ++i) {
      EXPECT_EQ(MustRead(**archive, "p#0", "gfx1100"), code);
    }
    bytes[100] ^= 1;  // of the first blob
    const std::string other = MustRead(**archive, "q#0", "gfx1100");
    if (reads == 1) {
      EXPECT_THAT(other, HasSubstr("in its reference, blob 0"));
    } else {
      EXPECT_EQ(other, code + "q");
      EXPECT_EQ(MustRead(**archive, "p#0", "gfx1100"), code);
    }
  }
}

TEST(V2, PlainAndEmpty) {
  EditOptions options;
  options.compression = Compression::kNone;
  const std::string bytes =
      Written({{"p#0", "gfx1100", "hsaco", ToBytes("code"), {}},
               {"p#1", "gfx1100", "hsaco", {}, {}}},
              options);
  const auto archive = Open(bytes);
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  EXPECT_EQ(bytes.substr(64, 4), "code");
  EXPECT_TRUE((*archive)->IsPlain((*archive)->entries()[0]));
  EXPECT_EQ(MustRead(**archive, "p#0", "gfx1100"), "code");
  EXPECT_EQ(MustRead(**archive, "p#1", "gfx1100"), "");
  const auto empty = Open(Written({}));
  ASSERT_TRUE(empty.has_value()) << empty.error().ToString();
  EXPECT_TRUE((*empty)->entries().empty());
  EXPECT_TRUE((*Open(Written({{"p#0", "gfx1100", "", {}, {}}})))
                  ->Find("p#0", "gfx1100"));
}

TEST(V2, MetadataAndBackToVersion1) {
  const std::string bytes =
      Written({{"p#0",
                "gfx1100",
                "hsaco",
                ToBytes("code"),
                {{"cerberus_abi", std::int64_t{2}},
                 {"failed", std::map<std::string, std::string>{{"k", "why"}}}}},
               {"q#0", "gfx1100", "hsaco", ToBytes("more"), {}}});
  const auto archive = Open(bytes);
  ASSERT_TRUE(archive.has_value());
  const Entry* entry = (*archive)->Find("p#0", "gfx1100");
  EXPECT_EQ(entry->metadata.Find("cerberus_abi").AsInt(), 2);
  EXPECT_EQ(entry->metadata.Find("failed").Find("k").AsString(), "why");
  EXPECT_FALSE((*archive)->Find("q#0", "gfx1100")->metadata);

  const TempFolder folder;
  const std::string v1 = folder.path() + "/v1.kpack";
  ASSERT_TRUE(WriteArchive(SelectAll(*archive), {.group_name = "group"}, v1));
  const auto back = Archive::Open(v1);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ((*back)->version(), 1u);
  const auto diff = Diff(**archive, **back);
  ASSERT_TRUE(diff.has_value());
  EXPECT_TRUE(diff->empty());
}

TEST(V2, SameInputsSameBytes) {
  std::vector<NewEntry> entries;
  entries.reserve(60);
  for (unsigned i = 0; i < 60; ++i) {
    entries.push_back({"k#" + std::to_string(i),
                       "gfx1100",
                       "hsaco",
                       ToBytes(Noise(300, i % 7) + std::to_string(i)),
                       {}});
  }
  const std::string once = Written(entries);
  std::reverse(entries.begin(), entries.end());
  EXPECT_EQ(Written(entries), once);
}

TEST(V2, ThreadsShareReferences) {
  std::vector<NewEntry> entries;
  const std::string code = Noise(3000, 9);
  entries.reserve(40);
  for (unsigned i = 0; i < 40; ++i) {
    entries.push_back({"k#" + std::to_string(i),
                       "gfx1100",
                       "hsaco",
                       ToBytes(code + std::to_string(i)),
                       {}});
  }
  const auto archive = Open(Written(entries));
  ASSERT_TRUE(archive.has_value());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const NewEntry& entry : entries) {
        const Entry* found = (*archive)->Find(entry.key, entry.arch);
        const auto bytes = (*archive)->Read(*found);
        if (!bytes || *bytes != entry.bytes) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// --- by hand, from docs/kpack-format.md ---

struct Index {
  v2::Header header = {};
  std::vector<v2::Blob> blobs;
  std::vector<v2::Entry> entries;
  std::vector<v2::Text> arches;
  v2::Names names = {};
  std::string strings;
  std::string body;  // of the blobs

  v2::Text Text(const std::string& text) {
    strings += text;
    return {static_cast<std::uint32_t>(strings.size() - text.size()),
            static_cast<std::uint32_t>(text.size())};
  }
  void AddBlob(const std::string& content, std::uint32_t codec = v2::kPlain) {
    const std::string stored = codec == v2::kPlain ? content : Frame(content);
    v2::Blob blob = {};
    blob.offset = 64 + body.size();
    blob.stored_size = stored.size();
    blob.size = content.size();
    blob.checksum = Checksum(AsBytes(stored));
    blob.codec = codec;
    blob.reference = v2::kNoReference;
    blobs.push_back(blob);
    body += stored;
  }
  void AddEntry(const std::string& key, std::uint32_t blob) {
    v2::Entry entry = {};
    entry.key = Text(key);
    entry.arch = Text("gfx1100");
    entry.type = Text("hsaco");
    entry.blob = blob;
    entries.push_back(entry);
  }

  std::string Bytes() const {
    std::string index;
    for (const auto& blob : blobs) index += Le(blob);
    for (const auto& entry : entries) index += Le(entry);
    for (const auto& arch : arches) index += Le(arch);
    index += Le(names) + strings;
    v2::Header h = header;
    std::memcpy(h.magic, "KPAK", 4);
    h.version = 2;
    h.index_offset = 64 + body.size();
    h.index_size = index.size();
    h.file_size = 64 + body.size() + index.size() + header.file_size;
    h.blob_count += static_cast<std::uint32_t>(blobs.size());
    h.entry_count += static_cast<std::uint32_t>(entries.size());
    h.arch_count += static_cast<std::uint32_t>(arches.size());
    const std::string unsigned_header = Le(h);
    h.checksum = v2::IndexChecksum(AsBytes(unsigned_header), AsBytes(index));
    return Le(h) + body + index;
  }
};

Index Good() {
  Index index;
  index.AddBlob("first");
  index.AddBlob("second, which is longer", v2::kZstd);
  index.AddEntry("p#0", 0);
  index.AddEntry("p#1", 1);
  index.arches.push_back(index.Text("gfx1100"));
  return index;
}

TEST(V2, IndexByHand) {
  const auto archive = Open(Good().Bytes());
  ASSERT_TRUE(archive.has_value()) << archive.error().ToString();
  EXPECT_EQ(MustRead(**archive, "p#0", "gfx1100"), "first");
  EXPECT_EQ(MustRead(**archive, "p#1", "gfx1100"), "second, which is longer");
  EXPECT_TRUE((*archive)->HasArch("gfx1100"));
}

TEST(V2, BadIndexesAreRefused) {
  struct {
    const char* message;
    std::function<void(Index&)> break_it;
  } const cases[] = {
      {"the file has", [](Index& i) { i.header.file_size = 1; }},
      {"features 0x4 are not known", [](Index& i) { i.header.features = 4; }},
      {"do not fit into an index", [](Index& i) { i.header.blob_count = 9; }},
      {"do not fit into an index",
       [](Index& i) { i.header.entry_count = 0xffffff00; }},
      {"do not fit into an index",
       [](Index& i) { i.header.arch_count = 0x10000000; }},
      {"run past the index", [](Index& i) { i.blobs[0].offset = 1 << 20; }},
      {"run past the index", [](Index& i) { i.blobs[0].offset = 8; }},
      {"run past the index",
       [](Index& i) { i.blobs[1].stored_size = ~std::uint64_t{0}; }},
      {"codec 7 is not known", [](Index& i) { i.blobs[0].codec = 7; }},
      {"plain, 5 bytes of 6", [](Index& i) { i.blobs[0].size = 6; }},
      {"plain, 5 bytes of 5 with reference 0",
       [](Index& i) { i.blobs[0].reference = 0; }},
      {"cannot unpack to",
       [](Index& i) { i.blobs[1].size = std::uint64_t{1} << 60; }},
      {"refers to blob 1, expected an earlier one",
       [](Index& i) { i.blobs[1].reference = 1; }},
      {"refers to blob 0 of 16777217 bytes",
       [](Index& i) {
         i.blobs[0].codec = v2::kZstd;
         i.blobs[0].stored_size = 20;
         i.blobs[0].size = (16 << 20) + 1;
         i.blobs[0].reference = v2::kNoReference;
         i.blobs[1].reference = 0;
         i.blobs[0].stored_size = 600;
         i.body.resize(700);
       }},
      {"expected one without a reference",
       [](Index& i) {
         i.AddBlob("third", v2::kZstd);
         i.blobs[1].reference = 0;
         i.blobs[2].reference = 1;
       }},
      {"blob 2, but there are 2 blobs",
       [](Index& i) { i.entries[0].blob = 2; }},
      {"there are 2 blobs", [](Index& i) { i.entries[0].reserved = 1; }},
      {"a string of", [](Index& i) { i.entries[1].key.size = 1000; }},
      {"a string of", [](Index& i) { i.entries[1].arch.offset = ~0u; }},
      {"a string of", [](Index& i) { i.names.group_name = {1000, 1}; }},
      {"a string of", [](Index& i) { i.arches[0] = {0, 1000}; }},
      {"does not stand behind",
       [](Index& i) { std::swap(i.entries[0], i.entries[1]); }},
      {"does not stand behind",
       [](Index& i) { i.entries[1].key = i.entries[0].key; }},
  };
  for (const auto& c : cases) {
    Index index = Good();
    c.break_it(index);
    const auto archive = Open(index.Bytes());
    ASSERT_FALSE(archive.has_value()) << c.message;
    EXPECT_THAT(archive.error().ToString(), HasSubstr(c.message));
    EXPECT_THAT(archive.error().ToString(), HasSubstr("t.kpack"));
  }
}

TEST(V2, BadReferenceNamesTheEntry) {
  Index index = Good();
  index.blobs[0].checksum ^= 1;
  index.blobs[1].reference = 0;
  const auto archive = Open(index.Bytes());
  ASSERT_TRUE(archive.has_value());
  EXPECT_THAT(MustRead(**archive, "p#1", "gfx1100"),
              testing::AllOf(HasSubstr("'p#1' for gfx1100"),
                             HasSubstr("in its reference, blob 0")));
}

TEST(V2, TextsMayShareBytes) {
  Index index = Good();
  index.entries[0].metadata = index.Text("\x81\xa1k\x01");
  index.entries[1].metadata = index.entries[0].metadata;
  index.Text("x");
  ++index.entries[1].metadata.size;  // not one value any more
  const auto archive = Open(index.Bytes());
  ASSERT_TRUE(archive.has_value());
  EXPECT_FALSE((*archive)->entries()[1].metadata);
  EXPECT_EQ((*archive)->entries()[0].metadata.Find("k").AsInt(), 1);
}

TEST(V2, MetadataThatIsNoMapIsFound) {
  Index index = Good();
  index.entries[0].metadata = index.Text("\xc1");
  index.entries[1].metadata = index.Text("\x93\x01\x02\x03");
  const auto archive = Open(index.Bytes());
  ASSERT_TRUE(archive.has_value());
  EXPECT_FALSE((*archive)->entries()[0].metadata);
  EXPECT_FALSE((*archive)->entries()[1].metadata);
  std::size_t metadata = 0;
  for (const Diag& diag : CheckArchive(**archive)) {
    metadata += diag.message.find("not a MessagePack map") != std::string::npos;
  }
  EXPECT_EQ(metadata, 2u);
}

}  // namespace
}  // namespace cerberus::kpack
