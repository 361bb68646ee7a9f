#include "cli/line_printer.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/printable.h"

namespace cerberus::cli {
namespace {

bool IsTerminal(std::FILE* file) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(file)) == 1 && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::size_t TerminalWidth(std::FILE* file) {
  winsize size{};
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

// Cuts the middle out of a line that is too wide: its ends say most.
std::string Elide(const std::string& text, std::size_t width) {
  if (text.size() < width || width < 8) return text;
  const std::size_t keep = width - 4;
  const std::size_t front = keep / 2;
  return text.substr(0, front) + "..." +
         text.substr(text.size() - (keep - front));
}

}  // namespace

LinePrinter::LinePrinter(std::FILE* file, ColorMode color, bool show_status)
    : file_(file), terminal_(IsTerminal(file)), show_status_(show_status) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool wanted = no_color == nullptr || *no_color == '\0';
  color_ = color == ColorMode::kAlways ||
           (color == ColorMode::kAuto && terminal_ && wanted);
}

LinePrinter::~LinePrinter() { Clear(); }

void LinePrinter::Status(const std::string& text) {
  if (!show_status_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (terminal_) {
    // "\033[K" erases what a longer line before left behind.
    fmt::print(file_, "\r{}\033[K",
               Elide(Printable(text), TerminalWidth(file_)));
    status_shown_ = true;
  } else {
    fmt::print(file_, "{}\n", Printable(text));
  }
  std::fflush(file_);
}

void LinePrinter::Line(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearLocked();
  fmt::print(file_, "{}\n", text);
  std::fflush(file_);
}

void LinePrinter::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearLocked();
}

void LinePrinter::ClearLocked() {
  if (!status_shown_) return;
  fmt::print(file_, "\r\033[K");
  std::fflush(file_);
  status_shown_ = false;
}

std::string LinePrinter::Style(const char* codes, std::string_view text) const {
  if (!color_) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", codes, text);
}

}  // namespace cerberus::cli
