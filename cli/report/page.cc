// The page of a report, section by section.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/convert/conversion.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "cli/report/html.h"
#include "cli/report/page_look.h"
#include "cli/report/report.h"
#include "packager/wheel/record.h"
#include "support/demangle.h"
#include "support/targets/occupancy.h"
#include "support/targets/target_id.h"
#include "support/version.h"

namespace cerberus::cli {
namespace {

// Browsers take seconds for tables of more rows; --json has all of them.
constexpr std::size_t kMostRows = 20'000;
// Longer names are folded; of still longer ones the end is not in the page.
constexpr std::size_t kShownOfName = 160;
constexpr std::size_t kMostOfName = 8'192;

// "1 234 567", the spaces narrow ones.
std::string Number(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  if (digits.size() < 5) return digits;
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, "\u202f");
  }
  return digits;
}

std::string Count(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// A name from a file: apart from what stands around it, whatever is in it.
std::string Name(std::string_view name) {
  const auto isolated = [](std::string_view text) {
    return fmt::format("<bdi dir=ltr>{}</bdi>", HtmlText(text));
  };
  if (name.empty()) return "<span class=soft>no name</span>";
  if (name.size() <= kShownOfName) return isolated(name);
  const std::size_t shown = WholeCharacters(name, kShownOfName);
  const std::size_t whole = WholeCharacters(name, kMostOfName);
  std::string rest = isolated(name.substr(shown, whole - shown));
  if (whole != name.size()) {
    rest += fmt::format(" <span class=soft>and {} more bytes</span>",
                        name.size() - whole);
  }
  return fmt::format(
      "<details><summary>{}<span class=soft>…</span></summary>{}</details>",
      isolated(name.substr(0, shown)), rest);
}

std::string TargetText(const std::string& target) {
  return target == kFallbackTarget ? "PTX, for any other GPU" : target;
}

// A table, row by row; what does not fit into the page is counted.
class Table {
 public:
  enum class Kind : std::uint8_t { kText, kNumber };
  struct Column {
    const char* name;
    Kind kind = Kind::kText;
  };

  // `id` is that of its caption. Tables scroll by themselves where the page is
  // narrow, and can be reached for that with the keyboard.
  Table(std::string id, std::string_view caption, std::vector<Column> columns,
        std::string_view classes = "sort")
      : columns_(std::move(columns)) {
    out_ = fmt::format(
        "<div class=scroll role=region tabindex=0 aria-labelledby={0}>\n"
        "<table class=\"{1}\">\n<caption id={0}>{2}</caption>\n<thead><tr>",
        id, classes, caption);
    for (const Column& column : columns_) {
      out_ +=
          fmt::format("<th scope=col{}>{}</th>", ClassOf(column), column.name);
    }
    out_ += "</tr></thead>\n<tbody>\n";
  }

  // Cells are HTML; the first is the row's heading.
  void Add(const std::vector<std::string>& cells) {
    if (++rows_ > kMostRows) return;
    out_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_number = columns_[i].kind == Kind::kNumber;
      // Zeros are many, and say nothing.
      const bool is_zero = is_number && cells[i] == "0";
      out_ += i == 0 ? "<th scope=row>"
                     : fmt::format("<td{}>", is_zero ? " class=\"n none\""
                                                     : ClassOf(columns_[i]));
      out_ += cells[i];
      out_ += i == 0 ? "</th>" : "</td>";
    }
    out_ += "</tr>\n";
  }

  std::string Take() && {
    out_ += "</tbody>\n</table>\n</div>\n";
    if (rows_ > kMostRows) {
      out_ += fmt::format(
          "<p class=part>{} more rows are left out of this page; "
          "<code>--json</code> has all.</p>\n",
          rows_ - kMostRows);
    }
    return std::move(out_);
  }

 private:
  static const char* ClassOf(const Column& column) {
    return column.kind == Kind::kNumber ? " class=n" : "";
  }

  std::vector<Column> columns_;
  std::string out_;
  std::size_t rows_ = 0;
};

