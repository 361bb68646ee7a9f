// The functions of cufile.def: files are read into device memory and written
// from it by the host, as NVIDIA's library does without its kernel module.
// Where kernels run in the memory of the process, in place.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "libraries/common/alive.h"
#include "libraries/common/driver.h"
#include "libraries/common/work.h"

#define CUFILE_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cufile {
namespace {

// CUfileOpError.
enum Status : int {
  kSuccess = 0,
  kDriverNotInitialized = 5001,
  kPlatformNotSupported = 5007,
  kIoNotSupported = 5008,
  kCudaDriverError = 5011,
  kInvalidMappingRange = 5017,
  kInvalidFileType = 5018,
  kInvalidValue = 5022,
  kMemoryAlreadyRegistered = 5023,
  kMemoryNotRegistered = 5024,
  kDriverAlreadyOpen = 5026,
  kHandleNotRegistered = 5027,
  kHandleAlreadyRegistered = 5028,
  kInternalError = 5030,
  kBatchFull = 5037,
};
struct Error {
  int status, cuda;  // CUresult
};
Error ErrorOf(Status status) { return {status, 0}; }

constexpr int kVersion = 1190;  // 1.19.0
constexpr std::size_t kPiece = std::size_t{16} << 20;

// CUfileDescr_t.
struct Descriptor {
  int type;
  union {
    int fd;
    void* handle;
  } handle;
  const void* fs_ops;
};
constexpr int kFd = 1, kWindows = 2, kUserspace = 3;

struct File {
  int fd;
  int own = -1;  // the same file, which takes any size and place
  int usable() const { return own >= 0 ? own : fd; }
};
// Of a descriptor with O_DIRECT, which asks for whole blocks: those of programs
// need not be. -1: it is as good as another.
int WithoutDirect(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_DIRECT) == 0) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return open(path.c_str(), (flags & O_ACCMODE) | O_CLOEXEC);
}

// CUfileDrvProps_t.
struct Properties {
  struct {
    unsigned major, minor;
    std::size_t poll_threshold, max_direct_io;
    unsigned status, control;
  } nvfs;
  unsigned features, max_cache, per_buffer_cache, max_pinned, max_batch,
      max_batch_timeout;
};
constexpr unsigned kBatchSupported = 1 << 1, kStreamsSupported = 1 << 2;
constexpr unsigned kAllowCompatible = 1 << 1;

// What may be set, by its number, before the driver is open; sizes in KiB.
constexpr std::size_t kSizes[] = {0,      128,  4,        16384, 2, 16384,
                                  131072, 1024, 33554432, 128,   4, 0};
constexpr std::size_t kMostSizes[] = {3,       1024,    256,
                                      1048576, 64,      1048576,
                                      1048576, 1048576, SIZE_MAX / 1024,
                                      256,     1048576, SIZE_MAX / 1024};
constexpr std::size_t kBooleans = 15, kStrings = 3, kSlabs = 3;
enum SizeNumber { kMaxDirectIo = 5, kMaxCache = 6, kMaxPinned = 8 };

struct Library {
  std::mutex mutex;
  const Driver* driver = nullptr;
  long uses = 0;
  std::set<int> fds;
  std::map<std::uintptr_t, std::size_t> buffers;
  std::vector<std::size_t> sizes{std::begin(kSizes), std::end(kSizes)};
  bool booleans[kBooleans] = {false, true};
  std::string strings[kStrings] = {"ERROR", "", ""};
  std::vector<std::size_t> slabs[2][2];  // sizes, counts
};
// Never destroyed: programs make calls in their own destructors.
Library& TheLibrary() {
  static auto& library = *new Library;
  return library;
}
using Lock = std::lock_guard<std::mutex>;

// Opened by the first call that needs it, as NVIDIA's is.
Status Open(bool again) {
  Library& library = TheLibrary();
  const Lock lock(library.mutex);
  if (library.driver == nullptr) {
    const Driver* const driver = FindDriver();
    if (driver == nullptr || !EnsureContext(*driver)) {
      return kDriverNotInitialized;
    }
    library.driver = driver;
  }
  if (again || library.uses == 0) ++library.uses;
  return kSuccess;
}
const Driver& DriverOf() { return *TheLibrary().driver; }

