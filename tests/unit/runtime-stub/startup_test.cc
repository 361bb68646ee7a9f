// What every cudart does before the first call of a program returns, with the
// answers checked as it checks them.
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "driver.h"
#include "runtime-stub/module/md2.h"

namespace cerberus::stub {
namespace {

// --- an MD2 of the test's own: the permutation is made from the digits of
// pi, not copied ---

// Decimal digits of pi, one by one (Gibbons, "Unbounded Spigot Algorithms for
// the Digits of Pi", 2006, in a bounded form: n digits need 10n/3 terms).
class PiDigits {
 public:
  explicit PiDigits(int digits) : terms_(digits * 10 / 3 + 10, 2) {}
  int Next() {
    while (ready_.empty()) Step();
    const int digit = ready_.front();
    ready_.erase(ready_.begin());
    return digit;
  }

 private:
  void Step() {
    long carry = 0;
    for (std::size_t i = terms_.size(); i-- > 0;) {
      const long weight = static_cast<long>(i);
      const long value = terms_[i] * 10 + carry * (weight + 1);
      if (i == 0) {
        terms_[0] = value % 10;
        Push(value / 10);
      } else {
        terms_[i] = value % (2 * weight + 1);
        carry = value / (2 * weight + 1);
      }
    }
  }
  // A 10 carries into the digits that wait for it.
  void Push(long digit) {
    if (digit == 10) {
      for (int& d : waiting_) d = (d + 1) % 10;
      digit = 0;
    }
    if (digit != 9) {
      ready_.insert(ready_.end(), waiting_.begin(), waiting_.end());
      waiting_.clear();
    }
    waiting_.push_back(static_cast<int>(digit));
  }
  std::vector<long> terms_;
  std::vector<int> ready_, waiting_;
};

// The shuffle that makes RFC 1319's table.
std::array<int, 256> PiPermutation() {
  PiDigits pi(800);
  const auto random = [&pi](int n) {
    for (;;) {
      int x = pi.Next(), y = 10;
      if (n > 10) x = x * 10 + pi.Next(), y = 100;
      if (n > 100) x = x * 10 + pi.Next(), y = 1000;
      if (x < n * (y / n)) return x % n;
    }
  };
  std::array<int, 256> table;
  std::iota(table.begin(), table.end(), 0);
  for (int i = 2; i <= 256; ++i) std::swap(table[random(i)], table[i - 1]);
  return table;
}

std::vector<int> ReferenceMd2(std::vector<int> m) {
  static const std::array<int, 256> table = PiPermutation();
  const int padding = 16 - static_cast<int>(m.size() % 16);
  m.insert(m.end(), padding, padding);
  std::vector<int> check(16, 0);
  int last = 0;
  for (std::size_t i = 0; i < m.size(); ++i) {
    last = check[i % 16] ^= table[m[i] ^ last];
  }
  m.insert(m.end(), check.begin(), check.end());
  std::vector<int> x(48, 0);
  for (std::size_t i = 0; i < m.size(); i += 16) {
    for (int j = 0; j < 16; ++j) {
      x[16 + j] = m[i + j];
      x[32 + j] = x[16 + j] ^ x[j];
    }
    int t = 0;
    for (int round = 0; round < 18; ++round) {
      for (int& byte : x) t = byte ^= table[t];
      t = (t + round) % 256;
    }
  }
  x.resize(16);
  return x;
}

std::vector<int> ReferenceHmac(const std::vector<int>& key,
                               const std::vector<int>& message) {
  std::vector<int> inner, outer;
  for (int k : key) inner.push_back(k ^ 0x36), outer.push_back(k ^ 0x5c);
  inner.insert(inner.end(), message.begin(), message.end());
  const std::vector<int> hash = ReferenceMd2(inner);
  outer.insert(outer.end(), hash.begin(), hash.end());
  return ReferenceMd2(outer);
}

std::string Hex(const std::vector<int>& bytes) {
  std::string out;
  for (int byte : bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", byte);
    out += text;
  }
  return out;
}

// RFC 1319, appendix A.5.
TEST(Md2, Rfc1319Vectors) {
  struct Row {
    const char* text;
    const char* digest;
  };
  for (const Row& row :
       {Row{"", "8350e5a3e24c153df2275c9f80692773"},
        Row{"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"},
        Row{"abc", "da853b0d3f88d99b30283a69e6ded6bb"},
        Row{"message digest", "ab4f496bfb2a530b219ff33031fe06b0"},
        Row{"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"},
        Row{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "da33def2a42df13975352846c30338cd"},
        Row{"1234567890123456789012345678901234567890123456789012345678901234"
            "5678901234567890",
            "d5976f79d83d3a0dc9806c3c66f3efd8"}}) {
    const Md2Digest digest = Md2(AsBytes(row.text));
    EXPECT_EQ(Hex({digest.begin(), digest.end()}), row.digest) << row.text;
    EXPECT_EQ(Hex(ReferenceMd2({row.text, row.text + std::strlen(row.text)})),
              row.digest);
  }
}

// --- the sequence ---

CUuuid Uuid(const char* hex) {
  CUuuid id = {};
  for (int i = 0; i < 16; ++i) {
    unsigned byte = 0;
    std::sscanf(hex + 2 * i, "%2x", &byte);
    id.bytes[i] = static_cast<char>(byte);
  }
  return id;
}

using Table = const void* const*;
Table GetTable(const char* hex) {
  const CUuuid id = Uuid(hex);
  const void* table = nullptr;
  EXPECT_EQ(CU(cuGetExportTable)(&table, &id), CUDA_SUCCESS) << hex;
  return static_cast<Table>(table);
}
template <typename F>
F* SlotOf(Table table, int i) {
  return reinterpret_cast<F*>(const_cast<void*>(table[i]));
}

constexpr char kInterface[] = "6bd5fb6c5bf4e74a8987d93912fd9df9";
constexpr char kCallbacks[] = "a094798c2e742e7493f20800200c0a66";
constexpr char kStorage[] = "c693336e1121df11a8c368f355d89593";
constexpr char kChecks[] = "263e88607cd2614392f6bbd5006dfa7e";
constexpr char kHandshake[] = "d4082055bde6704b8d34ba123c66e1f2";
constexpr char kToolStorage[] = "42d85a8123f6cb478298f6e78a3aecdc";
constexpr char kCublas[] = "21318c60971432488ca641ff7324c8f2";
constexpr char kErrorLog[] = "f8cff95121468b4eb9e2fb469e7c0dd9";
constexpr char kProfiling[] = "7cb63f9b9ca48e42a484beb66e6aed7f";
constexpr char kLibraries[] = "6e163fbeb958444d835ce182aff1991e";

void AppendNumber(std::vector<int>* out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out->push_back(static_cast<int>(value >> (8 * i)) & 0xff);
  }
}

void CheckHandshake(int cudart_version) {
  using Check = CUresult(unsigned, unsigned long long, unsigned char*);
  const Table table = GetTable(kHandshake);
  EXPECT_EQ(table[0], reinterpret_cast<void*>(24));
  auto* check = SlotOf<Check>(table, 1);
  const unsigned version = static_cast<unsigned>(cudart_version);
  const unsigned long long seconds = 1700000000;

  unsigned char first[16], second[16], third[16];
  ASSERT_EQ(check(version, seconds, first), CUDA_SUCCESS);
  ASSERT_EQ(check(version + 1, seconds, second), CUDA_SUCCESS);
  ASSERT_EQ(check(version + 2, seconds, third), CUDA_SUCCESS);
  const auto hex = [](const unsigned char* bytes) {
    return Hex({bytes, bytes + 16});
  };
  EXPECT_EQ(hex(first), "5c67cb031c184133e8d14c1faa83d38e");
  EXPECT_EQ(hex(second), "5c67cb031c184118e8d14c1faa83d38e");

  int driver_version = 0;
  ASSERT_EQ(CU(cuDriverGetVersion)(&driver_version), CUDA_SUCCESS);
  std::vector<int> message;
  AppendNumber(&message, static_cast<unsigned>(driver_version), 4);
  AppendNumber(&message, version + 2, 4);
  AppendNumber(&message, static_cast<std::uint64_t>(getpid()), 4);
  AppendNumber(&message, static_cast<std::uint64_t>(pthread_self()), 4);
  AppendNumber(&message, reinterpret_cast<std::uint64_t>(GetTable(kInterface)),
               8);
  AppendNumber(&message, reinterpret_cast<std::uint64_t>(table), 8);
  AppendNumber(&message, reinterpret_cast<std::uint64_t>(table[1]), 8);
  AppendNumber(&message, seconds, 8);
  int count = 0;
  ASSERT_EQ(CU(cuDeviceGetCount)(&count), CUDA_SUCCESS);
  for (int i = 0; i < count; ++i) {
    CUuuid uuid;
    ASSERT_EQ(CU(cuDeviceGetUuid)(&uuid, i), CUDA_SUCCESS);
    for (char byte : uuid.bytes) message.push_back(byte & 0xff);
    for (int attribute : {50, 33, 34}) {
      int value = 0;
      ASSERT_EQ(CU(cuDeviceGetAttribute)(&value, attribute, i), CUDA_SUCCESS);
      AppendNumber(&message, static_cast<unsigned>(value), 4);
    }
  }
  std::vector<int> key;
  for (unsigned byte :
       {0x14u, 0x6au, 0xddu, 0xaeu, 0x53u, 0xa9u, 0xa7u, 0x52u, 0xaau, 0x08u,
        0x41u, 0x36u, 0x0bu, 0xf5u, 0x5au, 0x9fu}) {
    key.push_back(static_cast<int>(byte));
  }
  EXPECT_EQ(hex(third), Hex(ReferenceHmac(key, message)));
}

class Startup : public DriverTest {};

TEST_F(Startup, VersionSatisfiesEveryCudart) {
  int version = 0;
  ASSERT_EQ(CU(cuDriverGetVersion)(&version), CUDA_SUCCESS);
  EXPECT_GE(version, 13000);
}

TEST_F(Startup, HandshakeHoldsInEveryThread) {
  for (int version : {11080, 12010, 12090, 13000, 13050})
    CheckHandshake(version);
  std::thread([] { CheckHandshake(13000); }).join();
}

TEST_F(Startup, EveryAttributeIsAnswered) {
  for (int id = 1; id < 200; ++id) {
    int value = -12345;
    EXPECT_EQ(CU(cuDeviceGetAttribute)(&value, id, 0), CUDA_SUCCESS) << id;
    EXPECT_NE(value, -12345) << id;
  }
  for (int id : {-1, 0, 9999}) {
    int value = 0;
    EXPECT_EQ(CU(cuDeviceGetAttribute)(&value, id, 0), CUDA_ERROR_INVALID_VALUE)
        << id;
  }
  // Divisors in cudart's occupancy functions.
  for (int id : {1, 10, 16, 39}) {
    int value = 0;
    CU(cuDeviceGetAttribute)(&value, id, 0);
    EXPECT_GT(value, 0) << id;
  }
}

TEST_F(Startup, PrimaryContextHandleIsKnownBeforeItIsRetained) {
  using GetPrimary = CUresult(CUcontext*, CUdevice);
  auto* get = SlotOf<GetPrimary>(GetTable(kInterface), 2);
  CUcontext early = nullptr, retained = nullptr;
  ASSERT_EQ(get(&early, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&retained, 0), CUDA_SUCCESS);
  EXPECT_EQ(early, retained);
  EXPECT_EQ(get(&early, 99), CUDA_ERROR_INVALID_DEVICE);
}

// Asked from cudart 13.1 on, which fails its first call with another answer.
TEST_F(Startup, StartIsAllowed) {
  EXPECT_EQ(SlotOf<CUresult()>(GetTable(kInterface), 12)(), CUDA_SUCCESS);
}

TEST_F(Startup, UnknownSlotsRefuseAndSayWhich) {
  const struct {
    const char* table;
    std::set<int> known;
  } rows[] = {{kInterface, {0, 1, 2, 6, 7, 12}},
              {kCallbacks, {0, 2, 6}},
              {kToolStorage, {0, 2}},
              {kStorage, {0, 1, 2}},
              {kChecks, {0, 2, 3}},
              {kHandshake, {0, 1}},
              {kErrorLog, {0, 1}},
              {kCublas, {0, 4, 39, 51}},
              {kProfiling, {0}},
              {kLibraries, {0}}};
  for (const auto& row : rows) {
    const Table table = GetTable(row.table);
    // More than the size says.
    for (int slot = 0; slot < 64; ++slot) {
      if (row.known.contains(slot)) continue;
      for (const bool first : {true, false}) {
        StderrCapture capture;
        EXPECT_EQ(SlotOf<CUresult()>(table, slot)(), CUDA_ERROR_NOT_SUPPORTED);
        const std::string expected = "slot " + std::to_string(slot) +
                                     " of cuGetExportTable's table " +
                                     std::string(row.table, 8);
        EXPECT_EQ(capture.Text().find(expected) != std::string::npos, first)
            << row.table << " " << slot;
      }
    }
  }
}

// CUPTI and cuFFTW look at the size before they use a slot: with none they ask
// for nothing more. Without the table CUPTI 13.2 recurses, and cuFFTW makes no
// plan.
TEST_F(Startup, TablesThatOfferNothing) {
  for (const char* table : {kProfiling, kLibraries}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(GetTable(table)[0]), 8u)
        << table;
  }
}

