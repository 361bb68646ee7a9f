// MessagePack out, each value in its shortest form, as upstream's writers do.
// msgpack-c stays behind it: its headers need exceptions.
#ifndef CERBERUS_KPACK_MSGPACK_WRITER_H_
#define CERBERUS_KPACK_MSGPACK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kpack/msgpack_value.h"
#include "support/bytes.h"

namespace cerberus::kpack {

class MsgpackWriter {
 public:
  MsgpackWriter();
  ~MsgpackWriter();
  MsgpackWriter(const MsgpackWriter&) = delete;
  MsgpackWriter& operator=(const MsgpackWriter&) = delete;

  void Map(std::size_t pairs);  // the pairs follow: key, value, key, …
  void Array(std::size_t count);
  void String(std::string_view text);
  void Int(std::int64_t value);
  void Uint(std::uint64_t value);
  void Binary(ByteSpan bytes);
  // What was read elsewhere, all that is in it included.
  void Copy(Value value);
  // What Take() of another writer returned: one value, or several.
  void Raw(ByteSpan encoded);

  Bytes Take() &&;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_MSGPACK_WRITER_H_
