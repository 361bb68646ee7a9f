#include "runtime-stub/launch/printf.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "support/log.h"

namespace cerberus::stub {
namespace {

// A field is never made wider: the width may come from a broken kernel.
constexpr int kWidest = 1 << 16;

bool IsOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

class Words {
 public:
  explicit Words(const std::vector<std::uint64_t>& words) : words_(words) {}
  bool Next(std::uint64_t* word) {
    if (next_ == words_.size()) return false;
    *word = words_[next_++];
    return true;
  }
  bool NextText(std::string_view* text) {
    std::uint64_t length = 0;
    if (!Next(&length)) return false;
    if (length == kNullString) {
      *text = "(null)";
      return true;
    }
    const std::size_t left = words_.size() - next_;
    if (length > left * 8) length = left * 8;
    *text = {reinterpret_cast<const char*>(words_.data() + next_),
             static_cast<std::size_t>(length)};
    next_ += (length + 7) / 8;
    return true;
  }

 private:
  const std::vector<std::uint64_t>& words_;
  std::size_t next_ = 0;
};

// One conversion: CUDA C++ Programming Guide, "Format Specifiers".
struct Spec {
  bool minus = false, plus = false, space = false, sharp = false, zero = false;
  int width = 0;
  int precision = -1;  // none
  int length = 0;      // -2 hh, -1 h, 0, 1 anything of 8 bytes
  char conversion = 0;
};

void AppendPadded(std::string_view text, const Spec& spec, std::string* out) {
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t padding = width > text.size() ? width - text.size() : 0;
  if (!spec.minus) out->append(padding, ' ');
  out->append(text);
  if (spec.minus) out->append(padding, ' ');
}

// The format is made here, from what was checked; none of its text comes
// from the kernel.
template <typename T>
void AppendC(const Spec& spec, const char* length, T value, std::string* out) {
  char format[24];
  std::size_t at = 0;
  format[at++] = '%';
  if (spec.minus) format[at++] = '-';
  if (spec.plus) format[at++] = '+';
  if (spec.space) format[at++] = ' ';
  if (spec.sharp) format[at++] = '#';
  if (spec.zero) format[at++] = '0';
  format[at++] = '*';
  format[at++] = '.';
  format[at++] = '*';
  while (*length != '\0') format[at++] = *length++;
  format[at++] = spec.conversion;
  format[at] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  char small[128];
  // A negative precision is none.
  const int size = std::snprintf(small, sizeof small, format, spec.width,
                                 spec.precision, value);
  if (size < 0) return;
  if (static_cast<std::size_t>(size) < sizeof small) {
    out->append(small, static_cast<std::size_t>(size));
    return;
  }
  const std::size_t start = out->size();
  out->resize(start + static_cast<std::size_t>(size) + 1);
  std::snprintf(out->data() + start, static_cast<std::size_t>(size) + 1, format,
                spec.width, spec.precision, value);
  out->pop_back();
#pragma GCC diagnostic pop
}

void AppendInteger(const Spec& spec, std::uint64_t bits, bool is_signed,
                   std::string* out) {
  constexpr const char* kLengths[] = {"hh", "h", "", "ll"};
  const char* length = kLengths[spec.length + 2];
  if (spec.length > 0) {
    if (is_signed) {
      AppendC(spec, length, static_cast<long long>(bits), out);
    } else {
      AppendC(spec, length, static_cast<unsigned long long>(bits), out);
    }
  } else if (is_signed) {
    AppendC(spec, length, static_cast<int>(bits), out);
  } else {
    AppendC(spec, length, static_cast<unsigned>(bits), out);
  }
}

// Reads the conversion behind a '%' at `at` and moves behind it; false if the
// format or the arguments end in it.
bool ReadSpec(std::string_view format, std::size_t* position, Words* words,
              Spec* spec) {
  std::size_t at = *position;
  const auto current = [&] { return at < format.size() ? format[at] : '\0'; };
  for (; current() != '\0' && IsOneOf(current(), "-+ #0"); ++at) {
    switch (current()) {
      case '-': spec->minus = true; break;
      case '+': spec->plus = true; break;
      case ' ': spec->space = true; break;
      case '#': spec->sharp = true; break;
      default: spec->zero = true; break;
    }
  }
  int* number = &spec->width;
  for (;; ++at) {
    const char c = current();
    if (c == '*') {
      std::uint64_t word = 0;
      if (!words->Next(&word)) return false;
      const auto given = static_cast<int>(word);
      if (number == &spec->precision) {
        *number = given < 0 ? -1 : std::min(given, kWidest);
      } else {
        if (given < 0) spec->minus = true;
        *number = std::max(std::min(given, kWidest), -kWidest);
        if (*number < 0) *number = -*number;
      }
    } else if (c == '.' && number != &spec->precision) {
      number = &spec->precision;
      *number = 0;
    } else if (c >= '0' && c <= '9') {
      *number = std::min(std::max(*number, 0) * 10 + (c - '0'), kWidest);
    } else {
      break;
    }
  }
  for (; current() != '\0' && IsOneOf(current(), "hlqjztL"); ++at) {
    if (current() == 'h') {
      spec->length = std::max(spec->length - 1, -2);
    } else {
      spec->length = 1;
    }
  }
  spec->conversion = current();
  if (spec->conversion == '\0') return false;
  *position = at + 1;
  return true;
}

// As CUDA's assert() says it: file, line, function, block, thread, assertion.
constexpr std::string_view kAssertionFormat =
    "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n";

void ReportDropped(std::uint64_t* counter, const char* what) {
  const std::uint64_t dropped =
      __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
  if (dropped == 0) return;
  Log(LogLevel::kWarning,
      "%" PRIu64 " %s were lost: the buffer was full (cudaLimitPrintfFifoSize)",
      dropped, what);
}

}  // namespace

void FormatPrintf(std::string_view format,
                  const std::vector<std::uint64_t>& arguments,
                  std::string* out) {
  Words words(arguments);
  std::size_t at = 0;
  while (at < format.size()) {
    const std::size_t percent = std::min(format.find('%', at), format.size());
    out->append(format.substr(at, percent - at));
    if (percent == format.size()) return;
    at = percent + 1;
    Spec spec;
    if (!ReadSpec(format, &at, &words, &spec)) {
      out->append(format.substr(percent));
      return;
    }
    std::uint64_t bits = 0;
    switch (spec.conversion) {
      case '%': out->push_back('%'); continue;
      case 's': {
        std::string_view text;
        if (!words.NextText(&text)) return;
        if (spec.precision >= 0) {
          text = text.substr(0, static_cast<std::size_t>(spec.precision));
        }
        AppendPadded(text, spec, out);
        continue;
      }
      case 'c':
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X':
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'p': break;
      default:
        // Not one of CUDA's conversions (%n is none): no argument was
        // packed for it.
        out->append(format.substr(percent, at - percent));
        continue;
    }
    if (!words.Next(&bits)) return;
    switch (spec.conversion) {
      case 'c': {
        const char character = static_cast<char>(bits);
        AppendPadded({&character, 1}, spec, out);
        break;
      }
      case 'd':
      case 'i': AppendInteger(spec, bits, true, out); break;
      case 'o':
      case 'u':
      case 'x':
      case 'X': AppendInteger(spec, bits, false, out); break;
      case 'p':
        AppendC(spec, "", reinterpret_cast<const void*>(bits), out);
        break;
      default: {
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        AppendC(spec, "", value, out);
      }
    }
  }
}

bool HasOutput(const formats::PrintfRing& ring) {
  return __atomic_load_n(&ring.written, __ATOMIC_RELAXED) != ring.read ||
         __atomic_load_n(&ring.dropped, __ATOMIC_RELAXED) != 0 ||
         __atomic_load_n(&ring.dropped_assertions, __ATOMIC_RELAXED) != 0;
}

void DrainRing(formats::PrintfRing* ring, std::uint64_t capacity,
               KernelOutput* out) {
  std::uint64_t* words = ring->words();
  const std::uint64_t written =
      __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
  std::uint64_t read = ring->read;
  if (written - read > capacity) return;
  std::vector<std::uint64_t> record;
  std::vector<std::uint64_t> arguments;
  while (read != written) {
    const std::uint64_t first =
        __atomic_load_n(&words[read % capacity], __ATOMIC_ACQUIRE);
    if (first == 0) break;  // its thread is still writing it
    const bool assertion = (first & formats::kAssertionRecord) != 0;
    const std::uint64_t size =
        (first & 0xffffffff & ~formats::kAssertionRecord) / 8;
    const std::uint64_t format_bytes = first >> 32;
    const std::uint64_t format_words = (format_bytes + 7) / 8;
    const bool sound =
        size >= 1 && size <= written - read && format_words <= size - 1;
    const std::uint64_t taken = sound ? size : written - read;
    record.clear();
    for (std::uint64_t i = 0; i < taken; ++i) {
      std::uint64_t& word = words[(read + i) % capacity];
      record.push_back(word);
      word = 0;
    }
    read += taken;
    __atomic_store_n(&ring->read, read, __ATOMIC_RELEASE);
    if (!sound) {
      Log(LogLevel::kError, "a kernel has overwritten the printf buffer");
      break;
    }
    const auto arguments_at =
        record.begin() + 1 + static_cast<std::ptrdiff_t>(format_words);
    arguments.assign(arguments_at, record.end());
    if (assertion) {
      FormatPrintf(kAssertionFormat, arguments, &out->assertions);
    } else {
      FormatPrintf({reinterpret_cast<const char*>(record.data() + 1),
                    static_cast<std::size_t>(format_bytes)},
                   arguments, &out->text);
    }
  }
  ReportDropped(&ring->dropped, "printf calls of kernels");
  ReportDropped(&ring->dropped_assertions, "failed assertions of kernels");
}

}  // namespace cerberus::stub