// --- One transfer. What is read or written, or -1 with errno, as pread's.
ssize_t Transfer(int fd, std::byte* memory, std::size_t size, off_t at,
                 bool write) {
  std::size_t done = 0;
  while (done < size) {
    const auto where = at + static_cast<off_t>(done);
    const ssize_t part = write ? pwrite(fd, memory + done, size - done, where)
                               : pread(fd, memory + done, size - done, where);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return done != 0 ? static_cast<ssize_t>(done) : -1;
    if (part == 0) break;
    done += static_cast<std::size_t>(part);
  }
  return static_cast<ssize_t>(done);
}

// Through memory of the host, piece by piece. O_DIRECT needs it aligned.
struct Staging {
  explicit Staging(std::size_t size)
      : memory(static_cast<std::byte*>(
            ::operator new(size, std::align_val_t{4096}, std::nothrow))) {}
  ~Staging() { ::operator delete(memory, std::align_val_t{4096}); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  std::byte* const memory;
};
bool Copy(void* to, const void* from, std::size_t size) {
  const Driver& driver = DriverOf();
  return size == 0 || (driver.copy(reinterpret_cast<std::uint64_t>(to),
                                   reinterpret_cast<std::uint64_t>(from), size,
                                   nullptr) == 0 &&
                       driver.synchronize(nullptr) == 0);
}
ssize_t TransferStaged(int fd, std::byte* device, std::size_t size, off_t at,
                       bool write) {
  const Staging staging(std::min(size, kPiece));
  if (staging.memory == nullptr) return -kInternalError;
  std::size_t done = 0;
  while (done < size) {
    const std::size_t piece = std::min(size - done, kPiece);
    if (write && !Copy(staging.memory, device + done, piece)) {
      return -kCudaDriverError;
    }
    const ssize_t part = Transfer(fd, staging.memory, piece,
                                  at + static_cast<off_t>(done), write);
    if (part < 0) return done != 0 ? static_cast<ssize_t>(done) : -1;
    if (!write &&
        !Copy(device + done, staging.memory, static_cast<std::size_t>(part))) {
      return -kCudaDriverError;
    }
    done += static_cast<std::size_t>(part);
    if (static_cast<std::size_t>(part) < piece) break;
  }
  return static_cast<ssize_t>(done);
}

Status CheckFile(const File* file) {
  if (file == nullptr) return kInvalidValue;
  return Alive<File>::All().Has(file) ? kSuccess : kHandleNotRegistered;
}
// Within what was registered, if the base of it was.
Status CheckRange(const void* base, std::size_t size, off_t offset) {
  if (base == nullptr || offset < 0) return kInvalidValue;
  Library& library = TheLibrary();
  const Lock lock(library.mutex);
  const auto found =
      library.buffers.find(reinterpret_cast<std::uintptr_t>(base));
  if (found == library.buffers.end()) return kSuccess;
  const auto from = static_cast<std::size_t>(offset);
  return from <= found->second && size <= found->second - from
             ? kSuccess
             : kInvalidMappingRange;
}

ssize_t ReadOrWrite(File* file, void* base, std::size_t size, off_t at,
                    off_t offset, bool write) {
  if (const Status status = CheckFile(file)) return -status;
  if (const Status status = CheckRange(base, size, offset)) return -status;
  if (at < 0) return -kInvalidValue;
  std::byte* const memory = static_cast<std::byte*>(base) + offset;
  return DriverOf().shares_memory
             ? Transfer(file->usable(), memory, size, at, write)
             : TransferStaged(file->usable(), memory, size, at, write);
}

// CUfileIOVec_t.
struct Part {
  void* base;
  std::size_t size;
};
ssize_t ReadOrWriteParts(File* file, const Part* parts, std::size_t count,
                         off_t at, bool write) {
  if (const Status status = CheckFile(file)) return -status;
  if (count != 0 && parts == nullptr) return -kInvalidValue;
  ssize_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ssize_t done =
        ReadOrWrite(file, parts[i].base, parts[i].size, at + sum, 0, write);
    if (done < 0) return sum != 0 ? sum : done;
    sum += done;
    if (static_cast<std::size_t>(done) < parts[i].size) break;
  }
  return sum;
}

