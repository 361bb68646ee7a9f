// An install tree packed, step by step: docs/trees.md says what comes out.
// Nothing has its name in the file system before Commit, as in conversion.h.
//
//   open      the tree, read once; what becomes of each of its files
//   convert   CUDA programs, all modules of all files in one queue; HIP
//   programs
//             split; their code into common archives
//   write     everything else, archives, manifests
//   commit    the tree gets its name
#ifndef CERBERUS_CLI_PACKAGES_TREE_PACKING_H_
#define CERBERUS_CLI_PACKAGES_TREE_PACKING_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/convert/conversion.h"
#include "cli/convert/splitting.h"
#include "cli/json.h"
#include "cli/reporter.h"
#include "packager/staging.h"
#include "packager/tree/manifest.h"
#include "packager/tree/tree.h"
#include "packager/tree/tree_copy.h"

namespace cerberus::cli {

struct TreeOptions {
  std::string input;
  std::string output;
  std::string group;          // of the archives; default: the output's name
  bool bundle = false;        // the stub goes into the tree
  bool parts = false;         // a folder for each part, not one tree
  bool may_be_there = false;  // the output; of a plan only
  packager::CopyHow copy = packager::CopyHow::kCopy;
  // Of each file: targets, limits, keep_going; its names come from here.
  ConversionOptions conversion;
  // Of HIP programs and databases, as ChooseTargets has them; empty: all.
  std::vector<std::string> selected;
};

struct TreeSummary {
  struct Amount {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    void Add(std::uint64_t size) {
      ++files;
      bytes += size;
    }
  };
  ConversionSummary cuda;              // all together
  SplittingSummary hip;                // … of the split ones
  std::vector<std::string> converted;  // as paths in the tree
  std::size_t module_files = 0;        // compiled, and copied as they are
  std::vector<std::string> split;
  Amount copied;
  std::map<std::string, Amount> databases;  // by part
  Amount not_asked_for;                     // files of databases
  // With device code, but as they are, and why.
  std::map<std::string, std::string> unconverted;
  // Not taken, and why.
  std::map<std::string, std::string> left_out;
  FileSizes archives;
  std::vector<std::string> manifests;
  // Of programs, converted and split, and of databases.
  Findings AllFindings() const;

  // What is to be done, before it is.
  std::uint64_t ptx_bytes = 0;  // over all targets
  std::uint64_t hip_bytes = 0;  // of images
};

class TreePacking {
 public:
  TreePacking(const TreeOptions& options, Reporter& reporter);
  ~TreePacking();

  Status Open();
  // False: errors were reported, or it was interrupted.
  Result<bool> Convert();
  Status Write();
  Status Commit();

  const TreeSummary& summary() const { return summary_; }
  bool some_missing() const {
    return !summary_.unconverted.empty() || !summary_.left_out.empty() ||
           !summary_.cuda.left_out.empty();
  }
  // After Open: what is converted; all that the tree is made from.
  std::vector<const Conversion*> conversions() const;
  std::vector<std::string> inputs() const;
  // For --dry-run: a line for each file that is not merely copied.
  std::vector<std::string> Describe() const;

 private:
  enum class Action : std::uint8_t {
    kFolder,
    kLink,
    kCopy,
    kPrune,  // a database of several targets, copied in part
    kConvert,
    kSplit,
    kAgain,  // another name of what is converted or split
    kNone,
  };
  struct Item {
    const packager::TreeEntry* entry;
    Action action = Action::kCopy;
    std::string part = packager::kHostPart;
    packager::ManifestEntry made;  // of what is there in the end
    bool done = false;
    const Item* first = nullptr;             // of kAgain: the name that is
    std::unique_ptr<Conversion> conversion;  // of a file of PTX, with kCopy
    std::unique_ptr<Splitting> splitting;
  };

  // Of a shard there are archives, and nothing else.
  bool is_whole() const { return options_.conversion.shard.is_all(); }
  Status CheckPlaces() const;
  Status CheckNames() const;
  Status OpenItem(Item& item);
  void Foresee();
  void WarnOfLink(const packager::TreeEntry& entry);
  Status OpenProgram(Item& item);
  Status OpenModuleFile(Item& item, ByteSpan start);
  std::unique_ptr<Conversion> NewConversion(const std::string& path);
  void DropModuleFiles();
  Status OpenCuda(Item& item, rewriter::Binary binary);
  bool IsAgain(Item& item);
  void SettleAgain();
  Status Link(const Item& from, Item& item);
  void WarnOfSearchPath(const std::string& path,
                        const rewriter::Binary& binary);
  Status OpenHip(Item& item, rewriter::Binary binary);
  Status LeaveOut(Item& item, const std::string& why);
  Status LeaveAsItIs(Item& item, Diag why);
  void Warn(const std::string& path, DiagCode code, const std::string& why);

  Status MakeFolders();
  Status MakeFolder(const std::string& part, const std::string& path);
  Status MakeArchives();
  Result<kpack::ArchiveWriter> MakeArchive(const std::string& target) const;
  Status TakeConverted(Conversion& conversion);
  Status Split();
  Status SplitItem(Item& item);
  Status Place(Item& item, OutputFile program, const char* how);
  Status WriteShard();
  Status CopyItems();
  Status CopyItem(Item& item, const std::string& to);
  Status CopyFile(Item& item, const std::string& to);
  Status PruneItem(Item& item, const std::string& to);
  Status KeepAttributes(Item& item, const std::string& path, bool changed);
  Result<unsigned> KeepOf(const packager::TreeEntry& entry,
                          const std::string& path, bool changed);
  Status LinkAgain();
  Status WriteBundle();
  Status WriteArchives();
  Status WriteManifests();
  Status FinishFolder(const std::string& part, const std::string& path);
  Status FinishFolders();
  // Hashes what was written, for the manifest.
  Status Record(const std::string& part, const std::string& path,
                const OutputFile& file, unsigned mode);

  // The part that the code for a target belongs to.
  static std::string PartOfTarget(const std::string& target);
  std::string PartFolder(const std::string& part) const;
  std::string PathOf(const std::string& part, const std::string& path) const;

  const TreeOptions options_;
  Reporter& reporter_;
  TreeSummary summary_;
  std::optional<packager::Tree> tree_;
  std::optional<packager::Staging> staging_;
  std::string root_;  // what will be the output
  std::string stub_;
  std::deque<Item> items_;
  std::map<const Conversion*, Item*> item_of_;
  // The first names of files with several, by what they lead up by.
  std::map<std::tuple<dev_t, ino_t, std::string>, const Item*> first_names_;
  ArchivesByTarget archives_;
  // By part: the folders that are made, in the order in which they were.
  std::map<std::string, std::vector<std::string>> folders_;
  std::set<std::pair<std::string, std::string>> made_;
  std::map<std::string, const packager::TreeEntry*> entry_of_folder_;
  std::map<std::string, std::vector<packager::ManifestEntry>> others_;
  std::map<std::string, unsigned> folder_modes_;  // by place, in the end
  std::set<std::string> lost_attributes_;
  std::mutex mutex_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PACKAGES_TREE_PACKING_H_
