#include "cli/line_printer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace cerberus::cli {
namespace {

// A file's content, or what a terminal got to see.
class Capture {
 public:
  static Capture File() { return Capture(std::tmpfile(), -1); }
  static Capture Terminal() {
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    ::grantpt(master);
    ::unlockpt(master);
    ::setenv("TERM", "xterm", 1);
    const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    return Capture(::fdopen(slave, "r+"), master);
  }
  ~Capture() {
    std::fclose(file_);
    if (master_ >= 0) ::close(master_);
  }
  std::FILE* file() { return file_; }
  std::string Text() {
    char buffer[4096];
    std::fflush(file_);
    if (master_ >= 0) {
      // What was written may arrive in pieces.
      std::string text;
      pollfd ready = {master_, POLLIN, 0};
      while (::poll(&ready, 1, 200) > 0) {
        const ssize_t n = ::read(master_, buffer, sizeof buffer);
        if (n <= 0) break;
        text.append(buffer, static_cast<std::size_t>(n));
      }
      return text;
    }
    std::rewind(file_);
    return std::string(buffer, std::fread(buffer, 1, sizeof buffer, file_));
  }

 private:
  Capture(std::FILE* file, int master) : file_(file), master_(master) {}
  std::FILE* file_;
  int master_;
};

TEST(LinePrinter, PlainLinesInAFile) {
  Capture capture = Capture::File();
  {
    LinePrinter printer(capture.file(), ColorMode::kAuto, true);
    EXPECT_FALSE(printer.color());
    EXPECT_EQ(printer.Style("1;31", "error:"), "error:");
    printer.Status("[1/2] one");
    printer.Line("stays");
    printer.Status("[2/2] two");
  }
  EXPECT_EQ(capture.Text(), "[1/2] one\nstays\n[2/2] two\n");
}

TEST(LinePrinter, OneLineOnATerminal) {
  Capture capture = Capture::Terminal();
  {
    LinePrinter printer(capture.file(), ColorMode::kAuto, true);
    printer.Status("[1/2] one");
    printer.Status("[2/2] two");
    printer.Line("stays");
  }
  EXPECT_EQ(capture.Text(),
            "\r[1/2] one\033[K\r[2/2] two\033[K\r\033[Kstays\r\n");
}

TEST(LinePrinter, LongStatusIsCutInTheMiddle) {
  Capture capture = Capture::Terminal();
  LinePrinter printer(capture.file(), ColorMode::kNever, true);
  printer.Status("begin" + std::string(200, '-') + "end");
  const std::string text = capture.Text();
  EXPECT_NE(text.find("begin"), std::string::npos);
  EXPECT_NE(text.find("---...---"), std::string::npos);
  EXPECT_NE(text.find("end\033[K"), std::string::npos);
  EXPECT_LE(text.size(), 80u + sizeof "\r\033[K");
}

TEST(LinePrinter, QuietShowsNoStatus) {
  Capture capture = Capture::File();
  LinePrinter printer(capture.file(), ColorMode::kAuto, false);
  printer.Status("[1/2] one");
  EXPECT_EQ(capture.Text(), "");
}

TEST(LinePrinter, Color) {
  ::unsetenv("NO_COLOR");
  Capture terminal = Capture::Terminal();
  Capture file = Capture::File();
  EXPECT_TRUE(LinePrinter(terminal.file(), ColorMode::kAuto, true).color());
  EXPECT_FALSE(LinePrinter(terminal.file(), ColorMode::kNever, true).color());
  EXPECT_TRUE(LinePrinter(file.file(), ColorMode::kAlways, true).color());
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(LinePrinter(terminal.file(), ColorMode::kAuto, true).color());
  EXPECT_TRUE(LinePrinter(terminal.file(), ColorMode::kAlways, true).color());
  // no-color.org: an empty value means nothing.
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(LinePrinter(terminal.file(), ColorMode::kAuto, true).color());
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(LinePrinter(terminal.file(), ColorMode::kAuto, true).color());
}

}  // namespace
}  // namespace cerberus::cli
