// The C face: translates structs, owns strings, and lets nothing out but
// status codes.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "cerberus/ptxc.h"
#include "formats/launch_abi.h"
#include "ptxc/compile/isolation.h"
#include "support/version.h"

struct cerberus_ptxc_result {
  cerberus::ptx::CompileResult value;
};

namespace {

using cerberus::Diag;
using cerberus::DiagCode;

cerberus_ptxc_status StatusOf(const Diag& diag) {
  switch (diag.code) {
    case DiagCode::kBadPtx:
    case DiagCode::kBadFormat:
    case DiagCode::kNoPtx: return CERBERUS_PTXC_BAD_PTX;
    case DiagCode::kUnsupported:
    case DiagCode::kUnsupportedPtx: return CERBERUS_PTXC_UNSUPPORTED;
    case DiagCode::kUsage: return CERBERUS_PTXC_USAGE;
    default: return CERBERUS_PTXC_COMPILER;
  }
}

void Report(const cerberus_ptxc_options& options, const Diag& diag) {
  if (!options.on_diag) return;
  const std::string text = diag.ToString();
  cerberus_ptxc_diag out = {};
  out.size = sizeof out;
  switch (diag.severity) {
    case cerberus::Severity::kError: out.severity = CERBERUS_PTXC_ERROR; break;
    case cerberus::Severity::kWarning:
      out.severity = CERBERUS_PTXC_WARNING;
      break;
    case cerberus::Severity::kNote: out.severity = CERBERUS_PTXC_NOTE; break;
  }
  out.code = static_cast<std::uint32_t>(diag.code);
  out.text = text.c_str();
  out.message = diag.message.c_str();
  out.kernel = diag.where.kernel.c_str();
  out.ptx_line = diag.where.ptx_line;
  out.ptx_column = diag.where.ptx_column;
  out.source_file = diag.where.source_file.c_str();
  out.source_line = diag.where.source_line;
  options.on_diag(&out, options.user);
  for (const std::string& note : diag.notes) {
    cerberus_ptxc_diag n = {};
    n.size = sizeof n;
    n.severity = CERBERUS_PTXC_NOTE;
    n.code = out.code;
    n.text = n.message = note.c_str();
    n.kernel = out.kernel;
    n.source_file = "";
    options.on_diag(&n, options.user);
  }
}

cerberus::Result<cerberus::ptx::CompileOptions> ReadOptions(
    const cerberus_ptxc_options& in) {
  cerberus::ptx::CompileOptions out;
  if (!in.arch) {
    return cerberus::Err(DiagCode::kUsage, "no target given");
  }
  CERB_TRY(out.target, cerberus::TargetId::Parse(in.arch));
  switch (in.emit) {
    case CERBERUS_PTXC_EMIT_HSACO:
      out.emit = cerberus::ptx::Emit::kHsaco;
      break;
    case CERBERUS_PTXC_EMIT_OBJ: out.emit = cerberus::ptx::Emit::kObject; break;
    case CERBERUS_PTXC_EMIT_ASM:
      out.emit = cerberus::ptx::Emit::kAssembly;
      break;
    case CERBERUS_PTXC_EMIT_LL: out.emit = cerberus::ptx::Emit::kIr; break;
    case CERBERUS_PTXC_EMIT_LL_RAW:
      out.emit = cerberus::ptx::Emit::kRawIr;
      break;
    default: return cerberus::Err(DiagCode::kUsage, "unknown kind of output");
  }
  out.keep_going = in.keep_going != 0;
  out.opt_level = in.opt_level == 0 ? 2 : std::max(0, in.opt_level);
  out.verify_each = in.verify_each != 0;
  out.one_warp_per_wave = in.one_warp_per_wave != 0;
  using cerberus::ptx::SharedOverflow;
  out.shared_overflow = in.shared_overflow == 0   ? SharedOverflow::kError
                        : in.shared_overflow == 1 ? SharedOverflow::kGlobal
                                                  : SharedOverflow::kAlways;
  out.serial_lanes = in.serial_lanes != 0;
  out.time_trace = in.time_trace != 0;
  out.jobs = static_cast<unsigned>(std::max(1, in.jobs));
  if (in.input_name) out.input_name = in.input_name;
  using Variables = cerberus::ptx::CompileOptions::Variables;
  out.variables = in.variables == 0   ? Variables::kHere
                  : in.variables == 1 ? Variables::kApart
                                      : Variables::kAlone;
  if (in.only_kernel) out.only_kernel = in.only_kernel;
  return out;
}

cerberus::ptx::Isolation ReadIsolation(const cerberus_ptxc_options& in) {
  cerberus::ptx::Isolation out;
  out.seconds = in.seconds;
  if (in.parts_folder) out.parts_folder = in.parts_folder;
  if (in.slots_fd > 0) out.slots = in.slots_fd;
  if (in.on_progress) {
    out.on_progress = [callback = in.on_progress,
                       user = in.user](const cerberus::ptx::Progress& now) {
      const cerberus_ptxc_progress progress = {
          sizeof progress, now.kernels_done, now.kernels, now.instructions_done,
          now.instructions};
      callback(&progress, user);
    };
  }
  return out;
}

}  // namespace