// In a stream's order: sizes and offsets are read when it comes there.
Error InStream(File* file, void* base, const std::size_t* size, const off_t* at,
               const off_t* offset, ssize_t* done, Stream stream, bool write) {
  if (const Status status = CheckFile(file)) return ErrorOf(status);
  if (base == nullptr || size == nullptr || at == nullptr ||
      offset == nullptr || done == nullptr) {
    return ErrorOf(kInvalidValue);
  }
  try {
    Work work(DriverOf(), stream);
    // Copies are made of as much as the call says, from where it says.
    const std::size_t most = *size;
    const off_t from = *offset;
    auto* const whole = static_cast<std::byte*>(base);
    const bool shares = work.shares_memory();
    std::byte* memory = nullptr;
    if (!shares) {
      if (const Status status = CheckRange(base, most, from)) {
        return ErrorOf(status);
      }
      memory =
          write ? const_cast<std::byte*>(work.In<std::byte>(whole + from, most))
                : work.InOut(whole + from, most);
    }
    const bool queued = work.Run(
        [=] {
          if (shares) {
            *done = ReadOrWrite(file, base, *size, *at, *offset, write);
          } else if (*size > most || *offset != from) {
            *done = -kInvalidValue;
          } else {
            *done = CheckFile(file) == kSuccess
                        ? Transfer(file->usable(), memory, *size, *at, write)
                        : -kHandleNotRegistered;
          }
        },
        /*wait=*/false);
    return queued ? Error{} : Error{kCudaDriverError, 999};
  } catch (const std::bad_alloc&) {
    return ErrorOf(kInternalError);
  }
}

// --- Batches: each transfer is done when it is submitted.
// CUfileIOParams_t and CUfileIOEvents_t.
struct Request {
  int mode;
  void* base;
  off_t at, offset;
  std::size_t size;
  File* file;
  int operation;
  void* cookie;
};
static_assert(sizeof(Request) == 64, "as in cufile.h");
struct Event {
  void* cookie;
  int status;
  std::size_t result;
};
constexpr int kComplete = 0x10, kFailed = 0x40;
constexpr int kBatchMode = 1;

struct Batch {
  std::size_t room;
  std::vector<Event> done;
};

}  // namespace
}  // namespace cerberus::libraries::cufile

namespace lib = cerberus::libraries;
namespace cf = cerberus::libraries::cufile;

#define CUFILE_ANSWERED(name)
#define CUFILE_REFUSED(name) \
  CUFILE_API cf::Error name() { return cf::ErrorOf(cf::kPlatformNotSupported); }
#include "libraries/cufile/cufile.def"

// --- The driver
CUFILE_API cf::Error cuFileDriverOpen() { return ErrorOf(cf::Open(true)); }
CUFILE_API cf::Error cuFileDriverClose() {
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  if (library.uses == 0) return ErrorOf(cf::kDriverNotInitialized);
  if (--library.uses == 0) library.buffers.clear();
  return {};
}
CUFILE_API cf::Error cuFileDriverClose_v2() { return cuFileDriverClose(); }
CUFILE_API long cuFileUseCount() {
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  return library.uses;
}
CUFILE_API cf::Error cuFileGetVersion(int* version) {
  if (version == nullptr) return ErrorOf(cf::kInvalidValue);
  *version = cf::kVersion;
  return {};
}
CUFILE_API cf::Error cuFileDriverGetProperties(cf::Properties* properties) {
  if (properties == nullptr) return ErrorOf(cf::kInvalidValue);
  if (const cf::Status status = cf::Open(false)) return ErrorOf(status);
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  const auto size = [&](std::size_t number) {
    return static_cast<unsigned>(library.sizes[number]);
  };
  *properties = {};
  properties->nvfs.max_direct_io = library.sizes[cf::kMaxDirectIo];
  properties->nvfs.poll_threshold = library.sizes[10];
  properties->nvfs.control = cf::kAllowCompatible;
  properties->features = cf::kBatchSupported | cf::kStreamsSupported;
  properties->max_cache = size(cf::kMaxCache);
  properties->per_buffer_cache = size(7);
  properties->max_pinned = size(cf::kMaxPinned);
  properties->max_batch = size(9);
  properties->max_batch_timeout = size(11);
  return {};
}

