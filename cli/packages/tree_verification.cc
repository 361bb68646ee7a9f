// A packed tree held against its manifests and against the original.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "cli/convert/conversion.h"
#include "cli/convert/verification.h"
#include "cli/paths.h"
#include "packager/tree/manifest.h"
#include "packager/tree/tree.h"
#include "packager/tree/tree_copy.h"
#include "packager/wheel/record.h"
#include "support/mapped_file.h"

namespace cerberus::cli {
namespace {

namespace fs = std::filesystem;
using packager::Manifest;
using packager::ManifestEntry;
using Kind = packager::TreeEntry::Kind;

// The tree itself or, where it was made with --parts, the folders in it.
std::vector<std::string> RootsOf(const std::string& packed) {
  std::error_code error;
  if (fs::is_directory(packed + "/" + kArchiveFolder, error)) return {packed};
  std::vector<std::string> roots;
  for (const auto& folder : fs::directory_iterator(packed, error)) {
    if (fs::is_directory(folder.path() / kArchiveFolder, error)) {
      roots.push_back(folder.path().string());
    }
  }
  std::sort(roots.begin(), roots.end());
  return roots;
}

// The paths of the manifests of one root.
std::vector<std::string> ManifestsIn(const std::string& root) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& file :
       fs::directory_iterator(root + "/" + kArchiveFolder, error)) {
    if (file.path().extension() != packager::kManifestSuffix) continue;
    const Result<MappedFile> bytes = MappedFile::Open(file.path().string());
    // Others may have manifests of their own.
    if (bytes && packager::IsManifest(AsText(bytes->bytes()))) {
      paths.push_back(file.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class TreeVerifier {
 public:
  TreeVerifier(Reporter& reporter, TreeVerification& result)
      : reporter_(reporter), result_(result) {}

  Status VerifyRoot(const std::string& root) {
    std::set<std::string> listed;
    for (const std::string& path : ManifestsIn(root)) {
      CERB_TRY(const MappedFile bytes, MappedFile::Open(path));
      CERB_TRY(Manifest manifest,
               packager::ParseManifest(AsText(bytes.bytes()), path));
      result_.manifests.push_back(path);
      listed.insert(path.substr(root.size() + 1));
      good_ &= packager::VerifyManifest(
          manifest, root, std::max(1u, std::thread::hardware_concurrency()),
          [this](const Diag& diag) { reporter_.Report(diag); });
      for (ManifestEntry& entry : manifest.entries) {
        listed.insert(entry.path);
        CERB_TRY_VOID(VerifyEntry(root, entry));
        if (entry.kind != Kind::kFolder) ++result_.files;
        const std::string name = entry.path;
        entries_.emplace(name, std::pair(root, std::move(entry)));
      }
    }
    CERB_TRY(const packager::Tree tree, packager::Tree::Read(root));
    for (const packager::TreeEntry& entry : tree.entries()) {
      if (listed.contains(entry.path)) continue;
      ++result_.unlisted;
      Warn(tree.Name(entry.path), "is in no manifest");
    }
    return {};
  }

  Status CompareWith(const std::string& original) {
    CERB_TRY(const packager::Tree tree, packager::Tree::Read(original));
    for (const packager::TreeEntry& entry : tree.entries()) {
      const auto packed = entries_.find(entry.path);
      if (packed == entries_.end()) {
        Warn(tree.Name(entry.path), "is not in the packed tree");
        continue;
      }
      const auto& [root, made] = packed->second;
      if (entry.kind == Kind::kFolder) continue;
      ++result_.compared;
      const std::string why = Compare(tree, entry, root, made);
      if (!why.empty()) Fail(root + "/" + entry.path, why);
    }
    return {};
  }

  bool good() const { return good_; }

 private:
  void Warn(const std::string& file, const std::string& what) {
    Diag warning = FileDiag(DiagCode::kUnknown, file, what);
    warning.severity = Severity::kWarning;
    reporter_.Report(warning);
  }
  void Fail(const std::string& file, const std::string& what) {
    good_ = false;
    reporter_.Report(FileDiag(DiagCode::kBadFormat, file, what));
  }

  Status VerifyEntry(const std::string& root, const ManifestEntry& entry) {
    if (entry.how != "made" || fs::path(entry.path).extension() != ".kpack") {
      return {};
    }
    ++result_.archives;
    Status status = VerifyArchive(root + "/" + entry.path, {}, reporter_);
    if (!status) {
      good_ = false;
      reporter_.Report(status.error());
    }
    return {};
  }

  // What differs, or "".
  std::string Compare(const packager::Tree& tree,
                      const packager::TreeEntry& entry, const std::string& root,
                      const ManifestEntry& made) {
    if (entry.kind != made.kind) return "is of another kind than the original";
    if (entry.kind == Kind::kLink) {
      return entry.target == made.target ? "" : "leads elsewhere";
    }
    if (made.how == "converted" || made.how == "split") {
      const Result<FileVerification> file =
          VerifyFile(tree.Name(entry.path), root + "/" + entry.path);
      return file ? "" : file.error().ToString();
    }
    if (made.how != "copied") return "";
    const Result<MappedFile> bytes = MappedFile::Open(tree.Name(entry.path));
    if (!bytes) return bytes.error().ToString();
    packager::Sha256 hash;
    hash.Update(bytes->bytes());
    return hash.Hex() == made.sha256 ? "" : "has other bytes than the original";
  }

  Reporter& reporter_;
  TreeVerification& result_;
  std::map<std::string, std::pair<std::string, ManifestEntry>> entries_;
  bool good_ = true;
};

}  // namespace

Result<bool> VerifyTree(const std::string& packed, const std::string& original,
                        Reporter& reporter, TreeVerification& result) {
  TreeVerifier verifier(reporter, result);
  for (const std::string& root : RootsOf(packed)) {
    CERB_TRY_VOID(verifier.VerifyRoot(root));
  }
  if (result.manifests.empty()) {
    return Err(FileDiag(DiagCode::kBadFormat, packed,
                        fmt::format("holds no manifest of a packed tree in {}/",
                                    kArchiveFolder)));
  }
  if (!original.empty()) CERB_TRY_VOID(verifier.CompareWith(original));
  return verifier.good();
}

}  // namespace cerberus::cli
