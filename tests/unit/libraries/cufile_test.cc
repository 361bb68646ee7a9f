// Files in device memory, against what is in them.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

#define CUFILE_ANSWERED(name) #name,
#define CUFILE_REFUSED(name)
const char* const kNames[] = {
#include "libraries/cufile/cufile.def"
};
#undef CUFILE_ANSWERED
#undef CUFILE_REFUSED
#define CUFILE_ANSWERED(name)
#define CUFILE_REFUSED(name) #name,
const char* const kRefused[] = {
#include "libraries/cufile/cufile.def"
};
std::set<std::string>& Called() {
  static std::set<std::string> names;
  return names;
}
template <typename R, typename... A>
R Plain(const std::string& name, A... arguments) {
  static void* const library = dlopen("libcufile.so.0", RTLD_NOW);
  const std::string whole = "cuFile" + name;
  void* const symbol = library ? dlsym(library, whole.c_str()) : nullptr;
  if (symbol == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  Called().insert(whole);
  return reinterpret_cast<R (*)(A...)>(symbol)(arguments...);
}
struct Error {
  int status, cuda;
};
template <typename... A>
int Cf(const std::string& name, A... arguments) {
  return Plain<Error>(name, arguments...).status;
}
template <typename... A>
ssize_t Io(const std::string& name, A... arguments) {
  return Plain<ssize_t>(name, arguments...);
}
constexpr int kInvalid = 5022;

struct Descriptor {
  int type;
  union {
    int fd;
    void* handle;
  } handle;
  const void* ops;
};

// A file of so many bytes, each another than its neighbours.
class File {
 public:
  explicit File(std::size_t size, int flags = O_RDWR) : path_("cufile.XXXXXX") {
    Device<char> context({0});  // makes one current
    const int made = mkstemp(path_.data());
    EXPECT_GE(made, 0);
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(ByteAt(i));
    EXPECT_EQ(write(made, bytes.data(), size), static_cast<ssize_t>(size));
    close(made);
    fd = open(path_.c_str(), flags);
    // Some file systems have no O_DIRECT.
    if (fd < 0) fd = open(path_.c_str(), O_RDWR);
    Descriptor descriptor = {1, {fd}, nullptr};
    EXPECT_EQ(Cf("HandleRegister", &handle, &descriptor), 0);
  }
  ~File() {
    if (handle != nullptr) Plain<void>("HandleDeregister", handle);
    close(fd);
    unlink(path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  static char ByteAt(std::size_t i) {
    return static_cast<char>(i * 7 + i / 251 + i / 65536);
  }
  std::vector<char> Read(std::size_t from, std::size_t size) const {
    std::vector<char> out(size);
    const int own = open(path_.c_str(), O_RDONLY);
    const ssize_t read = pread(own, out.data(), size, static_cast<off_t>(from));
    close(own);
    EXPECT_GE(read, 0);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
    return out;
  }
  std::vector<char> Part(std::size_t from, std::size_t size) const {
    return {bytes.begin() + static_cast<long>(from),
            bytes.begin() + static_cast<long>(from + size)};
  }

  int fd = -1;
  void* handle = nullptr;
  std::vector<char> bytes;

 private:
  std::string path_;
};

constexpr off_t kStart = 0;

TEST(Cufile, ReadsAndWrites) {
  for (const int flags : {O_RDWR, O_RDWR | O_DIRECT}) {
    const File file(100'000, flags);
    const Device<char> memory(std::vector<char>(120'000, 'x'));
    // At offsets of both, past the end, and of no byte.
    EXPECT_EQ(Io("Read", file.handle, memory.get(), std::size_t{5000},
                 off_t{777}, off_t{33}),
              5000);
    std::vector<char> got = memory.Read();
    EXPECT_EQ(std::vector<char>(got.begin() + 33, got.begin() + 5033),
              file.Part(777, 5000));
    EXPECT_EQ(got[32], 'x');
    EXPECT_EQ(got[5033], 'x');
    EXPECT_EQ(Io("Read", file.handle, memory.get(), std::size_t{50'000},
                 off_t{90'000}, kStart),
              10'000);
    got = memory.Read();
    EXPECT_EQ(std::vector<char>(got.begin(), got.begin() + 10'000),
              file.Part(90'000, 10'000));
    EXPECT_EQ(got[10'000], 'x');
    EXPECT_EQ(Io("Read", file.handle, memory.get(), std::size_t{1},
                 off_t{100'000}, kStart),
              0);
    EXPECT_EQ(
        Io("Read", file.handle, memory.get(), std::size_t{0}, kStart, kStart),
        0);
    EXPECT_EQ(Io("Write", file.handle, memory.get(), std::size_t{3001},
                 off_t{99'000}, off_t{5}),
              3001);
    EXPECT_EQ(file.Read(99'000, 9999), file.Part(90'005, 3001));
  }
}

// More than one piece of the memory between.
TEST(Cufile, LargeOnes) {
  constexpr std::size_t kSize = (std::size_t{17} << 20) + 5;
  const File file(kSize);
  void* const memory = TakeDevice(kSize);
  EXPECT_EQ(Io("Read", file.handle, memory, kSize, kStart, kStart),
            static_cast<ssize_t>(kSize));
  std::vector<char> got(kSize);
  Download(got.data(), memory, kSize);
  EXPECT_EQ(got, file.bytes);
  EXPECT_EQ(Io("Write", file.handle, memory, kSize, off_t{1}, kStart),
            static_cast<ssize_t>(kSize));
  EXPECT_EQ(file.Read(1, kSize), file.bytes);
  GiveBackDevice(memory);
}

struct Part {
  void* base;
  std::size_t size;
};
TEST(Cufile, Parts) {
  const File file(1000);
  const Device<char> a(std::vector<char>(300, 'a'));
  const Device<char> b(std::vector<char>(300, 'b'));
  const Part parts[] = {{a.get(), 100}, {b.get(), 250}};
  EXPECT_EQ(Io("Readv", file.handle, &parts[0], std::size_t{2}, off_t{10}, 0u),
            350);
  EXPECT_EQ(a.Read(), [&] {
    std::vector<char> want = file.Part(10, 100);
    want.resize(300, 'a');
    return want;
  }());
  EXPECT_EQ(b.Read()[249], file.bytes[359]);
  EXPECT_EQ(
      Io("Writev", file.handle, &parts[0], std::size_t{2}, off_t{500}, 0u),
      350);
  EXPECT_EQ(file.Read(500, 350), file.Part(10, 350));
  // The file ends within the second.
  EXPECT_EQ(Io("Readv", file.handle, &parts[0], std::size_t{2}, off_t{800}, 0u),
            200);
  EXPECT_EQ(Io("Readv", file.handle, &parts[0], std::size_t{2}, kStart, 1u),
            -kInvalid);
}

// What sizes and offsets are when the stream comes there.
TEST(Cufile, InTheOrderOfAStream) {
  const File file(1000);
  const Device<char> memory(std::vector<char>(1000, 'x'));
  void* const stream = NewStream(1);
  EXPECT_EQ(Cf("StreamRegister", stream, 15u), 0);
  std::size_t size = 600;
  off_t at = 300, offset = 50;
  ssize_t read = -77, written = -77;
  EXPECT_EQ(Cf("ReadAsync", file.handle, memory.get(), &size, &at, &offset,
               &read, stream),
            0);
  off_t to = 2000;
  EXPECT_EQ(Cf("WriteAsync", file.handle, memory.get(), &size, &to, &offset,
               &written, stream),
            0);
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  EXPECT_EQ(read, 600);
  EXPECT_EQ(written, 600);
  EXPECT_EQ(file.Read(2000, 1000), file.Part(300, 600));
  const std::vector<char> got = memory.Read();
  EXPECT_EQ(got[49], 'x');
  EXPECT_EQ(got[650], 'x');

  // Less than was told: the file ends.
  at = 2500;
  EXPECT_EQ(Cf("ReadAsync", file.handle, memory.get(), &size, &at, &offset,
               &read, stream),
            0);
  EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  EXPECT_EQ(read, 100);
  EXPECT_EQ(Cf("StreamDeregister", stream), 0);
  EXPECT_EQ(Cf("ReadAsync", file.handle, memory.get(),
               static_cast<std::size_t*>(nullptr), &at, &offset, &read, stream),
            kInvalid);
  EXPECT_EQ(Cf("StreamRegister", stream, 16u), kInvalid);
}

struct Request {
  int mode;
  void* base;
  off_t at, offset;
  std::size_t size;
  void* file;
  int operation;
  void* cookie;
};
struct Event {
  void* cookie;
  int status;
  ssize_t result;
};
TEST(Cufile, Batches) {
  const File file(1000);
  const Device<char> memory(std::vector<char>(1000, 'x'));
  void* batch = nullptr;
  EXPECT_EQ(Cf("BatchIOSetUp", &batch, 3u), 0);
  int cookies[3];
  const Request requests[] = {
      {1, memory.get(), 100, 0, 50, file.handle, 0, &cookies[0]},
      {1, memory.get(), 0, 0, 50, file.handle, 1, &cookies[1]},
      {1, memory.get(), 0, 0, 50, nullptr, 0, &cookies[2]},
      {1, memory.get(), 0, 0, 50, file.handle, 0, nullptr}};
  EXPECT_EQ(Cf("BatchIOSubmit", batch, 4u, &requests[0], 0u), 5037);
  EXPECT_EQ(Cf("BatchIOSubmit", batch, 3u, &requests[0], 0u), 0);
  EXPECT_EQ(file.Read(0, 50), file.Part(100, 50));
  Event events[3];
  unsigned count = 2;
  EXPECT_EQ(Cf("BatchIOGetStatus", batch, 1u, &count, &events[0], nullptr), 0);
  EXPECT_EQ(count, 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(events[i].cookie, &cookies[i]);
    EXPECT_EQ(events[i].status, 0x10);
    EXPECT_EQ(events[i].result, 50);
  }
  count = 3;
  EXPECT_EQ(Cf("BatchIOGetStatus", batch, 0u, &count, &events[0], nullptr), 0);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(events[0].status, 0x40);
  EXPECT_EQ(events[0].result, -kInvalid);
  Request bad = requests[0];
  bad.operation = 2;
  EXPECT_EQ(Cf("BatchIOSubmit", batch, 1u, &bad, 0u), kInvalid);
  EXPECT_EQ(Cf("BatchIOCancel", batch), 0);
  Plain<void>("BatchIODestroy", batch);
  EXPECT_EQ(Cf("BatchIOCancel", batch), kInvalid);
  EXPECT_EQ(Cf("BatchIOSetUp", &batch, 0u), kInvalid);
}

TEST(Cufile, Registers) {
  const File file(1000);
  Descriptor again = {1, {file.fd}, nullptr};
  void* other = nullptr;
  EXPECT_EQ(Cf("HandleRegister", &other, &again), 5028);
  again.type = 2;
  EXPECT_EQ(Cf("HandleRegister", &other, &again), 5008);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Descriptor channel = {1, {ends[0]}, nullptr};
  EXPECT_EQ(Cf("HandleRegister", &other, &channel), 5018);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(Cf("HandleRegister", &other, &channel), kInvalid);

  const Device<char> memory(std::vector<char>(1000, 'x'));
  void* const base = memory.get();
  EXPECT_EQ(Cf("BufRegister", base, std::size_t{500}, 0), 0);
  EXPECT_EQ(Cf("BufRegister", base, std::size_t{500}, 0), 5023);
  EXPECT_EQ(Io("Read", file.handle, base, std::size_t{100}, kStart, off_t{400}),
            100);
  EXPECT_EQ(Io("Read", file.handle, base, std::size_t{101}, kStart, off_t{400}),
            -5017);
  EXPECT_EQ(Cf("BufDeregister", base), 0);
  EXPECT_EQ(Cf("BufDeregister", base), 5024);
  EXPECT_EQ(Cf("BufRegister", base, std::size_t{0}, 0), kInvalid);

  EXPECT_EQ(Io("Read", static_cast<void*>(nullptr), base, std::size_t{1},
               kStart, kStart),
            -kInvalid);
  EXPECT_EQ(Io("Read", base, base, std::size_t{1}, kStart, kStart), -5027);
  EXPECT_EQ(Io("Read", file.handle, base, std::size_t{1}, off_t{-1}, kStart),
            -kInvalid);
  // What the file says.
  Descriptor only_read = {1, {open("/proc/self/exe", O_RDONLY)}, nullptr};
  ASSERT_EQ(Cf("HandleRegister", &other, &only_read), 0);
  EXPECT_EQ(Io("Write", other, base, std::size_t{1}, kStart, kStart), -1);
  EXPECT_EQ(errno, EBADF);
  Plain<void>("HandleDeregister", other);
  close(only_read.handle.fd);
}

TEST(Cufile, Settings) {
  EXPECT_EQ(Cf("DriverOpen"), 0);
  const long uses = Plain<long>("UseCount");
  EXPECT_GE(uses, 1);
  EXPECT_EQ(Cf("DriverOpen"), 0);
  EXPECT_EQ(Plain<long>("UseCount"), uses + 1);
  EXPECT_EQ(Cf("SetParameterSizeT", 9u, std::size_t{64}), 5026);
  while (Plain<long>("UseCount") > 1) {
    EXPECT_EQ(Cf("DriverClose_v2"), 0);
  }
  EXPECT_EQ(Cf("DriverClose"), 0);
  EXPECT_EQ(Cf("DriverClose"), 5001);

  int version = 0;
  EXPECT_EQ(Cf("GetVersion", &version), 0);
  EXPECT_GE(version, 1000);
  EXPECT_EQ(Cf("SetParameterSizeT", 9u, std::size_t{64}), 0);
  EXPECT_EQ(Cf("DriverSetMaxCacheSize", std::size_t{4096}), 0);
  EXPECT_EQ(Cf("DriverSetMaxDirectIOSize", std::size_t{8192}), 0);
  EXPECT_EQ(Cf("DriverSetMaxPinnedMemSize", std::size_t{65536}), 0);
  EXPECT_EQ(Cf("DriverSetMaxPinnedMemSize", std::size_t{3}), kInvalid);
  EXPECT_EQ(Cf("DriverSetPollMode", true, std::size_t{8}), 0);
  std::size_t size = 0, most = 0;
  EXPECT_EQ(Cf("GetParameterSizeT", 9u, &size), 0);
  EXPECT_EQ(size, 64u);
  EXPECT_EQ(Cf("GetParameterMinMaxValue", 9u, &size, &most), 0);
  EXPECT_LT(size, most);
  EXPECT_EQ(Cf("SetParameterSizeT", 9u, most + 1), kInvalid);
  EXPECT_EQ(Cf("GetParameterSizeT", 12u, &size), kInvalid);
  bool value = false;
  EXPECT_EQ(Cf("GetParameterBool", 0u, &value), 0);
  EXPECT_TRUE(value);
  EXPECT_EQ(Cf("SetParameterBool", 4u, true), 0);
  EXPECT_EQ(Cf("GetParameterBool", 4u, &value), 0);
  EXPECT_TRUE(value);
  EXPECT_EQ(Cf("SetParameterBool", 15u, true), kInvalid);
  char text[8];
  EXPECT_EQ(Cf("SetParameterString", 0u, "TRACE"), 0);
  EXPECT_EQ(Cf("GetParameterString", 0u, &text[0], 8), 0);
  EXPECT_STREQ(text, "TRACE");
  EXPECT_EQ(Cf("GetParameterString", 0u, &text[0], 5), kInvalid);
  for (const std::string kind : {"PosixPool", "GpuBounceBuffer"}) {
    const std::size_t sizes[] = {4, 64}, counts[] = {10, 3};
    EXPECT_EQ(Cf("SetParameter" + kind + "SlabArray", &sizes[0], &counts[0], 2),
              0);
    std::size_t got[2][3];
    EXPECT_EQ(
        Cf("GetParameter" + kind + "SlabArray", &got[0][0], &got[1][0], 3), 0);
    EXPECT_EQ(got[0][1], 64u);
    EXPECT_EQ(got[1][1], 3u);
    EXPECT_EQ(got[1][2], 0u);
    EXPECT_EQ(
        Cf("GetParameter" + kind + "SlabArray", &got[0][0], &got[1][0], 1),
        kInvalid);
  }
  struct {
    unsigned major, minor;
    std::size_t threshold, direct;
    unsigned status, control, features, cache, per_buffer, pinned, batch,
        timeout;
  } properties = {};
  EXPECT_EQ(Cf("DriverGetProperties", &properties), 0);
  EXPECT_EQ(properties.direct, 8192u);
  EXPECT_EQ(properties.cache, 4096u);
  EXPECT_EQ(properties.pinned, 65536u);
  EXPECT_EQ(properties.batch, 64u);
  EXPECT_EQ(properties.features, 6u);
  EXPECT_EQ(properties.control & 2u, 2u);
}

TEST(Cufile, RefusesByName) {
  for (const std::string name : kRefused) {
    void* const out = nullptr;
    EXPECT_EQ(Cf(name.substr(6), out, out), 5007) << name;
  }
}

// Runs last: each function of the table was called.
// What is exported and nobody called here.
TEST(CufileTable, AllAreCalled) {
  if (GTEST_FLAG_GET(filter) != "*") return;
  for (const char* name : kNames) EXPECT_EQ(Called().count(name), 1u) << name;
}

}  // namespace
}  // namespace cerberus::libraries::tests
