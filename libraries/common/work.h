// Work of the host in the order of a stream: what a call of NVIDIA's library
// asks for is done when the stream comes to it, by a host function there, so
// that it is captured into graphs, too.
//
//   Work work(driver, stream);
//   const float* a = work.In(A, bytes);
//   float* c = work.InOutMatrix(C, sizeof *C, rows, columns, ld);
//   if (!work.Run([=] { … a … c … }, wait)) …
//
// Where kernels run in the process' memory (the emulator) the pointers are the
// program's own. On a GPU they lead to copies: what the work reads is copied to
// the host in front of it and what it writes is copied back behind it, in the
// stream's order. Only the columns are, not what lies between them.
#ifndef CERBERUS_LIBRARIES_COMMON_WORK_H_
#define CERBERUS_LIBRARIES_COMMON_WORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "libraries/common/driver.h"

namespace cerberus::libraries {

class Work {
 public:
  // `elsewhere`: another than the host does it, in the program's own memory.
  Work(const Driver& driver, Stream stream, bool elsewhere = false);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Memory as a matrix of bytes: `count` columns of `bytes` each, `stride`
  // bytes apart. With a stride of 0, or one column, it is one piece. Null stays
  // null.
  template <typename T>
  const T* In(const T* pointer, std::size_t bytes, std::size_t count = 1,
              std::size_t stride = 0) {
    return static_cast<const T*>(
        Map(const_cast<std::remove_const_t<T>*>(pointer), bytes, count, stride,
            /*out=*/false));
  }
  template <typename T>
  T* InOut(T* pointer, std::size_t bytes, std::size_t count = 1,
           std::size_t stride = 0) {
    return static_cast<T*>(Map(pointer, bytes, count, stride, /*out=*/true));
  }

  // A vector of n elements of so many bytes, |step| elements apart. What lies
  // between them is not touched: two rows of a matrix may be two vectors.
  template <typename T>
  const T* InVector(const T* pointer, std::size_t element, std::int64_t n,
                    std::int64_t step) {
    const Columns c = VectorColumns(element, n, step);
    return In(pointer, c.bytes, c.count, c.stride);
  }
  template <typename T>
  T* InOutVector(T* pointer, std::size_t element, std::int64_t n,
                 std::int64_t step) {
    const Columns c = VectorColumns(element, n, step);
    return InOut(pointer, c.bytes, c.count, c.stride);
  }

  // A matrix by columns that begin `ld` elements apart.
  template <typename T>
  const T* InMatrix(const T* pointer, std::size_t element, std::int64_t rows,
                    std::int64_t columns, std::int64_t ld) {
    return In(pointer, element * Size(rows), Size(columns), element * Size(ld));
  }
  template <typename T>
  T* InOutMatrix(T* pointer, std::size_t element, std::int64_t rows,
                 std::int64_t columns, std::int64_t ld) {
    return InOut(pointer, element * Size(rows), Size(columns),
                 element * Size(ld));
  }

  // The same of elements of the pointer's type.
  template <typename T>
  const T* Vector(const T* x, std::int64_t n, std::int64_t step) {
    return InVector(x, sizeof(T), n, step);
  }
  template <typename T>
  T* VectorOut(T* x, std::int64_t n, std::int64_t step) {
    return InOutVector(x, sizeof(T), n, step);
  }
  template <typename T>
  const T* Matrix(const T* a, std::int64_t rows, std::int64_t columns,
                  std::int64_t ld) {
    return InMatrix(a, sizeof(T), rows, columns, ld);
  }
  template <typename T>
  T* MatrixOut(T* a, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    return InOutMatrix(a, sizeof(T), rows, columns, ld);
  }

  // Whether the host may follow pointers that lie in device memory, as arrays
  // of matrices do, only after the stream has come there.
  bool shares_memory() const { return in_place_; }

  // Device memory as it is when the stream has come here, which is waited for.
  bool ReadNow(void* to, const void* from, std::size_t bytes) const;

  // Once. With `wait`, returns when it is done. False: the stream took no more
  // work, or memory is out. A lack of the host's memory within the work is
  // thrown to who waits (bad_alloc); where nobody does there is no way to tell
  // the program, so that the process ends rather than go on with half a result.
  bool Run(std::function<void()> work, bool wait);

 private:
  struct Piece {
    void* device;
    std::shared_ptr<void> host;
    std::size_t bytes, count, stride;
    bool out;
  };
  struct Queued {
    std::function<void()> work;
    std::vector<Piece> pieces;
    bool is_awaited = false;
    bool lacked_memory = false;
    void Run();
  };

  struct Columns {
    std::size_t bytes, count, stride;
  };

  static std::size_t Size(std::int64_t n) {
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  static Columns VectorColumns(std::size_t element, std::int64_t n,
                               std::int64_t step);
  void* Map(void* pointer, std::size_t bytes, std::size_t count,
            std::size_t stride, bool out);
  // Pinned memory of so many bytes.
  std::shared_ptr<void> Room(std::size_t bytes);
  bool Copy(const Piece& piece, bool back) const;
  // The copies there, `run` with what is queued, the copies back.
  bool Queue(void (*run)(void*));

  const Driver& driver_;
  const Stream stream_;
  const bool in_place_;
  std::unique_ptr<Queued> queued_;
  // Where each piece is among those queued, by all that makes it one.
  std::map<std::tuple<void*, std::size_t, std::size_t, std::size_t>,
           std::size_t>
      places_;
  // Small pieces share a block.
  std::shared_ptr<void> block_;
  std::size_t used_ = 0;
};

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_WORK_H_
