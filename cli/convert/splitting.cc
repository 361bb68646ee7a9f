#include "cli/convert/splitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "cli/convert/code_object.h"
#include "cli/convert/hip_image.h"
#include "cli/process.h"
#include "kpack/marker.h"
#include "kpack/reader.h"
#include "packager/parallel.h"
#include "support/targets/target_sets.h"

namespace cerberus::cli {

std::size_t SplittingSummary::total() const {
  std::size_t sum = 0;
  for (const auto& [target, count] : code_objects) sum += count;
  return sum;
}

void SplittingSummary::Add(const SplittingSummary& other) {
  images += other.images;
  wrappers += other.wrappers;
  for (const auto& [target, count] : other.code_objects) {
    code_objects[target] += count;
  }
  for (const auto& [target, count] : other.left_out) left_out[target] += count;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  findings.Add(other.findings);
}

std::vector<std::pair<std::string, std::string>> SplittingSummary::Numbers()
    const {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Code objects split", fmt::format("{}", total())},
      {"Images", fmt::format("{}", images)},
      {"Bytes before", fmt::format("{}", bytes_in)},
      {"Bytes after", fmt::format("{}", bytes_out)}};
  for (const auto& [target, count] : left_out) {
    rows.emplace_back("Not asked for, " + target, fmt::format("{}", count));
  }
  return rows;
}

namespace {

// What the report says of a code object.
void NoteKernels(const std::string& module, const std::string& target,
                 const Result<CodeObject>& object, Findings& findings) {
  if (!object) {
    findings.unread.push_back({module, target, object.error().ToString()});
    return;
  }
  for (const CodeObject::Kernel& kernel : object->kernels) {
    findings.kernels.push_back({module, target, kernel});
  }
}

}  // namespace

Status Splitting::Open() {
  CERB_TRY(rewriter::Binary binary,
           rewriter::Binary::Open(options_.input, options_.input_name));
  return Open(std::move(binary));
}

Status Splitting::Open(rewriter::Binary binary) {
  binary_ = std::move(binary);
  holds_nothing_ = binary_->hip().wrappers.empty();
  summary_.images = binary_->hip().images.size();
  summary_.wrappers = binary_->hip().wrappers.size();
  summary_.bytes_in = binary_->bytes().size();
  CERB_TRY(plan_, rewriter::PlanSplit(*binary_, options_.split));
  return {};
}

// The code objects of an image are for different targets, so each goes to an
// archive of its own, and several are compressed at a time.
Status Splitting::PackImage(const rewriter::LocatedHipImage& image,
                            const rewriter::CodeObjects& objects,
                            ArchivesByTarget& archives,
                            const MakeArchive& make) {
  std::vector<std::string> there;
  there.reserve(objects.rows.size());
  for (const rewriter::CodeObjects::Row& row : objects.rows) {
    there.push_back(row.target);
  }
  const std::vector<std::string> wanted = ChooseTargets(there, options_.arches);
  struct Job {
    const rewriter::CodeObjects::Row* row;
    kpack::ArchiveWriter* archive;
    Status status;
    Result<CodeObject> object = CodeObject();
  };
  std::vector<Job> jobs;
  for (const rewriter::CodeObjects::Row& row : objects.rows) {
    if (std::find(wanted.begin(), wanted.end(), row.target) == wanted.end()) {
      summary_.left_out[row.target] += image.wrappers.size();
      continue;
    }
    auto archive = archives.find(row.target);
    if (archive == archives.end()) {
      CERB_TRY(kpack::ArchiveWriter made, make(row.target));
      archive = archives.emplace(row.target, std::move(made)).first;
    }
    jobs.push_back({&row, &archive->second, {}, CodeObject()});
    summary_.code_objects[row.target] += image.wrappers.size();
  }
  packager::ParallelFor(jobs.size(), options_.jobs, [&](std::size_t i) {
    Job& job = jobs[i];
    job.object = ReadCodeObject(job.row->bytes, options_.input_name);
    for (const std::uint32_t index : image.wrappers) {
      if (!job.status) break;
      job.status =
          job.archive->Add(kpack::ModuleKey(options_.split.kernel_name, index),
                           job.row->target, "hsaco", job.row->bytes);
    }
    return job.status.has_value();
  });
  const std::string module =
      kpack::ModuleKey(options_.split.kernel_name, image.wrappers.front());
  for (Job& job : jobs) {
    CERB_TRY_VOID(std::move(job.status));
    NoteKernels(module, job.row->target, job.object, summary_.findings);
  }
  return {};
}

