// Markers, entropy-coded scans, coefficients, samples.
#include <algorithm>
#include <cstring>

#include "libraries/nvjpeg/blocks.h"
#include "libraries/nvjpeg/jpeg.h"

namespace cerberus::libraries::nvjpeg {
namespace {

enum Marker : int {
  kDht = 0xc4,
  kDac = 0xcc,
  kRst0 = 0xd0,
  kSoi = 0xd8,
  kEoi = 0xd9,
  kSos = 0xda,
  kDqt = 0xdb,
  kDri = 0xdd,
  kApp0 = 0xe0,
  kApp1 = 0xe1,
  kApp14 = 0xee,
  kApp15 = 0xef,
  kCom = 0xfe,
};

int Word(Bytes data, std::size_t at) { return data[at] << 8 | data[at + 1]; }

// Segments one after another.
class Segments {
 public:
  Segments(Bytes data, std::size_t at) : data_(data), at_(at) {}

  // The next marker, its contents (without the length) and where it began.
  // False at the end.
  bool Next(int* marker, Bytes* contents, std::size_t* begin) {
    while (
        at_ + 1 < data_.size() &&
        (data_[at_] != 0xff || data_[at_ + 1] == 0xff || data_[at_ + 1] == 0)) {
      ++at_;
    }
    if (at_ + 1 >= data_.size()) return false;
    *begin = at_;
    *marker = data_[at_ + 1];
    at_ += 2;
    *contents = {};
    if (*marker == kSoi || *marker == kEoi || *marker == 1 ||
        (*marker >= kRst0 && *marker < kSoi)) {
      return true;
    }
    if (at_ + 2 > data_.size()) return false;
    const int length = Word(data_, at_);
    if (length < 2 || at_ + length > data_.size()) return false;
    *contents = data_.subspan(at_ + 2, length - 2);
    at_ += length;
    return true;
  }
  std::size_t at() const { return at_; }

