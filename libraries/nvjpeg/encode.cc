// Samples, coefficients, codes, markers.
#include <algorithm>
#include <cstring>

#include "libraries/nvjpeg/blocks.h"
#include "libraries/nvjpeg/jpeg.h"

namespace cerberus::libraries::nvjpeg {
namespace {

// T.81, annex K: tables by rows, and codes by the number of each length.
constexpr std::uint8_t kLuma[64] = {
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
constexpr std::uint8_t kChroma[64] = {
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};
constexpr std::array<std::uint8_t, 16> kDcCounts[2] = {
    {0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
    {0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}};
constexpr std::array<std::uint8_t, 16> kAcCounts[2] = {
    {0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125},
    {0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119}};
constexpr std::uint8_t kAcValues[2][162] = {
    {0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06,
     0x13, 0x51, 0x61, 0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08,
     0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
     0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28,
     0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45,
     0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
     0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75,
     0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
     0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
     0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6,
     0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9,
     0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
     0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4,
     0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa},
    {0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41,
     0x51, 0x07, 0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91,
     0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15, 0x62, 0x72, 0xd1,
     0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26,
     0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44,
     0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
     0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74,
     0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87,
     0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a,
     0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4,
     0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7,
     0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
     0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4,
     0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa}};

HuffmanTable StandardTable(bool is_ac, int number) {
  HuffmanTable table;
  if (is_ac) {
    table.counts = kAcCounts[number];
    table.values.assign(std::begin(kAcValues[number]),
                        std::end(kAcValues[number]));
    return table;
  }
  table.counts = kDcCounts[number];
  for (int i = 0; i < 12; ++i) {
    table.values.push_back(static_cast<std::uint8_t>(i));
  }
  return table;
}

// The best codes for values that occur so often: T.81, K.2. None has more than
// 16 bits, and none is all ones.
HuffmanTable BestTable(const std::array<std::size_t, 256>& frequencies) {
  constexpr int kReserved = 256;
  std::array<std::size_t, 257> left = {};
  std::copy(frequencies.begin(), frequencies.end(), left.begin());
  left[kReserved] = 1;
  std::array<int, 257> lengths = {}, next;
  next.fill(-1);
  while (true) {
    // The two rarest; of equals the last.
    int a = -1, b = -1;
    for (int i = 0; i <= kReserved; ++i) {
      if (left[i] == 0) continue;
      if (a < 0 || left[i] <= left[a]) {
        b = a;
        a = i;
      } else if (b < 0 || left[i] <= left[b]) {
        b = i;
      }
    }
    if (b < 0) break;
    left[a] += left[b];
    left[b] = 0;
    int end = a;
    for (int i = a; i >= 0; i = next[i]) {
      ++lengths[i];
      end = i;
    }
    next[end] = b;
    for (int i = b; i >= 0; i = next[i]) ++lengths[i];
  }
  std::array<int, 258> counts = {};
  for (const int length : lengths) ++counts[length];
  counts[0] = 0;
  for (int i = 257; i > 16; --i) {
    while (counts[i] > 0) {
      int j = i - 2;
      while (counts[j] == 0) --j;
      counts[i] -= 2;
      ++counts[i - 1];
      counts[j + 1] += 2;
      --counts[j];
    }
  }
  int longest = 16;
  while (longest > 0 && counts[longest] == 0) --longest;
  --counts[longest];  // the reserved one
  HuffmanTable table;
  for (int i = 1; i <= 16; ++i) {
    table.counts[i - 1] = static_cast<std::uint8_t>(counts[i]);
  }
  for (int length = 1; length <= 257; ++length) {
    for (int i = 0; i < kReserved; ++i) {
      if (lengths[i] == length) {
        table.values.push_back(static_cast<std::uint8_t>(i));
      }
    }
  }
  return table;
}

class Writer {
 public:
  void Byte(int value) { out_.push_back(static_cast<std::uint8_t>(value)); }
  void Word(int value) {
    Byte(value >> 8);
    Byte(value & 255);
  }
  void Marker(int second, int length) {
    Byte(0xff);
    Byte(second);
    if (length > 0) Word(length);
  }
  void Append(Bytes data) { out_.insert(out_.end(), data.begin(), data.end()); }
  void Bits(unsigned value, int count) {
    word_ = word_ << count | value;
    count_ += count;
    while (count_ >= 8) {
      const int byte = static_cast<int>(word_ >> (count_ - 8)) & 255;
      Byte(byte);
      if (byte == 0xff) Byte(0);
      count_ -= 8;
    }
  }
  // Fills the last byte with ones.
  void Flush() {
    if (count_ > 0) Bits((1u << (8 - count_)) - 1, 8 - count_);
  }
  std::vector<std::uint8_t> Take() { return std::move(out_); }

 private:
  std::vector<std::uint8_t> out_;
  std::uint64_t word_ = 0;
  int count_ = 0;
};

struct Code {
  std::uint16_t bits = 0;
  std::uint8_t length = 0;
};
std::array<Code, 256> CodesOf(const HuffmanTable& table) {
  std::array<Code, 256> codes;
  int code = 0;
  std::size_t at = 0;
  for (int length = 1; length <= 16; ++length) {
    for (int i = 0; i < table.counts[length - 1]; ++i) {
      codes[table.values[at++]] = {static_cast<std::uint16_t>(code++),
                                   static_cast<std::uint8_t>(length)};
    }
    code <<= 1;
  }
  return codes;
}

int SizeOf(int value) {
  int size = 0;
  for (unsigned v = static_cast<unsigned>(std::abs(value)); v != 0; v >>= 1) {
    ++size;
  }
  return size;
}

// Where codes go: into the stream, or a count of them.
class Sink {
 public:
  explicit Sink(Writer* writer) : writer_(writer) {}
  void Put(bool is_ac, int table, int code, int value, int size) {
    if (writer_ == nullptr) {
      ++counts[is_ac][table][code];
      return;
    }
    const Code& c = codes[is_ac][table][code];
    writer_->Bits(c.bits, c.length);
    const int low = value < 0 ? value - 1 : value;
    writer_->Bits(static_cast<unsigned>(low) & ((1u << size) - 1), size);
  }
  void Restart(int number) {
    if (writer_ == nullptr) return;
    writer_->Flush();
    writer_->Marker(0xd0 + number, 0);
  }
  std::array<Code, 256> codes[2][2];
  std::array<std::size_t, 256> counts[2][2] = {};

 private:
  Writer* const writer_;
};

struct Channel {
  int h, v, table;
  int width, height, across, down;
  std::vector<std::int16_t> blocks;  // in zigzag order
};

void Transform(const Plane& plane, const QuantTable& quant, Channel* to) {
  const auto& cosines = CosinesOf<8>().at;
  to->blocks.resize(64 * static_cast<std::size_t>(to->across) * to->down);
  for (int by = 0; by < to->down; ++by) {
    for (int bx = 0; bx < to->across; ++bx) {
      float in[8][8], rows[8][8];
      for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
          // The last row and column again, outside.
          in[y][x] = static_cast<float>(
                         plane.at(std::min(8 * bx + x, plane.width - 1),
                                  std::min(8 * by + y, plane.height - 1))) -
                     128.0f;
        }
      }
      for (int y = 0; y < 8; ++y) {
        for (int u = 0; u < 8; ++u) {
          float sum = 0;
          for (int x = 0; x < 8; ++x) sum += in[y][x] * cosines[u][x];
          rows[y][u] = sum;
        }
      }
      std::int16_t* const block =
          to->blocks.data() +
          64 * (static_cast<std::size_t>(by) * to->across + bx);
      for (int k = 0; k < 64; ++k) {
        const int u = kZigzag[k] % 8, v = kZigzag[k] / 8;
        float sum = 0;
        for (int y = 0; y < 8; ++y) sum += rows[y][u] * cosines[v][y];
        // There are codes for ten bits, and for eleven of the first.
        const float most = k == 0 ? 1024.0f : 1023.0f;
        block[k] = static_cast<std::int16_t>(std::clamp(
            std::nearbyint(sum / static_cast<float>(quant[k])), -most, most));
      }
    }
  }
}

class Scans {
 public:
  Scans(const std::vector<Channel>& channels, int width, int height,
        const EncodeSettings& settings)
      : channels_(channels), settings_(settings) {
    for (const Channel& c : channels) {
      most_h_ = std::max(most_h_, c.h);
      most_v_ = std::max(most_v_, c.v);
    }
    across_ = DivideUp(width, 8 * most_h_);
    down_ = DivideUp(height, 8 * most_v_);
  }