Status Splitting::Pack(ArchivesByTarget& archives, const MakeArchive& make) {
  for (const rewriter::LocatedHipImage& image : binary_->hip().images) {
    if (image.wrappers.empty()) continue;
    if (Interrupted()) return {};
    CERB_TRY(const rewriter::CodeObjects objects,
             ReadHipImage(image, options_.input_name));
    CERB_TRY_VOID(PackImage(image, objects, archives, make));
    binary_->LetGo();
  }
  if (summary_.code_objects.empty() && !summary_.left_out.empty()) {
    std::vector<std::string> there;
    there.reserve(summary_.left_out.size());
    for (const auto& [target, count] : summary_.left_out) {
      there.push_back(target);
    }
    Where where;
    where.file = options_.input_name;
    return Err(
        DiagCode::kUsage, std::move(where),
        fmt::format("holds no code for {}, only for {}",
                    fmt::join(options_.arches, ", "), fmt::join(there, ", ")));
  }
  return {};
}

Result<OutputFile> Splitting::Write(const std::string& path) {
  CERB_TRY(OutputFile out, OutputFile::Create(path, binary_->mode()));
  CERB_TRY_VOID(rewriter::Rewrite(*binary_, plan_, out));
  CERB_TRY_VOID(rewriter::VerifyWritten(*binary_, plan_, out));
  summary_.bytes_out = out.size();
  return out;
}

Result<std::size_t> VerifySplitArchives(
    const rewriter::Binary& original, const std::string& kernel_name,
    const std::vector<std::string>& archives) {
  std::vector<std::shared_ptr<const kpack::Archive>> open;
  std::set<std::string> targets;
  for (const std::string& path : archives) {
    CERB_TRY(std::shared_ptr<const kpack::Archive> archive,
             kpack::Archive::Open(path));
    for (const std::string_view arch : archive->arches()) {
      targets.emplace(arch);
    }
    open.push_back(std::move(archive));
  }
  std::size_t compared = 0;
  for (const rewriter::LocatedHipImage& image : original.hip().images) {
    if (image.wrappers.empty()) continue;
    CERB_TRY(const rewriter::CodeObjects objects,
             ReadHipImage(image, original.path()));
    for (const rewriter::CodeObjects::Row& row : objects.rows) {
      if (!targets.contains(row.target)) continue;
      for (const std::uint32_t index : image.wrappers) {
        const std::string key = kpack::ModuleKey(kernel_name, index);
        const auto fail = [&](const std::string& what) {
          Where where;
          where.file = original.path();
          return Err(DiagCode::kBadFormat, std::move(where),
                     fmt::format("'{}' for {}: {}", key, row.target, what));
        };
        bool found = false;
        for (const std::shared_ptr<const kpack::Archive>& archive : open) {
          const kpack::Entry* entry = archive->Find(key, row.target);
          if (entry == nullptr) continue;
          found = true;
          CERB_TRY(const Bytes bytes, archive->Read(*entry));
          if (!std::equal(bytes.begin(), bytes.end(), row.bytes.begin(),
                          row.bytes.end())) {
            return fail(fmt::format("{} holds other code", archive->path()));
          }
          ++compared;
        }
        if (!found) return fail("is in no archive");
      }
    }
  }
  return compared;
}

}  // namespace cerberus::cli