 private:
  Bytes data_;
  std::size_t at_;
};

bool ReadQuantTables(Bytes data, Tables* tables) {
  while (!data.empty()) {
    const int wide = data[0] >> 4, number = data[0] & 15;
    const std::size_t size = wide != 0 ? 129 : 65;
    if (wide > 1 || number > 3 || data.size() < size) return false;
    QuantTable table;
    for (int k = 0; k < 64; ++k) {
      table[k] = static_cast<std::uint16_t>(wide != 0 ? Word(data, 1 + 2 * k)
                                                      : data[1 + k]);
    }
    tables->quant[number] = table;
    data = data.subspan(size);
  }
  return true;
}
bool ReadHuffmanTables(Bytes data, Tables* tables) {
  while (!data.empty()) {
    if (data.size() < 17) return false;
    const int kind = data[0] >> 4, number = data[0] & 15;
    if (kind > 1 || number > 3) return false;
    HuffmanTable table;
    int sum = 0, room = 1;
    for (int i = 0; i < 16; ++i) {
      table.counts[i] = data[1 + i];
      sum += data[1 + i];
      // No more codes than there are of that length.
      room = 2 * room - data[1 + i];
      if (room < 0) return false;
    }
    if (sum > 256 || data.size() < 17u + sum) return false;
    table.values.assign(data.begin() + 17, data.begin() + 17 + sum);
    (kind == 0 ? tables->dc : tables->ac)[number] = std::move(table);
    data = data.subspan(17 + sum);
  }
  return true;
}
// Which way up a camera was.
int ReadOrientation(Bytes data) {
  constexpr char kExif[] = "Exif\0";
  if (data.size() < 14 || std::memcmp(data.data(), kExif, 6) != 0) return 0;
  data = data.subspan(6);
  const bool little = data[0] == 'I';
  const auto word = [&](std::size_t at) {
    return little ? data[at] | data[at + 1] << 8 : Word(data, at);
  };
  const std::size_t first =
      little ? word(4) | word(6) << 16 : word(4) << 16 | word(6);
  if (first > data.size() - 2) return 0;
  const int entries = word(first);
  for (int i = 0; i < entries; ++i) {
    const std::size_t at = first + 2 + 12 * static_cast<std::size_t>(i);
    if (at + 12 > data.size()) return 0;
    if (word(at) == 0x112) {
      const int told = word(at + 8);
      return told >= 1 && told <= 8 ? told : 0;
    }
  }
  return 0;
}

Status ReadFrame(int marker, Bytes data, Header* header) {
  header->encoding = marker;
  if (data.size() < 6) return kBadJpeg;
  header->precision = data[0];
  header->height = Word(data, 1);
  header->width = Word(data, 3);
  const int count = data[5];
  if (data.size() < 6u + 3u * count || count == 0 || header->width == 0) {
    return kBadJpeg;
  }
  // The height at the end of the first scan, and more colors than four.
  if (header->height == 0 || count > kMostComponents) return kJpegNotSupported;
  for (int i = 0; i < count; ++i) {
    const Bytes c = data.subspan(6 + 3 * i, 3);
    const Component one = {c[0], c[1] >> 4, c[1] & 15, c[2], 0, 0, 0, 0};
    if (one.h < 1 || one.h > 4 || one.v < 1 || one.v > 4 || one.quant > 3) {
      return kBadJpeg;
    }
    header->most_h = std::max(header->most_h, one.h);
    header->most_v = std::max(header->most_v, one.v);
    header->components.push_back(one);
  }
  // Alone, it is never interleaved.
  if (count == 1) {
    header->components[0].h = header->components[0].v = 1;
    header->most_h = header->most_v = 1;
  }
  const int units_across = DivideUp(header->width, 8 * header->most_h);
  const int units_down = DivideUp(header->height, 8 * header->most_v);
  for (Component& one : header->components) {
    one.width = DivideUp(header->width * one.h, header->most_h);
    one.height = DivideUp(header->height * one.v, header->most_v);
    one.across = units_across * one.h;
    one.down = units_down * one.v;
  }
  return kSuccess;
}

// By Adobe's segment, or as those do that read JFIF.
Colors ColorsOf(const Header& header, bool jfif, bool adobe, int transform) {
  const auto& c = header.components;
  switch (c.size()) {
    case 1: return Colors::kGray;
    case 3:
      if (adobe && !jfif) return transform == 0 ? Colors::kRgb : Colors::kYcc;
      return !jfif && c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
                 ? Colors::kRgb
                 : Colors::kYcc;
    case 4: return adobe && transform == 2 ? Colors::kYcck : Colors::kCmyk;
    default: return Colors::kOther;
  }
}

// --- Entropy-coded data

// Codes of up to 16 bits: by their length, the first code, the first value.
class Codes {
 public:
  explicit Codes(const HuffmanTable& table) : values_(table.values) {
    int code = 0, at = 0;
    for (int length = 1; length <= 16; ++length) {
      first_[length] = code;
      at_[length] = at;
      code += table.counts[length - 1];
      at += table.counts[length - 1];
      end_[length] = code;
      code <<= 1;
    }
    // What starts with 8 bits: length and value.
    for (int length = 8; length >= 1; --length) {
      for (int c = first_[length]; c < end_[length]; ++c) {
        const int from = c << (8 - length), many = 1 << (8 - length);
        for (int i = 0; i < many; ++i) {
          short_[from + i] = static_cast<std::uint16_t>(
              length << 8 | values_[at_[length] + c - first_[length]]);
        }
      }
    }
  }

  // The value of the code that the 16 bits start with, and its length; -1:
  // none.
  int Find(unsigned bits, int* length) const {
    if (const std::uint16_t found = short_[bits >> 8]; found != 0) {
      *length = found >> 8;
      return found & 255;
    }
    for (int n = 9; n <= 16; ++n) {
      const int code = static_cast<int>(bits >> (16 - n));
      if (code < end_[n] && code >= first_[n]) {
        *length = n;
        return values_[at_[n] + code - first_[n]];
      }
    }
    return -1;
  }

 private:
  std::vector<std::uint8_t> values_;
  std::array<int, 17> first_ = {}, at_ = {}, end_ = {};
  std::array<std::uint16_t, 256> short_ = {};
};

// Bits up to the next marker; behind them, zeros.
class Bits {
 public:
  Bits(Bytes data, std::size_t at) : data_(data), at_(at) {}

  unsigned Peek16() {
    Fill();
    return static_cast<unsigned>(word_ >> (count_ - 16)) & 0xffff;
  }
  void Skip(int n) {
    count_ -= n;
    if (count_ < padded_) overrun_ = true;
  }
  unsigned Take(int n) {
    if (n == 0) return 0;
    Fill();
    const unsigned taken =
        static_cast<unsigned>(word_ >> (count_ - n)) & ((1u << n) - 1);
    Skip(n);
    return taken;
  }
  // A number of so many bits, T.81's EXTEND.
  int TakeSigned(int n) {
    if (n == 0) return 0;
    const int taken = static_cast<int>(Take(n));
    return taken < 1 << (n - 1) ? taken - (1 << n) + 1 : taken;
  }
  // Whether more was taken than there was.
  bool overrun() const { return overrun_; }
  std::size_t at() const { return at_; }
  // To the marker that ended the bits.
  std::size_t FindMarker() const {
    std::size_t at = at_;
    while (at + 1 < data_.size() &&
           (data_[at] != 0xff || data_[at + 1] == 0 || data_[at + 1] == 0xff)) {
      ++at;
    }
    return at;
  }