constexpr Table::Kind kNumber = Table::Kind::kNumber;

struct Section {
  const char* id;
  std::string title;
  std::string body;
};

std::string StatePart(const Report& report) {
  const auto state = [](const char* how, std::string_view word,
                        std::string_view text) {
    return fmt::format(
        "<p class=\"state {}\"><strong>{}.</strong> <span>{}</span></p>\n", how,
        word, text);
  };
  if (report.exit_code == kExitFailed) {
    return state("bad", "Failed",
                 "Nothing was written; the <a href=#messages>messages</a> say "
                 "why.");
  }
  if (report.dry_run) {
    return state("part", "Dry run",
                 "Nothing was written: this is what would be done.");
  }
  if (report.exit_code == kExitSomeMissing) {
    return state("part", "Done in part",
                 "Something could not be converted: what, and why, is under <a "
                 "href=#missing>What is missing</a>.");
  }
  if (!report.findings.nvidia_libraries.empty()) {
    return state("part", "Done",
                 "No kernel is missing, but libraries of NVIDIA’s are needed "
                 "that cannot run: <a href=#missing>which</a>.");
  }
  return state("good", "Done", "Nothing is missing.");
}

std::string NvidiaPart(const Findings& findings) {
  const auto& rows = findings.nvidia_libraries;
  if (rows.empty()) return "";
  Table table("c-nvidia",
              "NVIDIA’s libraries that are needed and cannot run on AMD GPUs: "
              "their kernels are machine code",
              {{"Library"}, {"Needed by"}, {"Counterpart in ROCm"}});
  for (const Findings::NeededRow& row : rows) {
    table.Add({Name(row.library), Name(row.file),
               row.replacement.empty() ? "none" : HtmlText(row.replacement)});
  }
  return std::move(table).Take();
}

Section MissingSection(const Report& report) {
  std::string body = NvidiaPart(report.findings);
  const auto& missing = report.findings.missing;
  if (!missing.empty()) {
    Table table("c-missing", "Kernels that are in no archive",
                {{"Kernel"}, {"Module"}, {"Target"}, {"Reason"}});
    for (const Findings::MissingRow& row : missing) {
      table.Add({row.kernel.empty() ? "all of the module"
                                    : Name(Demangle(row.kernel)),
                 Name(row.module), HtmlText(row.target), HtmlText(row.reason)});
    }
    body += std::move(table).Take();
  }
  std::vector<const Report::FileRow*> files;
  for (const Report::FileRow& file : report.files) {
    if (!file.reason.empty()) files.push_back(&file);
  }
  if (!files.empty()) {
    Table table("c-left", "Files that were not converted",
                {{"File"}, {"What became of it"}, {"Reason"}});
    for (const Report::FileRow* file : files) {
      table.Add({Name(file->path), file->fate, HtmlText(file->reason)});
    }
    body += std::move(table).Take();
  }
  if (body.empty()) body = "<p>Nothing that is known of.</p>\n";
  return {"missing", "What is missing", std::move(body)};
}

Section FilesSection(const Report& report) {
  std::string body;
  if (!report.files.empty()) {
    Table table("c-files", "Files with device code, and what became of them",
                {{"File"}, {"What became of it"}});
    for (const Report::FileRow& file : report.files) {
      table.Add({Name(file.path), file.fate});
    }
    body += std::move(table).Take();
  }
  if (!report.written.empty()) {
    Table table("c-written", "Files that were written",
                {{"File"}, {"Bytes", kNumber}});
    for (const auto& [path, size] : report.written) {
      table.Add({Name(path), Number(size)});
    }
    body += std::move(table).Take();
  }
  if (!report.plan.empty()) {
    body += "<h3>What would be done</h3>\n<ul class=plain>\n";
    for (const std::string& line : report.plan) {
      body += fmt::format("<li><bdi dir=ltr>{}</bdi></li>\n", HtmlText(line));
    }
    body += "</ul>\n";
  }
  return {"files", "What was converted", std::move(body)};
}

