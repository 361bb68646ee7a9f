#include "rewriter/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cerberus::rewriter {
namespace {

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::uint64_t Plan::bytes_in_place() const {
  std::uint64_t total = 0;
  for (const Edit& edit : edits) total += edit.bytes.size();
  return total;
}

std::uint64_t Plan::bytes_cut() const {
  std::uint64_t total = 0;
  for (const Cut& cut : cuts) total += cut.size;
  return total;
}

std::vector<Plan::Piece> Plan::pieces() const {
  std::vector<Piece> out;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    if (from < to) out.push_back({from, to - from, OutputOffset(from)});
  };
  // The appended bytes part a piece as a cut does.
  std::uint64_t at = 0;
  const auto add_up_to = [&](std::uint64_t to) {
    if (at < insert_at && insert_at < to) {
      add(at, insert_at);
      at = insert_at;
    }
    add(at, to);
  };
  for (const Cut& cut : cuts) {
    add_up_to(cut.offset);
    at = cut.offset + cut.size;
  }
  add_up_to(input_size);
  return out;
}

std::uint64_t Plan::gap_offset() const {
  std::uint64_t end = 0;
  for (const Piece& piece : pieces()) {
    if (piece.offset < insert_at) end = piece.output_offset + piece.size;
  }
  return end;
}

std::uint64_t Plan::OutputOffset(std::uint64_t input_offset) const {
  const auto without_cuts = [&](std::uint64_t offset) {
    std::uint64_t before = 0;
    for (const Cut& cut : cuts) {
      if (offset <= cut.offset) break;
      before += std::min(cut.size, offset - cut.offset);
    }
    return offset - before;
  };
  const std::uint64_t offset = without_cuts(input_offset);
  if (input_offset < insert_at || insert_at >= input_size) return offset;
  return append_offset + appended.size() + (offset - without_cuts(insert_at));
}

std::uint64_t Plan::output_size() const {
  if (insert_at >= input_size) return append_offset + appended.size();
  return OutputOffset(input_size);
}

Status Plan::AddEdit(std::uint64_t offset, Bytes bytes, std::string why) {
  for (const Cut& cut : cuts) {
    if (offset < cut.offset + cut.size && cut.offset < offset + bytes.size()) {
      return Err(
          DiagCode::kBadFormat,
          fmt::format("{}: lies at 0x{:x}, in device code", why, offset));
    }
  }
  CERB_TRY_VOID(ranges.Add(OutputOffset(offset), bytes.size(), why));
  edits.push_back({offset, std::move(bytes), std::move(why)});
  return {};
}

Status Plan::AddEditIfChanged(ByteSpan input, std::uint64_t offset,
                              const Bytes& bytes, std::string why) {
  const std::uint8_t* old = input.data() + offset;
  std::size_t from = 0, to = bytes.size();
  while (from < to && bytes[from] == old[from]) ++from;
  while (to > from && bytes[to - 1] == old[to - 1]) --to;
  if (from == to) return {};
  return AddEdit(offset + from,
                 Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                       bytes.begin() + static_cast<std::ptrdiff_t>(to)),
                 std::move(why));
}

void Plan::SortEdits() {
  std::sort(edits.begin(), edits.end(),
            [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
}

std::string Plan::ToText() const {
  std::string out = fmt::format(
      "{} bytes change in place, {} are appended; new segment at 0x{:x}: {}\n",
      bytes_in_place(), output_size() - kept_size(), segment_vaddr, tactic);
  for (const Cut& cut : cuts) {
    out += fmt::format("  0x{:x} bytes at 0x{:x} of the input leave the file\n",
                       cut.size, cut.offset);
  }
  for (const auto& [offset, range] : ranges.ranges()) {
    out +=
        fmt::format("  0x{:08x} +0x{:<6x} {}\n", offset, range.size, range.why);
  }
  for (const Diag& note : notes) out += "  note: " + note.message + "\n";
  return out;
}

std::string Plan::ToJson() const {
  std::string out = fmt::format(
      "{{\"input_size\":{},\"output_size\":{},\"bytes_in_place\":{},"
      "\"bytes_cut\":{},"
      "\"segment\":{{\"offset\":{},\"vaddr\":{},\"size\":{}}},"
      "\"tactic\":{},\"cuts\":[",
      input_size, output_size(), bytes_in_place(), bytes_cut(), append_offset,
      segment_vaddr, segment_size, JsonString(tactic));
  bool first = true;
  for (const Cut& cut : cuts) {
    out += fmt::format("{}{{\"offset\":{},\"size\":{}}}", first ? "" : ",",
                       cut.offset, cut.size);
    first = false;
  }
  out += "],\"ranges\":[";
  first = true;
  for (const auto& [offset, range] : ranges.ranges()) {
    out += fmt::format("{}{{\"offset\":{},\"size\":{},\"why\":{}}}",
                       first ? "" : ",", offset, range.size,
                       JsonString(range.why));
    first = false;
  }
  out += "],\"notes\":[";
  first = true;
  for (const Diag& note : notes) {
    out += (first ? "" : ",") + JsonString(note.message);
    first = false;
  }
  return out + "]}";
}

namespace {

// All of the output but for the edits.
Status CopyInput(const Binary& binary, const Plan& plan, OutputFile& out,
                 const InputFile* input) {
  if (input != nullptr && plan.cuts.empty() &&
      plan.insert_at >= plan.input_size) {
    CERB_TRY_VOID(out.CopyFrom(*input));
    return out.WriteAt(plan.append_offset, plan.appended);
  }
  bool is_appended = false;
  for (const Plan::Piece& piece : plan.pieces()) {
    if (!is_appended && piece.offset >= plan.insert_at) {
      CERB_TRY_VOID(out.WriteAt(plan.append_offset, plan.appended));
      is_appended = true;
    }
    if (input == nullptr) {
      CERB_TRY_VOID(
          out.Append(binary.bytes().subspan(piece.offset, piece.size)));
    } else {
      CERB_TRY_VOID(out.AppendFrom(*input, piece.offset, piece.size));
    }
  }
  if (is_appended) return {};
  return out.WriteAt(plan.append_offset, plan.appended);
}

Status WriteEdits(const Plan& plan, OutputFile& out) {
  for (const Plan::Edit& edit : plan.edits) {
    CERB_TRY_VOID(out.WriteAt(plan.OutputOffset(edit.offset), edit.bytes));
  }
  return {};
}

}  // namespace

Status Rewrite(const Binary& binary, const Plan& plan, OutputFile& out) {
  if (binary.file() == nullptr) {
    CERB_TRY_VOID(CopyInput(binary, plan, out, nullptr));
    return WriteEdits(plan, out);
  }
  CERB_TRY(const InputFile input, InputFile::Open(binary.source()));
  CERB_TRY_VOID(CopyInput(binary, plan, out, &input));
  // It was opened twice, and read before it was copied.
  CERB_TRY_VOID(input.CheckIs(*binary.file()));
  CERB_TRY_VOID(WriteEdits(plan, out));
  return out.TakeAttributesOf(input);
}

}  // namespace cerberus::rewriter