  // All channels, interleaved.
  void Interleaved(Sink& sink, int from, int to) {
    Start();
    for (int y = 0; y < down_; ++y) {
      for (int x = 0; x < across_; ++x) {
        RestartIfDue(sink);
        for (std::size_t i = 0; i < channels_.size(); ++i) {
          const Channel& c = channels_[i];
          for (int v = 0; v < c.v; ++v) {
            for (int h = 0; h < c.h; ++h) {
              Block(sink, i, x * c.h + h, y * c.v + v, from, to);
            }
          }
        }
      }
    }
  }
  void Alone(Sink& sink, std::size_t i, int from, int to) {
    Start();
    const Channel& c = channels_[i];
    for (int y = 0; y < DivideUp(c.height, 8); ++y) {
      for (int x = 0; x < DivideUp(c.width, 8); ++x) {
        RestartIfDue(sink);
        Block(sink, i, x, y, from, to);
      }
    }
  }

 private:
  void Start() {
    last_dc_ = {};
    since_ = restarts_ = 0;
  }
  void RestartIfDue(Sink& sink) {
    if (settings_.restart > 0 && since_ == settings_.restart) {
      sink.Restart(restarts_++ % 8);
      last_dc_ = {};
      since_ = 0;
    }
    ++since_;
  }
  void Block(Sink& sink, std::size_t i, int x, int y, int from, int to) {
    const Channel& c = channels_[i];
    const std::int16_t* block =
        c.blocks.data() + 64 * (static_cast<std::size_t>(y) * c.across + x);
    if (from == 0) {
      const int difference = block[0] - last_dc_[i];
      last_dc_[i] = block[0];
      const int size = SizeOf(difference);
      sink.Put(false, c.table, size, difference, size);
    }
    int zeros = 0;
    for (int k = std::max(from, 1); k <= to; ++k) {
      if (block[k] == 0) {
        ++zeros;
        continue;
      }
      for (; zeros > 15; zeros -= 16) sink.Put(true, c.table, 0xf0, 0, 0);
      const int size = SizeOf(block[k]);
      sink.Put(true, c.table, zeros << 4 | size, block[k], size);
      zeros = 0;
    }
    if (zeros > 0) sink.Put(true, c.table, 0, 0, 0);
  }

