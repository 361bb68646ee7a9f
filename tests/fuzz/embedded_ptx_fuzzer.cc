// Any bytes as those of a program with PTX text in it, and the same behind
// right headers. A first byte that is odd says that small numbers stand for
// words of such text.
//
// What is found is compared with what other words say of the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "images/ptx_text.h"
#include "tests/fuzz/plan_check.h"
#include "tests/unit/rewriter/elf_builder.h"

namespace {

using namespace cerberus;                     // NOLINT
using namespace cerberus::rewriter;           // NOLINT
using namespace cerberus::rewriter::testing;  // NOLINT

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string Expand(ByteSpan data) {
  static const std::string kWords[] = {
      std::string(1, '\0'),
      ".version 7.0\n",
      ".target sm_52\n",
      ".visible .entry k() { ret; }\n",
      "// BEGIN PREAMBLE\n",
      std::string(63, '\0'),
      ".version",
      ".entry",
      "// BEGIN PREAMBLE\n\t.version\t6.0\n\t.target\tsm_35\n",
      ".file 1 \"a }.cu\", 17, 5\n"};
  std::string bytes;
  for (const std::uint8_t byte : data) {
    if (byte < std::size(kWords)) {
      bytes += kWords[byte];
    } else {
      bytes += static_cast<char>(byte);
    }
  }
  return bytes;
}

bool IsText(char c) {
  const int byte = static_cast<unsigned char>(c);
  return byte >= 32 ? byte != 127 : byte >= 9 && byte <= 13;
}

// What is found in a module is that module, whatever stands beside it.
void CheckModules(std::string_view all) {
  (void)images::ModulesIn(all);
  const std::string_view text = all.substr(0, all.find('\0'));
  std::size_t end = 0;  // of the last one
  for (const std::string_view module : images::ModulesIn(text)) {
    const auto begin = static_cast<std::size_t>(module.data() - text.data());
    Require(begin >= end && begin + module.size() <= text.size(),
            "a module out of its place");
    end = begin + module.size();
    Require(module.starts_with(EmbeddedPtxFinder::kStart), "another start");
    Require(images::OnlyModule(module) == module, "not a module by itself");
    const std::string beside =
        "// x\n" + std::string(module) + "\n" + std::string(module) + "\nx";
    const std::vector<std::string_view> two = images::ModulesIn(beside);
    Require(two.size() == 2 && two[0] == module && two[1] == module,
            "another module beside other text");
    Require(images::OnlyModule(beside).empty(), "two modules are not one");
  }
}

// Each module with kernels, or text of an unknown kind that a NUL ends, or
// GCC's, of which one has kernels.
std::vector<EmbeddedPtx> Expected(std::string_view all) {
  std::vector<EmbeddedPtx> found;
  bool has_kernels = false;  // GCC's last
  std::size_t last_end = 0;  // of it; 0 if something else is behind it
  EmbeddedPtx linked{};
  const auto has = [](std::string_view text, const char* word) {
    return text.find(word) != std::string_view::npos;
  };
  const auto end_linked = [&] {
    if (has_kernels) found.push_back(linked);
    has_kernels = false;
    last_end = 0;
  };
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = at;
    while (end < all.size() && IsText(all[end])) ++end;
    if (end == at) {
      if (all[at++] != '\0') end_linked();
      continue;
    }
    const std::string_view text = all.substr(at, end - at);
    const bool is_string = end < all.size() && all[end] == '\0';
    if (!has(text, ".version")) {
      end_linked();
    } else if (is_string && text.starts_with("// BEGIN PREAMBLE")) {
      if (last_end == 0 || at - last_end > 64 || !has(text, ".target"))
        end_linked();
      if (has(text, ".target")) {
        if (last_end == 0) {
          linked = {at, text};
        } else {
          linked.linked_with.push_back(text);
        }
        last_end = end;
        has_kernels |= has(text, ".entry");
      }
    } else {
      end_linked();
      const auto modules = images::ModulesIn(text);
      for (const std::string_view module : modules) {
        if (!has(module, ".entry")) continue;
        found.push_back(
            {static_cast<std::size_t>(module.data() - all.data()), module});
      }
      if (modules.empty() && is_string && has(text, ".target") &&
          has(text, ".entry")) {
        found.push_back({at, text});
      }
    }
    at = end;
  }
  end_linked();
  return found;
}

void CheckFinder(std::string_view all) {
  EmbeddedPtxFinder finder(AsBytes(all));
  for (std::size_t at = 0;
       (at = all.find(EmbeddedPtxFinder::kStart, at)) != std::string_view::npos;
       ++at) {
    finder.See(at);
  }
  const std::vector<EmbeddedPtx> found = std::move(finder).Take();
  const std::vector<EmbeddedPtx> expected = Expected(all);
  Require(found.size() == expected.size(), "another number of texts");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const EmbeddedPtx& text = found[i];
    Require(text.offset == expected[i].offset, "another place");
    Require(text.text == expected[i].text &&
                text.text.data() == all.data() + text.offset,
            "another text");
    Require(text.linked_with == expected[i].linked_with, "linked otherwise");
    Require(text.Linked().size() == text.size() + text.linked_with.size(),
            "another length");
  }
}

// In a program what is found has all of it, whatever is around the bytes.
void CheckProgram(std::string_view all, bool is_data) {
  ElfSpec spec;
  spec.fatbins.clear();
  (is_data ? spec.data : spec.code) = Bytes(all.begin(), all.end());
  const Bytes bytes = BuildElf(spec).bytes;
  const auto binary = Binary::FromBytes(bytes, "fuzz");
  if (!binary) return;  // fatbins and wrappers that lie
  for (const EmbeddedPtx& text : binary->texts()) {
    Require(AsText(binary->bytes()).substr(text.offset, text.text.size()) ==
                text.text,
            "another place in a program");
  }
  if (binary->fatbins().empty()) {
    Require(binary->texts().size() == Expected(AsText(bytes)).size(),
            "another number of texts in a program");
  }
  CheckPlans(bytes, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const ByteSpan rest(data + 1, size - 1);
  const std::string bytes =
      (data[0] & 1) != 0 ? Expand(rest) : std::string(AsText(rest));
  // At the end of an allocation of its own: reading too far is seen.
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const std::string_view all(copy.get(), bytes.size());
  CheckModules(all);
  CheckFinder(all);
  CheckProgram(all, (data[0] & 2) != 0);
  return 0;
}