 private:
  // At least 32 bits.
  void Fill() {
    while (count_ <= 32) {
      int byte = 0;
      if (at_ < data_.size() && data_[at_] != 0xff) {
        byte = data_[at_++];
      } else if (at_ + 1 < data_.size() && data_[at_ + 1] == 0) {
        byte = 0xff;
        at_ += 2;
      } else {
        padded_ += 8;
      }
      word_ = word_ << 8 | static_cast<unsigned>(byte);
      count_ += 8;
    }
  }

  Bytes data_;
  std::size_t at_;
  std::uint64_t word_ = 0;
  // Of the bits in `word_` the last `padded_` stand for what is not there.
  int count_ = 0, padded_ = 0;
  bool overrun_ = false;
};

using Block = std::int16_t[64];

struct Coefficients {
  std::vector<std::int16_t> all;
  std::int16_t* Of(const Component& c, int x, int y) {
    return all.data() + 64 * (static_cast<std::size_t>(y) * c.across + x);
  }
};

// One scan: which coefficients, which of their bits.
struct Scan {
  std::vector<int> components;
  std::array<int, kMostComponents> dc, ac;
  int from, to, high, low;
};

class ScanReader {
 public:
  ScanReader(const Header& header, const Tables& tables, const Scan& scan,
             std::vector<Coefficients>& coefficients)
      : header_(header), scan_(scan), coefficients_(coefficients) {
    for (std::size_t i = 0; i < scan.components.size(); ++i) {
      if (const auto& table = tables.dc[scan.dc[i]]) dc_[i].emplace(*table);
      if (const auto& table = tables.ac[scan.ac[i]]) ac_[i].emplace(*table);
    }
  }

  bool has_tables() const {
    const bool progressive = header_.encoding == kProgressive;
    for (std::size_t i = 0; i < scan_.components.size(); ++i) {
      const bool needs_dc = scan_.from == 0 && scan_.high == 0;
      const bool needs_ac = progressive ? scan_.from > 0 : true;
      if ((needs_dc && !dc_[i]) || (needs_ac && !ac_[i])) return false;
    }
    return true;
  }

  // False: a code that is none, or too few. What can be read is.
  bool Read(Bytes data, std::size_t* at, int restart) {
    const Component& first = header_.components[scan_.components[0]];
    const bool alone = scan_.components.size() == 1;
    const int across = alone ? DivideUp(first.width, 8)
                             : DivideUp(header_.width, 8 * header_.most_h);
    const int down = alone ? DivideUp(first.height, 8)
                           : DivideUp(header_.height, 8 * header_.most_v);
    bool whole = true;
    Bits bits(data, *at);
    bits_ = &bits;
    Restart();
    int left = restart;
    bool broken = false;
    for (int y = 0; y < down; ++y) {
      for (int x = 0; x < across; ++x) {
        if (restart != 0 && left == 0) {
          whole &= !broken && !bits.overrun();
          broken = false;
          const std::size_t marker = bits.FindMarker();
          if (marker + 1 >= data.size() || data[marker + 1] < kRst0 ||
              data[marker + 1] >= kSoi) {
            *at = marker;
            return false;
          }
          bits = Bits(data, marker + 2);
          Restart();
          left = restart;
        }
        --left;
        if (!broken) broken = !ReadUnit(x, y, alone) || bits.overrun();
        // Nothing is left that could restart.
        if (broken && restart == 0) {
          *at = bits.FindMarker();
          return false;
        }
      }
    }
    *at = bits.FindMarker();
    return whole && !broken;
  }