  const std::vector<Channel>& channels_;
  const EncodeSettings& settings_;
  int most_h_ = 1, most_v_ = 1, across_, down_;
  std::array<int, kMostComponents> last_dc_ = {};
  int since_ = 0, restarts_ = 0;
};

void WriteHuffmanTable(Writer& out, int kind, int number,
                       const HuffmanTable& table) {
  out.Marker(0xc4, static_cast<int>(19 + table.values.size()));
  out.Byte(kind << 4 | number);
  out.Append(table.counts);
  out.Append(table.values);
}
void WriteScanHeader(Writer& out, const std::vector<Channel>& channels,
                     std::size_t first, std::size_t count, int from, int to) {
  out.Marker(0xda, static_cast<int>(6 + 2 * count));
  out.Byte(static_cast<int>(count));
  for (std::size_t i = first; i < first + count; ++i) {
    out.Byte(static_cast<int>(i + 1));
    out.Byte(channels[i].table * 0x11);
  }
  out.Byte(from);
  out.Byte(to);
  out.Byte(0);
}

}  // namespace

void SetQuality(int quality, EncodeSettings* settings) {
  const int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  for (int k = 0; k < 64; ++k) {
    const auto scaled = [&](int value) {
      return static_cast<std::uint16_t>(
          std::clamp((value * scale + 50) / 100, 1, 255));
    };
    settings->luma[k] = scaled(kLuma[kZigzag[k]]);
    settings->chroma[k] = scaled(kChroma[kZigzag[k]]);
  }
}

std::vector<std::uint8_t> Encode(const Image& image,
                                 const EncodeSettings& settings) {
  const bool gray = image.planes.size() == 1;
  std::vector<Channel> channels;
  for (std::size_t i = 0; i < image.planes.size(); ++i) {
    const Plane& plane = image.planes[i];
    Channel& c = channels.emplace_back();
    c.h = plane.h;
    c.v = plane.v;
    c.table = i == 0 ? 0 : 1;
    c.width = plane.width;
    c.height = plane.height;
    c.across = DivideUp(image.width, 8 * image.most_h) * c.h;
    c.down = DivideUp(image.height, 8 * image.most_v) * c.v;
    Transform(plane, i == 0 ? settings.luma : settings.chroma, &c);
  }

  Writer out;
  out.Marker(0xd8, 0);
  if (settings.metadata.empty()) {
    constexpr std::uint8_t kJfif[] = {'J', 'F', 'I', 'F', 0, 1, 1,
                                      0,   0,   1,   0,   1, 0, 0};
    out.Marker(0xe0, 16);
    out.Append(kJfif);
  } else {
    out.Append(settings.metadata);
  }
  for (int t = 0; t < (gray ? 1 : 2); ++t) {
    const QuantTable& table = t == 0 ? settings.luma : settings.chroma;
    const bool wide =
        std::any_of(table.begin(), table.end(), [](int q) { return q > 255; });
    out.Marker(0xdb, wide ? 131 : 67);
    out.Byte((wide ? 0x10 : 0) | t);
    for (const std::uint16_t value : table) {
      if (wide) {
        out.Word(value);
      } else {
        out.Byte(value);
      }
    }
  }
  out.Marker(settings.encoding, static_cast<int>(8 + 3 * channels.size()));
  out.Byte(8);
  out.Word(image.height);
  out.Word(image.width);
  out.Byte(static_cast<int>(channels.size()));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    out.Byte(static_cast<int>(i + 1));
    out.Byte(channels[i].h << 4 | channels[i].v);
    out.Byte(channels[i].table);
  }
  if (settings.restart > 0) {
    out.Marker(0xdd, 4);
    out.Word(settings.restart);
  }