extern "C" {

cerberus_ptxc_status cerberus_ptxc_compile(const char* ptx, size_t ptx_size,
                                           const cerberus_ptxc_options* options,
                                           cerberus_ptxc_result** result) {
  if (!result) return CERBERUS_PTXC_USAGE;
  *result = new (std::nothrow) cerberus_ptxc_result;
  if (!*result) return CERBERUS_PTXC_COMPILER;
  if (!options || options->size < offsetof(cerberus_ptxc_options, emit) ||
      (!ptx && ptx_size != 0)) {
    return CERBERUS_PTXC_USAGE;
  }
  // A caller built against an older header passes a shorter struct; a newer
  // one's additional fields are not ours to read.
  cerberus_ptxc_options known = {};
  std::memcpy(&known, options, std::min(options->size, sizeof known));

  cerberus::Result<cerberus::ptx::CompileOptions> read = ReadOptions(known);
  if (!read) {
    Report(known, read.error());
    return CERBERUS_PTXC_USAGE;
  }
  // PTX out of a fatbin is padded with NULs.
  std::string_view text(ptx ? ptx : "", ptx_size);
  while (text.ends_with('\0')) text.remove_suffix(1);
  const cerberus::DiagSink sink = [&](const Diag& diag) {
    Report(known, diag);
  };
  cerberus::Result<cerberus::ptx::CompileResult> compiled =
      known.isolate != 0 ? cerberus::ptx::CompileIsolated(
                               text, *read, ReadIsolation(known), sink)
                         : cerberus::ptx::Compile(text, *read, sink);
  if (!compiled) return StatusOf(compiled.error());
  (*result)->value = std::move(*compiled);
  return (*result)->value.failed.empty() ? CERBERUS_PTXC_OK
                                         : CERBERUS_PTXC_SOME_KERNELS_FAILED;
}

void cerberus_ptxc_result_free(cerberus_ptxc_result* result) { delete result; }

const void* cerberus_ptxc_result_data(const cerberus_ptxc_result* result) {
  return result ? result->value.output.data() : nullptr;
}
size_t cerberus_ptxc_result_size(const cerberus_ptxc_result* result) {
  return result ? result->value.output.size() : 0;
}

size_t cerberus_ptxc_result_kernel_count(const cerberus_ptxc_result* result) {
  return result ? result->value.kernels.size() : 0;
}
const char* cerberus_ptxc_result_kernel(const cerberus_ptxc_result* result,
                                        size_t index) {
  if (!result || index >= result->value.kernels.size()) return nullptr;
  return result->value.kernels[index].c_str();
}
size_t cerberus_ptxc_result_failed_count(const cerberus_ptxc_result* result) {
  return result ? result->value.failed.size() : 0;
}
const char* cerberus_ptxc_result_failed_kernel(
    const cerberus_ptxc_result* result, size_t index) {
  if (!result || index >= result->value.failed.size()) return nullptr;
  return result->value.failed[index].name.c_str();
}
const char* cerberus_ptxc_result_failed_reason(
    const cerberus_ptxc_result* result, size_t index) {
  if (!result || index >= result->value.failed.size()) return nullptr;
  return result->value.failed[index].reason.c_str();
}

const char* cerberus_ptxc_result_time_trace(
    const cerberus_ptxc_result* result) {
  return result ? result->value.time_trace.c_str() : "";
}

const char* cerberus_ptxc_version(void) { return cerberus::kVersion; }
uint32_t cerberus_ptxc_launch_abi(void) {
  return cerberus::formats::kLaunchAbi;
}

}  // extern "C"