TEST_F(Startup, CallbackFlagsAreLargeEnoughAndZero) {
  using Get = void(void**, std::size_t*);
  const Table table = GetTable(kCallbacks);
  EXPECT_GE(reinterpret_cast<std::uintptr_t>(table[0]), 56u);
  void* flags = nullptr;
  std::size_t count = 0;
  SlotOf<Get>(table, 2)(&flags, &count);
  ASSERT_GE(count, 1024u);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(static_cast<std::uint32_t*>(flags)[i], 0u);
  }
  SlotOf<Get>(table, 6)(&flags, &count);
  EXPECT_GE(count, 14u);
}

TEST_F(Startup, ContextChecksPass) {
  using Check = CUresult(CUcontext, unsigned*, const void**);
  const Table table = GetTable(kChecks);
  unsigned state = 9;
  const void* more = nullptr;
  EXPECT_EQ(SlotOf<Check>(table, 2)(context_, &state, &more), CUDA_SUCCESS);
  EXPECT_EQ(state, 0u);
  EXPECT_EQ(SlotOf<unsigned()>(table, 3)(), 0u);
}

// How cuBLAS finds the workspace of a stream: by the number that it has in the
// current context.
TEST_F(Startup, CublasTellsStreamsApart) {
  using Current = CUresult(CUcontext*);
  using Resolve = CUresult(CUcontext, CUstream, CUstream*, unsigned);
  using Id = CUresult(CUcontext, CUstream, unsigned long long*);
  CUcontext context = nullptr;
  EXPECT_EQ(SlotOf<Current>(GetTable(kToolStorage), 2)(&context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  const Table table = GetTable(kCublas);
  CUstream made = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&made, 0), CUDA_SUCCESS);
  const struct {
    CUstream handle;
    unsigned per_thread;
    CUstream same_as;
  } rows[] = {{made, 0, made},
              {nullptr, 0, LegacyStream()},
              {nullptr, 1, PerThreadStream()}};
  for (const auto& row : rows) {
    CUstream stream = nullptr;
    EXPECT_EQ(SlotOf<Resolve>(table, 51)(context, row.handle, &stream,
                                         row.per_thread),
              CUDA_SUCCESS);
    unsigned long long id = 0, expected = 1;
    EXPECT_EQ(SlotOf<Id>(table, 39)(context, stream, &id), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamGetId)(row.same_as, &expected), CUDA_SUCCESS);
    EXPECT_EQ(id, expected);
  }
  CU(cuStreamDestroy_v2)(made);
}