// Bars by target. Lengths are shares of the width, texts have their own size:
// so the picture can be as narrow as the page.
std::string Chart(const std::map<std::string, Findings::Size>& sizes) {
  constexpr int kRow = 52;
  std::uint64_t most = 1;
  for (const auto& [target, size] : sizes) {
    most = std::max(most, size.code + size.databases);
  }
  const auto share = [most](std::uint64_t bytes) {
    return 100 * static_cast<double>(bytes) / static_cast<double>(most);
  };
  std::string out = fmt::format(
      "<svg width=\"100%\" height=\"{}\" role=img aria-labelledby=chart>\n"
      "<title id=chart>Bars of the bytes for each target; the table has the "
      "numbers</title>\n",
      kRow * sizes.size());
  int y = 0;
  for (const auto& [target, size] : sizes) {
    out += fmt::format(
        "<text x=\"0\" y=\"{}\">{}: {}</text>\n"
        "<rect class=code x=\"0\" y=\"{}\" width=\"{:.3f}%\" height=\"20\"/>\n",
        y + 16, HtmlText(TargetText(target)),
        SizeText(size.code + size.databases), y + 23, share(size.code));
    if (size.databases != 0) {
      out += fmt::format(
          "<rect class=data x=\"{:.3f}%\" y=\"{}\" width=\"{:.3f}%\" "
          "height=\"20\"/>\n",
          share(size.code), y + 23, share(size.databases));
    }
    y += kRow;
  }
  return out + "</svg>\n";
}

std::string Key(const char* colour, const char* text) {
  return fmt::format(
      "<span class=key><svg width=\"14\" height=\"14\" aria-hidden=true><rect "
      "class={} width=\"14\" height=\"14\"/></svg>{}</span> ",
      colour, text);
}

Section SizesSection(const Report& report) {
  const auto& sizes = report.findings.sizes;
  const bool databases =
      std::any_of(sizes.begin(), sizes.end(),
                  [](const auto& row) { return row.second.databases != 0; });
  std::string body = Chart(sizes);
  std::vector<Table::Column> columns = {{"Target"},
                                        {"Bytes in its archive", kNumber}};
  if (databases) {
    body += fmt::format("<p>{}{}</p>\n", Key("code", "code in archives"),
                        Key("data", "kernel databases"));
    columns.push_back({"Bytes of kernel databases", kNumber});
  }
  Table table("c-sizes", "Bytes for each target", columns);
  for (const auto& [target, size] : sizes) {
    std::vector<std::string> cells = {HtmlText(TargetText(target)),
                                      Number(size.code)};
    if (databases) cells.push_back(Number(size.databases));
    table.Add(cells);
  }
  body += std::move(table).Take();
  return {"sizes", "Sizes by target", std::move(body)};
}

// Those first that somebody may want to look at.
std::vector<const Findings::KernelRow*> WorstFirst(
    const std::vector<Findings::KernelRow>& kernels) {
  std::vector<const Findings::KernelRow*> rows;
  rows.reserve(kernels.size());
  for (const Findings::KernelRow& row : kernels) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    const auto badness = [](const CodeObject::Kernel& kernel) {
      return std::tuple(kernel.vgpr_spills, kernel.sgpr_spills,
                        kernel.scratch_bytes,
                        UINT32_MAX - kernel.waves_per_simd);
    };
    return badness(a->kernel) > badness(b->kernel);
  });
  return rows;
}

std::string Occupancy(const std::string& target,
                      const CodeObject::Kernel& kernel) {
  if (kernel.waves_per_simd == 0) return "not known";
  const Result<TargetId> id = TargetId::Parse(target);
  return fmt::format("{} of {}", kernel.waves_per_simd,
                     MostWavesPerSimd(id ? id->processor : target));
}

std::string Warned(std::uint64_t value) {
  return value == 0 ? "0" : fmt::format("<span class=warn>{}</span>", value);
}

