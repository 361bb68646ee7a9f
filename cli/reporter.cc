#include "cli/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cerberus::cli {
namespace {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

const char* SeverityColor(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "1;31";
    case Severity::kWarning:
      return "1;35";
    case Severity::kNote:
      return "1;36";
  }
  return "0";
}

// A file name may hold anything; a message stays one line and sends no
// escape codes to the terminal.
std::string Printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Reporter::Reporter(const ReporterOptions& options)
    : options_(options), printer_(stderr, options.color, !options.quiet) {}

void Reporter::Report(const Diag& diag) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    reported_.push_back(diag);
  }
  if (options_.quiet && diag.severity != Severity::kError) return;
  std::string text = fmt::format(
      "cerberus: {} {}",
      printer_.Style(SeverityColor(diag.severity),
                     fmt::format("{}:", SeverityName(diag.severity))),
      Printable(diag.ToString()));
  for (const std::string& note : diag.notes) {
    text += fmt::format("\ncerberus: {} {}",
                        printer_.Style(SeverityColor(Severity::kNote), "note:"),
                        Printable(note));
  }
  printer_.Line(text);
}

void Reporter::Error(DiagCode code, std::string message) {
  Report(MakeDiag(code, std::move(message)));
}

std::size_t Reporter::error_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      reported_.begin(), reported_.end(),
      [](const Diag& diag) { return diag.severity == Severity::kError; }));
}

void Reporter::WriteJson(JsonWriter& json) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  json.BeginArray();
  for (const Diag& diag : reported_) {
    json.BeginObject();
    json.Key("severity").String(SeverityName(diag.severity));
    json.Key("code").Int(static_cast<int>(diag.code));
    json.Key("message").String(diag.message);
    const Where& where = diag.where;
    if (!where.file.empty()) json.Key("file").String(where.file);
    if (!where.section.empty()) json.Key("section").String(where.section);
    if (where.offset >= 0) json.Key("offset").Int(where.offset);
    if (!where.kernel.empty()) json.Key("kernel").String(where.kernel);
    if (where.ptx_line > 0) json.Key("ptx_line").Int(where.ptx_line);
    if (where.ptx_column > 0) json.Key("ptx_column").Int(where.ptx_column);
    if (where.source_line > 0) {
      json.Key("source_file").String(where.source_file);
      json.Key("source_line").Int(where.source_line);
    }
    if (!diag.notes.empty()) {
      json.Key("notes").BeginArray();
      for (const std::string& note : diag.notes) json.String(note);
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace cerberus::cli
