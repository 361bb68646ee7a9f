// Progress on stderr: one line that is overwritten on a terminal, plain lines
// elsewhere; and colour, where it is wanted.
#ifndef CERBERUS_CLI_LINE_PRINTER_H_
#define CERBERUS_CLI_LINE_PRINTER_H_

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace cerberus::cli {

enum class ColorMode { kAuto, kAlways, kNever };

class LinePrinter {
 public:
  // Colour under kAuto: if `file` is a terminal that is not "dumb" and
  // NO_COLOR is unset or empty (no-color.org).
  LinePrinter(std::FILE* file, ColorMode color, bool show_status);
  ~LinePrinter();  // clears the status line
  LinePrinter(const LinePrinter&) = delete;
  LinePrinter& operator=(const LinePrinter&) = delete;

  // What is being done. Thread-safe, as all of this.
  void Status(const std::string& text);
  // A line that stays.
  void Line(const std::string& text);
  // Removes the status line from the terminal.
  void Clear();

  bool terminal() const { return terminal_; }
  bool color() const { return color_; }
  // `text` between the escape codes of a style, if there is colour.
  std::string Style(const char* codes, std::string_view text) const;

 private:
  void ClearLocked();

  std::FILE* const file_;
  bool terminal_;
  bool color_;
  const bool show_status_;
  std::mutex mutex_;
  bool status_shown_ = false;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_LINE_PRINTER_H_
