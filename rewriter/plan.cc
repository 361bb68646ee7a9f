#include "rewriter/plan.h"

#include <fmt/format.h>

#include "rewriter/patch_elf.h"

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

std::string Plan::ToText() const {
  std::string out = fmt::format(
      "{} bytes change in place, {} are appended; new segment at 0x{:x}: {}\n",
      bytes_in_place(), output_size() - input_size, segment_vaddr, tactic);
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
      "\"segment\":{{\"offset\":{},\"vaddr\":{},\"size\":{}}},"
      "\"tactic\":{},\"ranges\":[",
      input_size, output_size(), bytes_in_place(), append_offset, segment_vaddr,
      segment_size, JsonString(tactic));
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

Result<Plan> PlanConversion(const Binary& binary, const PlanOptions& options) {
  return PlanElf(binary, options);
}

Status Rewrite(const Binary& binary, const Plan& plan, OutputFile& out) {
  if (binary.file() != nullptr) {
    CERB_TRY_VOID(out.CopyFrom(binary.source()));
  } else {
    CERB_TRY_VOID(out.Append(binary.bytes()));
  }
  if (out.size() != plan.input_size) {
    Where where;
    where.file = binary.path();
    return Err(DiagCode::kIo, std::move(where),
               fmt::format("changed while it was read: {} bytes, then {}",
                           plan.input_size, out.size()));
  }
  for (const Plan::Edit& edit : plan.edits) {
    CERB_TRY_VOID(out.WriteAt(edit.offset, edit.bytes));
  }
  return out.WriteAt(plan.append_offset, plan.appended);
}

}  // namespace cerberus::rewriter
