#include "tests/exec/executed.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "ptxc/front/parse/parser.h"
#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {
namespace {

// Written at the end of the program, in one piece, since programs run at the
// same time.
class Record {
 public:
  explicit Record(std::string folder) : folder_(std::move(folder)) {}
  ~Record() {
    std::string text;
    for (const auto& [row, mnemonic] : executed_)
      text += std::to_string(row) + " " + mnemonic + "\n";
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    std::ofstream(folder_ + "/" + TestArch(), std::ios::app)
        .rdbuf()
        ->sputn(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void Add(const ptx::InstForm& form) {
    // Of wgmma's shapes the table spells one for all.
    std::string spelling(form.spelling);
    const std::size_t shape = spelling.find(".m64n");
    if (shape != spelling.npos) {
      spelling.replace(shape, spelling.find('.', shape + 1) - shape,
                       ".m64n8k16");
    }
    executed_.emplace(form.row->index, std::move(spelling));
  }

 private:
  std::string folder_;
  std::set<ExecutedForm> executed_;
};

}  // namespace

void RecordExecuted(std::string_view ptx, std::string_view kernel) {
  const char* folder = std::getenv("CERBERUS_EXECUTED");
  if (folder == nullptr) return;
  static Record record{folder};
  for (std::string_view text : ptx::SplitModules(ptx)) {
    const ptx::ParseOutcome parsed = ptx::Parse(text, {});
    for (const ptx::Function& function : parsed.module->functions) {
      if (function.is_entry && function.name != kernel) continue;
      for (const ptx::Instruction& instruction : function.instructions) {
        if (instruction.form != nullptr) record.Add(*instruction.form);
      }
    }
  }
}

Executed ReadExecuted(const std::string& folder) {
  Executed executed;
  for (const std::string& target : kTestedTargets) {
    std::ifstream in(folder + "/" + target);
    ExecutedForm form;
    while (in >> form.first >> form.second) executed[target].insert(form);
  }
  return executed;
}

}  // namespace cerberus::exec
