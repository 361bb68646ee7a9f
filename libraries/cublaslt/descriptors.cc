#include "libraries/cublaslt/descriptors.h"

#include <cstring>

namespace cerberus::libraries::cublaslt {
namespace {

const Attribute* Find(const Attribute* table, std::size_t count,
                      std::int32_t number) {
  for (std::size_t i = 0; i < count; ++i) {
    if (table[i].number == number) return &table[i];
  }
  return nullptr;
}

}  // namespace

Status SetAttribute(const Attribute* table, std::size_t count, void* descriptor,
                    std::int32_t number, const void* buffer, std::size_t size) {
  const Attribute* attribute = Find(table, count, number);
  if (attribute == nullptr || descriptor == nullptr || buffer == nullptr ||
      size != attribute->size) {
    return cublas::kInvalidValue;
  }
  // Little-endian: the low bytes of what is kept in fewer.
  std::memcpy(static_cast<std::byte*>(descriptor) + attribute->offset, buffer,
              attribute->stored);
  return cublas::kSuccess;
}

Status GetAttribute(const Attribute* table, std::size_t count,
                    const void* descriptor, std::int32_t number, void* buffer,
                    std::size_t size, std::size_t* written) {
  const Attribute* attribute = Find(table, count, number);
  if (attribute == nullptr || descriptor == nullptr) {
    return cublas::kInvalidValue;
  }
  if (size == 0 || buffer == nullptr) {
    if (written == nullptr) return cublas::kInvalidValue;
    *written = attribute->size;
    return cublas::kSuccess;
  }
  if (size < attribute->size) return cublas::kInvalidValue;
  std::memset(buffer, 0, attribute->size);
  std::memcpy(buffer,
              static_cast<const std::byte*>(descriptor) + attribute->offset,
              attribute->stored);
  if (written != nullptr) *written = attribute->size;
  return cublas::kSuccess;
}

}  // namespace cerberus::libraries::cublaslt
