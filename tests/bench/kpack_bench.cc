// kpack_bench FOLDER [BLOBS [KILOBYTES]]: what archives cost, for
// kpack_bench.py.
//
// Prints lines "NAME OURS PLAIN": seconds of ours and of the plain loop over
// the same bytes with pread and zstd, which is what there is to compare with.
// Processor time; of several threads that of the busiest.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kpack/marker.h"
#include "kpack/reader.h"
#include "kpack/writer.h"
#include "rocm_kpack/kpack.h"

namespace {

using namespace cerberus;
using namespace cerberus::kpack;

double Now(clockid_t clock) {
  struct timespec time;
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

double Median(int runs, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const double begin = Now(CLOCK_PROCESS_CPUTIME_ID);
    run();
    times.push_back(Now(CLOCK_PROCESS_CPUTIME_ID) - begin);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// What the busiest of so many threads takes.
double Busiest(unsigned threads,
               const std::function<void(unsigned thread)>& work) {
  std::vector<double> busy(threads);
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      const double begin = Now(CLOCK_THREAD_CPUTIME_ID);
      work(i);
      busy[i] = Now(CLOCK_THREAD_CPUTIME_ID) - begin;
    });
  }
  for (std::thread& thread : all) thread.join();
  return *std::max_element(busy.begin(), busy.end());
}

void Print(const char* name, double ours, double plain) {
  std::printf("%s\t%.9g\t%.9g\n", name, ours, plain);
  std::fflush(stdout);
}

void Check(bool ok) {
  if (ok) return;
  std::fprintf(stderr, "kpack_bench: a call failed\n");
  std::exit(1);
}

// Shrinks to somewhat less than half, as code objects do.
Bytes Blob(unsigned number, std::size_t size) {
  std::mt19937_64 random(number);
  Bytes bytes(size);
  for (std::size_t i = 0; i + 16 <= size; i += 16) {
    StoreLe(bytes.data() + i, random() & 0xffffffff00ff00ff);
    StoreLe(bytes.data() + i + 8, random() & 0x0000ffff);
  }
  return bytes;
}

struct Sample {
  std::string path;
  unsigned blobs;
  std::size_t size;
  std::string Key(unsigned i) const { return fmt::format("lib/x.so#{}", i); }
};

void MakeArchive(const Sample& sample,
                 std::shared_ptr<FramePool> pool = nullptr) {
  ArchiveOptions options;
  options.pool = std::move(pool);
  options.group_name = "x";
  options.gfx_arch_family = "gfx1100";
  auto writer = ArchiveWriter::Create(sample.path, options);
  Check(writer.has_value());
  for (unsigned i = 0; i < sample.blobs; ++i) {
    Metadata metadata = {{"cerberus_abi", std::int64_t{7}},
                         {"ptxc", "0.9.0"},
                         {"sm", std::int64_t{75}},
                         {"ptx_version", "8.7"},
                         {"content_key", fmt::format("ptx:{:032x}", i)}};
    Check(writer
              ->Add(sample.Key(i), "gfx1100", "hsaco", Blob(i, sample.size),
                    std::move(metadata))
              .has_value());
  }
  Check(writer->Finish().has_value() && writer->Commit().has_value());
}