 private:
  void Restart() {
    last_dc_ = {};
    run_ = 0;
  }
  bool ReadUnit(int x, int y, bool alone) {
    for (std::size_t i = 0; i < scan_.components.size(); ++i) {
      const int number = scan_.components[i];
      const Component& c = header_.components[number];
      if (alone) {
        if (!ReadBlock(i, coefficients_[number].Of(c, x, y))) return false;
        continue;
      }
      for (int v = 0; v < c.v; ++v) {
        for (int h = 0; h < c.h; ++h) {
          if (!ReadBlock(
                  i, coefficients_[number].Of(c, x * c.h + h, y * c.v + v))) {
            return false;
          }
        }
      }
    }
    return true;
  }
  bool ReadBlock(std::size_t i, std::int16_t* block) {
    if (header_.encoding != kProgressive) {
      return ReadDc(i, block) && ReadAc(i, block);
    }
    if (scan_.from == 0) {
      if (scan_.high == 0) return ReadDc(i, block);
      if (bits_->Take(1) != 0) block[0] |= Bit();
      return true;
    }
    return scan_.high == 0 ? ReadAc(i, block) : RefineAc(i, block);
  }
  std::int16_t Bit() const { return static_cast<std::int16_t>(1 << scan_.low); }
  int Code(const Codes& codes) {
    int length = 0;
    const int value = codes.Find(bits_->Peek16(), &length);
    if (value >= 0) bits_->Skip(length);
    return value;
  }
  bool ReadDc(std::size_t i, std::int16_t* block) {
    const int size = Code(*dc_[i]);
    if (size < 0 || size > 15) return false;
    last_dc_[i] += static_cast<unsigned>(bits_->TakeSigned(size));
    block[0] = static_cast<std::int16_t>(last_dc_[i] << scan_.low);
    return true;
  }
  bool ReadAc(std::size_t i, std::int16_t* block) {
    if (run_ > 0) {
      --run_;
      return true;
    }
    for (int k = std::max(scan_.from, 1); k <= scan_.to; ++k) {
      const int code = Code(*ac_[i]);
      if (code < 0) return false;
      const int zeros = code >> 4, size = code & 15;
      if (size == 0) {
        if (zeros == 15) {
          k += 15;
          continue;
        }
        // The rest of this block, and of others in progressive scans.
        if (header_.encoding == kProgressive) {
          run_ = (1 << zeros) - 1 + static_cast<int>(bits_->Take(zeros));
        }
        return true;
      }
      k += zeros;
      if (k > scan_.to) return false;
      block[kZigzag[k]] = static_cast<std::int16_t>(
          static_cast<unsigned>(bits_->TakeSigned(size)) << scan_.low);
    }
    return true;
  }
  void Refine(std::int16_t* value) {
    if (bits_->Take(1) == 0 || (*value & Bit()) != 0) return;
    *value = static_cast<std::int16_t>(*value + (*value > 0 ? Bit() : -Bit()));
  }
  bool RefineAc(std::size_t i, std::int16_t* block) {
    int k = scan_.from;
    if (run_ == 0) {
      for (; k <= scan_.to; ++k) {
        const int code = Code(*ac_[i]);
        if (code < 0) return false;
        int zeros = code >> 4, value = 0;
        if ((code & 15) == 0) {
          if (zeros < 15) {
            run_ = (1 << zeros) + static_cast<int>(bits_->Take(zeros));
            break;
          }
        } else {
          value = bits_->Take(1) != 0 ? Bit() : -Bit();
        }
        // Over so many that were zero, refining those that were not.
        for (; k <= scan_.to; ++k) {
          std::int16_t& one = block[kZigzag[k]];
          if (one != 0) {
            Refine(&one);
          } else if (zeros-- == 0) {
            if (value != 0) one = static_cast<std::int16_t>(value);
            break;
          }
        }
      }
    }
    if (run_ > 0) {
      for (; k <= scan_.to; ++k) {
        std::int16_t& one = block[kZigzag[k]];
        if (one != 0) Refine(&one);
      }
      --run_;
    }
    return true;
  }