// Shown by the script, which makes it work.
std::string SearchForm(const std::vector<Findings::KernelRow>& kernels) {
  std::set<std::string> targets;
  for (const Findings::KernelRow& row : kernels) targets.insert(row.target);
  std::string options = "<option value=\"\">all</option>";
  for (const std::string& target : targets) {
    options += fmt::format("<option>{}</option>", HtmlText(target));
  }
  return fmt::format(
      "<form id=find role=search hidden>\n"
      "<div><label for=words>Words in any column</label>"
      "<input id=words name=words type=search autocomplete=off "
      "spellcheck=false></div>\n"
      "<div><label for=target>Target</label>"
      "<select id=target name=target>{}</select></div>\n"
      "<output id=found for=\"words target\"></output>\n</form>\n",
      options);
}

Section KernelsSection(const Report& report) {
  const Findings& findings = report.findings;
  const auto& kernels = findings.kernels;
  const bool agprs =
      std::any_of(kernels.begin(), kernels.end(),
                  [](const auto& row) { return row.kernel.agprs != 0; });
  std::string body;
  if (!kernels.empty()) {
    body += SearchForm(kernels);
    std::vector<Table::Column> columns = {{"Kernel"},
                                          {"Module"},
                                          {"Target"},
                                          {"Block", kNumber},
                                          {"Wave", kNumber},
                                          {"VGPRs", kNumber},
                                          {"SGPRs", kNumber},
                                          {"VGPRs spilled", kNumber},
                                          {"SGPRs spilled", kNumber},
                                          {"Scratch bytes", kNumber},
                                          {"LDS bytes", kNumber},
                                          {"Waves per SIMD", kNumber}};
    if (agprs) columns.insert(columns.begin() + 6, {"AGPRs", kNumber});
    Table table("c-kernels",
                "Kernels and what they take, first those with spilled "
                "registers, scratch memory or few waves",
                columns, "sort kernels");
    for (const Findings::KernelRow* row : WorstFirst(kernels)) {
      const CodeObject::Kernel& kernel = row->kernel;
      const bool form = !kernel.form_of.empty();
      std::string name = Name(Demangle(form ? kernel.form_of : kernel.name));
      if (form) {
        name +=
            fmt::format(" <span class=soft>form <bdi dir=ltr>{}</bdi></span>",
                        HtmlText(kernel.name.substr(std::min(
                            kernel.form_of.size(), kernel.name.size()))));
      }
      std::vector<std::string> cells = {std::move(name),
                                        Name(row->module),
                                        HtmlText(row->target),
                                        Number(kernel.max_threads),
                                        Number(kernel.wave_size),
                                        Number(kernel.vgprs),
                                        Number(kernel.sgprs),
                                        Warned(kernel.vgpr_spills),
                                        Warned(kernel.sgpr_spills),
                                        Warned(kernel.scratch_bytes),
                                        Number(kernel.lds_bytes),
                                        Occupancy(row->target, kernel)};
      if (agprs) cells.insert(cells.begin() + 6, Number(kernel.agprs));
      table.Add(cells);
    }
    body += std::move(table).Take();
    body +=
        "<p class=soft>Block: the largest block it can be launched with, in "
        "threads. Waves per SIMD: how many waves a SIMD holds at once with "
        "that "
        "block, of how many it could. Spilled: values kept in memory for which "
        "registers did not suffice.</p>\n";
  }
  if (!findings.unread.empty()) {
    Table table("c-unread", "Code objects that say nothing of their kernels",
                {{"Module"}, {"Target"}, {"Reason"}});
    for (const Findings::UnreadRow& row : findings.unread) {
      table.Add({Name(row.module), HtmlText(row.target), HtmlText(row.reason)});
    }
    body += std::move(table).Take();
  }
  return {"kernels", "Kernels", std::move(body)};
}

std::string Place(const Where& where) {
  const std::string text = where.ToString();
  return text.empty() ? "" : Name(text);
}