TEST_F(Startup, UnknownTablesAreRefused) {
  const CUuuid id = Uuid("00112233445566778899aabbccddeeff");
  for (const bool first : {true, false}) {
    const void* table = &id;
    StderrCapture capture;
    EXPECT_NE(CU(cuGetExportTable)(&table, &id), CUDA_SUCCESS);
    EXPECT_EQ(
        capture.Text().find("table 00112233445566778899aabbccddeeff is "
                            "asked for but not known") != std::string::npos,
        first);
  }
  EXPECT_NE(GetTable(kErrorLog), nullptr);
}

// NVRTC asks for the driver's cache of compiled programs and does without.
TEST_F(Startup, CompileCacheIsRefusedInSilence) {
  const CUuuid id = Uuid("da9151d33ae6cc41a5c04f26d533e328");
  const void* table = &id;
  StderrCapture capture;
  EXPECT_EQ(CU(cuGetExportTable)(&table, &id), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(capture.Text(), "");
}

// --- what cudart keeps per context ---

using Put = CUresult(CUcontext, void*, void*,
                     void (*)(CUcontext, void*, void*));
using Delete = CUresult(CUcontext, void*);
using Get = CUresult(void**, CUcontext, void*);

struct Storage {
  Table table = GetTable(kStorage);
  Put* put = SlotOf<Put>(table, 0);
  Delete* remove = SlotOf<Delete>(table, 1);
  Get* get = SlotOf<Get>(table, 2);
};

TEST_F(Startup, StoredValuesFollowTheContext) {
  Storage s;
  int key = 0, other_key = 0, first = 0, second = 0;
  void* value = nullptr;
  EXPECT_NE(s.get(&value, nullptr, &key), CUDA_SUCCESS);
  ASSERT_EQ(s.put(context_, &key, &first, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(s.get(&value, nullptr, &key), CUDA_SUCCESS);
  EXPECT_EQ(value, &first);
  EXPECT_EQ(s.get(&value, context_, &key), CUDA_SUCCESS);
  EXPECT_NE(s.get(&value, context_, &other_key), CUDA_SUCCESS);
  // A changed value is seen at once, in other threads too.
  ASSERT_EQ(s.put(context_, &key, &second, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(s.get(&value, nullptr, &key), CUDA_SUCCESS);
  EXPECT_EQ(value, &second);
  std::thread([&] {
    void* seen = nullptr;
    // Without a current context a thread must not find it, or cudart would
    // go on without one.
    EXPECT_NE(s.get(&seen, nullptr, &key), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
    EXPECT_EQ(s.get(&seen, nullptr, &key), CUDA_SUCCESS);
    EXPECT_EQ(seen, &second);
    EXPECT_EQ(s.remove(context_, &key), CUDA_SUCCESS);
  }).join();
  EXPECT_NE(s.get(&value, nullptr, &key), CUDA_SUCCESS);
  EXPECT_NE(s.remove(context_, &key), CUDA_SUCCESS);
}

std::vector<void*>& Destroyed() {
  static std::vector<void*> values;
  return values;
}

TEST_F(Startup, ResetDestroysStoredValues) {
  Storage s;
  int key = 0, stored = 0;
  Destroyed().clear();
  ASSERT_EQ(s.put(context_, &key, &stored,
                  [](CUcontext, void*, void* value) {
                    Destroyed().push_back(value);
                  }),
            CUDA_SUCCESS);
  void* value = nullptr;
  ASSERT_EQ(s.get(&value, nullptr, &key), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
  EXPECT_EQ(Destroyed(), std::vector<void*>{&stored});
  EXPECT_NE(s.get(&value, nullptr, &key), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cerberus::stub