// The plain loop: the frames by their places, which it knows.
class Plain {
 public:
  explicit Plain(const Sample& sample) : size_(sample.size) {
    fd_ = ::open(sample.path.c_str(), O_RDONLY);
    std::uint64_t at = 68;
    for (unsigned i = 0; i < sample.blobs; ++i) {
      std::uint32_t length = 0;
      Check(::pread(fd_, &length, 4, static_cast<off_t>(at)) == 4);
      places_.emplace_back(at + 4, length);
      at += 4 + length;
    }
  }
  ~Plain() { ::close(fd_); }
  void Get(unsigned i) const {
    Bytes stored(places_[i].second), out(size_);
    Check(::pread(fd_, stored.data(), stored.size(),
                  static_cast<off_t>(places_[i].first)) ==
          static_cast<ssize_t>(stored.size()));
    Check(ZSTD_decompress(out.data(), out.size(), stored.data(),
                          stored.size()) == size_);
  }
  void Forget() const { (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }

 private:
  std::size_t size_;
  int fd_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places_;
};

void Get(kpack_archive_t archive, const Sample& sample, unsigned i) {
  void* data;
  std::size_t size;
  Check(kpack_get_kernel(archive, sample.Key(i).c_str(), "gfx1100", &data,
                         &size) == KPACK_SUCCESS &&
        size == sample.size);
  kpack_free_kernel(data);
}

// Anonymous memory of this process.
double AnonymousMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

void OpenOnce(const char* path) {
  kpack_archive_t archive;
  const double before = AnonymousMegabytes();
  Check(kpack_open(path, &archive) == KPACK_SUCCESS);
  Print("open, MB of anonymous memory", AnonymousMegabytes() - before, 0);
  kpack_close(archive);
}

void Read(const Sample& sample, const std::string& program) {
  kpack_archive_t archive;
  const auto open = [&] {
    Check(kpack_open(sample.path.c_str(), &archive) == KPACK_SUCCESS);
  };
  // In a process that has nothing to use again.
  std::fflush(stdout);
  Check(std::system(
            fmt::format("{} --open {}", program, sample.path).c_str()) == 0);
  Print("open",
        Median(21,
               [&] {
                 open();
                 kpack_close(archive);
               }),
        0);
  open();
  const Plain plain(sample);
  const unsigned some = std::min(sample.blobs, 400u);
  const auto get = [&](unsigned thread, unsigned threads) {
    for (unsigned i = thread; i < some; i += threads) Get(archive, sample, i);
  };
  const auto get_plain = [&](unsigned thread, unsigned threads) {
    for (unsigned i = thread; i < some; i += threads) plain.Get(i);
  };
  get(0, 1);
  Print("get, warm", Median(5, [&] { get(0, 1); }),
        Median(5, [&] { get_plain(0, 1); }));
  const double one = Busiest(1, [&](unsigned i) { get(i, 1); });
  const double two = Busiest(2, [&](unsigned i) { get(i, 2); });
  Print("get, 1 against 2 threads", two, one);
  std::vector<double> cold, cold_plain;
  for (int i = 0; i < 3; ++i) {
    plain.Forget();
    double begin = Now(CLOCK_MONOTONIC);
    get(0, 1);
    cold.push_back(Now(CLOCK_MONOTONIC) - begin);
    plain.Forget();
    begin = Now(CLOCK_MONOTONIC);
    get_plain(0, 1);
    cold_plain.push_back(Now(CLOCK_MONOTONIC) - begin);
  }
  std::sort(cold.begin(), cold.end());
  std::sort(cold_plain.begin(), cold_plain.end());
  Print("get, cold, by the clock", cold[1], cold_plain[1]);
  kpack_close(archive);
}

// kpack_load_code_object of a small kernel, in a process with many mappings.
void Load(const std::string& folder) {
  const Sample small = {folder + "/small.kpack", 100, 8192};
  MakeArchive(small);
  // A program with some dozens of libraries has as many mappings.
  for (int i = 0; i < 300; ++i) {
    Check(::mmap(nullptr, 8192, i % 2 == 0 ? PROT_READ : PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
  }
  Marker marker;
  marker.search_paths = {small.path};
  marker.kernel_name = "lib/x.so";
  const auto encoded = EncodeMarker(marker);
  static std::uint8_t in_program[4096];  // as a converted program has it
  Check(encoded && encoded->size() <= sizeof in_program);
  std::copy(encoded->begin(), encoded->end(), in_program);
  kpack_cache_t cache;
  Check(kpack_cache_create(&cache) == KPACK_SUCCESS);
  const char* arches[] = {"gfx1100"};
  const auto load = [&] {
    for (unsigned i = 0; i < small.blobs; ++i) {
      void* data;
      std::size_t size;
      Check(kpack_load_code_object(cache, in_program, "/bin/x", i, arches, 1,
                                   &data, &size) == KPACK_SUCCESS);
      kpack_free_code_object(data);
    }
  };
  load();
  const Plain plain(small);
  Print("100 small code objects loaded", Median(21, load), Median(21, [&] {
          for (unsigned i = 0; i < small.blobs; ++i) plain.Get(i);
        }));
  kpack_cache_destroy(cache);
}

// Also what is held in memory at most.
void Pack(const std::string& folder) {
  const Sample sample = {folder + "/packed.kpack", 200, std::size_t{1} << 20};
  std::vector<Bytes> blobs;
  for (unsigned i = 0; i < 8; ++i) blobs.push_back(Blob(i, sample.size));
  const auto pack = [&](std::shared_ptr<FramePool> pool) {
    ArchiveOptions options;
    options.group_name = "x";
    options.gfx_arch_family = "gfx1100";
    options.pool = std::move(pool);
    auto writer = ArchiveWriter::Create(sample.path, options);
    Check(writer.has_value());
    for (unsigned i = 0; i < sample.blobs; ++i) {
      StoreLe(blobs[i % 8].data(), i);  // none twice
      Check(writer->Add(sample.Key(i), "gfx1100", "hsaco", blobs[i % 8])
                .has_value());
    }
    Check(writer->Finish().has_value());
  };
  const auto plain = [&] {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    Bytes frame(ZSTD_compressBound(sample.size));
    std::FILE* file = std::fopen(sample.path.c_str(), "wb");
    for (unsigned i = 0; i < sample.blobs; ++i) {
      StoreLe(blobs[i % 8].data(), i);
      const std::size_t size =
          ZSTD_compressCCtx(context, frame.data(), frame.size(),
                            blobs[i % 8].data(), sample.size, 3);
      Check(std::fwrite(frame.data(), 1, size, file) == size);
    }
    std::fclose(file);
    ZSTD_freeCCtx(context);
  };
  // Of the thread that adds, and of each of the two that compress.
  std::vector<double> busiest;
  for (int i = 0; i < 3; ++i) {
    const double all = Now(CLOCK_PROCESS_CPUTIME_ID);
    const double own = Now(CLOCK_THREAD_CPUTIME_ID);
    pack(std::make_shared<FramePool>(2));
    const double adding = Now(CLOCK_THREAD_CPUTIME_ID) - own;
    const double compressing = Now(CLOCK_PROCESS_CPUTIME_ID) - all - adding;
    busiest.push_back(std::max(adding, compressing / 2));
  }
  std::sort(busiest.begin(), busiest.end());
  const double loop = Median(3, plain);
  Print("pack, 2 threads, each", busiest[1], loop);
  Print("pack, all", Median(3, [&] { pack(std::make_shared<FramePool>(2)); }),
        loop);
  struct rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  Print("pack, MB in memory", static_cast<double>(usage.ru_maxrss) / 1024, 0);
}

int Run(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc == 3 && std::string_view(argv[1]) == "--open") {
    OpenOnce(argv[2]);
    return 0;
  }
  Sample sample;
  sample.path = std::string(argv[1]) + "/large.kpack";
  sample.blobs = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2000;
  sample.size =
      argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) << 10 : 640 << 10;
  Pack(argv[1]);
  MakeArchive(sample, std::make_shared<FramePool>());
  Read(sample, argv[0]);
  Load(argv[1]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