namespace {

cf::Error SetSize(std::size_t number, std::size_t value, bool only_closed) {
  if (number >= std::size(cf::kSizes) || value > cf::kMostSizes[number]) {
    return ErrorOf(cf::kInvalidValue);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  if (only_closed && library.uses != 0) {
    return ErrorOf(cf::kDriverAlreadyOpen);
  }
  library.sizes[number] = value;
  return {};
}
// Pages of 4 KiB.
cf::Error SetPages(std::size_t number, std::size_t value) {
  if (value == 0 || value % 4 != 0) return ErrorOf(cf::kInvalidValue);
  return SetSize(number, value, /*only_closed=*/false);
}

// The sizes and counts of slabs.
cf::Error SetSlabs(int which, const std::size_t* sizes,
                   const std::size_t* counts, int length) {
  if (sizes == nullptr || counts == nullptr || length < 1 ||
      length > static_cast<int>(cf::kSlabs)) {
    return ErrorOf(cf::kInvalidValue);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  if (library.uses != 0) return ErrorOf(cf::kDriverAlreadyOpen);
  library.slabs[which][0].assign(sizes, sizes + length);
  library.slabs[which][1].assign(counts, counts + length);
  return {};
}
cf::Error GetSlabs(int which, std::size_t* sizes, std::size_t* counts,
                   int length) {
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  const auto& slabs = library.slabs[which];
  if (sizes == nullptr || counts == nullptr || length < 1 ||
      static_cast<std::size_t>(length) < slabs[0].size()) {
    return ErrorOf(cf::kInvalidValue);
  }
  for (int i = 0; i < length; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sizes[i] = at < slabs[0].size() ? slabs[0][at] : 0;
    counts[i] = at < slabs[1].size() ? slabs[1][at] : 0;
  }
  return {};
}

}  // namespace

CUFILE_API cf::Error cuFileDriverSetPollMode(bool poll, std::size_t threshold) {
  cf::Library& library = cf::TheLibrary();
  {
    const cf::Lock lock(library.mutex);
    library.booleans[0] = poll;
  }
  return SetSize(10, threshold, /*only_closed=*/false);
}
CUFILE_API cf::Error cuFileDriverSetMaxDirectIOSize(std::size_t size) {
  return SetPages(cf::kMaxDirectIo, size);
}
CUFILE_API cf::Error cuFileDriverSetMaxCacheSize(std::size_t size) {
  return SetPages(cf::kMaxCache, size);
}
CUFILE_API cf::Error cuFileDriverSetMaxPinnedMemSize(std::size_t size) {
  return SetPages(cf::kMaxPinned, size);
}
CUFILE_API cf::Error cuFileGetParameterSizeT(unsigned number,
                                             std::size_t* value) {
  if (value == nullptr || number >= std::size(cf::kSizes)) {
    return ErrorOf(cf::kInvalidValue);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  *value = library.sizes[number];
  return {};
}
CUFILE_API cf::Error cuFileSetParameterSizeT(unsigned number,
                                             std::size_t value) {
  return SetSize(number, value, /*only_closed=*/true);
}
CUFILE_API cf::Error cuFileGetParameterMinMaxValue(unsigned number,
                                                   std::size_t* least,
                                                   std::size_t* most) {
  if (least == nullptr || most == nullptr || number >= std::size(cf::kSizes)) {
    return ErrorOf(cf::kInvalidValue);
  }
  *least = 0;
  *most = cf::kMostSizes[number];
  return {};
}
CUFILE_API cf::Error cuFileGetParameterBool(unsigned number, bool* value) {
  if (value == nullptr || number >= cf::kBooleans) {
    return ErrorOf(cf::kInvalidValue);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  *value = library.booleans[number];
  return {};
}
CUFILE_API cf::Error cuFileSetParameterBool(unsigned number, bool value) {
  if (number >= cf::kBooleans) return ErrorOf(cf::kInvalidValue);
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  if (library.uses != 0) return ErrorOf(cf::kDriverAlreadyOpen);
  library.booleans[number] = value;
  return {};
}
CUFILE_API cf::Error cuFileGetParameterString(unsigned number, char* text,
                                              int length) {
  if (text == nullptr || number >= cf::kStrings || length < 1) {
    return ErrorOf(cf::kInvalidValue);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  const std::string& value = library.strings[number];
  if (value.size() >= static_cast<std::size_t>(length)) {
    return ErrorOf(cf::kInvalidValue);
  }
  std::memcpy(text, value.c_str(), value.size() + 1);
  return {};
}
CUFILE_API cf::Error cuFileSetParameterString(unsigned number,
                                              const char* text) {
  if (text == nullptr || number >= cf::kStrings) {
    return ErrorOf(cf::kInvalidValue);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  if (library.uses != 0) return ErrorOf(cf::kDriverAlreadyOpen);
  library.strings[number] = text;
  return {};
}
CUFILE_API cf::Error cuFileSetParameterPosixPoolSlabArray(
    const std::size_t* sizes, const std::size_t* counts, int length) {
  return SetSlabs(0, sizes, counts, length);
}
CUFILE_API cf::Error cuFileGetParameterPosixPoolSlabArray(std::size_t* sizes,
                                                          std::size_t* counts,
                                                          int length) {
  return GetSlabs(0, sizes, counts, length);
}
CUFILE_API cf::Error cuFileSetParameterGpuBounceBufferSlabArray(
    const std::size_t* sizes, const std::size_t* counts, int length) {
  return SetSlabs(1, sizes, counts, length);
}
CUFILE_API cf::Error cuFileGetParameterGpuBounceBufferSlabArray(
    std::size_t* sizes, std::size_t* counts, int length) {
  return GetSlabs(1, sizes, counts, length);
}

// --- Files and buffers
CUFILE_API cf::Error cuFileHandleRegister(cf::File** file,
                                          const cf::Descriptor* descriptor) {
  if (file == nullptr || descriptor == nullptr) {
    return ErrorOf(cf::kInvalidValue);
  }
  if (const cf::Status status = cf::Open(false)) return ErrorOf(status);
  if (descriptor->type != cf::kFd) {
    return ErrorOf(descriptor->type == cf::kWindows ||
                           descriptor->type == cf::kUserspace
                       ? cf::kIoNotSupported
                       : cf::kInvalidValue);
  }
  const int fd = descriptor->handle.fd;
  struct stat about;
  if (fstat(fd, &about) != 0) return ErrorOf(cf::kInvalidValue);
  if (!S_ISREG(about.st_mode) && !S_ISBLK(about.st_mode)) {
    return ErrorOf(cf::kInvalidFileType);
  }
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  if (!library.fds.insert(fd).second) {
    return ErrorOf(cf::kHandleAlreadyRegistered);
  }
  *file = lib::Alive<cf::File>::All().Make(cf::File{fd, cf::WithoutDirect(fd)});
  return ErrorOf(*file != nullptr ? cf::kSuccess : cf::kInternalError);
}
CUFILE_API void cuFileHandleDeregister(cf::File* file) {
  if (cf::CheckFile(file) != cf::kSuccess) return;
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  library.fds.erase(file->fd);
  if (file->own >= 0) close(file->own);
  lib::Alive<cf::File>::All().Destroy(file);
}
CUFILE_API cf::Error cuFileBufRegister(const void* base, std::size_t size,
                                       int flags) {
  constexpr int kKnown = 3;
  if (base == nullptr || size == 0 || (flags & ~kKnown) != 0) {
    return ErrorOf(cf::kInvalidValue);
  }
  if (const cf::Status status = cf::Open(false)) return ErrorOf(status);
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  return ErrorOf(
      library.buffers.try_emplace(reinterpret_cast<std::uintptr_t>(base), size)
              .second
          ? cf::kSuccess
          : cf::kMemoryAlreadyRegistered);
}
CUFILE_API cf::Error cuFileBufDeregister(const void* base) {
  if (base == nullptr) return ErrorOf(cf::kInvalidValue);
  cf::Library& library = cf::TheLibrary();
  const cf::Lock lock(library.mutex);
  return ErrorOf(
      library.buffers.erase(reinterpret_cast<std::uintptr_t>(base)) != 0
          ? cf::kSuccess
          : cf::kMemoryNotRegistered);
}

// --- Transfers
CUFILE_API ssize_t cuFileRead(cf::File* file, void* base, std::size_t size,
                              off_t at, off_t offset) {
  return cf::ReadOrWrite(file, base, size, at, offset, /*write=*/false);
}
CUFILE_API ssize_t cuFileWrite(cf::File* file, const void* base,
                               std::size_t size, off_t at, off_t offset) {
  return cf::ReadOrWrite(file, const_cast<void*>(base), size, at, offset,
                         /*write=*/true);
}
CUFILE_API ssize_t cuFileReadv(cf::File* file, const cf::Part* parts,
                               std::size_t count, off_t at, unsigned flags) {
  if (flags != 0) return -cf::kInvalidValue;
  return cf::ReadOrWriteParts(file, parts, count, at, /*write=*/false);
}
CUFILE_API ssize_t cuFileWritev(cf::File* file, const cf::Part* parts,
                                std::size_t count, off_t at, unsigned flags) {
  if (flags != 0) return -cf::kInvalidValue;
  return cf::ReadOrWriteParts(file, parts, count, at, /*write=*/true);
}
CUFILE_API cf::Error cuFileReadAsync(cf::File* file, void* base,
                                     std::size_t* size, off_t* at,
                                     off_t* offset, ssize_t* done,
                                     lib::Stream stream) {
  return cf::InStream(file, base, size, at, offset, done, stream,
                      /*write=*/false);
}
CUFILE_API cf::Error cuFileWriteAsync(cf::File* file, void* base,
                                      std::size_t* size, off_t* at,
                                      off_t* offset, ssize_t* done,
                                      lib::Stream stream) {
  return cf::InStream(file, base, size, at, offset, done, stream,
                      /*write=*/true);
}
// What streams are told of is not needed.
CUFILE_API cf::Error cuFileStreamRegister(lib::Stream, unsigned flags) {
  constexpr unsigned kKnown = 15;
  if ((flags & ~kKnown) != 0) return ErrorOf(cf::kInvalidValue);
  return ErrorOf(cf::Open(false));
}
CUFILE_API cf::Error cuFileStreamDeregister(lib::Stream) { return {}; }

// --- Batches
CUFILE_API cf::Error cuFileBatchIOSetUp(cf::Batch** batch, unsigned count) {
  if (batch == nullptr || count == 0) return ErrorOf(cf::kInvalidValue);
  if (const cf::Status status = cf::Open(false)) return ErrorOf(status);
  *batch = lib::Alive<cf::Batch>::All().Make(cf::Batch{count, {}});
  return ErrorOf(*batch != nullptr ? cf::kSuccess : cf::kInternalError);
}
CUFILE_API cf::Error cuFileBatchIOSubmit(cf::Batch* batch, unsigned count,
                                         const cf::Request* requests,
                                         unsigned flags) {
  if (!lib::Alive<cf::Batch>::All().Has(batch) || requests == nullptr ||
      flags != 0) {
    return ErrorOf(cf::kInvalidValue);
  }
  if (count > batch->room - batch->done.size()) {
    return ErrorOf(cf::kBatchFull);
  }
  for (unsigned i = 0; i < count; ++i) {
    const cf::Request& r = requests[i];
    if (r.mode != cf::kBatchMode || r.operation < 0 || r.operation > 1) {
      return ErrorOf(cf::kInvalidValue);
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    const cf::Request& r = requests[i];
    const ssize_t done = cf::ReadOrWrite(r.file, r.base, r.size, r.at, r.offset,
                                         r.operation == 1);
    batch->done.push_back({r.cookie, done < 0 ? cf::kFailed : cf::kComplete,
                           static_cast<std::size_t>(done)});
  }
  return {};
}
CUFILE_API cf::Error cuFileBatchIOGetStatus(cf::Batch* batch, unsigned,
                                            unsigned* count, cf::Event* events,
                                            timespec*) {
  if (!lib::Alive<cf::Batch>::All().Has(batch) || count == nullptr ||
      events == nullptr) {
    return ErrorOf(cf::kInvalidValue);
  }
  const std::size_t told = std::min<std::size_t>(*count, batch->done.size());
  const auto end = batch->done.begin() + static_cast<std::ptrdiff_t>(told);
  std::copy(batch->done.begin(), end, events);
  batch->done.erase(batch->done.begin(), end);
  *count = static_cast<unsigned>(told);
  return {};
}
// Nothing is left to be cancelled.
CUFILE_API cf::Error cuFileBatchIOCancel(cf::Batch* batch) {
  return ErrorOf(lib::Alive<cf::Batch>::All().Has(batch) ? cf::kSuccess
                                                         : cf::kInvalidValue);
}
CUFILE_API void cuFileBatchIODestroy(cf::Batch* batch) {
  lib::Alive<cf::Batch>::All().Destroy(batch);
}
