// How processes tell each other: files in a folder of shared memory, whose name
// nobody else knows. Each of some seats puts up a note and reads those of all
// others; who reads one last takes it away.
#ifndef CERBERUS_LIBRARIES_NCCL_BOARD_H_
#define CERBERUS_LIBRARIES_NCCL_BOARD_H_

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cerberus::libraries::nccl {

// Bytes in memory that is another process' as well.
class Note {
 public:
  Note() = default;
  ~Note();
  Note(Note&& other) noexcept { *this = std::move(other); }
  Note& operator=(Note&& other) noexcept;

  // A new file of that name, which is there as a whole or not at all. False if
  // there is one, or no memory.
  bool Write(const std::string& file, const std::vector<std::byte>& head,
             const void* data, std::size_t bytes);
  // False if there is none (yet).
  bool Open(const std::string& file);

  std::size_t size() const;
  const std::byte* bytes() const;
  // How many have read it, this one too.
  unsigned CountReader();

 private:
  struct Header;
  void* memory_ = nullptr;
  std::size_t length_ = 0;
};

class Board {
 public:
  explicit Board(std::string folder) : folder_(std::move(folder)) {}
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  const std::string& folder() const { return folder_; }

  // False if the seat has one of that name, or there is no memory.
  bool Put(const std::string& name, int seat,
           const std::vector<std::byte>& head, const void* data = nullptr,
           std::size_t bytes = 0);
  // Waits for the notes of all `seats`, its own among them, in their order;
  // none if all is given up.
  std::vector<Note*> Read(const std::string& name, int seat, std::size_t seats);
  // They have been read, and are not from now on.
  void Finish(const std::string& name, int seat, std::size_t seats);
  void GiveUp();

 private:
  std::string FileOf(const std::string& name, int seat) const;
  bool HasGivenUp() const;

  const std::string folder_;
  std::atomic<bool> given_up_ = false;
  std::mutex mutex_;
  // By name and seat: the notes of all, first its own.
  std::map<std::pair<std::string, int>, std::map<int, Note>> notes_;
};

// For a name that is new: 32 hexadecimal digits.
std::string RandomName();
// So many, too, the same for all who know the text.
std::string NameFrom(std::string_view text);

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_BOARD_H_
