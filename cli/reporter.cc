#include "cli/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/printable.h"

namespace cerberus::cli {
namespace {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "error";
}

const char* SeverityColor(Severity severity) {
  switch (severity) {
    case Severity::kError: return "1;31";
    case Severity::kWarning: return "1;35";
    case Severity::kNote: return "1;36";
  }
  return "0";
}

constexpr std::size_t kShownOfAlike = 3;

// "error: kernel * uses *": what messages have in common that differ in the
// names between quotes.
std::string WithoutNames(const Diag& diag) {
  std::string out = fmt::format("{}: ", SeverityName(diag.severity));
  bool in_name = false;
  for (const char c : diag.message) {
    if (c == '\'') in_name = !in_name;
    if (c == '\'' && !in_name) {
      out += "...'";
    } else if (c == '\'' || !in_name) {
      out += c;
    }
  }
  return out;
}

}  // namespace

Reporter::~Reporter() {
  for (const auto& [text, count] : alike_) {
    if (count <= kShownOfAlike || options_.verbose) continue;
    if (options_.quiet && text.rfind("error", 0) != 0) continue;
    printer_.Line(fmt::format("cerberus: {} more like this: {} (-v shows them)",
                              count - kShownOfAlike, Printable(text)));
  }
}

Reporter::Reporter(const ReporterOptions& options)
    : options_(options), printer_(stderr, options.color, !options.quiet) {}

void Reporter::Report(const Diag& diag) {
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
  {
    // What holds for a module is found again for each of its targets.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!said_.insert(text).second) return;
    reported_.push_back(diag);
    if (++alike_[WithoutNames(diag)] > kShownOfAlike && !options_.verbose) {
      return;
    }
  }
  if (options_.quiet && diag.severity != Severity::kError) return;
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

std::vector<Diag> Reporter::reported() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reported_;
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
