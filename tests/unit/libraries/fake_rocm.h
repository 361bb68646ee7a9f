// What the stand-ins for AMD's libraries have in common: how they write down
// the calls that they get.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_ROCM_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_ROCM_H_

#include <cstdint>
#include <string>
#include <type_traits>

namespace cerberus::libraries::tests {

// Arguments as text: pointers as p or 0.
struct Told {
  std::string text;
  void operator()(const void* pointer) {
    text += pointer == nullptr ? " 0" : " p";
  }
  template <typename T>
    requires std::is_enum_v<T>
  void operator()(T value) {
    text += ' ' + std::to_string(static_cast<std::int64_t>(value));
  }
  void operator()(long long value) { text += ' ' + std::to_string(value); }
  void operator()(std::int64_t value) { text += ' ' + std::to_string(value); }
  void operator()(double value) {
    text += ' ' + std::to_string(static_cast<int>(value));
  }
  void operator()(int value) { text += ' ' + std::to_string(value); }
};

// Writes a call of a function with a handle of rocBLAS' down. Not 0: what it is
// to answer.
int NoteCall(void* handle, const std::string& symbol, std::string text);
template <typename... A>
int Note(void* handle, const std::string& symbol, const A&... arguments) {
  Told told{symbol};
  (told(arguments), ...);
  return NoteCall(handle, symbol, std::move(told.text));
}
// CUDA's stream of a handle.
void* StreamOf(void* handle);

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_ROCM_H_
