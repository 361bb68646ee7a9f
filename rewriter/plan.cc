#include "rewriter/plan.h"

#include <fmt/format.h>

#include <algorithm>

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

std::uint64_t Plan::OutputOffset(std::uint64_t input_offset) const {
  std::uint64_t before = 0;
  for (const Cut& cut : cuts) {
    if (input_offset <= cut.offset) break;
    before += std::min(cut.size, input_offset - cut.offset);
  }
  return input_offset - before;
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
      "\"tactic\":{},\"ranges\":[",
      input_size, output_size(), bytes_in_place(), bytes_cut(), append_offset,
      segment_vaddr, segment_size, JsonString(tactic));
  bool first = true;
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

Status CopyInput(const Binary& binary, const Plan& plan, OutputFile& out) {
  std::uint64_t at = 0;
  if (binary.file() == nullptr) {
    for (const Plan::Cut& cut : plan.cuts) {
      CERB_TRY_VOID(out.Append(binary.bytes().subspan(at, cut.offset - at)));
      at = cut.offset + cut.size;
    }
    return out.Append(binary.bytes().subspan(at));
  }
  CERB_TRY(const InputFile input, InputFile::Open(binary.source()));
  if (plan.cuts.empty()) {
    CERB_TRY_VOID(out.CopyFrom(input));
  } else {
    for (const Plan::Cut& cut : plan.cuts) {
      CERB_TRY_VOID(out.AppendFrom(input, at, cut.offset - at));
      at = cut.offset + cut.size;
    }
    CERB_TRY_VOID(out.AppendFrom(input, at, plan.input_size - at));
  }
  // It was opened twice, and read before it was copied.
  return input.CheckIs(*binary.file());
}

}  // namespace

Status Rewrite(const Binary& binary, const Plan& plan, OutputFile& out) {
  CERB_TRY_VOID(CopyInput(binary, plan, out));
  for (const Plan::Edit& edit : plan.edits) {
    CERB_TRY_VOID(out.WriteAt(plan.OutputOffset(edit.offset), edit.bytes));
  }
  return out.WriteAt(plan.append_offset, plan.appended);
}

}  // namespace cerberus::rewriter