  const Header& header_;
  const Scan& scan_;
  std::vector<Coefficients>& coefficients_;
  std::array<std::optional<Codes>, kMostComponents> dc_, ac_;
  Bits* bits_ = nullptr;
  std::array<unsigned, kMostComponents> last_dc_ = {};
  int run_ = 0;  // blocks that have nothing more
};

bool ReadScanHeader(Bytes data, const Header& header, Scan* scan) {
  if (data.empty()) return false;
  const std::size_t count = data[0];
  if (count < 1 || count > header.components.size() ||
      data.size() < 4 + 2 * count) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int id = data[1 + 2 * i], tables = data[2 + 2 * i];
    const auto found =
        std::find_if(header.components.begin(), header.components.end(),
                     [id](const Component& c) { return c.id == id; });
    const int number = static_cast<int>(found - header.components.begin());
    if (found == header.components.end() || (tables >> 4) > 3 ||
        (tables & 15) > 3 ||
        std::count(scan->components.begin(), scan->components.end(), number)) {
      return false;
    }
    scan->components.push_back(number);
    scan->dc[i] = tables >> 4;
    scan->ac[i] = tables & 15;
  }
  const Bytes last = data.subspan(1 + 2 * count);
  scan->from = last[0];
  scan->to = last[1];
  scan->high = last[2] >> 4;
  scan->low = last[2] & 15;
  if (header.encoding != kProgressive) {
    scan->from = 0;
    scan->to = 63;
    scan->high = scan->low = 0;
    return true;
  }
  return scan->from <= scan->to && scan->to <= 63 && scan->low <= 13 &&
         (scan->from != 0 || scan->to == 0) && (scan->from == 0 || count == 1);
}

// n x n samples of a block of which the first n x n coefficients count.
template <int n>
void Invert(const float* coefficients, std::uint8_t* to, std::size_t pitch) {
  const auto& cosines = CosinesOf<n>().at;
  float rows[n][n];
  for (int v = 0; v < n; ++v) {
    for (int x = 0; x < n; ++x) {
      float sum = 0;
      for (int u = 0; u < n; ++u)
        sum += coefficients[8 * v + u] * cosines[u][x];
      rows[v][x] = sum;
    }
  }
  // A block of 8 x 8 has sums that are 8/n times as large.
  constexpr float kScale = static_cast<float>(n) / 8;
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      float sum = 0;
      for (int v = 0; v < n; ++v) sum += rows[v][x] * cosines[v][y];
      const float sample = std::nearbyint(sum * kScale + 128.0f);
      to[y * pitch + x] =
          static_cast<std::uint8_t>(std::clamp(sample, 0.0f, 255.0f));
    }
  }
}

void InvertAll(const Component& c, Coefficients& from, const QuantTable& quant,
               int shift, Plane* plane) {
  const int n = 8 >> shift;
  const auto pitch = static_cast<std::size_t>(c.across) * n;
  std::vector<std::uint8_t> padded(pitch * c.down * n);
  float factors[64];
  for (int k = 0; k < 64; ++k) factors[kZigzag[k]] = quant[k];
  for (int y = 0; y < c.down; ++y) {
    for (int x = 0; x < c.across; ++x) {
      const std::int16_t* block = from.Of(c, x, y);
      float values[64];
      for (int k = 0; k < 64; ++k) values[k] = block[k] * factors[k];
      std::uint8_t* to = padded.data() + y * n * pitch + x * n;
      switch (n) {
        case 8: Invert<8>(values, to, pitch); break;
        case 4: Invert<4>(values, to, pitch); break;
        case 2: Invert<2>(values, to, pitch); break;
        default: Invert<1>(values, to, pitch); break;
      }
    }
  }
  plane->h = c.h;
  plane->v = c.v;
  plane->width = DivideUp(c.width, 1 << shift);
  plane->height = DivideUp(c.height, 1 << shift);
  plane->samples.resize(static_cast<std::size_t>(plane->width) * plane->height);
  for (int y = 0; y < plane->height; ++y) {
    std::copy_n(
        padded.data() + y * pitch, plane->width,
        plane->samples.data() + static_cast<std::size_t>(y) * plane->width);
  }
}

}  // namespace

