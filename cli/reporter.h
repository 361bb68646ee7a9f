// Where diagnostics end: printed on stderr, counted, and kept for --json.
#ifndef CERBERUS_CLI_REPORTER_H_
#define CERBERUS_CLI_REPORTER_H_

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/line_printer.h"
#include "support/diag.h"

namespace cerberus::cli {

struct ReporterOptions {
  bool quiet = false;    // errors only
  bool verbose = false;  // notes too
  ColorMode color = ColorMode::kAuto;
};

class Reporter {
 public:
  explicit Reporter(const ReporterOptions& options);
  // Says how often the same was left unsaid.
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // "cerberus: error: app: .nv_fatbin+0x40: …" and the notes below it; the
  // same words once. Of messages that differ only in names and places the
  // first three are printed and the rest counted; all if verbose. Thread-safe.
  void Report(const Diag& diag);
  void Error(DiagCode code, std::string message);

  LinePrinter& printer() { return printer_; }
  bool quiet() const { return options_.quiet; }
  bool verbose() const { return options_.verbose; }
  std::size_t error_count() const;

  // All that was reported.
  std::vector<Diag> reported() const;
  // The same as a JSON array of objects.
  void WriteJson(JsonWriter& json) const;

 private:
  const ReporterOptions options_;
  LinePrinter printer_;
  mutable std::mutex mutex_;
  std::set<std::string> said_;
  std::map<std::string, std::size_t> alike_;
  std::vector<Diag> reported_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_REPORTER_H_
