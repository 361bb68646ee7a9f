#include "libraries/nccl/board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

namespace cerberus::libraries::nccl {

struct Note::Header {
  std::atomic<unsigned> readers;
  unsigned reserved;
  std::size_t size;  // of what follows
};
static_assert(std::atomic<unsigned>::is_always_lock_free);

Note::~Note() {
  if (memory_ != nullptr) ::munmap(memory_, length_);
}
Note& Note::operator=(Note&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(length_, other.length_);
  return *this;
}

bool Note::Write(const std::string& file, const std::vector<std::byte>& head,
                 const void* data, std::size_t bytes) {
  const std::string made = file + ".new";
  const int fd =
      ::open(made.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  length_ = sizeof(Header) + head.size() + bytes;
  // Memory that is not there would be found out by a signal.
  bool done = ::posix_fallocate(fd, 0, static_cast<off_t>(length_)) == 0;
  if (done) {
    void* memory =
        ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    done = memory != MAP_FAILED;
    if (done) memory_ = memory;
  }
  ::close(fd);
  if (done) {
    auto* header = new (memory_) Header{};
    header->size = head.size() + bytes;
    auto* to = reinterpret_cast<std::byte*>(header + 1);
    std::copy(head.begin(), head.end(), to);
    if (bytes != 0) std::memcpy(to + head.size(), data, bytes);
    // Unlike a renaming, this fails where there is one.
    done = ::link(made.c_str(), file.c_str()) == 0;
  }
  const int error = errno;
  ::unlink(made.c_str());
  errno = error;
  return done;
}

bool Note::Open(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat about = {};
  if (::fstat(fd, &about) == 0 &&
      static_cast<std::size_t>(about.st_size) >= sizeof(Header)) {
    length_ = static_cast<std::size_t>(about.st_size);
    void* memory =
        ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) memory_ = memory;
  }
  ::close(fd);
  return memory_ != nullptr;
}

std::size_t Note::size() const {
  return std::min(static_cast<const Header*>(memory_)->size,
                  length_ - sizeof(Header));
}
const std::byte* Note::bytes() const {
  return static_cast<const std::byte*>(memory_) + sizeof(Header);
}
unsigned Note::CountReader() {
  return ++static_cast<Header*>(memory_)->readers;
}

namespace {

constexpr char kDigits[] = "0123456789abcdef";

// Until it is true: at first often, then a thousand times a second.
template <typename F>
void Poll(const F& is_true) {
  auto pause = std::chrono::microseconds(10);
  while (!is_true()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
}

}  // namespace

Board::~Board() {
  if (given_up_) ::unlink((folder_ + "/given-up").c_str());
  ::rmdir(folder_.c_str());  // the last one of all can
}

std::string Board::FileOf(const std::string& name, int seat) const {
  return folder_ + "/" + name + "." + std::to_string(seat);
}
bool Board::HasGivenUp() const {
  return given_up_ || ::access((folder_ + "/given-up").c_str(), F_OK) == 0;
}

bool Board::Put(const std::string& name, int seat,
                const std::vector<std::byte>& head, const void* data,
                std::size_t bytes) {
  Note note;
  // Another one may take the empty folder away in between.
  for (int tries = 0;; ++tries) {
    ::mkdir(folder_.c_str(), 0700);
    if (note.Write(FileOf(name, seat), head, data, bytes)) break;
    if (errno != ENOENT || tries == 100) return false;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  notes_[{name, seat}][seat] = std::move(note);
  return true;
}

std::vector<Note*> Board::Read(const std::string& name, int seat,
                               std::size_t seats) {
  std::map<int, Note>* notes = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes = &notes_[{name, seat}];
  }
  std::vector<Note*> out;
  for (int other = 0; other < static_cast<int>(seats); ++other) {
    Note& note = (*notes)[other];
    bool is_there = other == seat;
    Poll([&] {
      is_there = is_there || note.Open(FileOf(name, other));
      return is_there || HasGivenUp();
    });
    if (!is_there) return {};
    out.push_back(&note);
  }
  return out;
}

void Board::Finish(const std::string& name, int seat, std::size_t seats) {
  std::map<int, Note> notes;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes = std::move(notes_[{name, seat}]);
    notes_.erase({name, seat});
  }
  for (auto& [other, note] : notes) {
    const bool is_own = other == seat;
    if (is_own ? seats == 1 : note.CountReader() + 1 == seats) {
      ::unlink(FileOf(name, other).c_str());
    }
  }
}

void Board::GiveUp() {
  given_up_ = true;
  const int fd = ::open((folder_ + "/given-up").c_str(),
                        O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
}

std::string RandomName() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 32; ++i) out += kDigits[random() % 16];
  return out;
}

// FNV-1a, from two beginnings.
std::string NameFrom(std::string_view text) {
  std::string out;
  for (std::uint64_t hash : {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u}) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    for (int i = 0; i < 16; ++i) out += kDigits[hash >> (4 * i) & 15];
  }
  return out;
}

}  // namespace cerberus::libraries::nccl