Status ParseHeader(Bytes data, const Tables& before, bool only_tables,
                   Header* header) {
  *header = {};
  header->tables = before;
  if (data.size() < 4 || data[0] != 0xff || data[1] != kSoi) return kBadJpeg;
  Segments segments(data, 2);
  bool jfif = false, adobe = false;
  int marker = 0, transform = 0;
  Bytes contents;
  std::size_t begin = 0;
  while (segments.Next(&marker, &contents, &begin)) {
    Status status = kSuccess;
    if (marker == kDqt) {
      if (!ReadQuantTables(contents, &header->tables)) return kBadJpeg;
    } else if (marker == kDht) {
      if (!ReadHuffmanTables(contents, &header->tables)) return kBadJpeg;
    } else if (marker >= kBaseline && marker <= 0xcf && marker != 0xc8) {
      // Arithmetic codes and differences.
      if (marker > kLossless) return kJpegNotSupported;
      if (!header->components.empty()) return kBadJpeg;
      status = ReadFrame(marker, contents, header);
    } else if (marker == kSos) {
      if (header->components.empty()) return kBadJpeg;
      header->scans_at = begin;
      break;
    } else if (marker == kEoi) {
      break;
    }
    if (status != kSuccess) return status;
    // Adobe's tells of colors, which are others in what is encoded with these.
    if ((marker >= kApp0 && marker <= kApp15 && marker != kApp14) ||
        marker == kCom) {
      header->metadata.insert(header->metadata.end(), data.begin() + begin,
                              data.begin() + segments.at());
    }
    if (marker == kApp0 && contents.size() >= 5 &&
        std::memcmp(contents.data(), "JFIF", 5) == 0) {
      jfif = true;
    }
    if (marker == kApp1 && header->orientation == 0) {
      header->orientation = ReadOrientation(contents);
    }
    if (marker == kApp14 && contents.size() >= 12 &&
        std::memcmp(contents.data(), "Adobe", 5) == 0) {
      adobe = true;
      transform = contents[11];
    }
  }
  if (header->scans_at == 0 && !only_tables) {
    return header->components.empty() ? kBadJpeg : kIncompleteBitstream;
  }
  header->colors = ColorsOf(*header, jfif, adobe, transform);
  header->inverted = adobe && header->components.size() == 4;
  return kSuccess;
}

Status Decode(Bytes data, const Header& header, bool strict, int shift,
              Image* image) {
  if (header.precision != 8 || header.encoding == kLossless) {
    return kJpegNotSupported;
  }
  // A block takes a bit at least. Of less than an eighth nothing can be seen,
  // and memory is not taken for what a few bytes only tell of.
  std::size_t blocks = 0;
  for (const Component& c : header.components) {
    blocks += static_cast<std::size_t>(c.across) * c.down;
  }
  if (blocks / 64 > data.size()) return kIncompleteBitstream;
  std::vector<Coefficients> coefficients;
  for (const Component& c : header.components) {
    coefficients.emplace_back().all.resize(
        64 * static_cast<std::size_t>(c.across) * c.down);
  }
  // Each component is quantized by what its table is at its first scan.
  std::array<std::optional<QuantTable>, kMostComponents> quant;
  Tables tables = header.tables;
  Segments from_start(data, 2);
  int marker = 0, restart = 0, scans = 0;
  Bytes contents;
  std::size_t begin = 0;
  // The interval may stand before the first scan.
  while (from_start.Next(&marker, &contents, &begin) && marker != kSos) {
    if (marker == kDri && contents.size() == 2) restart = Word(contents, 0);
  }
  std::size_t at = header.scans_at;
  bool whole = true, ended = false;
  // A progressive stream has tens of scans; one that has more wastes time.
  constexpr int kMostScans = 1000;
  while (!ended && scans < kMostScans) {
    Segments segments(data, at);
    if (!segments.Next(&marker, &contents, &begin)) break;
    at = segments.at();
    switch (marker) {
      case kEoi: ended = true; break;
      case kDqt:
        if (!ReadQuantTables(contents, &tables)) return kBadJpeg;
        break;
      case kDht:
        if (!ReadHuffmanTables(contents, &tables)) return kBadJpeg;
        break;
      case kDri:
        if (contents.size() != 2) return kBadJpeg;
        restart = Word(contents, 0);
        break;
      case kSos: {
        Scan scan = {};
        if (!ReadScanHeader(contents, header, &scan)) return kBadJpeg;
        for (const int number : scan.components) {
          if (!quant[number]) {
            quant[number] = tables.quant[header.components[number].quant];
          }
        }
        ScanReader reader(header, tables, scan, coefficients);
        if (!reader.has_tables()) return kBadJpeg;
        whole &= reader.Read(data, &at, restart);
        ++scans;
        break;
      }
      default: break;
    }
  }
  if (strict && (!whole || !ended)) {
    return ended ? kBadJpeg : kIncompleteBitstream;
  }
  image->width = DivideUp(header.width, 1 << shift);
  image->height = DivideUp(header.height, 1 << shift);
  image->most_h = header.most_h;
  image->most_v = header.most_v;
  image->colors = header.colors;
  image->inverted = header.inverted;
  image->planes.assign(header.components.size(), {});
  for (std::size_t i = 0; i < header.components.size(); ++i) {
    // One that no scan has is gray.
    const QuantTable none = {};
    InvertAll(header.components[i], coefficients[i], quant[i].value_or(none),
              shift, &image->planes[i]);
  }
  return kSuccess;
}

}  // namespace cerberus::libraries::nvjpeg
