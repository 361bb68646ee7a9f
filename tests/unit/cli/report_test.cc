// The page of a report: what it says, and what names cannot do to it.
#include "cli/report/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/report/html.h"
#include "support/output_file.h"

namespace cerberus::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t CountOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

CodeObject::Kernel KernelOf(std::string name) {
  CodeObject::Kernel kernel;
  kernel.name = std::move(name);
  kernel.max_threads = 1024;
  kernel.wave_size = 32;
  kernel.vgprs = 77;
  kernel.sgprs = 22;
  kernel.lds_bytes = 4096;
  kernel.waves_per_simd = 12;
  return kernel;
}

Report SomeReport() {
  Report report;
  report.verb = "convert";
  report.input = "in/app";
  report.output = "out/app";
  report.targets = {"gfx1100", "gfx942"};
  report.exit_code = 3;
  report.numbers = {{"Kernels converted", "1 of 2"}};
  report.files = {{"in/app", "converted", ""},
                  {"in/lib.so", "left as it is", "no PTX"}};
  report.written = {{"out/app", 12345}};
  Findings& findings = report.findings;
  findings.kernels.push_back({"app#0", "gfx1100", KernelOf("_Z4scanPiS_")});
  findings.kernels.back().kernel.vgpr_spills = 5;
  findings.missing.push_back(
      {"app#0", "gfx942", "_Z4sortPi", "'wgmma' is not supported"});
  findings.nvidia_libraries.push_back(
      {"in/app", "libcublas.so.12", "hipBLAS or rocBLAS"});
  findings.sizes["gfx1100"] = {1'000'000, 500'000};
  findings.sizes["ptx"] = {250'000, 0};
  report.messages.push_back(MakeDiag(DiagCode::kUnsupportedPtx, "said so"));
  return report;
}

TEST(HtmlText, ReadsAsText) {
  EXPECT_EQ(HtmlText("a<b>&\"c\"'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;");
  EXPECT_EQ(HtmlText("é€𝒳"), "é€𝒳");
}

TEST(HtmlText, ShowsWhatNobodySees) {
  EXPECT_EQ(HtmlText(std::string_view("a\0b\nc\x7f", 6)),
            "a\\u{0}b\\u{a}c\\u{7f}");
  EXPECT_EQ(HtmlText("\u202egpj.exe\u2066\u200b\ufeff"),
            "\\u{202e}gpj.exe\\u{2066}\\u{200b}\\u{feff}");
  EXPECT_EQ(HtmlText("\u2028\u061c\U000e0041\uffff\U0001fffe"),
            "\\u{2028}\\u{61c}\\u{e0041}\\u{ffff}\\u{1fffe}");
}

TEST(HtmlText, BytesThatAreNoText) {
  EXPECT_EQ(HtmlText("a\xff<\xfe"), "a\\x{ff}&lt;\\x{fe}");
  // Cut off; longer than need be; a surrogate; beyond the last character.
  EXPECT_EQ(HtmlText("\xe2\x82"), "\\x{e2}\\x{82}");
  EXPECT_EQ(HtmlText("\xc0\xbc"), "\\x{c0}\\x{bc}");
  EXPECT_EQ(HtmlText("\xed\xa0\x80"), "\\x{ed}\\x{a0}\\x{80}");
  EXPECT_EQ(HtmlText("\xf4\x90\x80\x80"), "\\x{f4}\\x{90}\\x{80}\\x{80}");
}

TEST(HtmlText, CutsBetweenCharacters) {
  EXPECT_EQ(WholeCharacters("abc", 8), 3u);
  EXPECT_EQ(WholeCharacters("abcdef", 4), 4u);
  EXPECT_EQ(WholeCharacters("ab€d", 3), 2u);
  EXPECT_EQ(WholeCharacters("ab€d", 5), 5u);
  EXPECT_EQ(WholeCharacters("\x80\x80\x80\x80\x80\x80", 5), 5u);
}

TEST(Report, SaysWhatThereIs) {
  const std::string page = ReportPage(SomeReport());
  for (const char* part : {"<html lang=en>",
                           "<main id=main",
                           "Done in part",
                           "in/app",
                           "out/app",
                           "gfx1100, gfx942",
                           "1 of 2",
                           "scan(int*, int*)",
                           "sort(int*)",
                           "&#39;wgmma&#39; is not supported",
                           "libcublas.so.12",
                           "hipBLAS or rocBLAS",
                           "<td class=n>77</td>",
                           "12 of 16",
                           "<span class=warn>5</span>",
                           "left as it is",
                           "no PTX",
                           "12\u202f345",
                           "said so",
                           "1.5 MB",
                           "PTX, for any other GPU"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  // Bars: shares of the longest, the databases behind the code.
  EXPECT_THAT(page, HasSubstr("width=\"66.667%\""));
  EXPECT_THAT(page, HasSubstr("<rect class=data x=\"66.667%\""));
  EXPECT_THAT(page, HasSubstr("width=\"16.667%\""));
  EXPECT_EQ(page, ReportPage(SomeReport()));
}

TEST(Report, NeedsNothingElse) {
  const std::string page = ReportPage(SomeReport());
  for (const char* part : {"http:", "https:", "src=", "url(", "@import",
                           "<link", "style=\"", "onclick"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST(Report, States) {
  Report report = SomeReport();
  report.exit_code = 0;
  EXPECT_THAT(ReportPage(report), HasSubstr("libraries of NVIDIA’s"));
  report.findings.nvidia_libraries.clear();
  EXPECT_THAT(ReportPage(report), HasSubstr("Nothing is missing."));
  report.dry_run = true;
  report.plan = {"app#0: <PTX>"};
  EXPECT_THAT(ReportPage(report), HasSubstr("Dry run"));
  EXPECT_THAT(ReportPage(report), HasSubstr("app#0: &lt;PTX&gt;"));
  report.exit_code = 1;
  const std::string failed = ReportPage(report);
  EXPECT_THAT(failed, HasSubstr("Failed"));
  EXPECT_THAT(failed, HasSubstr("said so"));
  EXPECT_THAT(failed, Not(HasSubstr("id=kernels")));
}

TEST(Report, NamesDoNothing) {
  for (const std::string name :
       {"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
        "</bdi></td></table></main>", "\u202e evil \xff\xfe", "<!--", "]]>",
        "&lt;already&gt;"}) {
    Report report = SomeReport();
    const std::size_t scripts = CountOf(ReportPage(report), "<script");
    const std::size_t cells = CountOf(ReportPage(report), "</td>");
    report.input = report.output = name;
    report.files = {{name, "left as it is", name}};
    report.files.push_back({name, "converted", ""});
    report.written = {{name, 1}};
    report.numbers.emplace_back("For pip install", name);
    Findings& findings = report.findings;
    findings.kernels[0] = {name, name, KernelOf(name)};
    findings.missing[0] = {name, name, name, name};
    findings.nvidia_libraries[0] = {name, name, name};
    findings.unread.push_back({name, name, name});
    findings.sizes[name] = {1, 1};
    report.messages[0].message = name;
    report.messages[0].where.file = name;
    report.messages[0].where.kernel = name;
    report.messages[0].notes = {name};
    const std::string page = ReportPage(report);
    EXPECT_EQ(CountOf(page, "<script"), scripts);
    EXPECT_EQ(CountOf(page, "</table>"), CountOf(page, "<table"));
    EXPECT_GE(CountOf(page, "</td>"), cells);
    EXPECT_EQ(page.find("<img"), std::string::npos);
    EXPECT_EQ(page.find("<!--"), std::string::npos);
    EXPECT_EQ(page.find('\xff'), std::string::npos);
    EXPECT_EQ(page.find("\u202e"), std::string::npos);
  }
}

TEST(Report, LongNamesAreFolded) {
  Report report = SomeReport();
  report.findings.kernels[0].kernel.name = std::string(100'000, 'x');
  const std::string page = ReportPage(report);
  EXPECT_THAT(page, HasSubstr("<details><summary><bdi dir=ltr>xxx"));
  EXPECT_THAT(page, HasSubstr("and 91808 more bytes"));
  EXPECT_LT(page.size(), 50'000u);
}

// Thousands of kernels in a page that a browser opens at once; of more than
// that it says how many are not in it.
TEST(Report, ManyKernels) {
  Report report = SomeReport();
  report.findings.kernels.clear();
  for (int i = 0; i < 20'003; ++i) {
    report.findings.kernels.push_back({"app#0",
                                       i % 2 == 0 ? "gfx1100" : "gfx942",
                                       KernelOf(fmt::format("kernel{}", i))});
  }
  const std::string page = ReportPage(report);
  EXPECT_THAT(page, HasSubstr("3 more rows are left out"));
  EXPECT_LT(page.size(), 20'003u * 450);
  // The spilling one is among those that are there, and the first.
  report.findings.kernels.back().kernel.vgpr_spills = 1;
  report.findings.kernels.back().kernel.name = "worst";
  const std::string other = ReportPage(report);
  EXPECT_LT(other.find("worst"), other.find("kernel0<"));
}

TEST(Findings, AsJson) {
  JsonWriter json;
  json.BeginObject();
  SomeReport().findings.WriteTo(json);
  json.EndObject();
  const std::string text = std::move(json).Take();
  for (const char* part :
       {"\"kernel_list\"", "\"name\": \"_Z4scanPiS_\"",
        "\"waves_per_simd\": 12", "\"kernel\": \"_Z4sortPi\"",
        "\"library\": \"libcublas.so.12\"", "\"database_bytes\": 500000",
        "\"spilling\"", "\"unread\": []"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

// Pages for tests/long/report_pages.py, which opens them in a browser.
TEST(Report, PagesForBrowsers) {
  const char* folder = std::getenv("CERBERUS_TEST_REPORTS");
  Report many = SomeReport();
  many.findings.kernels.clear();
  for (int i = 0; i < 2'000; ++i) {
    for (const char* target : {"gfx1100", "gfx942"}) {
      CodeObject::Kernel kernel = KernelOf(fmt::format(
          "_ZN4cuda6detail9transformILi{}EfEEvPKT0_PS2_mNS_{}E", i,
          fmt::format(
              "{}{}", 1 + i % 200 + 4,
              "name" +
                  std::string(static_cast<std::size_t>(1 + i % 200), 'x'))));
      kernel.vgprs = static_cast<std::uint64_t>(i * 37 % 256);
      kernel.vgpr_spills = i % 97 == 0 ? static_cast<std::uint64_t>(i % 13) : 0;
      kernel.scratch_bytes = i % 31 == 0 ? 64u : 0;
      kernel.agprs = target[3] == '9' ? static_cast<std::uint64_t>(i % 9) : 0;
      kernel.waves_per_simd = static_cast<std::uint32_t>(1 + i % 8);
      many.findings.kernels.push_back(
          {fmt::format("app#{}", i / 40), target, std::move(kernel)});
    }
  }
  const std::string page = ReportPage(many);
  EXPECT_LT(page.size(), 3'000'000u);
  if (folder == nullptr) return;

  Report hostile = SomeReport();
  for (const std::string name :
       {"<script>document.title='hit'</script>",
        "\"><img src=x onerror=\"document.title='hit'\">",
        "\u202egnp.exe \xff\xfe", "שלום(int*)", ""}) {
    hostile.findings.kernels.push_back({name, "gfx1100", KernelOf(name)});
    hostile.files.push_back({name, "left as it is", name});
  }
  hostile.findings.kernels.push_back(
      {"app#1", "gfx1100", KernelOf(std::string(30'000, 'w'))});
  Report plain = SomeReport();
  plain.exit_code = 0;
  plain.findings.nvidia_libraries.clear();
  Report failed = SomeReport();
  failed.exit_code = 1;
  const std::string to = std::string(folder) + "/";
  ASSERT_TRUE(WriteFile(to + "many.html", AsBytes(page)));
  ASSERT_TRUE(WriteFile(to + "hostile.html", AsBytes(ReportPage(hostile))));
  ASSERT_TRUE(WriteFile(to + "plain.html", AsBytes(ReportPage(plain))));
  ASSERT_TRUE(WriteFile(to + "failed.html", AsBytes(ReportPage(failed))));
}

}  // namespace
}  // namespace cerberus::cli