  Scans scans(channels, image.width, image.height, settings);
  const bool progressive = settings.encoding == kProgressive;
  const auto run = [&](Sink& sink, Writer* writer) {
    if (!progressive) {
      if (writer != nullptr) {
        WriteScanHeader(*writer, channels, 0, channels.size(), 0, 63);
      }
      scans.Interleaved(sink, 0, 63);
      if (writer != nullptr) writer->Flush();
      return;
    }
    if (writer != nullptr) {
      WriteScanHeader(*writer, channels, 0, channels.size(), 0, 0);
    }
    scans.Interleaved(sink, 0, 0);
    if (writer != nullptr) writer->Flush();
    // Low frequencies before high ones.
    for (const auto& [from, to] : {std::pair(1, 5), {6, 63}}) {
      for (std::size_t i = 0; i < channels.size(); ++i) {
        if (writer != nullptr) {
          WriteScanHeader(*writer, channels, i, 1, from, to);
        }
        scans.Alone(sink, i, from, to);
        if (writer != nullptr) writer->Flush();
      }
    }
  };

  Sink counted(nullptr), sink(&out);
  if (settings.optimized) run(counted, nullptr);
  for (int is_ac = 0; is_ac < 2; ++is_ac) {
    for (int t = 0; t < (gray ? 1 : 2); ++t) {
      const HuffmanTable table = settings.optimized
                                     ? BestTable(counted.counts[is_ac][t])
                                     : StandardTable(is_ac != 0, t);
      WriteHuffmanTable(out, is_ac, t, table);
      sink.codes[is_ac][t] = CodesOf(table);
    }
  }
  run(sink, &out);
  out.Marker(0xd9, 0);
  return out.Take();
}

}  // namespace cerberus::libraries::nvjpeg
