// Bytes to PTX modules, for fuzzers: whatever the bytes, the text is close to
// a correct module, so that they get behind the parser's first error.
//
// The bytes choose declarations, functions, control flow, and instructions
// from the instruction table with operands that fit and depend on one another;
// some characters are spoilt. A longer input makes a longer module.
#ifndef CERBERUS_TESTS_FUZZ_PTX_GENERATOR_H_
#define CERBERUS_TESTS_FUZZ_PTX_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cerberus::ptx::fuzz {

// Bytes handed out one by one; zeros once they are used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  // A number below `limit`, of one byte, or of two if `limit` needs them.
  std::size_t Below(std::size_t limit);
  // True in one of `n` cases; false once the bytes are used up.
  bool OneIn(std::size_t n) { return !empty() && Below(n) == n - 1; }

 private:
  std::string_view bytes_;
};

struct GeneratorOptions {
  std::size_t max_statements = 64;  // of all functions together
  bool spoil = true;                // characters of some statements
};

std::string ModuleFrom(std::string_view bytes, const GeneratorOptions& options);

// Whether an input is bytes for ModuleFrom (behind the first one), not text.
inline bool IsGenerated(std::string_view input) {
  return input.starts_with('\x02');
}

// libFuzzer's custom mutator for such inputs behind `header` bytes of options.
// Text is mostly changed by lines, which keeps it meaningful: they are
// removed, doubled, moved, or joined by one from the table; names change
// places.
std::size_t Mutate(std::uint8_t* data, std::size_t size, std::size_t max_size,
                   unsigned seed, std::size_t header = 0);

}  // namespace cerberus::ptx::fuzz

#endif  // CERBERUS_TESTS_FUZZ_PTX_GENERATOR_H_