Section MessagesSection(const Report& report) {
  Table table("c-messages", "What was said on the way",
              {{"Message"}, {"Kind"}, {"Where"}});
  for (const Diag& diag : report.messages) {
    std::string text = HtmlText(diag.message);
    for (const std::string& note : diag.notes) {
      text += "<br><span class=soft>" + HtmlText(note) + "</span>";
    }
    table.Add({std::move(text),
               diag.severity == Severity::kError     ? "error"
               : diag.severity == Severity::kWarning ? "warning"
                                                     : "note",
               Place(diag.where)});
  }
  return {"messages", "Messages", std::move(table).Take()};
}

std::string NumbersPart(const Report& report) {
  std::string out = "<dl>\n";
  const auto row = [&out](std::string_view key, const std::string& html) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", key, html);
  };
  row("Input", Name(report.input));
  if (!report.output.empty()) row("Output", Name(report.output));
  if (!report.targets.empty()) {
    row("Targets",
        HtmlText(fmt::format("{}", fmt::join(report.targets, ", "))));
  }
  for (const auto& [key, value] : report.numbers) {
    row(HtmlText(key), HtmlText(value));
  }
  const Findings& findings = report.findings;
  if (!findings.kernels.empty()) {
    row("Spill registers",
        Count(findings.SpillingCount(), "kernel", "kernels"));
  }
  return out + "</dl>\n";
}

std::vector<Section> Sections(const Report& report) {
  std::vector<Section> sections;
  if (report.exit_code != kExitFailed) {
    sections.push_back(MissingSection(report));
    sections.push_back(FilesSection(report));
    const Findings& findings = report.findings;
    if (!findings.sizes.empty()) sections.push_back(SizesSection(report));
    if (!findings.kernels.empty() || !findings.unread.empty()) {
      sections.push_back(KernelsSection(report));
    }
  }
  if (!report.messages.empty()) sections.push_back(MessagesSection(report));
  return sections;
}

// The page may load nothing, and run no script but its own: should a name get
// into it as markup after all, it does nothing (Content Security Policy 3).
std::string Policy() {
  const auto hash = [](std::string_view text) {
    const std::string sum = packager::Sha256::Of(AsBytes(text));
    return "sha256-" + sum.substr(sum.find('=') + 1) + "=";
  };
  return fmt::format(
      "default-src 'none'; style-src '{}'; script-src '{}'; "
      "form-action 'none'; base-uri 'none'",
      hash(kPageStyle), hash(kPageScript));
}

}  // namespace

std::string ReportPage(const Report& report) {
  const std::vector<Section> sections = Sections(report);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
      "<meta http-equiv=Content-Security-Policy content=\"{}\">\n"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}: cerberus {}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<a class=skip href=#main>Skip to the report</a>\n"
      "<header>\n<h1>{} <bdi dir=ltr>{}</bdi></h1>\n",
      Policy(), HtmlText(report.input), HtmlText(report.verb), kPageStyle,
      HtmlText(report.verb), HtmlText(report.input));
  page += "<nav aria-label=Sections>\n<ul>\n";
  for (const Section& section : sections) {
    page +=
        fmt::format("<li><a href=#{}>{}</a></li>\n", section.id, section.title);
  }
  page += "</ul>\n</nav>\n</header>\n<main id=main tabindex=-1>\n";
  page += StatePart(report);
  page += NumbersPart(report);
  for (const Section& section : sections) {
    page += fmt::format(
        "<section id={0} aria-labelledby=h-{0}>\n<h2 id=h-{0}>{1}</h2>\n{2}"
        "</section>\n",
        section.id, section.title, section.body);
  }
  page += fmt::format(
      "</main>\n<footer>Made by cerberus {}. The same as JSON: "
      "<code>--json</code>.</footer>\n<script>{}</script>\n</body>\n</html>\n",
      kVersion, kPageScript);
  return page;
}

}  // namespace cerberus::cli
